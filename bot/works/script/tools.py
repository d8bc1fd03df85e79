"""The tools with which a model, or code in its place, looks things up in a script. A `scene_number` is a scene's
position, from 1.

Plain functions; `bot.llm.tools` decides who calls them, and how often.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from bot.llm.base import Tool, ToolOutput
from bot.retrieval.results import Passage
from bot.works.script.length import pages
from bot.works.script.model import first_pages, speaker
from bot.works.script.report import Report, report

if TYPE_CHECKING:
    from bot.words import Words
    from bot.works.script.analysis import Analysis
    from bot.works.script.model import Scene, Script
    from bot.works.script.scene_search import Floats, SceneSearch

SCENE_CHARS: Final = 12_000
"""The maximum length of a scene that a model reads; a note says that the rest is left out."""
SCENES: Final = 10
"""The maximum number of scenes in one call."""
NEIGHBOURS: Final = 5
RESULTS, MOST_RESULTS = 5, 20
RARE_WORDS: Final = 8
"""How many rare words of a scene are used to find similar scenes."""
LISTED: Final = 80
"""The maximum number of scenes in one list."""
PARTS: Final = 4
"""The number of parts for which figures are given: a quarter is about the first act, another the third."""

_NUMBER: Final = {"type": "integer", "minimum": 1, "description": "The scene's place in the script, from 1."}
_NUMBERS: Final = {"type": "array", "items": _NUMBER, "minItems": 1, "maxItems": SCENES}
_NEIGHBOURS: Final = {"type": "integer", "minimum": 0, "maximum": NEIGHBOURS}


class ScriptTools:
    """The tools of one script, for one answer."""

    def __init__(
        self,
        id: str,
        script: Script,
        search: SceneSearch,
        analysis: Analysis,
        cosines: Callable[[str], Awaitable[Floats | None]] | None = None,
    ) -> None:
        """`cosines` returns the cosine of each scene with a query, None without vectors (see `likeness`)."""
        self._cosines = cosines
        self._analysis = analysis
        self._id = id
        self._script = script
        self._search = search
        self._first_pages = first_pages(script.scenes)

    @cached_property
    def report(self) -> Report:
        return report(self._script)

    async def get_scene(self, scene_number: int) -> ToolOutput:
        """One scene's words."""
        return self._scenes([scene_number])

    async def get_scenes(self, scene_numbers: list[int]) -> ToolOutput:
        """Several scenes' words."""
        return self._scenes(scene_numbers)

    async def get_scene_context(self, scene_number: int, neighbor_count: int = 1) -> ToolOutput:
        """A scene, with those before and after it."""
        return await self.get_scenes_context([scene_number], neighbor_count)

    async def get_scenes_context(self, scene_numbers: list[int], neighbor_count: int = 1) -> ToolOutput:
        """Several scenes, each with those before and after it."""
        last = len(self._script.scenes)
        nearby = {
            number
            for central in scene_numbers
            if 1 <= central <= last
            for number in range(central - neighbor_count, central + neighbor_count + 1)
            if 1 <= number <= last
        }
        return self._scenes(
            [*sorted(nearby), *(number for number in scene_numbers if not 1 <= number <= last)]
        )

    async def get_character_scenes(self, character_name: str) -> ToolOutput:
        """Where a character speaks or is mentioned, and how their part is distributed over the script."""
        name = self._character(character_name)
        if name is None:
            speakers = ", ".join(self._script.characters[:40])
            return ToolOutput(
                f"Nobody of this name speaks in the script. Those who speak: {speakers}.", failed=True
            )
        speaking = [scene for scene in self._script.scenes if name in scene.characters]
        lines = [
            f"{name} speaks in {len(speaking)} of {len(self._script.scenes)} scenes, first in scene "
            f"{speaking[0].number}, last in scene {speaking[-1].number}. By quarters of the script: "
            f"{', '.join(map(str, self._quarters(speaking)))} scenes."
        ]
        if (sheet := self._analysis.sheet(name)) is not None:
            lines.append(f"{sheet.who} {sheet.arc}")
        lines += [self._line(scene) for scene in speaking[:LISTED]]
        if len(speaking) > LISTED:
            lines.append(f"… and {len(speaking) - LISTED} more.")
        arc = dict.fromkeys((speaking[0], speaking[len(speaking) // 2], speaking[-1]))
        return ToolOutput("\n".join(lines), tuple(self._passage(scene, 0.5) for scene in arc))

    async def search_script(
        self, query: str, filters: dict[str, str] | None = None, limit: int = RESULTS
    ) -> ToolOutput:
        """The scenes nearest to a query, among those that match the filters."""
        wanted_fields = {
            name: value.strip().upper() for name, value in (filters or {}).items() if value.strip()
        }

        def allowed(scene: Scene) -> bool:
            scene_fields = {
                "character": " · ".join(scene.characters),
                "place": scene.heading.place,
                "setting": scene.heading.setting,
                "time": f"{scene.heading.time} {scene.light.upper()}",
            }
            return all(value in scene_fields[name] for name, value in wanted_fields.items())

        cosines = await self._cosines(query) if self._cosines is not None else None
        matches = self._search.ranked(query, limit, allowed, cosines)
        best = (matches[0][0] if matches else 0.0) or 1.0
        return ToolOutput(
            "" if matches else "No scene has these words.",
            tuple(self._passage(scene, score / best) for score, scene in matches),
            failed=not matches,
        )

    async def analyze_pacing(self) -> ToolOutput:
        """Lengths and shares of dialogue, for the whole script and for its quarters."""
        scenes = self._script.scenes
        lengths = [scene.eighths for scene in scenes]
        by_length = sorted(scenes, key=lambda scene: -scene.eighths)
        longest = "; ".join(f"scene {scene.number} ({pages(scene.eighths)})" for scene in by_length[:5])
        lines = [
            f"{len(scenes)} scenes, {pages(sum(lengths))} pages; a scene has {pages(round(median(lengths)))} pages in "
            f"the median. The longest: {longest}."
        ]
        for part in range(PARTS):
            group = scenes[len(scenes) * part // PARTS : len(scenes) * (part + 1) // PARTS]
            if group:
                dialogue = sum(scene.dialogue_words for scene in group)
                share = 100 * dialogue // max(1, dialogue + sum(scene.action_words for scene in group))
                eighths = sum(scene.eighths for scene in group)
                mean = pages(round(eighths / len(group)))
                lines.append(
                    f"Scenes {group[0].number} to {group[-1].number}: {pages(eighths)} pages, "
                    f"{mean} a scene, {share} % dialogue."
                )
        return ToolOutput("\n".join(lines))

    async def get_plot_threads(self) -> ToolOutput:
        """The plot's threads with their scenes, and the acts; or else what the pages say: the writer's own sections and
        synopses, and which characters often meet.
        """
        outline = outlined(self._script)
        if (whole := self._analysis.whole) is not None and whole.threads:
            lines = (
                [] if self._analysis.current else ["Of an earlier draft; scenes' numbers may have changed."]
            )
            lines += [f"{act.title} (scenes {act.first} to {act.last}): {act.summary}" for act in whole.acts]
            lines += [
                f"{thread.title}: {thread.summary} Scenes: {', '.join(map(str, thread.scenes))}."
                for thread in whole.threads
            ]
            return ToolOutput("\n".join([*lines, *outline]))
        pairs = sorted((pair for pair in self.report.pairs() if pair[0] > 1), reverse=True)
        lines = ["No plot threads have been worked out for this script; this is what its pages say."]
        lines += ["The writer's own outline:", *outline] if outline else []
        lines += [
            f"{first_name} and {second_name} are together in {count} scenes."
            for count, first_name, second_name in pairs[:12]
        ]
        return ToolOutput("\n".join(lines))

    async def get_scene_relationships(self, scene_number: int) -> ToolOutput:
        """Related scenes: by place, by speakers, by rare words."""
        if (scene := self._scene(scene_number)) is None:
            return self._no_scene([scene_number])
        others = [candidate for candidate in self._script.scenes if candidate is not scene]
        same_place = [
            candidate
            for candidate in others
            if scene.heading.place and candidate.heading.place == scene.heading.place
        ]
        characters = set(scene.characters)
        same_characters = sorted(
            (candidate for candidate in others if characters.intersection(candidate.characters)),
            key=lambda candidate: (
                -len(characters.intersection(candidate.characters)),
                abs(candidate.number - scene.number),
            ),
        )
        similar = [
            candidate
            for _, candidate in self._search.ranked(self._search.rarest(scene.text, RARE_WORDS), 6)
            if candidate is not scene
        ]
        threads = self._analysis.whole.threads if self._analysis.whole and self._analysis.current else []
        scene_threads = [thread for thread in threads if scene_number in thread.scenes]
        groups = (
            ("The same place", same_place),
            ("The same characters", same_characters),
            ("Like words", similar),
        )
        lines = [f"Scene {scene.number}: {self._line(scene)}"]
        for title, scenes in groups:
            if scenes:
                lines += [f"{title}:", *(self._line(candidate) for candidate in scenes[:12])]
        lines += [
            f"Thread “{thread.title}”: scenes {', '.join(map(str, thread.scenes))}"
            for thread in scene_threads
        ]
        return ToolOutput("\n".join(lines), (self._passage(scene, 1.0),))

    def offered(self, say: Words) -> tuple[Tool, ...]:
        """The tools in the form in which a model gets them."""
        filters = {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("character", "place", "setting", "time")},
            "additionalProperties": False,
            "description": 'Only scenes that fit; "setting" is INT or EXT, "time" such as NIGHT.',
        }
        name = {"type": "string", "description": "The character's name, as the cues have it."}
        limit = {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS}
        single, several = {"scene_number": _NUMBER}, {"scene_numbers": _NUMBERS}
        around = {"neighbor_count": _NEIGHBOURS}
        descriptions: tuple[tuple[Any, str, dict[str, Any], str], ...] = (
            (self.get_scene, "Get one scene, whole.", single, "reading_scene"),
            (self.get_scenes, "Get several scenes, whole.", several, "reading_scene"),
            (self.get_scene_context, "Get a scene with its neighbours.", single | around, "reading_scene"),
            (
                self.get_scenes_context,
                "Get several scenes with their neighbours.",
                several | around,
                "reading_scene",
            ),
            (
                self.get_character_scenes,
                "Get all scenes in which a character speaks, and how their part runs over the script.",
                {"character_name": name},
                "following",
            ),
            (
                self.search_script,
                "Search the scenes by words of the script's own language, and get those that come nearest.",
                {"query": {"type": "string"}, "filters": filters, "limit": limit},
                "searching",
            ),
            (self.analyze_pacing, "Get lengths and shares of dialogue over the script.", {}, "measuring"),
            (self.get_plot_threads, "Get the plot threads and the outline.", {}, "threads"),
            (
                self.get_scene_relationships,
                "Get which scenes a scene belongs with: by place, characters and words.",
                single,
                "relating",
            ),
        )
        optional = ("neighbor_count", "filters", "limit")
        return tuple(
            Tool(
                call.__name__,
                description,
                {
                    "type": "object",
                    "properties": properties,
                    "required": [name for name in properties if name not in optional],
                    "additionalProperties": False,
                },
                call,
                say(f"script.{label}"),
            )
            for call, description, properties, label in descriptions
        )

    def _scene(self, number: int) -> Scene | None:
        return self._script.scenes[number - 1] if 1 <= number <= len(self._script.scenes) else None

    def _scenes(self, numbers: Sequence[int]) -> ToolOutput:
        scenes = [self._scene(number) for number in dict.fromkeys(numbers)]
        missing = [number for number in numbers if self._scene(number) is None]
        passages = [self._passage(scene, 1.0) for scene in scenes if scene is not None][: SCENES * 2]
        if not passages:
            return self._no_scene(missing)
        return ToolOutput(self._no_scene(missing).text if missing else "", tuple(passages))

    def _no_scene(self, numbers: Iterable[int]) -> ToolOutput:
        scene_numbers = ", ".join(map(str, numbers))
        return ToolOutput(
            f"There is no scene {scene_numbers}: the scenes are 1 to {len(self._script.scenes)}.", failed=True
        )

    def _character(self, name: str) -> str | None:
        """The character that a name means: an exact match, or else the only one whose name contains it."""
        speaker_name, _ = speaker(name)
        characters = self._script.characters
        if speaker_name in characters:
            return speaker_name
        matches = [name for name in characters if speaker_name and speaker_name in name.split()]
        return matches[0] if len(matches) == 1 else None

    def _quarters(self, scenes: Iterable[Scene]) -> list[int]:
        counts = [0] * PARTS
        for scene in scenes:
            counts[(scene.number - 1) * PARTS // len(self._script.scenes)] += 1
        return counts

    def _line(self, scene: Scene) -> str:
        """A scene's `card`, and its events if it is analysed."""
        return f"{card(scene, self._first_pages[scene.number - 1])}. {self._analysis.card(scene)}".rstrip(
            ". "
        )

    def _passage(self, scene: Scene, score: float) -> Passage:
        text = scene.text
        return Passage(
            chunk=f"{self._id}:{scene.number}",
            document=self._id,
            source=self._script.title,
            title=self._script.title,
            heading=f"Scene {scene.number} · {scene.heading.text}",
            page=self._first_pages[scene.number - 1],
            text=text if len(text) <= SCENE_CHARS else f"{text[:SCENE_CHARS]}…",
            score=score,
            section=scene.number,
        )


def card(scene: Scene, page: int) -> str:
    """A scene on one line: number, page, length, heading and speakers."""
    cast = f"; {', '.join(scene.characters)}" if scene.characters else ""
    return f"Scene {scene.number} (p. {page}, {pages(scene.eighths)}): {scene.heading.text}{cast}"


def outlined(script: Script) -> list[str]:
    """The writer's own sections and synopses, each with the scene that follows or contains it."""
    lines = [
        f"before scene 1: {element.text}"
        for element in script.opening
        if element.kind in ("section", "synopsis")
    ]
    for scene in script.scenes:
        lines += [
            f"scene {scene.number}: {' '.join(element.text.split())}"
            for element in scene.elements
            if element.kind in ("section", "synopsis")
        ]
    return lines[:LISTED]
