"""The plan of a turn, which its run decides in its first step, and what follows from it: the prompt and its parts.

A replay, and another version of the scene, get the same prompt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from sys import intern
from typing import Final

from bot import untrusted
from bot.budget import text_tokens
from bot.events import Speaker
from bot.llm.base import Prompt, room
from bot.prompts import PromptText
from bot.retrieval.language import FUNCTION_WORDS
from bot.text_cache import cached
from bot.works.story.extraction.attribution import Players
from bot.works.story.extraction.extraction import before_turns
from bot.works.story.log.story import Story
from bot.works.story.log.turn import SCENE, Excerpt, Turn
from bot.works.story.memory.excerpts import as_prompt
from bot.works.story.scene.choices import PreviousMessage
from bot.works.story.screen.entries import writer_secrets
from bot.works.story.turn import context
from bot.works.story.turn.context import Frame, Parts
from bot.works.story.world import arc, threads
from bot.works.story.world.lore_text import entry_of
from bot.works.story.world.lore_timing import LoreTiming, lore_timing
from bot.works.story.world.lorebook import LoreEntry, groups_of, passes_chance, triggered
from bot.works.story.world.state import guidance, scenes_without_event

SHORTEST, LONGEST = 3, 8
"""The minimum and the maximum number of words in a phrase."""
CONTENT_WORDS: Final = 2
"""The minimum number of meaningful words in a phrase: "out of the" is not a habit of style."""
MOST: Final = 6
"""The maximum number of phrases in the prompt."""
PHRASES: Final = 50_000
"""How many phrases stay in the cache: a scene has hundreds, which take thirty times the memory of its text."""

_CLAUSE = re.compile(r"[.!?…;:,“”\"«»\n()—–]+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_BINDING = frozenset().union(*FUNCTION_WORDS.values())


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """What a turn's run decides in its first step.

    - `n` is the scene's number, `at` the last node that the prompt includes, `stage` the stage that shows the scene.
    - `writer` is the description of the writer's model, None for none; `demo` says that it is the demo model.
    - `window`, `tokens` and `answer` are numbers of tokens: the model's window, and the shares of the story with its
      lore, and of the answer.
    - `lore` are the ids of at most `lore_near` entries close in meaning to the turn, `recalled` are excerpts of at most
      `recall_tokens`; both are None before their search.
    - `rolls` are the dice for people. `before` is the message that loses its buttons.
    - `intent`: the turn is only an intention that waits for the game master's.
    - `speaker` is the character who replies, None for a scene; with `more`, others reply after it.
    - `soften` asks for gentler words, `hint` is somebody's wish; both are for this version alone.
    - `told`: the prompt includes the game master's secrets for the writer.
    - `branched` is the name of a branch that begins with the turn, "" for none.
    - `said_by` is the player's character under whose name the turn's words are shown.
    """

    story: str = ""
    branch: str = ""
    turn: str = ""
    at: int = 0
    n: int = 0
    opening: bool = False
    writer: str | None = None
    demo: bool = False
    prompts: dict[str, PromptText] = field(default_factory=dict)
    roles: dict[str, list[str]] = field(default_factory=dict)
    window: int = 0
    tokens: int = 0
    answer: int = 0
    words: int = 0
    recent: int = 5
    batch: int = 5
    lore_depth: int = 4
    lore_tokens: int = 0
    lore_near: int = 0
    lore: list[str] | None = None
    choices: int = 0
    check: str = "all"
    nudge_after: int = 3
    phrase_scenes: int = 0
    phrase_times: int = 4
    ask_again: bool = False
    seconds: float = 20.0
    votes: bool = False
    rolls: list[str] = field(default_factory=list)
    before: PreviousMessage | None = None
    intent: bool = False
    stage: str = SCENE
    speaker: Speaker | None = None
    more: bool = False
    soften: bool = False
    hint: str = ""
    told: bool = False
    branched: str = ""
    said_by: Speaker | None = None
    recall_tokens: int = 0
    recalled: list[Excerpt] | None = None


def frame_for(plan: TurnPlan, task: str, most_words: int = 0, **values: str) -> Frame:
    """The frame of a prompt for a task of prompts.yml; `most_words` limits the answer, 0 as a scene's."""
    system, begins = plan.prompts["story"].fill()
    return Frame(
        system,
        "\n".join(part.strip() for part in plan.prompts[task].fill(**values)),
        tokens=plan.tokens,
        answer=min(room(most_words, None), plan.answer) if most_words else plan.answer,
        preamble=begins.strip(),
        recent=plan.recent,
        batch=plan.batch,
    )


def prompt(story: Story, plan: TurnPlan, lore: Sequence[LoreEntry] = ()) -> Prompt:
    """The writer's prompt for the turn's scene; `lore` are the entries that apply."""
    if plan.demo:
        return context.demo_prompt(story, story.turns[plan.turn], answer=plan.answer)
    return parts(story, plan, lore).prompt()


def parts(story: Story, plan: TurnPlan, lore: Sequence[LoreEntry] = ()) -> Parts:
    """The parts of that prompt, for any model but the demo model."""
    turn = story.turns[plan.turn]
    task = "story_speak" if turn.act.speaker else "story_opening" if plan.opening else "story_scene"
    if turn.act.mode == "end":
        task = "story_ending"
    frame = frame_for(plan, task, words=str(plan.words))
    if plan.soften:
        gentler = "\n".join(part.strip() for part in plan.prompts["story_soften"].fill())
        frame = replace(frame, task=f"{frame.task}\n{gentler}")
    if plan.hint:
        wish = "\n".join(
            part.strip() for part in plan.prompts["story_hint"].fill(hint=untrusted.data(plan.hint))
        )
        frame = replace(frame, task=f"{frame.task}\n{wish}")
    if plan.told and (secrets := writer_secrets(story)):
        listed = "\n".join(f"- {untrusted.data(secret)}" for secret in secrets)
        secret = "\n".join(part.strip() for part in plan.prompts["story_secrets"].fill(secrets=listed))
        frame = replace(frame, task=f"{frame.task}\n{secret}")
    turns = before_turns(story, turn.id)
    heading = (nudge(story, turns, plan.check, plan.nudge_after), arc.as_prompt(story, turns))
    pacing = "" if turn.act.speaker else "\n".join(filter(None, heading))
    contents = tuple(entry.content for entry in lore)
    frame = replace(frame, lore=contents, recalled=as_prompt(story, plan.recalled or ()), pacing=pacing)
    scenes = (
        [
            earlier.scene.text
            for earlier in turns[-plan.phrase_scenes :]
            if earlier.scene and earlier.id not in story.hidden
        ]
        if plan.phrase_scenes
        else []
    )
    frame = replace(frame, overused=tuple(overused(scenes, story.cast, plan.phrase_times)))
    return context.parts(story, frame, before=turn.id, last=context.action(turn.act, turn.intents))


def players(story: Story, plan: TurnPlan) -> Players | None:
    """The players' characters for whom the scene must not speak or act; None if that is not checked."""
    names = [name for name, sheet in story.cast.items() if sheet.get("player")]
    if not (plan.ask_again and names):
        return None
    turn = story.turns[plan.turn]
    view = str(story.settings.get("view") or "")
    return Players.of(names, turn, before_turns(story, turn.id), cast=story.cast, view=view)


def choices_task(story: Story, plan: TurnPlan) -> str:
    """The task of offering choices, which lead towards the chapter's open events and continue open plot threads."""
    task = "\n".join(plan.prompts["story_choices"].fill(count=str(plan.choices)))
    goals = guidance(story, story.current_turns, plan.check)
    if not goals and (milestone := arc.current(story)) is not None:
        goals = f"<milestones>\n- {untrusted.data(' '.join(milestone.text.split()))}\n</milestones>"
    if goals:
        task = f"{goals}\nIf it fits, let some of the ways lead towards the milestones, without naming them.\n{task}"
    opened = threads.as_prompt(threads.open_threads(story, story.current_turns))
    return (
        f"{opened}\nIf it fits, let one of the ways take up one of the open threads.\n{task}"
        if opened
        else task
    )


def nudge(story: Story, turns: Sequence[Turn], mode: str, after: int) -> str:
    """A hint for the writer once `after` scenes have passed without an event of the chapter; otherwise ""."""
    if not (goals := guidance(story, turns, mode)) or scenes_without_event(story, turns) < after:
        return ""
    hint = "Where it fits what the players do, let the story move a little towards these."
    return f"<pacing>\n{goals}\n{hint}\n</pacing>"


def lore_search(story: Story, plan: TurnPlan) -> tuple[list[LoreEntry], list[str], LoreTiming]:
    """The inputs of `applying_entries`: entries, the texts to search for their keywords, newest first, and the timing.

    Entries that always apply are left out, since the prompt's foundation has them.
    """
    turn, turns = story.turns[plan.turn], before_turns(story, plan.turn)
    names = [turn.act.speaker] if turn.act.speaker else list(story.cast)
    every = (entry_of(id, entry) for id, entry in story.lore.items())
    entries = [entry for entry in every if not entry.always and entry.applies_to(names)]
    char = plan.speaker.name if plan.speaker is not None else ""

    def filled(text: str) -> str:
        return context.lore_text(story, text, turn.id, char)

    entries = [
        replace(
            entry,
            content=filled(entry.content),
            keys=tuple(map(filled, entry.keys)),
            secondary_keys=tuple(map(filled, entry.secondary_keys)),
        )
        for entry in entries
    ]
    texts = [turn.act.text]
    for earlier in reversed(turns[-plan.lore_depth :] if plan.lore_depth else []):
        if earlier.id in story.hidden:
            continue
        texts += [earlier.scene.text if earlier.scene is not None else "", earlier.act.text]
    return entries, texts, lore_timing(entries, turns, turn)


def applying_entries(
    entries: Sequence[LoreEntry], texts: Sequence[str], timing: LoreTiming, plan: TurnPlan
) -> list[LoreEntry]:
    """The entries that apply, in the order of the prompt: by keywords, and if there is room by meaning."""
    entries = [entry for entry in entries if entry.id not in timing.waiting]
    applying = triggered(
        entries,
        texts,
        depth=2 * plan.lore_depth + 1,
        budget=plan.lore_tokens,
        recursive=True,
        tokens=text_tokens,
        seed=plan.turn,
        sticky=timing.sticky,
    )
    tokens_free = plan.lore_tokens - sum(text_tokens(entry.content) for entry in applying)
    chosen = {entry.id for entry in applying}
    groups = {group for entry in applying for group in groups_of(entry)}
    by_id = {
        entry.id: entry
        for entry in entries
        if entry.enabled
        and not entry.by_others_alone
        and entry.id not in chosen
        and passes_chance(entry, plan.turn)
    }
    for entry in (by_id[id] for id in plan.lore or () if id in by_id):
        cost = text_tokens(entry.content)
        if cost <= tokens_free and groups.isdisjoint(groups_of(entry)):
            applying.append(entry)
            groups.update(groups_of(entry))
            tokens_free -= cost
    return sorted(applying, key=lambda entry: entry.sort_key)


def overused(scenes: Sequence[str], names: Collection[str], least: int) -> list[str]:
    """The phrases that the writer uses too often (`_overused`), cached since several prompts need the same ones."""
    return list(_overused(tuple(scenes), tuple(names), least))


@lru_cache(maxsize=16)
def _overused(scenes: Sequence[str], names: Collection[str], least: int) -> list[str]:
    """At most MOST phrases that occur in at least `least` of these scenes, the most frequent first.

    Phrases with a word of a name are ignored, since names occur in every scene. Of phrases that share a meaningful word
    only the longest is listed.
    """
    if not least or len(scenes) < least:
        return []
    words_of_names = {word for name in names for word in _WORD.findall(name.casefold())}
    often: dict[tuple[str, ...], int] = {}
    for length in range(SHORTEST, LONGEST + 1):
        counts = Counter(chain.from_iterable(_phrases(scene, length) for scene in scenes))
        frequent = {phrase: count for phrase, count in counts.items() if count >= least}
        if not frequent:  # longer phrases cannot be more frequent than these
            break
        often |= frequent
    distinctive = [
        phrase for phrase in often if _is_distinctive(phrase) and not words_of_names.intersection(phrase)
    ]
    chosen: list[tuple[str, ...]] = []
    for phrase in sorted(distinctive, key=lambda phrase: (-len(phrase), -often[phrase], phrase)):
        if not any(set(phrase) & set(longer) - _BINDING for longer in chosen):
            chosen.append(phrase)
    return [" ".join(phrase) for phrase in sorted(chosen, key=lambda phrase: -often[phrase])[:MOST]]


@cached(PHRASES, len)
def _phrases(scene: str, length: int) -> frozenset[tuple[str, ...]]:
    """A scene's different phrases of `length` words; cached, since each turn brings only one new scene."""
    return frozenset[tuple[str, ...]]().union(
        *(zip(*(clause[at:] for at in range(length)), strict=False) for clause in _clauses(scene))
    )


def _is_distinctive(phrase: tuple[str, ...]) -> bool:
    return all(phrase) and len(phrase) - sum(map(_BINDING.__contains__, phrase)) >= CONTENT_WORDS


@lru_cache(maxsize=64)
def _clauses(scene: str) -> tuple[tuple[str, ...], ...]:
    """The words of each clause of a scene; "" for a capitalised word inside a clause, which is a name."""
    clauses = (_WORD.findall(clause) for clause in _CLAUSE.split(scene))
    return tuple(
        tuple(intern(word.casefold()) if n == 0 or word[0].islower() else "" for n, word in enumerate(words))
        for words in clauses
        if len(words) >= SHORTEST
    )
