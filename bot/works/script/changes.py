"""Compares two drafts of a script scene by scene. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bot.works.script.model import Scene, Script

_SAME_HEADING: Final = 0.15
_OTHER_HEADING: Final = 0.5
"""The minimum shares of common words (Dice's coefficient) of one rewritten scene, with the same and another heading."""
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
    """The changes between two drafts. Scenes are matched by content, then by heading and by similarity of words."""
    by_content: defaultdict[str, list[int]] = defaultdict(list)
    for scene in reversed(before.scenes):
        by_content[scene.content].append(scene.number)
    same = [
        (by_content[scene.content].pop(), scene.number) for scene in now.scenes if by_content[scene.content]
    ]
    matched_old = {number for number, _ in same}
    matched_new = {number for _, number in same}
    old = {scene.number: scene for scene in before.scenes if scene.number not in matched_old}
    added = {scene.number: scene for scene in now.scenes if scene.number not in matched_new}
    changed: list[tuple[int, int]] = []
    for _, _, old_number, new_number in sorted(_likenesses(old.values(), added.values())):
        if old_number in old and new_number in added:
            changed.append((old_number, new_number))
            del old[old_number], added[new_number]
    return Changes(tuple(same), tuple(sorted(changed, key=lambda pair: pair[1])), tuple(old), tuple(added))


def _likenesses(before: Iterable[Scene], now: Iterable[Scene]) -> list[tuple[bool, float, int, int]]:
    """Pairs that may be one scene: whether the headings differ, the dissimilarity, and both numbers."""
    words = {scene.number: Counter(scene.text.casefold().split()) for scene in before}
    headings = {scene.number: _heading(scene) for scene in before}
    scenes_with: defaultdict[str, list[int]] = defaultdict(list)
    for number, counts in words.items():
        for word in (*counts, headings[number]):
            scenes_with[word].append(number)
    pairs = []
    for scene in now:
        scene_words, heading = Counter(scene.text.casefold().split()), _heading(scene)
        candidates = {
            number
            for word in (*scene_words, heading)
            if len(scenes_with.get(word, ())) <= _COMMON
            for number in scenes_with.get(word, ())
        }
        for number in candidates:
            other_heading = headings[number] != heading
            shared = sum((scene_words & words[number]).values())
            likeness = 2 * shared / max(1, scene_words.total() + words[number].total())
            if likeness >= (_OTHER_HEADING if other_heading else _SAME_HEADING):
                pairs.append((other_heading, -likeness, number, scene.number))
    return pairs


def _heading(scene: Scene) -> str:
    """A key for the heading's setting, place and time."""
    heading = scene.heading
    return f"{heading.setting}\x1f{heading.place}\x1f{heading.time}"
