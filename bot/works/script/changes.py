"""Compares two drafts of a script scene by scene. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bot.works.script.model import Scene, Script

_SAME_HEADING: Final = 0.15
_OTHER_HEADING: Final = 0.5
"""The minimum share of common words (Dice's coefficient) for two scenes with different headings to count as one scene
rewritten.
"""
_COMMON: Final = 40
"""A word in more scenes than this is no reason to compare two of them."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes by the scenes' numbers: `same` and `changed` as (before, now), `cut` from the old draft, `new` in the
    new one.
    """

    same: tuple[tuple[int, int], ...]
    changed: tuple[tuple[int, int], ...]
    cut: tuple[int, ...]
    new: tuple[int, ...]


def changes(before: Script, now: Script) -> Changes:
    """Match scenes by content, in order; then those with the same heading, then any others, the most similar first."""
    by_content: defaultdict[str, list[int]] = defaultdict(list)
    for scene in reversed(before.scenes):
        by_content[scene.content].append(scene.number)
    same = [
        (by_content[scene.content].pop(), scene.number) for scene in now.scenes if by_content[scene.content]
    ]
    matched_old = {number for number, _ in same}
    matched_new = {number for _, number in same}
    old = {scene.number: scene for scene in before.scenes if scene.number not in matched_old}
    fresh = {scene.number: scene for scene in now.scenes if scene.number not in matched_new}
    changed: list[tuple[int, int]] = []
    for _, _, old_number, new_number in sorted(_likenesses(old.values(), fresh.values())):
        if old_number in old and new_number in fresh:
            changed.append((old_number, new_number))
            del old[old_number], fresh[new_number]
    return Changes(tuple(same), tuple(sorted(changed, key=lambda pair: pair[1])), tuple(old), tuple(fresh))


def _likenesses(before: Iterable[Scene], now: Iterable[Scene]) -> list[tuple[bool, float, int, int]]:
    """Pairs that may be one scene: whether the headings differ, the dissimilarity, and both numbers."""
    words = {scene.number: Counter(scene.text.casefold().split()) for scene in before}
    headings = {scene.number: _heading(scene) for scene in before}
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for number, counted in words.items():
        for word in (*counted, headings[number]):
            holding[word].append(number)
    pairs = []
    for scene in now:
        own, named = Counter(scene.text.casefold().split()), _heading(scene)
        candidates = {
            number
            for word in (*own, named)
            if len(holding.get(word, ())) <= _COMMON
            for number in holding.get(word, ())
        }
        for number in candidates:
            other_heading = headings[number] != named
            shared = sum((own & words[number]).values())
            likeness = 2 * shared / max(1, own.total() + words[number].total())
            if likeness >= (_OTHER_HEADING if other_heading else _SAME_HEADING):
                pairs.append((other_heading, -likeness, number, scene.number))
    return pairs


def _heading(scene: Scene) -> str:
    named = scene.heading
    return f"{named.setting}\x1f{named.place}\x1f{named.time}"
