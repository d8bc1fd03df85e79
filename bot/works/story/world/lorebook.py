"""Decides which entries of a lorebook apply to a scene, like SillyTavern's World Info, and the same on every replay.

The fields mean what SillyTavern's manual says (https://docs.sillytavern.app/usage/core-concepts/worldinfo/):
"Optional Filter", "Insertion Order", "Scan Depth", "Context % / Budget", "Recursive Scanning", "Case-sensitive keys",
"Match whole words", "Probability", "Inclusion Group", "Timed Effects", "Filter to Characters or Tags", and the three
flags of recursion. Random choices follow from a seed, so that a replay makes the same ones. Without a seed, an entry
applies unless its `probability` is 0, and all entries of a `group` do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeAlias

from bot.works.story.world.key_pattern import WorkLeft
from bot.works.story.world.key_search import Key, SearchedTexts, keys_of, limited
from storage.name_keys import name_key

Logic: TypeAlias = Literal["and any", "not all", "not any", "and all"]
"""How the secondary keys are combined, in the order of SillyTavern's numbers (`selectiveLogic` 0 to 3)."""

LORE = 10_000
"""The maximum number of entries in a story."""
LORE_CHARS = 8_000
"""The maximum length of an entry."""
SWEEPS = 10
"""How many rounds of entries may trigger others: SillyTavern's "Max Recursion Steps"."""

_ENTRY = -1
"""The number, among the messages that are searched, of an entry's content: it is within every depth."""


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """An entry, whose `content` goes into the prompt once one of `keys` is found, and `secondary_keys` by `logic`.

    - Keys: a `constant` entry needs none. With `whole_words` a key of one word does not match inside another word.
      `depth` is how many messages are searched, None for the book's depth.
    - Place: `position` is before or after the description of the cast, `at_depth` so many messages above the end;
      there, entries are sorted by ascending `order`.
    - Choice: `probability` is a percentage. Of each `group` one entry is drawn by `weight`, or the `foremost` one of
      the highest order is taken.
    - Recursion: `not_by_others` means that other entries cannot trigger it, `calls_no_others` that it triggers none,
      `by_others_alone` that only others trigger it.
    - Time, in messages: once it has applied it stays for `sticky` and then waits for `cooldown`; it cannot apply
      before there are `delay`.
    - `characters` are those that it is for, or with `not_for` those that it is not for. `name` is for people.
      `source` has the other fields of an imported entry, as JSON.
    """

    id: str
    keys: tuple[str, ...]
    content: str
    secondary_keys: tuple[str, ...] = ()
    logic: Logic = "and any"
    name: str = ""
    constant: bool = False
    enabled: bool = True
    case_sensitive: bool = False
    whole_words: bool = True
    depth: int | None = None
    order: int = 100
    position: Literal["before", "after"] = "before"
    probability: int = 100
    group: str = ""
    source: str = ""
    weight: int = 100
    not_by_others: bool = False
    calls_no_others: bool = False
    by_others_alone: bool = False
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    characters: tuple[str, ...] = ()
    not_for: bool = False
    at_depth: int | None = None
    foremost: bool = False

    @property
    def always(self) -> bool:
        """Whether it is in every prompt in the same place, provided that it is `enabled`."""
        conditional = (
            self.group
            or self.sticky
            or self.cooldown
            or self.delay
            or self.characters
            or self.by_others_alone
        )
        return self.constant and self.probability >= 100 and self.at_depth is None and not conditional

    @property
    def sort_key(self) -> tuple[int, int, int]:
        """The key that sorts a scene's entries: those with `at_depth` come last, by descending depth."""
        if self.at_depth is not None:
            return 2, -self.at_depth, self.order
        return int(self.position == "after"), 0, self.order

    def applies_to(self, names: Collection[str]) -> bool:
        """Whether it is for one of these characters."""
        if not self.characters:
            return True
        chosen = {name_key(name) for name in self.characters}
        if self.not_for:
            return not names or any(name_key(name) not in chosen for name in names)
        return any(name_key(name) in chosen for name in names)


def triggered(
    entries: Sequence[LoreEntry],
    scanned: Sequence[str],
    *,
    depth: int,
    budget: int,
    recursive: bool,
    tokens: Callable[[str], int],
    seed: str = "",
    sticky: Collection[str] = (),
) -> list[LoreEntry]:
    """The entries that go into the prompt, by ascending `order`.

    `scanned` are the last messages, the newest first, of which `depth` are searched; `sticky` are ids. `tokens` counts
    the tokens of a text. The contents together have at most `budget` tokens, which the sticky entries get first, then
    the constant ones, then those of higher `order`, then, if `recursive`, those that these contents trigger. An entry
    larger than the whole budget is skipped; the first other one that does not fit ends the list. `seed` decides random
    choices; without it none are made.
    """
    ranked = sorted(
        enumerate(entries),
        key=lambda numbered: (
            numbered[1].id not in sticky, not numbered[1].constant, -numbered[1].order,
        ),
    )  # fmt: skip
    waiting = [
        (
            number,
            _WaitingEntry(
                entry, max(0, depth if entry.depth is None else entry.depth), sticky=entry.id in sticky
            ),
        )
        for number, entry in ranked
        if entry.enabled and entry.content.strip() and (entry.id in sticky or passes_chance(entry, seed))
    ]
    deepest = max((call.depth for _, call in waiting), default=0)
    work = WorkLeft()
    texts = [SearchedTexts(limited(enumerate(scanned[:deepest])), work)]
    chosen: dict[int, LoreEntry] = {}
    remaining = budget
    groups: set[str] = set()
    for sweep in range(SWEEPS if recursive else 1):
        found = [
            (number, call)
            for number, call in waiting
            if (call.sticky or not (call.entry.by_others_alone if sweep == 0 else call.entry.not_by_others))
            and call.is_triggered(texts)
        ]
        numbers = {number for number, _ in found}
        waiting = [(number, call) for number, call in waiting if number not in numbers]
        contents = []
        for number, call in _choose_in_groups(found, groups, seed):
            cost = tokens(call.entry.content)
            if cost > budget:
                continue
            if cost > remaining:
                return _in_order(chosen)
            remaining -= cost
            chosen[number] = call.entry
            contents.append("" if call.entry.calls_no_others else call.entry.content)
        if not contents:
            break
        texts.append(SearchedTexts(limited((_ENTRY, content) for content in contents), work))
    return _in_order(chosen)


def passes_chance(entry: LoreEntry, seed: str) -> bool:
    """Whether the entry's `probability` lets it apply; the same for the same seed."""
    return 100 * _random(seed, "chance", entry.id) < entry.probability


def groups_of(entry: LoreEntry) -> list[str]:
    """The names of the entry's groups, which its `group` separates by commas."""
    return [group for part in entry.group.split(",") if (group := part.strip())]


def _random(seed: str, *names: str) -> float:
    """A number from 0 to below 1 that follows from the seed and the names; 0 without a seed."""
    if not seed:
        return 0.0
    digest = sha256("\n".join((seed, *names)).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:6]) / 2**48


def _choose_in_groups(
    found: Sequence[tuple[int, _WaitingEntry]], groups: set[str], seed: str
) -> list[tuple[int, _WaitingEntry]]:
    """The entries without a group, and one of each group that is not in `groups` yet; all of them without a seed.

    The sticky entries of a group are chosen instead of a drawn one.
    """
    if not seed:
        return list(found)
    members: dict[str, list[tuple[int, _WaitingEntry]]] = {}
    for number, call in found:
        for group in groups_of(call.entry):
            members.setdefault(group, []).append((number, call))
    excluded = set[int]()
    for group, calls in members.items():
        candidates = [(number, call) for number, call in calls if number not in excluded]
        excluded.update(number for number, _ in calls)
        if group in groups or not candidates:
            continue
        groups.add(group)
        sticky = [number for number, call in candidates if call.sticky]
        excluded.difference_update(sticky or [_draw(candidates, group, seed)])
    return [(number, call) for number, call in found if number not in excluded]


def _draw(calls: Sequence[tuple[int, _WaitingEntry]], group: str, seed: str) -> int:
    """The number of the entry that is chosen from a group."""
    foremost = [(number, call) for number, call in calls if call.entry.foremost]
    if foremost:
        return max(foremost, key=lambda numbered: numbered[1].entry.order)[0]
    at = _random(seed, "group", group) * sum(call.entry.weight for _, call in calls)
    for number, call in calls:
        if (at := at - call.entry.weight) < 0:
            return number
    return calls[-1][0]


def _in_order(chosen: dict[int, LoreEntry]) -> list[LoreEntry]:
    return [chosen[number] for number in sorted(chosen, key=lambda number: (chosen[number].order, number))]


class _WaitingEntry:
    """An entry that waits for its keys; a constant or sticky one needs none."""

    __slots__ = ("_key_found", "_keys", "_secondary", "depth", "entry", "sticky")

    def __init__(self, entry: LoreEntry, depth: int, *, sticky: bool = False) -> None:
        self.entry = entry
        self.depth = depth
        self.sticky = sticky
        self._key_found = entry.constant or sticky
        self._keys: list[Key] | None = [] if self._key_found else None
        self._secondary: list[Key] = []

    def is_triggered(self, texts: Sequence[SearchedTexts]) -> bool:
        """Whether the texts trigger the entry; all but the last were searched for its keys by earlier calls."""
        entry = self.entry
        if self._keys is None:
            searched = {"case_sensitive": entry.case_sensitive, "whole_words": entry.whole_words}
            self._keys = keys_of(entry.keys, **searched)
            self._secondary = keys_of(entry.secondary_keys, **searched)
        self._key_found = self._key_found or any(self._found(key, texts[-1:]) for key in self._keys)
        if not self._key_found:
            return False
        if not self._secondary:
            return True
        matches = (self._found(key, texts) for key in self._secondary)
        if entry.logic == "and any":
            return any(matches)
        if entry.logic == "and all":
            return all(matches)
        return not (any(matches) if entry.logic == "not any" else all(matches))

    def _found(self, key: Key, texts: Sequence[SearchedTexts]) -> bool:
        return any(searched.nearest(key) < self.depth for searched in texts)
