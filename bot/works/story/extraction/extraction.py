"""Extraction: the extractor, a small model, notes who is where, what happened, and what contradicts the state.

This is a run of its own after a scene was shown, in a queue for each branch: no turn waits for it. It also reads
earlier scenes that were left out, and the last lines of an imported chat log.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot import untrusted
from bot.events import Event, UserError
from bot.llm.base import Message, Prompt, room
from bot.words import Words, words
from bot.work import Run
from bot.works.story.extraction import continuity
from bot.works.story.extraction.findings import Findings
from bot.works.story.extraction.stretches import as_scene, is_line, lines_back, stretches
from bot.works.story.extraction.summaries import Summaries
from bot.works.story.log.logs import node
from bot.works.story.log.nodes import KINDS
from bot.works.story.log.story import Story
from bot.works.story.log.turn import KeyEvent, Scene, Turn
from bot.works.story.scene.choices import scene_changed, words_of
from bot.works.story.sheet.proposals import proposals
from bot.works.story.sheet.sheet import as_prompt
from bot.works.story.world import arc, cast, state, threads
from bot.works.story.world.agreement import agreed
from bot.works.story.world.enlisting import offered_people

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.events import OptionValue, Request
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.story.config import StoryConfig
    from bot.works.story.log.logs import Logs

PROMPT: Final = "story_extract"
AT_ONCE: Final = 5
"""How many scenes one run reads, the oldest first (a whole interval, if that is longer); the next run continues."""
SCENE_CHARS: Final = 12_000
CHARS: Final = 300
"""The maximum length of one finding."""
FOUND: Final = 20
"""The maximum number of findings of one kind from a scene."""
NAME_CHARS: Final = 80
ANSWER_WORDS: Final = 600
TRIES: Final = 3
"""How many runs try a scene whose answers cannot be used."""
OF_SCENE: Final = ("model.format", "model.refusal", "model.empty", "model.context", "model.bad_request")
"""Errors that depend on the scene: the next scene is tried."""
OF_EITHER: Final = ("model.server", "model.timeout", "model.cut")
"""Errors that may depend on the scene: the next scene is tried, and if that fails too, the run ends."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Version:
    """A scene to read, and its turn; or `turns` lines of a chat log, of which `turn` is the last, with its act as
    `scene`.
    """

    turn: str
    scene: str
    turns: int = 1


@dataclass(frozen=True, slots=True)
class Look:
    """The events to look for in a scene and the threads open before it; `there` is False once it is withdrawn."""

    there: bool
    events: list[KeyEvent]
    threads: list[KeyEvent] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StateBefore:
    """What came before a version of a scene: the turns, and the characters with people's corrections."""

    turns: list[Turn]
    characters: dict[str, state.Character]


@dataclass(frozen=True, slots=True)
class Extraction:
    _logs: Logs
    _models: Models
    _prompts: Prompts
    _roles: Callable[[Request], Awaitable[dict[str, list[str]]]]
    _own_names: Callable[[Request], Awaitable[bool]]
    _settings: StoryConfig
    _summaries: Summaries

    async def begin(self, run: Run) -> bool:
        """After a turn, begin a run that reads the branch's scenes if enough are unread; returns whether there is an
        extractor.
        """
        models = self._models.with_roles(await self._roles(run.request))
        if not self.is_available(models):
            return False

        async def branch() -> list[str]:
            played = await self._logs.played_in(run.request.place)
            # The table's agreement is checked in each scene.
            every = 1 if played is not None and agreed(played.story) else self._settings.extract_every
            if played is None or len(self.missing(played.story)) < every:
                return []
            return [played.row.id, played.branch]

        target = await run.step("extracts", branch, list[str])
        if target:
            await _extract(run, *target)
        return True

    def is_available(self, models: Models) -> bool:
        can = models.capabilities("extractor")
        return self._settings.extract and can is not None and not can.demo

    def extracted_turns(self, story: Story, of_last: int) -> int:
        """How many of the first turns have no scene that the extractor still has to read, given that all but the last
        `of_last` have none.
        """
        last = story.current_turns[-of_last:]
        waiting = {version.turn for version in _scenes(last, TRIES)}
        waiting |= {turn.id for turn in last if not turn.scenes and not is_line(turn)}  # it is being written
        before = next((n for n, turn in enumerate(last) if turn.id in waiting), len(last))
        return story.length - len(last) + before

    def missing(self, story: Story, *, again: bool = True) -> list[Version]:
        """The unread scenes that count, the oldest first, and then the unread lines of a chat log.

        With `again` those that failed are included, until they have failed TRIES times.
        """
        tries = TRIES if again else 1
        logged = [
            Version(stretch[-1].id, stretch[-1].act.id, len(stretch))
            for stretch in stretches(story, self._settings.extract_lines)
            if stretch[-1].failed < tries
        ]
        return _scenes(story.current_turns, tries) + logged

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Read the branch's scenes that were not read yet; contradictions are posted under the scene.

        If more are left than one run reads, the next run is begun; failed scenes wait for the next turn's run.
        """
        request, space = run.request, run.request.place.space
        story, branch = str(request.options["story"]), str(request.options["branch"])

        async def unread() -> list[Version]:
            now = await self._logs.story(space, story, branch)
            # At least a whole interval, since the rest would wait for as many more.
            at_once = max(AT_ONCE, self._settings.extract_every)
            again = not request.options.get("goes_on")
            return self.missing(now, again=again)[:at_once]

        async def remaining() -> int:
            return len(self.missing(await self._logs.story(space, story, branch), again=False))

        roles = await run.step("roles", lambda: self._roles(request), dict[str, list[str]])
        models, doubtful = self._models.with_roles(roles), False
        for number, version in enumerate(await run.step("scenes", unread, list[Version]), 1):
            look = partial(self._look_for, space, story, branch, version)
            looked = await run.step(f"events-{number}", look, Look)
            if not looked.there:
                continue
            now = await self._logs.story(space, story, branch)
            if version.turn in now.withdrawn_turns:
                continue
            prompt = await self.prompt_of(space, now, version, looked.events, looked.threads)
            try:
                findings = await models.json(run, "extractor", f"extract-{number}", prompt, Findings)
            except UserError as error:
                _log.info("scene %s is not looked into: %s", version.scene, error)
                if error.key in OF_SCENE:
                    await self._append(
                        run, story, branch, version, number, {"failed": _failed(now, version) + 1}
                    )
                    continue
                if doubtful or error.key not in OF_EITHER:  # for instance no service, no money
                    return
                doubtful = True
                continue
            now = await self._logs.story(space, story, branch)
            say, turn = words(request.locale), now.turns[version.turn]
            scene = scene_of(now, version)
            earlier = state_before(now, version)
            if not agreed(now):
                findings = replace(findings, crossed=[])
            body = node_body(findings, earlier, looked.events, turn, scene, say, looked.threads)
            names = offered_people(now, earlier.turns, earlier.characters, body["state"])
            if names and scene is not None:
                body["noticed"] = names
            if scene is not None and (changes := proposals(now, findings.changes, words_of(now, request))):
                body["changes"] = changes
            if stretch := stretch_of(now, version):
                texts = [*body["events"], *(memory["text"] for memory in body["memories"])]
                body |= {"turns": version.turns, "lines": lines_back(texts, stretch)}
            await self._append(
                run, story, branch, version, number, body, scene.author if scene is not None else ""
            )
            now = await self._logs.story(space, story, branch)
            turn = now.turns[version.turn]
            scene = turn.scene
            # Also under an earlier scene, since the next turn does not wait; pressed buttons stay disabled.
            if (
                scene is not None
                and scene.id == version.scene
                and (scene.flags or scene.crossed or body.get("noticed") or body.get("changes"))
                and turn.id in now.path[: now.length]
            ):
                own = bool(turn.act.speaker) and await self._own_names(request)
                speaker = cast.speaker(now, turn.act.speaker, own=own)
                yield scene_changed(now, turn, words_of(now, request), speaker)
        made = await self._summaries.make(run, story, branch, models)
        if made or (not doubtful and await run.step("left", remaining, int) >= self._settings.extract_every):
            await _extract(run, story, branch, goes_on=True)

    async def _append(
        self, run: Run, story: str, branch: str, version: Version, number: int, body: dict[str, Any],
        author: str = "",
    ) -> None:  # fmt: skip
        """Append an "extracted" node; `author` is the person who wrote the scene, "" for the writer."""
        body = body | {"scene": version.scene}
        extracted_node = node(
            run.id, f"extracted-{number}", "extracted", body, turn=version.turn, author=author
        )
        await self._logs.stories.append(run.request.place.space, story, branch, [extracted_node])

    async def _look_for(self, space: str, story: str, branch: str, version: Version) -> Look:
        now = await self._logs.story(space, story, branch)
        mode = str(now.settings.get("plot_check_mode") or self._settings.plot_check_mode)
        events, opened = events_for(now, state_before(now, version), mode), threads_for(now, version)
        return Look(scene_of(now, version) is not None or bool(stretch_of(now, version)), events, opened)

    async def prompt_of(
        self,
        space: str,
        story: Story,
        version: Version,
        events: Sequence[KeyEvent],
        opened: Sequence[KeyEvent] = (),
    ) -> Prompt:
        """The extractor's prompt for a scene or for lines of a chat log."""
        scene, lines = scene_of(story, version), stretch_of(story, version)
        turn = story.turns[version.turn]
        text = as_scene(lines) if lines else scene.text if scene is not None else ""
        characters = state.as_prompt(state_before(story, version).characters)
        wording = (await self._prompts.wording(space, PROMPT)).text
        system, task = wording.fill(
            cast=untrusted.data(", ".join(dict.fromkeys([*story.cast, *(line.act.name for line in lines)]))),
            state="\n".join(
                part for part in (characters, as_prompt(story) if scene is not None else "") if part
            ),
            events=_numbered(events),
            threads=_numbered(opened),
            scene=untrusted.data(text[:SCENE_CHARS]),
            turn="" if lines else untrusted.data(turn.act.text),
            agreed=agreed(story),
        )
        return Prompt(system, (Message("user", task),), max_tokens=room(ANSWER_WORDS, "low"), effort="low")


async def _extract(run: Run, story: str, branch: str, *, goes_on: bool = False) -> None:
    options: dict[str, OptionValue] = {"story": story, "branch": branch, "goes_on": goes_on}
    await run.begin("extract", "extracted", options=options, line=f"extract:{branch}")


def _scenes(turns: Sequence[Turn], tries: int) -> list[Version]:
    """The scenes that count and were not read yet, except those that failed `tries` times."""
    return [
        Version(turn.id, scene.id)
        for turn in turns
        if turn.scenes
        and (scene := turn.scene) is not None
        and scene.text
        and scene.extracted is None
        and scene.failed < tries
    ]


def _failed(story: Story, version: Version) -> int:
    scene, turn = scene_of(story, version), story.turns.get(version.turn)
    return scene.failed if scene is not None else turn.failed if turn is not None else 0


def scene_of(story: Story, version: Version) -> Scene | None:
    """The scene, unless it was withdrawn; None for lines of a chat log."""
    if (turn := story.turns.get(version.turn)) is None:
        return None
    return next((scene for scene in turn.versions if scene.id == version.scene), None)


def stretch_of(story: Story, version: Version) -> list[Turn]:
    """The lines of a chat log to read; none for a scene, or if the turn no longer counts."""
    if version.turn not in story.path[: story.length]:
        return []
    end = story.path.index(version.turn) + 1
    lines = [story.turns[id] for id in story.path[max(0, end - version.turns) : end]]
    return lines if lines[-1].act.id == version.scene and all(map(is_line, lines)) else []


def before_turns(story: Story, turn: str) -> list[Turn]:
    """The turns that count and come before this one."""
    turns = story.current_turns
    try:
        return turns[: story.path.index(turn, 0, story.length)]
    except ValueError:
        return turns


def state_before(story: Story, version: Version) -> StateBefore:
    """The state before this version was written, with the corrections that were made after earlier versions."""
    turns = before_turns(story, version.turn)
    turns = turns[: len(turns) - version.turns + 1]
    characters, scenes = state.characters(story, turns), story.turns[version.turn].scenes
    at = next((n for n, scene in enumerate(scenes) if scene.id == version.scene), -1)
    corrections = story.corrections.get(version.turn, ())
    state.apply_corrections(
        characters, [correction for correction in corrections if correction.versions <= at]
    )
    return StateBefore(turns, characters)


def events_for(story: Story, before: StateBefore, mode: str) -> list[KeyEvent]:
    """The chapter's events to look for in a scene, or its climax once all have happened; and the arc's milestone."""
    milestone = arc.current(story, before.turns)
    heading = [KeyEvent(milestone.id, milestone.text)] if milestone is not None else []
    return [*_chapter_events(story, before, mode), *heading]


def _chapter_events(story: Story, before: StateBefore, mode: str) -> list[KeyEvent]:
    if not (chapters := state.chapters(story, before.turns)):
        return []
    chapter, happened = chapters[-1], state.happened_ids(story, before.turns)
    if events := state.events_to_check(chapter, happened, mode):
        return events
    return [KeyEvent(chapter.id, chapter.climax)] if chapter.climax and chapter.id not in happened else []


def threads_for(story: Story, version: Version) -> list[KeyEvent]:
    """The newest plot threads that are open before this version, with people's changes after its turn."""
    now = threads.open_threads(story, state_before(story, version).turns, version.turn)
    return [KeyEvent(thread.id, thread.text) for thread in now[-threads.ASKED :]]


def _numbered(events: Sequence[KeyEvent]) -> str:
    return "\n".join(f"{n}. {untrusted.data(event.text)}" for n, event in enumerate(events, 1))


def node_body(
    findings: Findings,
    before: StateBefore,
    events: Sequence[KeyEvent],
    turn: Turn,
    scene: Scene | None,
    say: Words,
    opened: Sequence[KeyEvent] = (),
) -> dict[str, Any]:
    """The body of the "extracted" node for the extractor's findings, cut to a story's limits.

    `events` and `opened` are the numbered lists of the prompt; other numbers are ignored. Lines of a chat log have no
    `scene`, and nothing is flagged for them, since they were played elsewhere.
    """
    rows = list[dict[str, Any]]()
    contradictions = [line for text in findings.contradictions[:FOUND] if (line := _line(text))]
    for character in findings.characters[:FOUND]:
        if not (name := _line(character.character)[:NAME_CHARS]):
            continue
        earlier = before.characters.get(name.casefold())
        fields = {part: _line(getattr(character, part)) for part in state.FIELDS}
        relations = [[_line(to.other)[:NAME_CHARS], _line(to.feeling)] for to in character.relations[:FOUND]]
        row = {
            "name": earlier.name if earlier is not None else name,
            **fields,
            "dead": character.dead,
            "present": character.present,
        }
        rows.append(row | {"relations": [pair for pair in relations if all(pair)]})
    memories = [
        {"character": _line(memory.character)[:NAME_CHARS], "kind": memory.kind, "text": _line(memory.text)}
        for memory in findings.memories[:FOUND]
        if memory.kind in KINDS and _line(memory.character) and _line(memory.text)
    ]
    happened = {check.number for check in findings.key_events if check.happened}
    place = _line(findings.place)
    places = (
        earlier_turn.extracted.place
        for earlier_turn in reversed(before.turns)
        if earlier_turn.extracted is not None
    )
    last_place = next(filter(None, places), "")
    flags = list[str]()
    if scene is not None:
        by_code = continuity.flags(rows, before.characters, place, last_place, scene.text, turn.act.text, say)
        flags = list(dict.fromkeys([*by_code, *contradictions]))[:FOUND]
    return {
        "summary": _line(findings.summary),
        "place": place,
        "time": _line(findings.time),
        "state": rows,
        "memories": memories,
        "events": [line for text in findings.events[:FOUND] if (line := _line(text))],
        "done": [event.id for n, event in enumerate(events, 1) if n in happened],
        "flags": flags,
        "crossed": [line for text in findings.crossed[:FOUND] if (line := _line(text))],
        "opened": [
            {"id": f"{scene.id if scene is not None else turn.act.id}/{n}", "text": text}
            for n, text in enumerate(threads.new_texts(map(_line, findings.opened), opened), 1)
        ],
        "closed": [thread.id for n, thread in enumerate(opened, 1) if n in findings.closed],
    }


def _line(text: str) -> str:
    return " ".join(text[: 2 * CHARS].split())[:CHARS]
