"""`/story interview`: a character answers outside the story, from the scenes where it was present."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.budget import text_tokens
from bot.command_line import escaped
from bot.events import Choice, Choices, Event, Notice, Request, Stage, Text, UserError
from bot.llm.base import Message, Prompt, room
from bot.words import words
from bot.work import Run
from bot.works.story.log.logs import node
from bot.works.story.turn import context
from bot.works.story.turn.turn_plan import TurnPlan
from bot.works.story.world import asides, cast, state
from bot.works.story.world.agreement import agreed
from bot.works.story.world.selves import selves

if TYPE_CHECKING:
    from bot.works.story.log.logs import Logs
    from bot.works.story.log.story import Story
    from bot.works.story.log.turn import Aside
    from bot.works.story.turn.scene_verbs import SceneVerbs

WORDS: Final = 120
SCENES_TOKENS: Final = 6_000
"""The maximum number of tokens for the newest scenes in which the character was present."""
MEMORIES: Final = 40
"""How many of the character's newest memories are in a prompt."""
NOT_SHOWN: Final = ("player", "picture", "muted", "card")
"""Fields of a sheet that say nothing about the character."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the character `name`."""

    plan: TurnPlan = field(default_factory=TurnPlan)
    name: str = ""
    question: str = ""


class Interview:
    def __init__(self, logs: Logs, scene_verbs: SceneVerbs) -> None:
        self._logs = logs
        self._scene_verbs = scene_verbs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        asked = await run.step("asked", lambda: self._asked(request), Asked)
        plan, name = asked.plan, asked.name
        yield Stage("interview", say("story.interview", name=name), answer=True)
        if plan.writer is None or plan.demo:
            yield Notice(say("story.no_interview"))
            return
        story = await self._logs.story(request.place.space, plan.story, plan.branch, plan.at)
        earlier = asides.earlier(story, request.author.id, request.verb, name)
        prompt = interview_prompt(story, plan, name, asked.question, earlier)
        models, text = self._scene_verbs.models.with_roles(plan.roles), ""
        async with aclosing(models.stream(run, "writer", "answer", prompt)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    text += piece
                    yield Text(piece)
                elif piece.finish in ("length", "refusal", "cut"):
                    yield Notice(say(f"rules.finish_{piece.finish}"), retry=piece.finish == "cut")
        if not text.strip():
            return
        body = {"verb": request.verb, "about": name, "question": asked.question, "answer": text.strip()}
        aside = node(run.id, "aside", "aside", body, turn=story.head_id, author=request.author.id)
        await self._logs.stories.append(request.place.space, plan.story, plan.branch, [aside])
        more = Choice(
            say("story.button_interview"),
            f"/story interview --character {escaped(name)}",
            say("story.interview_ask"),
        )
        yield Choices("", (more,))

    async def _asked(self, request: Request) -> Asked:
        """The question of the request. Raises UserError."""
        played = await self._logs.played(request)
        name, question = parse_question(played.story, request)
        player = str(played.story.cast.get(name, {}).get("player") or "")
        players = (member.name for member in played.story.party.values() if name in member.selves)
        player = player or next(players, "")
        if player and name not in selves(played.story, request.author):
            raise UserError("story.played_character", name=name, player=player)
        plan = await self._scene_verbs.plan(request, played, "", played.story.seq)
        return Asked(plan, name, question)


def parse_question(story: Story, request: Request) -> tuple[str, str]:
    """The character and the question, which the text has together ("Mira, what do you fear?") unless an option names
    the character.

    Raises UserError if no character is named, or nothing is asked.
    """
    text = " ".join(request.text.split())
    chosen = " ".join(str(request.options.get("character") or "").split())
    name, question = state.known_name(story, chosen) if chosen else "", text
    parts = text.split() if not chosen else []
    for length in range(len(parts), 0, -1):
        if name := state.known_name(story, " ".join(parts[:length]).rstrip(",:;")):
            question = " ".join(parts[length:]).lstrip(",:; ")
            break
    if not name:
        raise cast.unknown_error(chosen or text, list(story.cast))
    if not any(map(str.isalnum, question)):
        raise UserError("story.interview_how")
    return name, question


def interview_prompt(story: Story, plan: TurnPlan, name: str, question: str, earlier: list[Aside]) -> Prompt:
    """The prompt: the character's sheet, memories and state, and the scenes where it was present; nothing else."""
    key = name.casefold()
    sheet = story.cast.get(cast.find(story, name), {})
    about = [
        untrusted.data(f"{part}: {text}") for part, text in sheet.items() if text and part not in NOT_SHOWN
    ]
    own = {own_key: character for own_key, character in state.characters(story).items() if own_key == key}
    memories = [untrusted.data(memory.text) for _, memory in state.memories(story, name)[-MEMORIES:]]
    unknown, room_left = state.turns_unknown_to(story, key), min(SCENES_TOKENS, plan.tokens // 2)
    scenes = list[str]()
    for turn in reversed(story.current_turns):
        if turn.id in unknown or turn.id in story.hidden:
            continue
        scene = turn.scene.text if turn.scene is not None else ""
        text = f"{context.action(turn.act)}\n<scene>\n{untrusted.data(scene)}\n</scene>"
        room_left -= text_tokens(text)
        if room_left < 0:
            break
        scenes.append(text)
    parts = [
        f'<character name="{untrusted.data(name)}">', *about, "</character>",
        *(["<memories>", *(f"- {text}" for text in memories), "</memories>"] if memories else []),
        state.as_prompt(own), *reversed(scenes),
    ]  # fmt: skip
    system, task = plan.prompts["story_interview"].fill(
        name=untrusted.data(name), words=str(WORDS), question=untrusted.data(question), agreed=agreed(story)
    )
    parts += [asides.as_prompt(earlier, "talk"), task]
    text = "\n".join(part for part in parts if part)
    return Prompt(system, (Message("user", text),), max_tokens=min(room(WORDS, None), plan.answer))
