"""Computes a script's figures from its pages, without a model. Pure; contains no words for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from bot.works.script.model import Scene, Script


@dataclass(frozen=True, slots=True)
class Presence:
    """A character, and the numbers of the scenes in which they speak."""

    name: str
    scenes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Eighths of a page by INT and EXT, by the time of day and by place, the longest first; speakers, by number of
    scenes.

    `together[i][j]`: in how many scenes both `presences[i]` and `presences[j]` speak; `dialogue`: the share of dialogue
    in the words of dialogue and action, 0 to 1.
    """

    settings: tuple[tuple[str, int], ...]
    lights: tuple[tuple[str, int], ...]
    places: tuple[tuple[str, int], ...]
    presences: tuple[Presence, ...]
    together: tuple[tuple[int, ...], ...]
    dialogue: float

    def pairs(self) -> Iterator[tuple[int, str, str]]:
        """For each pair of speakers who share scenes: the number of scenes, and their names."""
        names = [presence.name for presence in self.presences]
        for row, column in combinations(range(len(self.together)), 2):
            if count := self.together[row][column]:
                yield count, names[row], names[column]


MOST_TOGETHER = 12
"""How many characters are in the matrix: those who speak in the most scenes."""


def report(script: Script) -> Report:
    """Counts a script's figures."""
    settings: Counter[str] = Counter()
    lights: Counter[str] = Counter()
    places: Counter[str] = Counter()
    speaking: dict[str, list[int]] = {}
    for scene in script.scenes:
        settings[scene.heading.setting] += scene.eighths
        lights[scene.light] += scene.eighths
        places[scene.heading.place] += scene.eighths
        for name in scene.characters:
            speaking.setdefault(name, []).append(scene.number)
    presences = tuple(
        Presence(name, tuple(scenes))
        for name, scenes in sorted(speaking.items(), key=lambda entry: -len(entry[1]))
    )
    scene_sets = [set(presence.scenes) for presence in presences[:MOST_TOGETHER]]
    together = tuple(
        tuple(len(row_scenes & column_scenes) for column_scenes in scene_sets) for row_scenes in scene_sets
    )
    dialogue_words = sum(scene.dialogue_words for scene in script.scenes)
    action_words = sum(scene.action_words for scene in script.scenes)
    return Report(
        tuple(settings.most_common()),
        tuple(lights.most_common()),
        tuple(places.most_common()),
        presences,
        together,
        dialogue_words / (dialogue_words + action_words) if dialogue_words + action_words else 0.0,
    )


def figures(script: Script) -> dict[str, Any]:
    """The scenes and their sums, for JSON. `counted` marks a length that was measured instead of read from the file."""
    return {
        "title": script.title,
        "scenes": [_scene(scene) for scene in script.scenes],
        "totals": {
            "scenes": len(script.scenes),
            "eighths": sum(scene.eighths for scene in script.scenes),
            "dual": sum(scene.dual for scene in script.scenes),
            "characters": len(script.characters),
            "words": script.words,
        },
    }


def _scene(scene: Scene) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "number": scene.number,
        "heading": scene.heading.text,
        "eighths": scene.eighths,
        "characters": list(scene.characters),
        "dialogue_words": scene.dialogue_words,
        "action_words": scene.action_words,
        "dual": scene.dual,
    }
    return figures | {"counted": True} if scene.counted else figures
