"""`/story more`: continues a scene where it breaks off, as a new version of it in the same message."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.events import Event, Notice, Request, Speaker, Stage, Status, Text, UserError
from bot.words import words
from bot.work import Run
from bot.works.story.extraction.attribution import WatchedScene
from bot.works.story.log.logs import node
from bot.works.story.log.turn import SCENE
from bot.works.story.scene.choices import scene_changed, words_of
from bot.works.story.turn import context
from bot.works.story.turn.refusal import is_refusal
from bot.works.story.turn.turn_plan import TurnPlan, players

if TYPE_CHECKING:
    from bot.works.story.log.logs import Logs
    from bot.works.story.turn.scene_verbs import SceneVerbs

ENDS = (".", "!", "?", "…", '"', "”", "»", "*")
"""The ending of a scene that does not break off in the middle of a sentence."""


@dataclass(frozen=True, slots=True)
class CutScene:
    """The version of a scene that is continued, and the `run` whose message shows it."""

    plan: TurnPlan
    text: str
    run: str
    stage: str
    speaker: Speaker | None = None


class Continuation:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs) -> None:
        self._logs = logs
        self._scene_verbs = scene_verbs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        cut = await run.step("turn", lambda: self._cut_scene(request), CutScene)
        plan = cut.plan
        yield Stage("more", "")
        if plan.writer is None:
            yield Notice(say("story.needs_writer"))
            return
        yield Status(say("story.lengthening", n=plan.n))
        added = await run.step("written", lambda: self._continue(run, cut), str)
        if not added:
            yield Text(say("story.nothing_added", n=plan.n))
            return
        yield Text(say("story.longer", n=plan.n))
        if not cut.run:
            await run.begin("posted", "posted", for_all=True)
        story = await self._logs.story(request.place.space, plan.story, plan.branch)
        if (turn := story.shown_turn(plan.turn)) is not None:
            yield scene_changed(story, turn, words_of(story, request), cut.speaker)

    async def _cut_scene(self, request: Request) -> CutScene:
        """The scene to continue. Raises UserError if there is none."""
        played = await self._logs.writable(request)
        head = played.story.head
        if head is None or (scene := head.scene) is None:
            raise UserError("story.nothing_yet")
        plan = await self._scene_verbs.plan_again(request, played, head)
        return CutScene(plan, scene.text, head.shown_by, head.stage, plan.speaker)

    async def _continue(self, run: Run, cut: CutScene) -> str:
        """Ask for the rest of the scene, and store the whole as a version; returns the rest, "" for none."""
        plan, space, writer = cut.plan, run.request.place.space, self._scene_verbs.writer
        asked = await writer.prompt_of(space, plan, await writer.lore_of(space, plan))
        task = "\n".join(plan.prompts["story_more"].fill(words=str(plan.words)))
        later = context.follow_up(asked, cut.text, task, answer=plan.answer)
        models = self._scene_verbs.models.with_roles(plan.roles)
        answer = await models.ask(run, "writer", "more", later)
        rest = answer.text.strip()
        if not rest or answer.finish == "refusal" or is_refusal(rest):
            return ""
        story = await self._logs.story(space, plan.story, plan.branch)
        rest = WatchedScene(players(story, plan), stop=True).feed(rest, last=True).strip()
        if not rest or plan.turn in story.withdrawn_turns:  # a stop card was played meanwhile
            return ""
        between = "\n\n" if cut.text.rstrip().endswith(ENDS) else " "
        body: dict[str, Any] = {"text": f"{cut.text.rstrip()}{between}{rest}", "at": plan.at}
        body |= {"run": cut.run or run.id}
        if plan.recalled is not None:
            body["recalled"] = [[part.turns, part.start, part.chars] for part in plan.recalled]
        if plan.lore is not None:
            body["lore"] = plan.lore
        if cut.stage != SCENE:
            body["stage"] = cut.stage
        scene = node(run.id, "scene", "scene", body, turn=plan.turn)
        await self._logs.stories.append(space, plan.story, plan.branch, [scene])
        return rest
