"""Decides which entries of a lorebook stay from earlier scenes, and which have to wait: sticky, cooldown, delay.

It is computed from the earlier turns, each of which lists the entries in its prompt, so it is right on each branch and
after an undo. As in SillyTavern the unit is messages: a player's text is one, and a scene is one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from bot.works.story.log.turn import Turn
from bot.works.story.world.lorebook import LoreEntry


@dataclass(frozen=True, slots=True)
class LoreTiming:
    """The ids of the entries that stay, and of those that must not apply."""

    sticky: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()


def is_timed(entry: LoreEntry) -> bool:
    """Whether it matters when the entry last applied."""
    return entry.sticky > 0 or entry.cooldown > 0


def lore_timing(entries: Sequence[LoreEntry], before: Sequence[Turn], turn: Turn) -> LoreTiming:
    """The timing of the entries in `turn`, which follows the turns `before`."""
    entries = [entry for entry in entries if is_timed(entry) or entry.delay > 0]
    if not entries:
        return LoreTiming()
    counts, applied = list[int](), dict[str, list[int]]()
    messages = 0
    for at, earlier in enumerate(before):
        counts.append(messages := messages + _action_count(earlier))
        for id in earlier.timed_lore:
            applied.setdefault(id, []).append(at)
        messages += earlier.scene is not None
    counts.append(messages + _action_count(turn))
    sticky, waiting = set[str](), set[str]()
    for entry in entries:
        stays, cools = _effects(entry, applied.get(entry.id, ()), counts)
        if counts[-1] < entry.delay or (cools and not stays):
            waiting.add(entry.id)
        elif stays:
            sticky.add(entry.id)
    return LoreTiming(frozenset(sticky), frozenset(waiting))


def _action_count(turn: Turn) -> int:
    return 1 if turn.act.text.strip() or turn.act.withdrawn else 0


def _effects(entry: LoreEntry, applied: Sequence[int], counts: Sequence[int]) -> tuple[bool, bool]:
    """Whether the entry is sticky, and whether it cools down, in the last turn.

    `applied` are the indexes of the turns in which it applied, `counts` the numbers of messages up to each turn.
    """
    last = len(counts) - 1
    sticky = cooldown = 0  # the number of messages with which each ends
    for at in (*applied, last):
        if sticky and counts[at] >= sticky:
            # The cooldown begins with the turn in which the entry is no longer sticky.
            ended = counts[bisect_left(counts, sticky)]
            sticky, cooldown = 0, ended + entry.cooldown
        if counts[at] >= cooldown:
            cooldown = 0
        if at < last:
            sticky = sticky or (counts[at] + entry.sticky if entry.sticky else 0)
            cooldown = cooldown or (counts[at] + entry.cooldown if entry.cooldown else 0)
    return sticky > 0, cooldown > 0
