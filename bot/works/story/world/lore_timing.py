"""Which entries of a lorebook a scene keeps from earlier scenes, and which have to wait: sticky, cooldown, delay.

All of it follows from the turns before, of which each knows the entries that its writer was told; so it is right on
each branch, and after an undo. As in SillyTavern these are counted in messages: what a player writes is one, and a
scene is one. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from bot.works.story.log.turn import Turn
from bot.works.story.world.lorebook import LoreEntry


@dataclass(frozen=True, slots=True)
class LoreTiming:
    """The entries that stay, and those that must not come up, by their ids."""

    sticky: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()


def is_timed(entry: LoreEntry) -> bool:
    """Whether it matters when the entry came up."""
    return entry.sticky > 0 or entry.cooldown > 0


def lore_timing(entries: Sequence[LoreEntry], before: Sequence[Turn], turn: Turn) -> LoreTiming:
    """That of a turn that comes after those `before`."""
    entries = [entry for entry in entries if is_timed(entry) or entry.delay > 0]
    if not entries:
        return LoreTiming()
    counts, told = list[int](), dict[str, list[int]]()
    messages = 0
    for at, earlier in enumerate(before):
        counts.append(messages := messages + _acts(earlier))
        for id in earlier.timed_lore:
            told.setdefault(id, []).append(at)
        messages += earlier.scene is not None
    counts.append(messages + _acts(turn))
    sticky, waiting = set[str](), set[str]()
    for entry in entries:
        stays, cools = _effects(entry, told.get(entry.id, ()), counts)
        if counts[-1] < entry.delay or (cools and not stays):
            waiting.add(entry.id)
        elif stays:
            sticky.add(entry.id)
    return LoreTiming(frozenset(sticky), frozenset(waiting))


def _acts(turn: Turn) -> int:
    return 1 if turn.act.text.strip() or turn.act.withdrawn else 0


def _effects(entry: LoreEntry, told: Sequence[int], counts: Sequence[int]) -> tuple[bool, bool]:
    """Whether the entry is sticky, and whether it cools down, in the last turn.

    `told` are the numbers of the turns whose writers were told it, and `counts` how many messages there were in each.
    """
    last = len(counts) - 1
    sticky = cooldown = 0  # how many messages there are when it ends
    for at in (*told, last):
        if sticky and counts[at] >= sticky:
            # The turn that finds it no longer sticky lets it cool down.
            ended = counts[bisect_left(counts, sticky)]
            sticky, cooldown = 0, ended + entry.cooldown
        if counts[at] >= cooldown:
            cooldown = 0
        if at < last:
            sticky = sticky or (counts[at] + entry.sticky if entry.sticky else 0)
            cooldown = cooldown or (counts[at] + entry.cooldown if entry.cooldown else 0)
    return sticky > 0, cooldown > 0
