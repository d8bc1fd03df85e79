"""Verbs for characters: single characters reply, each in a turn and a message of its own; the writer invents new
ones.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from bot import untrusted
from bot.events import Event, Notice, Request, Stage, Text, UserError
from bot.words import words
from bot.work import Run
from bot.works.story.log.logs import node
from bot.works.story.log.turn import SCENE
from bot.works.story.turn import context
from bot.works.story.turn.turn_plan import TurnPlan, frame_for
from bot.works.story.world import cast
from bot.works.story.world.cast import MOST_CHARACTERS, read_characters
from bot.works.story.world.order import mode_of
from bot.works.story.world.state import characters

if TYPE_CHECKING:
    from bot.works.story.log.logs import Logs
    from bot.works.story.log.story import Story
    from bot.works.story.turn.scene_verbs import SceneVerbs

MOST = 10
"""The maximum number of characters invented at once."""
WORDS = 60
"""The words allowed for each of them."""


@dataclass(frozen=True, slots=True)
class Invented:
    """The characters that a run has added, each as a line of Markdown; `known` lists those already in the cast."""

    lines: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)


class CastVerbs:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs) -> None:
        self._logs = logs
        self._scene_verbs = scene_verbs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Have one character reply, or all that may, one after another. After a stop the others do not reply."""
        request = run.request
        names = await run.step("speakers", lambda: self._speakers(request), list[str])
        for number, name in enumerate(names, 1):
            stage = SCENE if number == 1 else f"{SCENE}-{number}"
            reply = partial(self._reply, request, name, stage, last=number == len(names))
            plan = await run.step(f"turn-{number}", reply, TurnPlan)
            async with aclosing(self._scene_verbs.writer.scene(run, plan)) as events:
                async for event in events:
                    yield event
            now = await self._logs.story(request.place.space, plan.story, plan.branch)
            if all(scene.id != f"{run.id}/{stage}" for scene in now.turns[plan.turn].scenes):
                return  # after a failure the next replies would fail, too

    async def _speakers(self, request: Request) -> list[str]:
        """The characters whom the request asks to reply, in order. Raises UserError."""
        story = (await self._logs.writable(request)).story
        if story.head is None:
            raise UserError("story.nothing_yet")
        gm = story.settings.get("gm")
        if mode_of(story, self._scene_verbs.settings) == "gm" and gm not in (request.author.id, None):
            raise UserError("story.gm_speaks")
        word, name = cast.parse_typed(request.text, request.options)
        dead = {character.name.casefold() for character in characters(story).values() if character.dead}
        if word == "all" or (cast.is_all(name) and not cast.find(story, name)):
            if not (
                names := [speaker for speaker in cast.free_to_reply(story) if speaker.casefold() not in dead]
            ):
                raise UserError("story.nobody_speaks")
            return names
        speaker = cast.may_speak(story, name)
        if story.cast[speaker].get("muted"):
            raise UserError("story.muted_character", name=speaker)
        if speaker.casefold() in dead:
            raise UserError("story.dead_character", name=speaker)
        return [speaker]

    async def _reply(self, request: Request, name: str, stage: str, *, last: bool) -> TurnPlan:
        """The turn in which the character replies; it has no author, since no person wrote it."""
        key = stage.replace(SCENE, "act")
        played = await self._logs.played_in(request.place, request.id, f"{request.id}/{key}")
        if played is None:
            raise UserError("story.none_here")
        body = {"mode": "continue", "text": "", "name": "", "speaker": name}
        plan = await self._scene_verbs.append_turn(request, played, node(request.id, key, "act", body))
        return replace(plan, stage=stage, more=not last)

    async def invent(self, run: Run) -> AsyncGenerator[Event, None]:
        """Have the writer invent characters; existing ones are not changed."""
        request, say = run.request, words(run.request.locale)
        requested = request.options.get("write")
        count = min(max(requested, 1), MOST) if isinstance(requested, int) else 1

        def check(story: Story) -> None:
            if len(story.cast) + count > MOST_CHARACTERS:
                raise UserError("story.many_characters", limit=MOST_CHARACTERS)

        plan = await run.step("turn", lambda: self._scene_verbs.plan_task(request, check), TurnPlan)
        yield Stage("cast", say("story.invented"), answer=True)
        if plan.writer is None or plan.demo:
            yield Notice(say("story.no_inventor"))
            return
        story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        about = untrusted.data(request.text[:2_000])
        prompt = context.prompt(
            story, frame_for(plan, "story_cast", WORDS * count, count=str(count), about=about)
        )

        turn, scene = (story.head.id, story.head.scene) if story.head is not None else ("", None)
        after_scene = {"scene": scene.id} if scene is not None else {}

        async def invented() -> Invented:
            answer = await self._scene_verbs.models.with_roles(plan.roles).ask(run, "writer", "cast", prompt)
            now = await self._logs.story(request.place.space, plan.story, plan.branch)
            # After a crash the first ones exist already.
            appended = {row.id for row in await self._logs.stories.of_run(request.place.space, run.id)}
            characters = read_characters(answer.text, count)
            new = [
                (n, character)
                for n, character in enumerate(characters)
                if not cast.find(now, character.name) or f"{run.id}/cast-{n}" in appended
            ]
            nodes = [
                node(
                    run.id,
                    f"cast-{n}",
                    "cast",
                    {"name": character.name, "sheet": character.sheet} | after_scene,
                    turn=turn,
                )
                for n, character in new
            ]
            if nodes:
                await self._logs.stories.append(request.place.space, plan.story, plan.branch, nodes)
            lines = [
                f"- **{character.name}**: {character.about}{f' _{character.style}_' if character.style else ''}"
                for _, character in new
            ]
            new_names = {character.name for _, character in new}
            return Invented(
                lines, [character.name for character in characters if character.name not in new_names]
            )

        invention = await run.step("invented", invented, Invented)
        if not invention.lines and not invention.known:
            yield Text(say("story.none_invented"))
            return
        if invention.lines:
            yield Text("\n".join(invention.lines))
        if invention.known:
            yield Notice(say("story.known_already", names=", ".join(invention.known)))
        if invention.lines:
            yield Notice(say("story.how_to_change"))
