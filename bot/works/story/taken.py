"""What a run that has the writer write decided at first, and the prompts that are made of it. Pure.

A replay, and another version of a scene, read the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.budget import text_tokens
from bot.events import Speaker
from bot.llm.base import Prompt
from bot.prompts import PromptText
from bot.works.story import context
from bot.works.story.acting_for import Players
from bot.works.story.choices import Before
from bot.works.story.context import Frame
from bot.works.story.extracting import before_turns
from bot.works.story.logs import Away
from bot.works.story.lorebook import LoreEntry, triggered
from bot.works.story.phrases import overused
from bot.works.story.recalling import as_prompt
from bot.works.story.state import guidance, idle
from bot.works.story.story import Story
from bot.works.story.turn import SCENE, Excerpt, Turn


@dataclass(frozen=True, slots=True)
class Taken:
    """What a turn's run decided at first. `at` is the node up to which the writer is told, `n` the scene's number.
    `lore` are the entries of the lorebook that are near the turn in meaning, at most `lore_near`; None while nobody has
    looked for any.

    `stale` is the turn of a scene that is not the last one any more, on whose button somebody pressed: nothing is
    written then. `recalled` is what the writer is told of long ago, None while nobody has looked for anything, in at
    most `recall_tokens`. `rolls` are the dice as people read them. `tokens` are those that the story may take.
    `speaker` is the character who replies, None for a scene; it is shown as the run's `stage`. `more`: others reply
    after it. `soften`: to be told in gentler words. `branched` is what the branch is called that begins with the turn,
    "" where none does.
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
    before: Before | None = None
    stale: str = ""
    intent: bool = False
    away: Away | None = None
    stage: str = SCENE
    speaker: Speaker | None = None
    more: bool = False
    soften: bool = False
    branched: str = ""
    recall_tokens: int = 0
    recalled: list[Excerpt] | None = None


def framed(taken: Taken, task: str, **values: str) -> Frame:
    """The frame of a prompt for this task of prompts.yml."""
    system, begins = taken.prompts["story"].fill()
    return Frame(
        system,
        "\n".join(part.strip() for part in taken.prompts[task].fill(**values)),
        tokens=taken.tokens,
        answer=taken.answer,
        begins=begins.strip(),
        recent=taken.recent,
        batch=taken.batch,
    )


def prompt(story: Story, taken: Taken, lore: Sequence[str] = ()) -> Prompt:
    """What the writer is asked for the turn; `lore` is what has come up of the lorebook."""
    turn = story.turns[taken.turn]
    if taken.demo:
        return context.briefly(story, turn, answer=taken.answer)
    task = "story_speak" if turn.act.speaker else "story_opening" if taken.opening else "story_scene"
    frame = framed(taken, task, words=str(taken.words))
    if taken.soften:
        gentler = "\n".join(part.strip() for part in taken.prompts["story_soften"].fill())
        frame = replace(frame, task=f"{frame.task}\n{gentler}")
    turns = before_turns(story, turn.id)
    pacing = "" if turn.act.speaker else nudge(story, turns, taken.check, taken.nudge_after)
    frame = replace(frame, lore=tuple(lore), recalled=as_prompt(story, taken.recalled or ()), pacing=pacing)
    scenes = (
        [earlier.scene.text for earlier in turns[-taken.phrase_scenes :] if earlier.scene]
        if taken.phrase_scenes
        else []
    )
    frame = replace(frame, overused=tuple(overused(scenes, story.cast, taken.phrase_times)))
    return context.prompt(story, frame, before=turn.id, last=context.action(turn.act, turn.intents))


def players(story: Story, taken: Taken) -> Players | None:
    """Who must not be spoken or acted for in the scene; None for nobody."""
    names = [name for name, sheet in story.cast.items() if sheet.get("player")]
    if not (taken.ask_again and names):
        return None
    turn = story.turns[taken.turn]
    view = str(story.settings.get("view") or "")
    return Players.of(names, turn, before_turns(story, turn.id), cast=story.cast, view=view)


def choices_task(story: Story, taken: Taken) -> str:
    """Ways to go on, towards what the chapter has still to tell."""
    task = "\n".join(taken.prompts["story_choices"].fill(count=str(taken.choices)))
    goals = guidance(story, story.told, taken.check)
    return (
        f"{goals}\nIf it fits, let some of the ways lead towards the milestones, without naming them.\n{task}"
        if goals
        else task
    )


def nudge(story: Story, turns: Sequence[Turn], mode: str, after: int) -> str:
    """For the writer, where the chapter has stood still for so many scenes."""
    if not (goals := guidance(story, turns, mode)) or idle(story, turns) < after:
        return ""
    hint = "Where it fits what the players do, let the story move a little towards these."
    return f"<pacing>\n{goals}\n{hint}\n</pacing>"


def searched(story: Story, taken: Taken) -> tuple[list[LoreEntry], list[str]]:
    """The entries of the lorebook that may come up, and the texts that they come up by: the turn, then those before
    it. What the lorebook always says stands in the foundation.
    """
    entries = [LoreEntry(id, **entry) for id, entry in story.lore.items() if not entry.get("constant")]
    turn, turns = story.turns[taken.turn], story.told
    before = (
        turns[: [earlier.id for earlier in turns].index(turn.id)][-taken.lore_depth :]
        if taken.lore_depth
        else []
    )
    texts = [turn.act.text]
    for earlier in reversed(before):
        texts += [earlier.scene.text if earlier.scene is not None else "", earlier.act.text]
    return entries, texts


def called_up(entries: Sequence[LoreEntry], texts: Sequence[str], taken: Taken) -> list[str]:
    """What the lorebook says about these texts, by its keywords, and by its meaning where these leave room."""
    entries_found = triggered(
        entries,
        texts,
        depth=2 * taken.lore_depth + 1,
        budget=taken.lore_tokens,
        recursive=True,
        tokens=text_tokens,
    )
    tokens_free = taken.lore_tokens - sum(text_tokens(entry.content) for entry in entries_found)
    by_id = {entry.id: entry for entry in entries}
    chosen = {entry.id for entry in entries_found}
    for entry in (by_id[id] for id in taken.lore or () if id in by_id and id not in chosen):
        if (cost := text_tokens(entry.content)) <= tokens_free:
            entries_found.append(entry)
            tokens_free -= cost
    return [entry.content for entry in sorted(entries_found, key=lambda entry: entry.order)]
