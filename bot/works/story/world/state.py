"""The state of a story's characters and chapters after the turns that count, from extractions and corrections.

Nothing is stored: undo, a flip or a branch changes the turns, and with them the state. A character knows of a turn if
it was present: it played or replied in it, or the extractor found it in the scene. Being mentioned is not enough, so
the other characters know nothing of a scene without an extraction.
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
from bot.works.story.world.cast import find

FIELDS: Final = ("where", "holding", "wearing", "mood")
STATE_TOKENS: Final = 1_000
"""The tokens of a prompt that are reserved for all characters, however many there are, so that the rest stays the same.
"""
SUMMARY_CHARS: Final = 200
"""The maximum length, in characters, of what happened in a past chapter in a prompt."""


@dataclass(slots=True)
class Character:
    """A character's state: the values of FIELDS, and `relations`, texts by the other character's name.

    `turn` is the turn in which it was last present, `scenes` the number of scenes so far.
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
    """The characters by casefolded name after these turns, by default all that count.

    `before` are the characters before the first of the turns; by default the turns begin with the story.
    """
    by_name: dict[str, Character] = {}
    if before is None:
        apply_corrections(by_name, story.corrections.get("", ()))
    else:
        by_name |= {
            key: replace(character, fields={**character.fields}, relations={**character.relations})
            for key, character in before.items()
        }
    for turn in story.current_turns if turns is None else turns:
        corrections = story.corrections.get(turn.id, ())
        # Nearly all lines of a chat log have nothing to apply.
        if not (corrections or turn.scenes or turn.extracted_from_text):
            continue
        at = version_index(turn) if corrections else 0
        # A correction made before this version was written is older than what happens in the version.
        apply_corrections(by_name, [correction for correction in corrections if correction.versions <= at])
        if (extracted := turn.extracted) is not None:
            _apply_extracted(by_name, turn.id, extracted)
        apply_corrections(by_name, [correction for correction in corrections if correction.versions > at])
    return by_name


def characters_after(story: Story, turns: Sequence[Turn]) -> dict[str, Character]:
    """The `characters` after these first turns of the story, continued from the last call's result if possible.

    Callers must not change the result.
    """
    initial = story.corrections.get("", ())
    seq, count, last_initial, before = story.cache.get(__name__, (0, 0, (), None))
    if before is None or last_initial != initial or count > len(turns) or story.unchanged_since(seq) < count:
        by_name = characters(story, turns)
    elif count < len(turns):
        by_name = characters(story, turns[count:], before)
    else:
        by_name = before
    story.cache[__name__] = story.seq, len(turns), initial, by_name
    return by_name


def version_index(turn: Turn) -> int:
    """The index of the version that counts, from 0; -1 for none."""
    scene = turn.scene
    return next((n for n, version in enumerate(turn.scenes) if version is scene), -1)


def _apply_extracted(by_name: dict[str, Character], turn: str, extracted: Extracted) -> None:
    for seen in extracted.state:
        character = by_name.setdefault(seen.name.casefold(), Character(seen.name))
        character.fields |= {name: value for name, value in zip(FIELDS, seen.values, strict=True) if value}
        character.relations |= dict(seen.relations)
        character.dead = character.dead or seen.dead
        if seen.present:
            character.turn, character.scenes = turn, character.scenes + 1


def apply_corrections(by_name: dict[str, Character], corrections: Sequence[Correction]) -> None:
    """Apply people's corrections to the characters."""
    for correction in corrections:
        character = by_name.setdefault(correction.character.casefold(), Character(correction.character))
        if correction.field == "dead":
            character.dead = correction.value == "yes"
        elif correction.field in FIELDS:
            character.fields[correction.field] = correction.value
        else:
            character.relations[correction.field] = correction.value


def as_prompt(by_name: dict[str, Character]) -> str:
    """The state for the writer; "" for none. If there are too many characters, the newest are included."""
    lines: list[str] = []
    tokens_free = STATE_TOKENS
    for character in reversed(by_name.values()):
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


def changes_since(
    story: Story, turns: Sequence[Turn], first: int, before: Mapping[str, Character], current: str = ""
) -> str:
    """For the writer: who has died, and what people have corrected, in the turns from the index `first` on; "" for
    none.

    `before` are the characters before these turns. `current` is the turn whose scene is being written.
    """
    after = characters(story, turns[first:], before)
    if current:
        apply_corrections(after, story.corrections.get(current, ()))
    died = [
        character.name
        for name, character in after.items()
        if character.dead and not (name in before and before[name].dead)
    ]
    lines = [f"{name} is dead, and stays so." for name in died]
    ids = [*(turn.id for turn in turns[first:]), *([""] if not first else []), *filter(None, [current])]
    corrections = (correction for id in ids for correction in story.corrections.get(id, ()))
    lines += [f"{correction.character}, {correction.field}: {correction.value}" for correction in corrections]
    if not lines:
        return ""
    return "\n".join(["<state>", *(" ".join(untrusted.data(line).split()) for line in lines), "</state>"])


def chapters(story: Story, turns: Sequence[Turn] | None = None) -> list[Chapter]:
    """The chapters that have begun, the current one last."""
    if not story.chapters:
        return []
    ids = {turn.id for turn in (story.current_turns if turns is None else turns)}
    return [
        chapter
        for chapter in story.chapters.values()
        if not chapter.turn or (chapter.turn in ids and _counts(story, chapter))
    ]


def _counts(story: Story, chapter: Chapter) -> bool:
    """Whether the version of the scene after which the writer invented the chapter counts, if the writer did."""
    turn = story.turns.get(chapter.turn)
    current = turn.scene if turn is not None else None
    return not chapter.scene or (current is not None and current.id == chapter.scene)


def chapter_titles(story: Story, path: Sequence[str]) -> list[tuple[int, str]]:
    """The titles of the chapters along this path of turns, each with the index of the chapter's first turn."""
    chapters = [chapter for chapter in story.chapters.values() if _counts(story, chapter)]
    after_turn = {chapter.turn: (number, chapter.title) for number, chapter in enumerate(chapters)}
    titles, last = list[tuple[int, str]](), -1
    for index, turn in enumerate(chain(("",), path) if after_turn else ()):
        number, title = after_turn.get(turn, (-1, ""))
        if number > last:  # after an undo a later chapter may begin before an earlier one
            titles.append((index, title))
            last = number
    return titles


def title_at(titles: Sequence[tuple[int, str]], at: int) -> str:
    """The title of the chapter that has the turn with the index `at`, by `chapter_titles`; "" for none."""
    number = bisect_right(titles, at, key=lambda title: title[0])
    return titles[number - 1][1] if number else ""


def happened_ids(story: Story, turns: Sequence[Turn] | None = None) -> set[str]:
    """The ids of the key events that have happened, of chapters whose climax has, and of milestones reached."""
    happened = set[str]()
    _tick(happened, story.ticks.get("", ()))
    for turn in story.current_turns if turns is None else turns:
        ticks = story.ticks.get(turn.id, ())
        if not (ticks or turn.scenes or turn.extracted_from_text):
            continue
        at = version_index(turn) if ticks else 0
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


def events_to_check(chapter: Chapter, happened: set[str], mode: str) -> list[KeyEvent]:
    """The open events that the extractor is asked about: the next one, the next three, or with "all" a number that
    grows with the chapter's progress.

    That is two in the chapter's first third, four in the second, then all: late events seldom happen early, and each
    one asked about may get a wrong answer.
    """
    open_events = [event for event in chapter.key_events if event.id not in happened]
    if mode in ("1", "3"):
        return open_events[: int(mode)]
    progress = 1 - len(open_events) / len(chapter.key_events) if chapter.key_events else 1.0
    return open_events[: 2 if progress < 1 / 3 else 4 if progress < 2 / 3 else len(open_events)]


def guidance(story: Story, turns: Sequence[Turn], mode: str) -> str:
    """The current chapter's next goals for the writer: open events, then the climax or resolution; "" for none."""
    if not (opened := chapters(story, turns)):
        return ""
    chapter, happened = opened[-1], happened_ids(story, turns)
    goals = [event.text for event in events_to_check(chapter, happened, mode)]
    if not goals and (chapter.key_events or chapter.climax):
        goals = [chapter.climax if chapter.climax and chapter.id not in happened else chapter.resolution]
    lines = [f"- {untrusted.data(' '.join(goal.split()))}" for goal in goals if goal]
    return "\n".join(["<milestones>", *lines, "</milestones>"]) if lines else ""


def scenes_without_event(story: Story, turns: Sequence[Turn]) -> int:
    """The number of scenes since an event of the current chapter has happened."""
    opened, happened = chapters(story, turns), happened_ids(story, turns)
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
    """The past chapters and the present one for the writer; "" without chapters."""
    if not (opened := chapters(story, turns)):
        return ""
    happened, past = happened_ids(story, turns), []
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
    about = [
        f"{name}: {untrusted.data(value)}"
        for name in ("title", "location", "time", "scenario")
        if (value := str(getattr(opened[-1], name)))
    ]
    parts = ["<history>", *past, "</history>"] if past else []
    return "\n".join([*parts, "<chapter>", *about, "</chapter>"])


def known_name(story: Story, name: str) -> str:
    """The character's name as spelt in the cast, the scenes or the lines of a chat log; "" for an unknown name."""
    plain_name = " ".join(name.split())
    if character := find(story, plain_name):
        return character
    key = plain_name.casefold()
    if (seen := characters(story).get(key)) is not None:
        return seen.name
    return next((turn.act.name for turn in story.current_turns if _log_speaker(turn) == key), "")


def turns_unknown_to(story: Story, character: str) -> set[str]:
    """The turns of which the character knows nothing, since it was not present in their scenes."""
    key = character.casefold()
    # In a chat log the lines of one group are a scene.
    groups = {turn.act.group for turn in story.current_turns if turn.act.group and _was_present(turn, key)}
    return {
        turn.id
        for turn in story.current_turns
        if turn.act.group not in groups and not _was_present(turn, key)
    }


def _was_present(turn: Turn, key: str) -> bool:
    if key in (turn.act.character.casefold(), turn.act.speaker.casefold(), _log_speaker(turn)):
        return True
    # The extraction of a chat log's line covers other lines, too, without the character.
    if turn.scene is None and not turn.act.group:
        return False
    extracted = turn.extracted
    return extracted is not None and any(
        character.present and character.name.casefold() == key for character in extracted.state
    )


def _log_speaker(turn: Turn) -> str:
    """The casefolded name of who says a line of a chat log; "" for a player's turn."""
    return turn.act.name.casefold() if turn.act.label else ""
