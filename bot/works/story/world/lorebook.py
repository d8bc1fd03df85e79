"""Decides which entries of a lorebook apply to a scene, like SillyTavern's World Info, and the same on every replay.

The meaning of each field is that of SillyTavern's manual (https://docs.sillytavern.app/usage/core-concepts/worldinfo/):
"Optional Filter", "Insertion Order", "Scan Depth", "Context % / Budget", "Recursive Scanning", "Case-sensitive keys",
"Match whole words", "Probability", "Inclusion Group", "Timed Effects", "Filter to Characters or Tags", and the three
flags of recursion. Random choices follow from a seed, so that a replay makes the same ones; without a seed a
`probability` of 0 means never, any other always, and a `group` makes no choice. Knows no story and no prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeAlias

from bot.works.story.world.key_pattern import Work
from bot.works.story.world.passages import Key, Passages, keys_of, limited
from storage.keys import key_of

Logic: TypeAlias = Literal["and any", "not all", "not any", "and all"]
"""How the secondary keys are combined, in the order of SillyTavern's numbers (`selectiveLogic` 0 to 3)."""

LORE = 10_000
"""The maximum number of entries in a story."""
LORE_CHARS = 8_000
"""The maximum length of an entry."""
SWEEPS = 10
"""How many rounds of entries may trigger others: SillyTavern's "Max Recursion Steps"."""

_CALLED = -1
"""The number of a message that is within every depth: the content of an entry."""


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One entry: where `keys` (and `secondary_keys`, by `logic`) are found, its `content` goes into the prompt.

    `name` is for people. A `constant` entry needs no key. With `whole_words` a key of one word does not match inside
    another word. `depth` is how many messages are searched for this entry, if it is not the book's depth. Of the
    entries that fit into the budget, the one with the highest `order` comes last; `position` puts them before or after
    the description of the cast, `at_depth` so many messages above the end. `probability` is a percentage. One entry of
    each `group` is chosen, by `weight`, or the `foremost` of highest order. The three recursion flags say whether other
    entries may trigger this one, whether it may trigger others, and whether only others may trigger it. Once it has
    applied it stays for `sticky` messages, and cannot apply again for `cooldown`; it cannot apply before there are
    `delay` messages. With `characters` it is only for these, or `not_for` these. `source` has an imported entry's other
    fields, as JSON.
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
        """Whether it is in every prompt, in the same place: only `enabled` decides."""
        decided = (
            self.group
            or self.sticky
            or self.cooldown
            or self.delay
            or self.characters
            or self.by_others_alone
        )
        return self.constant and self.probability >= 100 and self.at_depth is None and not decided

    @property
    def place(self) -> tuple[int, int, int]:
        """The sort key of a scene's entries: those at a depth come last, the nearest to the end at the very end."""
        if self.at_depth is not None:
            return 2, -self.at_depth, self.order
        return int(self.position == "after"), 0, self.order

    def concerns(self, names: Collection[str]) -> bool:
        """Whether it applies to one of these characters."""
        if not self.characters:
            return True
        chosen = {key_of(name) for name in self.characters}
        if self.not_for:
            return not names or any(key_of(name) not in chosen for name in names)
        return any(key_of(name) in chosen for name in names)


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

    `scanned` are the last messages, the newest first; `depth` of them are searched. `tokens` counts the tokens of a
    content; all contents together have at most `budget`: the `sticky` ones (ids) come first, then the constant entries,
    then those of higher `order`, then, if `recursive`, those that their contents trigger. The first entry that does not
    fit ends the list, except that one larger than the whole budget is skipped. With a `seed` random choices are made,
    the same for the same seed.
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
            _Call(entry, max(0, depth if entry.depth is None else entry.depth), sticky=entry.id in sticky),
        )
        for number, entry in ranked
        if entry.enabled and entry.content.strip() and (entry.id in sticky or likely(entry, seed))
    ]
    deepest = max((call.depth for _, call in waiting), default=0)
    work = Work()
    passages = [Passages(limited(enumerate(scanned[:deepest])), work)]
    chosen: dict[int, LoreEntry] = {}
    remaining = budget
    groups: set[str] = set()
    for sweep in range(SWEEPS if recursive else 1):
        heard = [
            (number, call)
            for number, call in waiting
            if (call.sticky or not (call.entry.by_others_alone if sweep == 0 else call.entry.not_by_others))
            and call.heard(passages)
        ]
        numbers = {number for number, _ in heard}
        still = [(number, call) for number, call in waiting if number not in numbers]
        called = []
        for number, call in _one_a_group(heard, groups, seed):
            cost = tokens(call.entry.content)
            if cost > budget:
                continue
            if cost > remaining:
                return _in_order(chosen)
            remaining -= cost
            chosen[number] = call.entry
            called.append("" if call.entry.calls_no_others else call.entry.content)
        if not called:
            break
        waiting = still
        passages.append(Passages(limited((_CALLED, content) for content in called), work))
    return _in_order(chosen)


def likely(entry: LoreEntry, seed: str) -> bool:
    """Whether its `probability` lets it apply."""
    return 100 * _lot(seed, "chance", entry.id) < entry.probability


def groups_of(entry: LoreEntry) -> list[str]:
    """The groups of an entry: SillyTavern stores several in one text, separated by commas."""
    return [group for part in entry.group.split(",") if (group := part.strip())]


def _lot(seed: str, *of: str) -> float:
    """A number from 0 to below 1 that follows from the seed; 0 without one."""
    if not seed:
        return 0.0
    digest = sha256("\n".join((seed, *of)).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:6]) / 2**48


def _one_a_group(heard: Sequence[tuple[int, _Call]], groups: set[str], seed: str) -> list[tuple[int, _Call]]:
    """The calls without a group, and one of each group that has none yet, drawn by weight; all of them without a seed.

    A sticky entry of a group stays, and excludes the others.
    """
    if not seed:
        return list(heard)
    members: dict[str, list[tuple[int, _Call]]] = {}
    for number, call in heard:
        for group in groups_of(call.entry):
            members.setdefault(group, []).append((number, call))
    out = set[int]()
    for group, calls in members.items():
        waiting = [(number, call) for number, call in calls if number not in out]
        out.update(number for number, _ in calls)
        if group in groups or not waiting:
            continue
        groups.add(group)
        stay = [number for number, call in waiting if call.sticky]
        out.difference_update(stay or [_drawn(waiting, group, seed)])
    return [(number, call) for number, call in heard if number not in out]


def _drawn(calls: Sequence[tuple[int, _Call]], group: str, seed: str) -> int:
    """The index of the one that is chosen from a group."""
    foremost = [(number, call) for number, call in calls if call.entry.foremost]
    if foremost:
        return max(foremost, key=lambda numbered: numbered[1].entry.order)[0]
    at = _lot(seed, "group", group) * sum(call.entry.weight for _, call in calls)
    for number, call in calls:
        if (at := at - call.entry.weight) < 0:
            return number
    return calls[-1][0]


def _in_order(chosen: dict[int, LoreEntry]) -> list[LoreEntry]:
    return [chosen[number] for number in sorted(chosen, key=lambda number: (chosen[number].order, number))]


class _Call:
    """An entry that waits for its keys; a constant or sticky one needs none."""

    __slots__ = ("_called", "_keys", "_secondary", "depth", "entry", "sticky")

    def __init__(self, entry: LoreEntry, depth: int, *, sticky: bool = False) -> None:
        self.entry = entry
        self.depth = depth
        self.sticky = sticky
        self._called = entry.constant or sticky
        self._keys: list[Key] | None = [] if self._called else None
        self._secondary: list[Key] = []

    def heard(self, passages: Sequence[Passages]) -> bool:
        """Whether the texts in `passages`, of which the last is new, trigger the entry."""
        entry = self.entry
        if self._keys is None:
            searched = {"case_sensitive": entry.case_sensitive, "whole_words": entry.whole_words}
            self._keys = keys_of(entry.keys, **searched)
            self._secondary = keys_of(entry.secondary_keys, **searched)
        self._called = self._called or any(self._found(key, passages[-1:]) for key in self._keys)
        if not self._called:
            return False
        if not self._secondary:
            return True
        matches = (self._found(key, passages) for key in self._secondary)
        if entry.logic == "and any":
            return any(matches)
        if entry.logic == "and all":
            return all(matches)
        return not (any(matches) if entry.logic == "not any" else all(matches))

    def _found(self, key: Key, passages: Sequence[Passages]) -> bool:
        return any(texts.nearest(key) < self.depth for texts in passages)
