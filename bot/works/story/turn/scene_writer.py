"""Writes the scene of a planned turn: finds lore and past scenes, asks the writer, stores the scene, offers choices."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bot import untrusted
from bot.budget import text_tokens
from bot.events import Choices, Event, Hush, Notice, Speak, Speaking, Stage, Text, UserError
from bot.llm.base import Message, Prompt, room
from bot.words import Words
from bot.work import Run
from bot.works.story.log.logs import Logs, node
from bot.works.story.log.turn import SAID, SCENE, Excerpt
from bot.works.story.memory.excerpts import as_prompt, excerpts, query_of
from bot.works.story.scene.choices import (
    buttons_after,
    buttons_after_refusal,
    read_choices,
    stop_card_changed,
    stopcard_button,
    words_of,
)
from bot.works.story.screen.entries import writer_secrets
from bot.works.story.turn import context
from bot.works.story.turn.refusal import is_refusal
from bot.works.story.turn.scene_draft import SceneDraft
from bot.works.story.turn.turn_plan import (
    TurnPlan,
    applying_entries,
    choices_task,
    lore_search,
    parts,
    players,
    prompt,
)
from bot.works.story.world.lore_timing import is_timed
from bot.works.story.world.state import turns_unknown_to

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.works.story.config import RecallConfig, StoryConfig
    from bot.works.story.log.story import Story
    from bot.works.story.memory.memory import Memory
    from bot.works.story.world.lorebook import LoreEntry

SPLIT_WORDS = 5
"""The minimum number of words in a turn that is split into sub-queries."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SceneWriter:
    _logs: Logs
    _models: Models
    _settings: StoryConfig
    _memory: Memory
    _recall: RecallConfig

    async def scene(self, run: Run, plan: TurnPlan) -> AsyncGenerator[Event, None]:
        """Write the scene and offer choices for continuing, unless a stop card has withdrawn the turn."""
        story = await self._logs.story(run.request.place.space, plan.story, plan.branch)
        say = words_of(story, run.request)
        if plan.turn in story.withdrawn_turns:  # played while the run was interrupted by a crash
            yield Stage(plan.stage, "")
            yield Text(say("story.carded"))
            return
        if plan.said_by is not None:
            yield Stage(SAID, "", plan.said_by)
            yield Text(story.turns[plan.turn].act.text)
        async with aclosing(self._scene(run, plan, say)) as events:
            async for event in events:
                yield event

    async def _scene(self, run: Run, plan: TurnPlan, say: Words) -> AsyncGenerator[Event, None]:
        space = run.request.place.space
        if plan.lore is None and plan.lore_near:
            near = await run.step(f"lore-{plan.turn}", lambda: self._similar_lore(space, plan), list[str])
            plan = replace(plan, lore=near)
        lore = await self.lore_of(space, plan)
        if plan.recalled is None and plan.recall_tokens and plan.n > plan.recent + plan.batch:
            story = await self._logs.story(space, plan.story, plan.branch, plan.at)
            asked = parts(story, plan, lore)
            recalled = await run.step(
                f"recalled-{plan.turn}",
                lambda: self._recall_scenes(run, plan, asked.full_turns),
                list[Excerpt],
            )
            plan = replace(plan, recalled=recalled)
            story = await self._logs.story(space, plan.story, plan.branch, plan.at)
            prompt_sent = replace(asked, recalled=as_prompt(story, recalled)).prompt()
        else:
            prompt_sent = await self.prompt_of(space, plan, lore)
        card = stopcard_button(plan.turn, say)
        yield Stage(plan.stage, say("story.scene", n=plan.n), plan.speaker, meanwhile=card, answer=True)
        if run.request.files:
            yield Notice(say("story.file_unread"))
        if plan.branched:
            yield Notice(say("story.edited_branched", name=plan.branched))
        for line in plan.rolls:
            yield Text(f"🎲 {line}\n\n")
        if plan.demo and plan.opening:
            yield Notice(say("story.demo"))
        if plan.writer is None:
            yield Notice(say("story.no_writer"))
            return
        story = await self._logs.story(space, plan.story, plan.branch, plan.at)
        draft = SceneDraft(self._models.with_roles(plan.roles), run, plan, players(story, plan))
        narrator = plan.speaker.name if plan.speaker else "narrator"
        if plan.before is not None and plan.before.again:
            yield Hush(plan.before.run, plan.before.stage)
        yield Speaking(plan.stage, narrator)
        try:
            async with aclosing(draft.events(prompt_sent, say)) as events:
                async for event in events:
                    yield event
        except UserError as error:
            yield Notice(say(error.key, **error.values))
        finally:
            # Also after a stop: what was shown is part of the story.
            if text := draft.text:
                await self._store(run, plan, text, draft.acted_for, lore, stopped=draft.completion is None)
        if not (plan.before is not None and plan.before.again):
            now = await self._logs.story(space, plan.story, plan.branch)
            if (card_message := stop_card_changed(now, plan.turn, say)) is not None:
                yield card_message
        if plan.before is not None:  # this late, since on some platforms it would delay the first words
            now = await self._logs.story(space, plan.story, plan.branch)
            if (previous_message := plan.before.changed(now, say)) is not None:
                yield previous_message
        text, completion = draft.text, draft.completion
        if plan.hint:
            yield Notice(say("story.hinted", hint=plan.hint))
        if draft.acted_for:
            yield Notice(say("story.acts_for", names=", ".join(draft.acted_for)))
        if completion is not None and completion.finish == "refusal":
            yield Notice(say("story.finish_refusal"))
            yield buttons_after_refusal(plan.turn, say)
        elif not text:
            yield Notice(say("story.nothing_written"))
        elif completion is not None and completion.finish in ("length", "cut") and not plan.demo:
            yield Notice(say(f"story.finish_{completion.finish}"))
        elif text in (message.text for message in prompt_sent.messages[-4:]):
            yield Notice(say("story.repeated"))
        if text:
            yield Speak(text, plan.stage, narrator)
        if plan.more:
            yield Choices("", (card,))
            return
        offered: list[str] = []
        if text and completion is not None and (completion.finish == "end" or plan.demo) and plan.choices:
            # Secrets for the scene's writer must not influence what the players are offered.
            openly = replace(plan, told=False)
            asked_before = await self.prompt_of(space, openly, lore) if writer_secrets(story) else prompt_sent
            offered = await run.step(
                "choices", lambda: self._choices(run, plan, asked_before, text), list[str]
            )
        story_now = await self._logs.story(space, plan.story, plan.branch)
        turn = story_now.turns.get(plan.turn)
        cut = bool(text) and not plan.demo and (completion is None or completion.finish != "end")
        for group in buttons_after(offered, turn, say, votes=plan.votes, cut=cut):
            yield group

    async def prompt_of(self, space: str, plan: TurnPlan, lore: Sequence[LoreEntry]) -> Prompt:
        """The prompt for the turn; `lore` comes from `lore_of`."""
        return prompt(await self._logs.story(space, plan.story, plan.branch, plan.at), plan, lore)

    async def lore_of(self, space: str, plan: TurnPlan) -> list[LoreEntry]:
        """The lorebook's entries that apply to the turn. The lorebook may be long, so it is searched in a thread."""
        story = await self._logs.story(space, plan.story, plan.branch, plan.at)
        return (
            await asyncio.to_thread(applying_entries, *lore_search(story, plan), plan) if story.lore else []
        )

    async def _similar_lore(self, space: str, plan: TurnPlan) -> list[str]:
        """The ids of the lorebook's entries that are nearest to the turn in meaning."""
        story = await self._logs.story(space, plan.story, plan.branch, plan.at)
        text = query_of(story, story.turns[plan.turn], self._recall).text
        return await self._memory.lore(
            space, plan.story, story, text, plan.lore_near, self._settings.lore_likeness
        )

    async def _recall_scenes(self, run: Run, plan: TurnPlan, in_prompt: Collection[str]) -> list[Excerpt]:
        """Excerpts of past scenes that are relevant to the turn, except of the turns that are in the prompt anyway."""
        space = run.request.place.space
        story = await self._logs.story(space, plan.story, plan.branch, plan.at)
        turn = story.turns[plan.turn]
        without = {turn.id, *in_prompt, *story.hidden}
        if turn.act.speaker:  # a character knows only the scenes where it was present
            without |= turns_unknown_to(story, turn.act.speaker)
        query = query_of(story, turn, self._recall)
        query = replace(query, parts=await self._sub_queries(run, plan, query.text))
        return await excerpts(
            self._memory,
            space,
            plan.story,
            plan.branch,
            story,
            query,
            self._recall,
            plan.recall_tokens,
            without,
        )

    async def _sub_queries(self, run: Run, plan: TurnPlan, text: str) -> tuple[str, ...]:
        """The turn's sub-queries; none without a separate small model, or if that is late."""
        models, by = self._models.with_roles(plan.roles), self._recall
        can = models.capabilities("extractor")
        if can is None or can.demo or models.describe("extractor") == plan.writer:
            return ()  # a further call of the writer would delay the first words
        if not by.decomposition or len(text.split()) < SPLIT_WORDS:
            return ()
        system, task = plan.prompts["story_parts"].fill(text=untrusted.data(text), most=str(by.sub_queries))
        prompt_of_parts = Prompt(system, (Message("user", task),), max_tokens=room(20 * by.sub_queries, None))
        try:
            answer = await models.ask(run, "extractor", "parts", prompt_of_parts, within=by.seconds)
        except UserError as error:
            _log.info("a turn of %s is searched for as a whole: %s", run.id, error)
            return ()
        return tuple(read_choices(answer.text, by.sub_queries))

    async def _store(
        self,
        run: Run,
        plan: TurnPlan,
        text: str,
        acted_for: Sequence[str],
        lore: Sequence[LoreEntry],
        *,
        stopped: bool,
    ) -> None:
        body: dict[str, Any] = {"text": text, "at": plan.at}
        if acted_for:
            body["acts_for"] = list(acted_for)
        if plan.recalled is not None:
            body["recalled"] = [[part.turns, part.start, part.chars] for part in plan.recalled]
        if plan.lore is not None:
            body["lore"] = plan.lore
        if lore:
            body["lore_tokens"] = sum(text_tokens(entry.content) for entry in lore)
        if timed := [entry.id for entry in lore if is_timed(entry)]:
            body["timed_lore"] = timed
        if plan.stage != SCENE:
            body["stage"] = plan.stage
        if stopped:
            body["stopped"] = True
        nodes = [node(run.id, plan.stage, "scene", body, turn=plan.turn)]
        if plan.hint:  # a person's words need a node of their own
            hint = {"scene": nodes[0].id, "text": plan.hint}
            author = run.request.author.id
            nodes.append(node(run.id, f"{plan.stage}-hint", "hint", hint, turn=plan.turn, author=author))
        await self._logs.stories.append(run.request.place.space, plan.story, plan.branch, nodes)

    async def _choices(self, run: Run, plan: TurnPlan, asked: Prompt, scene: str) -> list[str]:
        """Choices for continuing, stored with the scene; none if the writer is late."""
        story = await self._logs.story(run.request.place.space, plan.story, plan.branch)
        if plan.demo:
            choices = words_of(story, run.request)("story.demo_choices").split("|")[: plan.choices]
        else:
            choices = await self._asked_choices(run, plan, story, asked, scene)
        if choices:
            body = {"scene": f"{run.id}/{plan.stage}", "choices": choices}
            choices_node = node(run.id, "choices", "choices", body, turn=plan.turn)
            await self._logs.stories.append(run.request.place.space, plan.story, plan.branch, [choices_node])
        return choices

    async def _asked_choices(
        self, run: Run, plan: TurnPlan, story: Story, asked: Prompt, scene: str
    ) -> list[str]:
        """Choices by the writer; none if it is late or refuses."""
        task = choices_task(story, plan)
        # As text, not by a schema: on some services another response format voids the cache.
        later = context.follow_up(asked, scene, task, answer=min(room(25 * plan.choices, None), plan.answer))
        try:
            models = self._models.with_roles(plan.roles)
            completion = await models.ask(run, "writer", "choices", later, within=plan.seconds)
        except UserError as error:
            _log.info("no choices for %s: %s", run.id, error)
            return []
        refused = completion.finish == "refusal" or is_refusal(completion.text)
        return [] if refused else read_choices(completion.text, plan.choices)
