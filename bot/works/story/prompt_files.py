"""The prompts of the last scene as files, for whoever runs the bot.

Made anew from the log, so that words that were withdrawn since are in none of them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.events import Attachment, Event, Run, Stage, UserError
from bot.words import words
from bot.works.story import context
from bot.works.story.extraction import Version, before, events_for
from bot.works.story.turn_plan import TurnPlan, choices_task

if TYPE_CHECKING:
    from bot.llm.base import Prompt
    from bot.works.story.extraction import Extraction
    from bot.works.story.logs import Logs
    from bot.works.story.scene_verbs import SceneVerbs


class PromptFiles:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs, extraction: Extraction) -> None:
        self._logs = logs
        self._scene_verbs = scene_verbs
        self._extraction = extraction

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """The writer's prompts for the last scene and its choices, and the extractor's."""
        request, say = run.request, words(run.request.locale)
        space, scene_verbs = request.place.space, self._scene_verbs

        async def last() -> TurnPlan:
            played = await self._logs.played(request)
            head = played.story.head
            if head is None or head.scene is None:
                raise UserError("story.nothing_yet")
            plan = await scene_verbs.plan(request, played, head.id, head.scene.at or played.story.seq)
            return replace(plan, recalled=list(head.scene.recalled or ()), lore=list(head.scene.lore or ()))

        plan = await run.step("turn", last, TurnPlan)
        prompts = {"prompt_sent.json": await scene_verbs.prompt_of(space, plan)}
        now = await self._logs.story(space, plan.story, plan.branch)
        scene, task = now.turns[plan.turn].scene, choices_task(now, plan)
        prompts["prompt_sent_choices.json"] = context.then(
            prompts["prompt_sent.json"], scene.text if scene is not None else "", task, answer=plan.answer
        )
        if scene is not None and self._extraction.able(scene_verbs.models.with_roles(plan.roles)):
            version = Version(plan.turn, scene.id)
            events = events_for(now, before(now, version), plan.check)
            prompts["prompt_plot_extraction.json"] = await self._extraction.prompt_of(
                space, now, version, events
            )
        yield Stage("prompt", say("story.prompt_of"))
        for name, prompt in prompts.items():
            yield Attachment(name, "application/json", _as_json(prompt))


def _as_json(prompt: Prompt) -> bytes:
    messages = [
        {"role": message.role, "text": message.text, "cache": message.cache} for message in prompt.messages
    ]
    tree = {"system": prompt.system, "max_tokens": prompt.max_tokens, "messages": messages}
    return json.dumps(tree, ensure_ascii=False, indent=2).encode()
