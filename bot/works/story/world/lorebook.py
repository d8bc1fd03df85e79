"""Which entries of a lorebook a scene calls up: World Info as SillyTavern has it, decided the same on every replay.

The meaning of each field is that of SillyTavern's manual (https://docs.sillytavern.app/usage/core-concepts/worldinfo/):
"Optional Filter", "Insertion Order", "Scan Depth", "Context % / Budget", "Recursive Scanning", "Case-sensitive keys",
"Match whole words", "Probability", "Inclusion Group", "Timed Effects", "Filter to Characters or Tags", and the three
flags of recursion. Lots follow from a seed, so that a replay draws the same; without one a `probability` of 0 is never,
any other always, and a `group` chooses nobody. Knows no story and no prompt.
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
"""What the secondary keys are for, in the order of SillyTavern's numbers (`selectiveLogic` 0 to 3)."""

LORE = 10_000
"""The most entries of a story."""
LORE_CHARS = 8_000
"""The longest entry."""
SWEEPS = 10
"""How often entries may call up others: SillyTavern's "Max Recursion Steps"."""

_CALLED = -1
"""The number of a message that every depth reaches: the content of an entry."""


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One entry: where `keys` (and `secondary_keys`, by `logic`) are found, its `content` goes into the prompt.

    `name` is for people. A `constant` entry needs no key. With `whole_words` a key of one word does not match inside
    another word. `depth` is how many messages are searched for this entry, if it differs from the book's.
    Of the entries that fit into the budget, the one with the highest `order` comes last; `position` puts them before or
    after the description of the cast, `at_depth` so many messages above the end. `probability` is a percentage. One
    entry of each `group` is chosen, by `weight`, or the `foremost` of highest order. The three recursion flags say
    whether other entries may call this one up, whether it may call up others, and whether only others may call it up.
    Once it has come up it stays for `sticky` messages, and does not come up again for `cooldown`; before there are
    `delay` messages it does not come up at all. With `characters` it is for these alone, or `not_for` these.
    `source` has an imported entry's other fields, as JSON.
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
        """Whether it is in every prompt, at the same place: only `enabled` decides."""
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
        """By which the entries of a scene stand: those at a depth last, the nearest to the end behind the others."""
        if self.at_depth is not None:
            return 2, -self.at_depth, self.order
        return int(self.position == "after"), 0, self.order

    def concerns(self, names: Collection[str]) -> bool:
        """Whether it is for one of these characters."""
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
    """The entries that go into the prompt, by rising `order`.

    `scanned` are the last messages, the newest first, of which `depth` are looked through. `tokens` counts those of a
    content, and all contents have at most `budget`: the `sticky` ones (ids) come first, then the constant entries, then
    those of higher `order`, then, where `recursive`, what the contents of these call up. The first that does not fit is
    the end, but for one that would never fit: that one is passed over. With a `seed` lots are drawn: the same for the
    same seed.
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
    """Whether its `probability` lets it come up."""
    return 100 * _lot(seed, "chance", entry.id) < entry.probability


def groups_of(entry: LoreEntry) -> list[str]:
    """The groups that it is in: SillyTavern has several in one text, parted by commas."""
    return [group for part in entry.group.split(",") if (group := part.strip())]


def _lot(seed: str, *of: str) -> float:
    """A number from 0 up to 1 that follows from the seed; 0 without one."""
    if not seed:
        return 0.0
    digest = sha256("\n".join((seed, *of)).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:6]) / 2**48


def _one_a_group(heard: Sequence[tuple[int, _Call]], groups: set[str], seed: str) -> list[tuple[int, _Call]]:
    """Those that are in no group, and of each group that has none yet one, drawn by weight; all without a seed.

    A sticky one of a group stays, and keeps the others out.
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
    """The number of the one that is chosen of a group."""
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
    """An entry that waits for its keys; a constant or a sticky one for none."""

    __slots__ = ("_called", "_keys", "_secondary", "depth", "entry", "sticky")

    def __init__(self, entry: LoreEntry, depth: int, *, sticky: bool = False) -> None:
        self.entry = entry
        self.depth = depth
        self.sticky = sticky
        self._called = entry.constant or sticky
        self._keys: list[Key] | None = [] if self._called else None
        self._secondary: list[Key] = []

    def heard(self, passages: Sequence[Passages]) -> bool:
        """Whether the entry is called up by what is in `passages`, of which the last is new."""
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
