"""Questions to the writer outside the story, ideas and suggestions; also how full its window is, and its prompts."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from bot import untrusted
from bot.events import Attachment, Choice, Choices, Event, Notice, Request, Stage, Text, UserError
from bot.words import words
from bot.work import Run
from bot.works.story.extraction.extraction import Version, events_for, state_before, threads_for
from bot.works.story.log.logs import node
from bot.works.story.log.story import Story
from bot.works.story.scene.choices import label, present_buttons_owner, read_choices
from bot.works.story.screen.entries import is_master
from bot.works.story.turn import context
from bot.works.story.turn.brainstorm import Brainstorm, read_brainstorm
from bot.works.story.turn.context import Parts
from bot.works.story.turn.turn_plan import TurnPlan, choices_task, frame_for, parts
from bot.works.story.world import asides, cast, state, to_come
from bot.works.story.world.selves import own_character

if TYPE_CHECKING:
    from bot.llm.base import Prompt
    from bot.words import Words
    from bot.works.story.extraction.extraction import Extraction
    from bot.works.story.log.logs import Logs
    from bot.works.story.turn.scene_verbs import SceneVerbs

ANSWER_WORDS = 200
"""The words of the game master's answer, and of a list of ideas."""
IDEAS = 5
SUGGESTIONS = 3
FILLED_CHARS = 1_800
"""The maximum length of the ideas that a window keeps for continuing."""
EVENTS = 4
"""The number of events in a chapter made from an idea."""
BAR = 20
"""The width of a full bar, in characters."""


class Questions:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs, extraction: Extraction) -> None:
        self._extraction = extraction
        self._logs = logs
        self._scene_verbs = scene_verbs

    async def ask(self, run: Run) -> AsyncGenerator[Event, None]:
        """Answer a question to the game master from the story, without adding to it."""
        request, say = run.request, words(run.request.locale)

        async def question() -> TurnPlan:
            played = await self._logs.played(request)
            if played.story.head is None:
                raise UserError("story.nothing_yet")
            return await self._scene_verbs.plan(request, played, played.story.head.id, played.story.seq)

        plan = await run.step("turn", question, TurnPlan)
        yield Stage("answer", say("story.out_of_story"), answer=True)
        if plan.writer is None:
            yield Notice(say("story.needs_writer"))
            return
        story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        frame = frame_for(plan, "story_question", ANSWER_WORDS, question=untrusted.data(request.text))
        models = self._scene_verbs.models.with_roles(plan.roles)
        async with aclosing(models.stream(run, "writer", "answer", context.prompt(story, frame))) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield Text(piece)
                elif piece.finish in ("length", "refusal", "cut"):
                    yield Notice(say(f"rules.finish_{piece.finish}"), retry=piece.finish == "cut")

    async def suggest(self, run: Run) -> AsyncGenerator[Event, None]:
        """Offer to the person alone what their character could do or say now, to be played or changed first."""
        request, say = run.request, words(run.request.locale)

        async def planned() -> tuple[TurnPlan, str]:
            played = await self._logs.played(request)
            if played.story.head is None:
                raise UserError("story.nothing_yet")
            plan = await self._scene_verbs.plan(request, played, played.story.head.id, played.story.seq)
            return plan, own_character(played.story, request.author) or request.author.name

        plan, name = await run.step("turn", planned, tuple[TurnPlan, str])
        yield Stage("suggestions", say("story.suggested", name=name), answer=True)
        if plan.writer is None:
            yield Notice(say("story.needs_writer"))
            return
        story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        about, character = untrusted.data(request.text), untrusted.data(name)
        frame = frame_for(
            plan, "story_suggest", ANSWER_WORDS, count=str(SUGGESTIONS), name=character, about=about
        )

        async def suggested() -> list[str]:
            models = self._scene_verbs.models.with_roles(plan.roles)
            answer = await models.ask(run, "writer", "suggestions", context.prompt(story, frame))
            return read_choices(answer.text, SUGGESTIONS)

        suggestions = await run.step("suggestions", suggested, list[str])
        if not suggestions:
            yield Text(say("story.no_suggestions"))
            return
        yield Text("\n".join(f"{n}. {text}" for n, text in enumerate(suggestions, 1)))
        present = present_buttons_owner(story, plan.story)
        yield Choices(
            say("story.suggest_as"),
            tuple(
                Choice(say("story.suggest_play", n=n), f"/story act -- {text}", under=present)
                for n, text in enumerate(suggestions, 1)
            ),
        )
        yield Choices(
            say("story.suggest_or"),
            tuple(
                Choice(
                    say("story.suggest_edit", n=n),
                    "/story act",
                    say("story.what_do_you_do"),
                    filled=text,
                    under=present,
                )
                for n, text in enumerate(suggestions, 1)
            ),
        )

    async def ideas(self, run: Run) -> AsyncGenerator[Event, None]:
        """Offer ideas for a new story or, in a story, for what could happen next, which the story's log keeps."""
        request, say = run.request, words(run.request.locale)

        async def planned() -> TurnPlan:
            if (played := await self._logs.played_in(request.place)) is None or played.story.head is None:
                return await self._scene_verbs.plan(request, None, "", 0)
            return await self._scene_verbs.plan(request, played, played.story.head.id, played.story.seq)

        plan = await run.step("turn", planned, TurnPlan)
        yield Stage("ideas", say("story.ideas"), answer=True)
        if plan.writer is None:
            yield Notice(say("story.needs_writer"))
            return
        story = Story()
        if plan.story:
            story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        about = request.text[: self._scene_verbs.settings.premise_chars]
        goes_on = bool(request.options.get("further"))
        rounds = asides.earlier(story, request.author.id, request.verb) if goes_on else []
        earlier = asides.as_prompt(asides.up_to(rounds, request.answers), "ideas")
        frame = frame_for(plan, "story_ideas", ANSWER_WORDS, about=untrusted.data(about), earlier=earlier)

        async def thought_of() -> Brainstorm:
            asked = context.prompt(story, frame)
            answer = await self._scene_verbs.models.with_roles(plan.roles).ask(run, "writer", "ideas", asked)
            thought = read_brainstorm(answer.text, IDEAS)
            if plan.story and (ideas := thought.ideas):
                lines = "\n".join(f"- {idea}" for idea in ideas)
                body = {"verb": request.verb, "about": "", "question": about, "answer": lines}
                nodes = [node(run.id, "aside", "aside", body, turn=story.head_id, author=request.author.id)]
                nodes += [
                    node(run.id, f"idea-{n}", "idea", {"id": f"{run.id}/{n}", "text": idea})
                    for n, idea in enumerate(ideas)
                ]
                await self._logs.stories.append(request.place.space, plan.story, plan.branch, nodes)
            return thought

        thought = await run.step("ideas", thought_of, Brainstorm)
        if not (ideas := thought.ideas):
            yield Text(say("story.no_ideas"))
            return
        lines_of = [f"{n}. {idea}" for n, idea in enumerate(ideas, 1)]
        if plan.story:
            coming = to_come.for_person(story, request, lines_of)
            yield Text(say("story.ideas_kept"))
            for event in to_come.events_showing(run, coming, "story show", say):
                yield event
            if not to_come.may_show(run, coming):  # the buttons' labels would show it
                return
            chapters = tuple(
                Choice(label(f"{n}. {idea}"), f"/story chapter --write {EVENTS} -- {idea}")
                for n, idea in enumerate(ideas, 1)
            )
            yield Choices(say("story.idea_chapter"), chapters)
            if elements := _elements(story, thought, say):
                yield Choices(say("story.idea_elements"), elements)
        else:
            yield Text("\n".join(lines_of))
        lines = tuple(
            Choice(label(f"{n}. {idea}"), f"/story start -- {idea}") for n, idea in enumerate(ideas, 1)
        )
        yield Choices(say("story.idea_begin"), lines)
        # Without a story that keeps them, the window holds the ideas to continue from.
        filled = "" if plan.story else "\n".join(lines_of)[:FILLED_CHARS]
        further = Choice(
            say("story.button_further"), "/story ideas --further", say("story.further_ask"), filled=filled
        )
        yield Choices("", (further,))

    async def prompts(self, run: Run) -> AsyncGenerator[Event, None]:
        """The writer's prompts for the last scene and its choices, and the extractor's, for the bot's operator.

        They are rebuilt from the log, so that words withdrawn since then are in none of them.
        """
        request, say = run.request, words(run.request.locale)
        space, scene_verbs = request.place.space, self._scene_verbs
        plan = await run.step("turn", lambda: self._last_plan(request), TurnPlan)
        writer = scene_verbs.writer
        lore = await writer.lore_of(space, plan)
        prompts = {"prompt_sent.json": await writer.prompt_of(space, plan, lore)}
        now = await self._logs.story(space, plan.story, plan.branch)
        scene, task = now.turns[plan.turn].scene, choices_task(now, plan)
        asked = await writer.prompt_of(space, replace(plan, told=False), lore)
        text = scene.text if scene is not None else ""
        prompts["prompt_sent_choices.json"] = context.follow_up(asked, text, task, answer=plan.answer)
        if scene is not None and self._extraction.is_available(scene_verbs.models.with_roles(plan.roles)):
            version = Version(plan.turn, scene.id)
            events = events_for(now, state_before(now, version), plan.check)
            prompts["prompt_plot_extraction.json"] = await self._extraction.prompt_of(
                space, now, version, events, threads_for(now, version)
            )
        yield Stage("prompt", say("story.prompt_of"))
        for name, prompt in prompts.items():
            yield Attachment(name, "application/json", _as_json(prompt))

    async def window(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show how full the writer's window was for the last scene, and with what."""
        request, say = run.request, words(run.request.locale)
        plan = await run.step("turn", lambda: self._last_plan(request), TurnPlan)
        if plan.demo:
            yield Stage("window", "")
            yield Text(say("story.window_demo"))
            return
        lore = await self._scene_verbs.writer.lore_of(request.place.space, plan)
        story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        asked = parts(story, plan, lore)
        used = sum(asked.tokens().values())
        percent = round(100 * used / plan.window)
        yield Stage("window", say("story.window", n=plan.n, used=used, tokens=plan.window, percent=percent))
        yield Text(_shown_window(asked, plan.window, say))
        yield Notice(say("story.window_counted"))

    async def _last_plan(self, request: Request) -> TurnPlan:
        """The plan of the last scene. Raises UserError if there is none."""
        played = await self._logs.played(request)
        head = played.story.head
        if head is None or head.scene is None:
            raise UserError("story.nothing_yet")
        plan = await self._scene_verbs.plan(request, played, head.id, head.scene.at or played.story.seq)
        recalled, lore = await self._logs.searches_of(request.place.space, head.scene.id)
        told = is_master(played.story, request.author)
        return replace(plan, recalled=recalled or [], lore=lore or [], told=told)


def _elements(story: Story, thought: Brainstorm, say: Words) -> tuple[Choice, ...]:
    """Buttons that add what the ideas introduce to the story: to the cast, the lorebook or the chapter."""
    choices = list[Choice]()
    for kind, name, text in thought.elements:
        if kind == "character" and not cast.find(story, name):
            choices.append(
                Choice(label(say("story.element_character", name=name)), f"/story cast -- {name}: {text}")
            )
        elif kind == "place":
            choices.append(
                Choice(label(say("story.element_place", name=name)), f"/story lore -- {name}: {text}")
            )
        elif kind == "event":
            # Before the first chapter an event becomes a plot thread.
            line = "/story chapter --events" if state.chapters(story) else ""
            line = f"{line} '+ {text}'" if line else f"/story threads -- open {text}"
            choices.append(Choice(label(say("story.element_event", name=text)), line))
    return tuple(choices)


def _as_json(prompt: Prompt) -> bytes:
    messages = [
        {"role": message.role, "text": message.text, "cache": message.cache} for message in prompt.messages
    ]
    tree = {"system": prompt.system, "max_tokens": prompt.max_tokens, "messages": messages}
    return json.dumps(tree, ensure_ascii=False, indent=2).encode()


def _shown_window(parts: Parts, window: int, say: Words) -> str:
    """A bar for each of the parts that take tokens, each with its share of the window; then the free rest."""
    tokens = {name: count for name, count in parts.tokens().items() if count}
    tokens["free"] = max(0, window - sum(tokens.values()))
    return "\n".join(
        f"`{_bar(count, window)}` {say(f'story.window_{name}', n=count, percent=round(100 * count / window))}"
        for name, count in tokens.items()
    )


def _bar(count: int, window: int) -> str:
    full = min(BAR, -(-BAR * count // window))
    return "█" * full + "░" * (BAR - full)
