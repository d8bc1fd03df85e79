"""The verbs of the table that ask no model: runs each, and shows its outcome and the messages that it changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.events import Changed, Choice, Choices, Event, Link, Request, Stage, Status, Text, UserError
from bot.words import Words, name_in, words
from bot.work import Run
from bot.works.story.extraction.stretches import is_line
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.log.nodes import MODES
from bot.works.story.log.turn import SCENE
from bot.works.story.scene.choices import scene_changed, words_of
from bot.works.story.table.about import about_lines
from bot.works.story.table.branch_verbs import BranchVerbs
from bot.works.story.table.notes import Notes
from bot.works.story.table.outcome import Messages, Outcome, ShownScene, title_of
from bot.works.story.table.party_verbs import party_node
from bot.works.story.table.safety import agreed_lines
from bot.works.story.table.versions import Versions
from bot.works.story.world import cast, to_come
from bot.works.story.world.order import (
    is_at_table,
    may_lead,
    mode_of,
    next_in_order,
    skip_body,
)

if TYPE_CHECKING:
    from bot.works.story.config import StoryConfig

LAST_LINES = 3
"""How many of the last lines of a chat log are shown when it is opened."""
IDEAS_SHOWN = 10
ABOUT = ("premise", "genre", "tone", "view", "tense", "length", "prose", "sheets", "mode", "note")
"""The settings that are shown."""


@dataclass(frozen=True, slots=True)
class Table:
    _logs: Logs
    _settings: StoryConfig
    _versions: Versions
    _branches: BranchVerbs
    _notes: Notes
    _messages: Messages

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        verbs: dict[str, Callable[[Request, Words], Awaitable[Outcome]]] = {
            "undo": self._versions.undo,
            "redo": self._versions.redo,
            "flip": self._versions.flip,
            "edit": self._versions.edit,
            **dict.fromkeys(("hide", "unhide"), self._versions.hide),
            "fork": self._branches.fork,
            "switch": self._branches.switch,
            "cast": self._notes.cast,
            "direct": self._notes.direct,
            "remember": self._notes.remember,
            "lore": self._notes.lore,
            "relation": self._notes.relation,
            "prose": self._notes.prose,
            "mode": self._mode,
            "pass": self._pass,
            "show": self._show,
            "open": self._branches.open,
            "ooc": self._ooc,
        }
        done = await run.step("done", lambda: verbs[request.verb](request, say), Outcome)
        if done.hush is not None:
            yield done.hush
        for place in done.taken_from:
            yield Status(say("story.waits_for_scene"))
            await self._branches.settled(place)
        yield Stage(request.verb, done.title)
        if done.key == "story.nothing_yet" and await run.step("told", lambda: self._has_scene(request), bool):
            yield Text(say("story.opened"))
            async with aclosing(self.posted(run)) as events:
                async for event in events:
                    yield event
            return
        text = done.text or say(done.key, **done.values)
        if done.key == "story.nothing_yet":  # once no other thread writes to it
            text = _last_text(await self._logs.played(request)) or text
        yield Text(text)
        for event in to_come.events_showing(run, done.coming, f"story {request.verb}", say):
            yield event
        if done.choices:
            yield Choices(say("story.what_now"), tuple(Choice(label, line) for label, line in done.choices))
        if done.form:
            new = Choice(say("story.new_character"), done.form, say("story.who_is_it"), form=True)
            yield Choices(say("story.add_to_cast"), (new,))
        if done.posts:
            await run.begin("posted", "posted", for_all=True)
        for shown in done.turns:
            if (played := await self._logs.played_in(request.place)) is None:
                return
            story, by = played.story, request.author.name
            if (turn := story.shown_turn(shown.turn)) is not None:
                yield scene_changed(story, turn, words_of(story, request), shown.speaker, by=by)

    async def _has_scene(self, request: Request) -> bool:
        """Whether the last turn has a scene, so that it is not a line of a chat log."""
        head = (await self._logs.played(request)).story.head
        return head is not None and head.scene is not None

    async def posted(self, run: Run) -> AsyncGenerator[Event, None]:
        """Post the present scene in a new message, which shows it from now on; the old message loses its buttons.

        If another run has begun this one, it does so only if no message shows the scene yet.
        """
        request = run.request

        async def mark_posted() -> list[ShownScene]:
            played = await self._logs.played(request)
            turn = played.story.head
            if turn is None or turn.scene is None or (request.parent and turn.shown_by):
                return []
            shown = await self._messages.shown(request, played.story, turn)
            body = {"scene": turn.scene.id, "run": run.id}
            await self._logs.append(played, node(run.id, "flip", "flip", body, turn=turn.id))
            return [shown] if shown is not None else []

        for before in await run.step("posted", mark_posted, list[ShownScene]):
            if (played := await self._logs.played_in(request.place)) is None:
                return
            say, turn = words_of(played.story, request), played.story.turns[before.turn]
            if turn is not played.story.head:  # the story may have continued after a crash
                return
            scene = scene_changed(played.story, turn, say, before.speaker)
            yield Stage(SCENE, scene.title, before.speaker, answer=True)
            for content in scene.contents:
                yield content
            if before.run:
                moved_to = (scene.contents[0], Link(run.id, say("story.where_it_goes_on")))
                yield Changed(
                    before.run, before.stage, scene.title, moved_to, in_place=True, speaker=before.speaker
                )

    async def _mode(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        mode = "-".join(request.text.casefold().split())
        if not mode:
            present = mode_of(played.story, self._settings)
            return Outcome("story.mode_is", {"mode": name_in(say, present, "mode")})
        if mode not in MODES:
            known = ", ".join(name_in(say, option, "mode") for option in MODES)
            raise UserError("story.no_mode", name=request.text.strip(), names=known)
        if mode == "gm" and not may_lead(played.story, request.author):
            raise UserError("story.only_gm")
        author = request.author.id
        body = {"mode": mode} | ({"gm": author} if mode == "gm" else {})
        nodes = [node(request.id, "set", "set", body, author=author)]
        if mode == "gm" and not is_at_table(played.story, author):
            nodes.append(party_node(request, played.story, here=True))  # otherwise the table would have none
        await self._logs.append(played, *nodes)
        return Outcome(f"story.mode_{mode.replace('-', '_')}")

    async def _pass(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.writable(request)
        if played.story.initiative is not None:
            raise UserError("story.initiative_pass")
        expected = next_in_order(played.story)
        if expected is None or played.story.head is None:
            raise UserError("story.nobody_waits")
        if request.author.id != expected[0] and not may_lead(played.story, request.author):
            raise UserError("story.only_gm_passes", name=expected[1])
        await self._logs.record(played, request, "set", skip_body(played.story))
        now = await self._logs.played_in(request.place)
        following = next_in_order(now.story) if now is not None else None
        return Outcome("story.passed", {"name": expected[1], "next": following[1] if following else "?"})

    async def _show(self, request: Request, say: Words) -> Outcome:
        played = await self._logs.played(request)
        story = played.story
        rows = await self._logs.stories.branches(request.place.space, played.row.id)
        branch = next((row.name for row in rows if row.id == played.branch), "")
        about = [
            say(
                "story.about",
                scenes=story.length,
                branch=branch or say("story.main_branch"),
                code=played.row.alias,
            ),
            *about_lines(story, ABOUT, say, await self._notes.styles()),
        ]
        about += agreed_lines(story, say)
        if numbers := [str(n) for n, id in enumerate(story.path[: story.length], 1) if id in story.hidden]:
            about.append(f"**{say('story.about_hidden')}:** {', '.join(numbers)}")
        if story.cast:
            about.append(cast.lines(story, say))
        ideas = [f"- {idea}" for idea in list(story.ideas.values())[-IDEAS_SHOWN:]]
        coming = [f"**{say('story.ideas')}:**", *ideas] if ideas else []
        return Outcome(
            text="\n\n".join(about),
            title=title_of(played.row, say),
            coming=to_come.for_person(story, request, coming),
        )

    async def _ooc(self, request: Request, say: Words) -> Outcome:
        return Outcome("story.talk")


def _last_text(played: PlayedStory) -> str:
    """The last scene, or the last lines of a chat log; "" before the first turn."""
    story, head = played.story, played.story.head
    if head is None or head.scene is not None:
        return head.scene.text if head is not None and head.scene is not None else ""
    last = [story.turns[id] for id in story.path[max(0, story.length - LAST_LINES) : story.length]]
    return "\n".join(f"> **{turn.act.name}**: {turn.act.text}" for turn in last if is_line(turn))
