"""The state of a story's characters and chapters after the turns that count, from extractions and corrections.

Pure, and nothing is stored: undo, a flip or a branch changes the turns, and with them the state. It also decides who
was present in which turn, and so what a character may know: those who played or replied, and those whom the extractor
has seen in the scene. Being mentioned does not count as being present: if a scene has no extraction yet, such as a new
version, the other characters know nothing of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from bot import untrusted
from bot.budget import text_tokens
from bot.works.story.log.story import Story
from bot.works.story.log.turn import Chapter, CharacterMemory, Correction, Extracted, KeyEvent, Tick, Turn
from bot.works.story.world.cast import called

FIELDS: Final = ("where", "holding", "wearing", "mood")
STATE_TOKENS: Final = 1_000
"""The maximum tokens of all characters in a prompt; this room is always reserved, so that the rest of the prompt stays
the same.
"""
SUMMARY_CHARS: Final = 200
"""The maximum length of a past chapter's ending in a prompt, in characters."""


@dataclass(slots=True)
class Character:
    """A character's state. `fields` are FIELDS by name; `relations` are texts by the other's name. The character was
    last present in the turn `turn`, and in `scenes` scenes so far.
    """

    name: str
    fields: dict[str, str] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    dead: bool = False
    turn: str = ""
    scenes: int = 0


def characters(
    story: Story, turns: Sequence[Turn] | None = None, before: Mapping[str, Character] | None = None
) -> dict[str, Character]:
    """The characters by casefolded name, after these turns of the story (all that count by default); `begun` is their
    state before the first of these.
    """
    standing: dict[str, Character] = {}
    if before is None:
        correct(standing, story.corrections.get("", ()))
    else:
        standing |= {
            key: replace(character, fields={**character.fields}, relations={**character.relations})
            for key, character in before.items()
        }
    for turn in story.current_turns if turns is None else turns:
        corrections = story.corrections.get(turn.id, ())
        if not (
            corrections or turn.scenes or turn.extracted_from_text
        ):  # true of nearly all lines of a chat log
            continue
        at = _version(turn) if corrections else 0
        # A correction made before this version was written is older than the events of the version.
        correct(standing, [correction for correction in corrections if correction.versions <= at])
        if (extracted := turn.extracted) is not None:
            _take(standing, turn.id, extracted)
        correct(standing, [correction for correction in corrections if correction.versions > at])
    return standing


def settled(story: Story, turns: Sequence[Turn]) -> dict[str, Character]:
    """The same after the first turns that count, computed incrementally from the last call's result.

    Do not change the result.
    """
    first = story.corrections.get("", ())
    seq, count, begun, before = story.cache.get(__name__, (0, 0, (), None))
    if before is None or begun != first or count > len(turns) or story.unchanged_since(seq) < count:
        standing = characters(story, turns)
    elif count < len(turns):
        standing = characters(story, turns[count:], before)
    else:
        standing = before
    story.cache[__name__] = story.seq, len(turns), first, standing
    return standing


def _version(turn: Turn) -> int:
    """The index of the version that counts, from 0; -1 for none."""
    scene = turn.scene
    return next((n for n, version in enumerate(turn.scenes) if version is scene), -1)


def _take(standing: dict[str, Character], turn: str, extracted: Extracted) -> None:
    for seen in extracted.state:
        character = standing.setdefault(seen.name.casefold(), Character(seen.name))
        character.fields |= {name: value for name, value in zip(FIELDS, seen.values, strict=True) if value}
        character.relations |= dict(seen.relations)
        character.dead = character.dead or seen.dead
        if seen.present:
            character.turn, character.scenes = turn, character.scenes + 1


def correct(standing: dict[str, Character], corrections: Sequence[Correction]) -> None:
    """Apply people's corrections to the characters."""
    for correction in corrections:
        character = standing.setdefault(correction.character.casefold(), Character(correction.character))
        if correction.field == "dead":
            character.dead = correction.value == "yes"
        elif correction.field in FIELDS:
            character.fields[correction.field] = correction.value
        else:
            character.relations[correction.field] = correction.value


def as_prompt(standing: dict[str, Character]) -> str:
    """The state as the writer reads it; "" for none. Where room is short, those seen last stay."""
    lines: list[str] = []
    tokens_free = STATE_TOKENS
    for character in reversed(standing.values()):
        facts = [f"{name}: {value}" for name, value in character.fields.items() if value]
        facts += [f"towards {other}: {value}" for other, value in character.relations.items() if value]
        facts = ["dead, and stays so", *facts] if character.dead else facts
        line = " ".join(untrusted.data(f"{character.name}: {'; '.join(facts)}").split())
        tokens_free -= text_tokens(line) + 1
        if tokens_free < 0:
            break
        if facts:
            lines.append(line)
    return "\n".join(["<state>", *reversed(lines), "</state>"]) if lines else ""


def since(
    story: Story, turns: Sequence[Turn], settled: int, before: Mapping[str, Character], current: str = ""
) -> str:
    """Who has died, and what people have corrected, since the beginning of the prompt: in the turns from number
    `settled` on (`before` are the characters before these), and in the turn `current` whose scene is being written.
    """
    now = characters(story, turns[settled:], before)
    if current:
        correct(now, story.corrections.get(current, ()))
    died = [
        character.name
        for name, character in now.items()
        if character.dead and not (name in before and before[name].dead)
    ]
    lines = [f"{name} is dead, and stays so." for name in died]
    ids = [*(turn.id for turn in turns[settled:]), *([""] if not settled else []), *filter(None, [current])]
    corrected = (correction for id in ids for correction in story.corrections.get(id, ()))
    lines += [f"{correction.character}, {correction.field}: {correction.value}" for correction in corrected]
    return (
        "\n".join(["<state>", *(" ".join(untrusted.data(line).split()) for line in lines), "</state>"])
        if lines
        else ""
    )


def chapters(story: Story, turns: Sequence[Turn] | None = None) -> list[Chapter]:
    """The chapters that have begun, the current one last."""
    if not story.chapters:
        return []
    ids = {turn.id for turn in (story.current_turns if turns is None else turns)}
    return [
        chapter
        for chapter in story.chapters.values()
        if not chapter.turn or (chapter.turn in ids and _stands(story, chapter))
    ]


def _stands(story: Story, chapter: Chapter) -> bool:
    """Whether the version of the scene for which the writer invented the chapter still counts."""
    turn = story.turns.get(chapter.turn)
    current = turn.scene if turn is not None else None
    return not chapter.scene or (current is not None and current.id == chapter.scene)


def titles(story: Story, path: Sequence[str]) -> list[tuple[int, str]]:
    """The titles of the chapters of these turns, each with the place of its first turn."""
    chapters = [chapter for chapter in story.chapters.values() if _stands(story, chapter)]
    begins = {chapter.turn: (number, chapter.title) for number, chapter in enumerate(chapters)}
    starts, last = list[tuple[int, str]](), -1
    for at, turn in enumerate(chain(("",), path) if begins else ()):
        number, title = begins.get(turn, (-1, ""))
        if number > last:  # as in `chapters`: after an undo a later chapter may begin before an earlier one
            starts.append((at, title))
            last = number
    return starts


def title_at(titles: Sequence[tuple[int, str]], at: int) -> str:
    """The title of the chapter of the turn at this place; "" for none."""
    number = bisect_right(titles, at, key=lambda title: title[0])
    return titles[number - 1][1] if number else ""


def done(story: Story, turns: Sequence[Turn] | None = None) -> set[str]:
    """The ids of key events that have happened, and of chapters whose climax has, as extracted and as corrected."""
    happened = set[str]()
    _tick(happened, story.ticks.get("", ()))
    for turn in story.current_turns if turns is None else turns:
        ticks = story.ticks.get(turn.id, ())
        if not (ticks or turn.scenes or turn.extracted_from_text):
            continue
        at = _version(turn) if ticks else 0
        _tick(happened, [tick for tick in ticks if tick.versions <= at])
        if (extracted := turn.extracted) is not None:
            happened.update(extracted.done)
        _tick(happened, [tick for tick in ticks if tick.versions > at])
    return happened


def _tick(happened: set[str], ticks: Sequence[Tick]) -> None:
    for tick in ticks:
        if tick.happened:
            happened.add(tick.event)
        else:
            happened.discard(tick.event)


def memories(story: Story, name: str) -> list[tuple[Turn, CharacterMemory]]:
    """What a character remembers, each memory with its turn, in order."""
    key = name.casefold()
    return [
        (turn, memory)
        for turn in story.current_turns
        if (extracted := turn.extracted) is not None
        for memory in extracted.memories
        if memory.character.casefold() == key
    ]


def checked(chapter: Chapter, happened: set[str], mode: str) -> list[KeyEvent]:
    """The open events to look for next: one, three, or ("all") as many as the chapter's progress allows.

    "all": two in the first third of the chapter, four in the second, then all open ones. Late events seldom happen
    early, and each event that is asked about may get a wrong answer.
    """
    open_events = [event for event in chapter.key_events if event.id not in happened]
    if mode in ("1", "3"):
        return open_events[: int(mode)]
    progress = 1 - len(open_events) / len(chapter.key_events) if chapter.key_events else 1.0
    return open_events[: 2 if progress < 1 / 3 else 4 if progress < 2 / 3 else len(open_events)]


def guidance(story: Story, turns: Sequence[Turn], mode: str) -> str:
    """The current chapter's next goals: its open events, then its climax, then its resolution; "" for none."""
    if not (opened := chapters(story, turns)):
        return ""
    chapter, happened = opened[-1], done(story, turns)
    goals = [event.text for event in checked(chapter, happened, mode)]
    if not goals and (chapter.key_events or chapter.climax):
        goals = [chapter.climax if chapter.climax and chapter.id not in happened else chapter.resolution]
    lines = [f"- {untrusted.data(' '.join(goal.split()))}" for goal in goals if goal]
    return "\n".join(["<milestones>", *lines, "</milestones>"]) if lines else ""


def idle(story: Story, turns: Sequence[Turn]) -> int:
    """The number of scenes since an event of the current chapter has happened."""
    opened, happened = chapters(story, turns), done(story, turns)
    count = 0
    for turn in reversed(turns):
        extracted = turn.extracted
        if (opened and turn.id == opened[-1].turn) or (
            extracted is not None and not happened.isdisjoint(extracted.done)
        ):
            break
        count += 1
    return count


def chapter_prompt(story: Story, turns: Sequence[Turn]) -> str:
    """The past chapters and the present one, as they follow the foundation; "" without chapters."""
    if not (opened := chapters(story, turns)):
        return ""
    happened, past = done(story, turns), []
    for chapter in opened[:-1]:
        events = [event.text for event in chapter.key_events if event.id in happened]
        if chapter.climax and chapter.id in happened:
            events.append(chapter.climax)
        # A chapter has reached its resolution only if all of its events have happened.
        is_over = len(events) == len(chapter.key_events) + bool(chapter.climax) and events
        text = "; ".join([*events, *([chapter.resolution] if chapter.resolution and is_over else [])])[
            :SUMMARY_CHARS
        ]
        past.append(" ".join(untrusted.data(f"{chapter.title}: {text}" if text else chapter.title).split()))
    now = opened[-1]
    about = [
        f"{name}: {untrusted.data(value)}"
        for name, value in (
            ("title", now.title), ("location", now.location), ("time", now.time), ("scenario", now.scenario)
        )
        if value
    ]  # fmt: skip
    parts = ["<history>", *past, "</history>"] if past else []
    return "\n".join([*parts, "<chapter>", *about, "</chapter>"])


def known_as(story: Story, name: str) -> str:
    """The character's name as the cast, the scenes or the lines of a chat log have it; "" for an unknown name."""
    plain_name = " ".join(name.split())
    if character := called(story, plain_name):
        return character
    key = plain_name.casefold()
    if (seen := characters(story).get(key)) is not None:
        return seen.name
    return next((turn.act.name for turn in story.current_turns if _speaks(turn) == key), "")


def unknown_to(story: Story, character: str) -> set[str]:
    """The turns of which the character knows nothing, since it was in none of their scenes."""
    key = character.casefold()
    # In a chat log the lines of one group are a scene.
    groups = {turn.act.group for turn in story.current_turns if turn.act.group and _was_there(turn, key)}
    return {
        turn.id for turn in story.current_turns if turn.act.group not in groups and not _was_there(turn, key)
    }


def _was_there(turn: Turn, key: str) -> bool:
    if key in (turn.act.character.casefold(), turn.act.speaker.casefold(), _speaks(turn)):
        return True
    extracted = turn.extracted
    if (
        turn.scene is None and not turn.act.group
    ):  # somebody seen in one stretch of a log was not in all of it
        return False
    return extracted is not None and any(
        character.present and character.name.casefold() == key for character in extracted.state
    )


def _speaks(turn: Turn) -> str:
    """Who says a line of a chat log; otherwise "", since a player's own name is no character's."""
    return turn.act.name.casefold() if turn.act.label else ""
