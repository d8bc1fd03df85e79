"""Outlines of chapters by the writer, from an idea or from the story; a chapter begins at once, and can be changed."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bot import untrusted
from bot.events import Choices, Event, Notice, Stage, Text, UserError
from bot.words import words
from bot.work import Run
from bot.works.story import limits
from bot.works.story.log.logs import node
from bot.works.story.turn import context
from bot.works.story.turn.turn_plan import TurnPlan, frame_for
from bot.works.story.world import arc, state, to_come
from bot.works.story.world.arc_verb import arc_answer, arc_nodes, may_change
from bot.works.story.world.world_verbs import (
    CHAPTERS,
    OPTIONS,
    TEXT_CHARS,
    TITLE_CHARS,
    VALUE_CHARS,
    chapter_answer,
)

if TYPE_CHECKING:
    from bot.works.story.log.logs import Logs
    from bot.works.story.log.story import Story
    from bot.works.story.turn.scene_verbs import SceneVerbs

MOST: Final = 12
"""The maximum number of events in an outline."""
WORDS: Final = 40
"""The words allowed for each line of an outline."""
ABOUT_CHARS: Final = limits.ABOUT_CHARS
_LINE: Final = re.compile(r"(?:\d{1,2}[.)]\s*)?([^\W_]+)(?:\s*\d{1,2})?[*_]{0,2}\s*[:|]\s*(\S.*)")
_LISTED: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+(\S.*)")
_DECORATION: Final = "#*_-•>| \t"
_NAMES: Final = {
    **dict.fromkeys(("title", "chapter", "título", "titulo", "capítulo", "capitulo"), "title"),
    **dict.fromkeys(("location", "place", "where", "local", "lugar", "onde"), "location"),
    **dict.fromkeys(("time", "when", "tempo", "época", "epoca", "quando"), "time"),
    **dict.fromkeys(("scenario", "begins", "cenário", "cenario", "começo"), "scenario"),
    **dict.fromkeys(("event", "events", "evento", "eventos", "key_events"), "event"),
    **dict.fromkeys(("climax", "clímax"), "climax"),
    **dict.fromkeys(("resolution", "resolução", "resolucao", "desfecho"), "resolution"),
}


@dataclass(frozen=True, slots=True)
class Outline:
    """An outline by the writer; `title` is "" if the writer gave none. `fields` are OPTIONS by name."""

    title: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)


class Outlines:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs) -> None:
        self._logs = logs
        self._scene_verbs = scene_verbs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Begin the next chapter; what the request specifies takes precedence over the outline."""
        request, say = run.request, words(run.request.locale)
        requested = request.options.get("write")
        count = min(max(requested, 1), MOST) if isinstance(requested, int) else 1

        def check(story: Story) -> None:
            if len(state.chapters(story)) >= CHAPTERS:
                raise UserError("story.many_chapters", limit=CHAPTERS)

        plan = await run.step("turn", lambda: self._scene_verbs.plan_task(request, check), TurnPlan)
        if plan.writer is None or plan.demo:
            yield Stage("chapter", "")
            yield Notice(say("story.no_outliner"))
            return
        story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        about = untrusted.data(request.text[:ABOUT_CHARS])
        frame = frame_for(plan, "story_chapter", WORDS * (count + 6), count=str(count), about=about)
        prompt = context.prompt(story, frame)

        async def outlined() -> bool:
            completion = await self._scene_verbs.models.with_roles(plan.roles).ask(
                run, "writer", "chapter", prompt
            )
            outline = read_outline(completion.text, count)
            if not outline.title:
                return False
            fields_given = {name: str(request.options[name]) for name in OPTIONS if request.options.get(name)}
            events = [{"id": f"{run.id}/{n}", "text": text} for n, text in enumerate(outline.events, 1)]
            body: dict[str, Any] = {"id": run.id, "title": outline.title, "key_events": events}
            if story.head is not None and story.head.scene is not None:
                body["scene"] = story.head.scene.id
            body |= outline.fields | {name: text[:TEXT_CHARS] for name, text in fields_given.items()}
            author = request.author.id if fields_given else ""
            chapter_node = node(run.id, "chapter", "chapter", body, turn=story.head_id, author=author)
            await self._logs.stories.append(request.place.space, plan.story, plan.branch, [chapter_node])
            return True

        if not await run.step("outlined", outlined, bool):
            yield Stage("chapter", "")
            yield Text(say("story.none_outlined"))
            return
        now = await self._logs.story(request.place.space, plan.story, plan.branch)
        chapter = chapter_answer(now, request, say)
        yield Stage("chapter", chapter.title, answer=True)
        yield Text(chapter.text)
        for event in to_come.events_showing(run, chapter.coming, "story chapter", say):
            yield event
        yield Notice(say("story.chapter_begun"))

    async def arc(self, run: Run) -> AsyncGenerator[Event, None]:
        """Have the writer outline the arc of the story; it applies at once, and can be changed."""
        request, say = run.request, words(run.request.locale)
        requested = request.options.get("write")
        count = min(max(requested, arc.ACTS), arc.MOST) if isinstance(requested, int) else arc.ACTS

        def check(story: Story) -> None:
            may_change(story, request)

        plan = await run.step("turn", lambda: self._scene_verbs.plan_task(request, check), TurnPlan)
        if plan.writer is None or plan.demo:
            yield Stage("arc", "")
            yield Notice(say("story.no_arc_writer"))
            return
        story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        about = untrusted.data(request.text[:ABOUT_CHARS])
        prompt = context.prompt(
            story, frame_for(plan, "story_arc", WORDS * count, count=str(count), about=about)
        )

        async def outlined() -> bool:
            models = self._scene_verbs.models.with_roles(plan.roles)
            completion = await models.ask(run, "writer", "arc", prompt)
            if milestones := arc.read(completion.text, 0)[:count]:
                nodes = arc_nodes(story, milestones, run.id, story.head_id)
                await self._logs.stories.append(request.place.space, plan.story, plan.branch, nodes)
            return bool(milestones)

        written = await run.step("outlined", outlined, bool)
        now = await self._logs.story(request.place.space, plan.story, plan.branch)
        shown = arc_answer(now, request, say)
        yield Stage("arc", shown.title, answer=True)
        yield Text(shown.text if written else say("story.none_outlined_arc"))
        for event in to_come.events_showing(run, shown.coming, "story arc", say):
            yield event
        if to_come.may_show(run, shown.coming):
            yield Choices("", tuple(shown.choices))


def read_outline(text: str, most: int) -> Outline:
    """Parse the outline that a model wrote, as lines or as JSON: the first of each part, and at most `most` events."""
    title, events, fields = "", list[str](), dict[str, str]()
    for name, value in [*_from_json(text)] or _from_lines(text):
        text_of_line, field_name = " ".join(value.strip('*_ "“”').split()), _NAMES.get(name.casefold())
        if not any(map(str.isalnum, text_of_line)):
            continue
        if field_name == "title":
            title = title or text_of_line[:TITLE_CHARS]
        elif field_name == "event":
            events.append(text_of_line[:VALUE_CHARS])
        elif field_name is not None:
            fields.setdefault(field_name, text_of_line[:TEXT_CHARS])
    return Outline(title, fields, list(dict.fromkeys(events))[:most])


def _from_json(text: str) -> Iterator[tuple[str, str]]:
    try:
        tree, _ = json.JSONDecoder().raw_decode(text, max(0, text.find("{")))
    except (ValueError, RecursionError):
        return
    for name, value in tree.items() if isinstance(tree, dict) else ():
        for item in value if isinstance(value, list) else [value]:
            text_of_item = item.get("text") if isinstance(item, dict) else item
            if isinstance(text_of_item, str):
                yield str(name), text_of_item


def _from_lines(text: str) -> Iterator[tuple[str, str]]:
    """The requested fields, from lines; lines of a list below a heading "Events:" are events, too."""
    listing = False
    for line in text.splitlines():
        plain = line.strip(_DECORATION)
        match = _LINE.fullmatch(plain)
        if match is not None and match[1].casefold() in _NAMES:
            listing = False
            yield match[1], match[2]
        elif _NAMES.get(plain.rstrip(":* ").casefold()) == "event":
            listing = True
        elif listing and (listed := _LISTED.match(line)):
            yield "event", listed[1]
