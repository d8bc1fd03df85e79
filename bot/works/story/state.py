"""How a story's characters and chapters stand after the turns that count, out of what was extracted and corrected.

Pure, and nothing is kept: undo, a flip or a branch changes the turns, and with them the state.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from bot import untrusted
from bot.budget import text_tokens
from bot.works.story.log import Chapter, CharacterMemory, Correction, Extracted, KeyEvent, Story, Tick, Turn

FIELDS: Final = ("where", "holding", "wearing", "mood")
STATE_TOKENS: Final = 1_000
"""Of all characters in a prompt, at most; room is kept for as many, so that what else is told stays the same."""
SUMMARY_CHARS: Final = 200
"""Of a past chapter's ending in a prompt."""


@dataclass(slots=True)
class Character:
    """`fields` are FIELDS by name; `relations` are texts by the other's name. It was last there in the turn `turn`,
    and in so many `scenes`.
    """

    name: str
    fields: dict[str, str] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    dead: bool = False
    turn: str = ""
    scenes: int = 0


def characters(
    story: Story, told: Sequence[Turn] | None = None, begun: Mapping[str, Character] | None = None
) -> dict[str, Character]:
    """By casefolded name, after these turns of the story (all that count by default); `begun` is how they stood
    before the first of these.
    """
    found: dict[str, Character] = {}
    if begun is None:
        correct(found, story.corrections.get("", ()))
    else:
        found |= {
            key: replace(one, fields={**one.fields}, relations={**one.relations})
            for key, one in begun.items()
        }
    for turn in story.told if told is None else told:
        corrections, at = story.corrections.get(turn.id, ()), _version(turn)
        if not (corrections or turn.scenes or turn.found):  # nearly all lines of a chat log
            continue
        # What was corrected before this version was written is older than what happens in it.
        correct(found, [one for one in corrections if one.versions <= at])
        if (extracted := turn.extracted) is not None:
            _take(found, turn.id, extracted)
        correct(found, [one for one in corrections if one.versions > at])
    return found


def _version(turn: Turn) -> int:
    """Which of the turn's versions counts, from 0 on; -1 for none."""
    scene = turn.scene
    return next((n for n, version in enumerate(turn.scenes) if version is scene), -1)


def _take(found: dict[str, Character], turn: str, extracted: Extracted) -> None:
    for seen in extracted.state:
        one = found.setdefault(seen.name.casefold(), Character(seen.name))
        one.fields |= {name: value for name, value in zip(FIELDS, seen.values, strict=True) if value}
        one.relations |= dict(seen.relations)
        one.dead = one.dead or seen.dead
        if seen.present:
            one.turn, one.scenes = turn, one.scenes + 1


def correct(found: dict[str, Character], corrections: Sequence[Correction]) -> None:
    """Have the characters stand as people say."""
    for correction in corrections:
        one = found.setdefault(correction.character.casefold(), Character(correction.character))
        if correction.field == "dead":
            one.dead = correction.value == "yes"
        elif correction.field in FIELDS:
            one.fields[correction.field] = correction.value
        else:
            one.relations[correction.field] = correction.value


def as_prompt(found: dict[str, Character]) -> str:
    """The state as the writer reads it, those who were seen last first to stay; "" for none."""
    lines: list[str] = []
    left = STATE_TOKENS
    for one in reversed(found.values()):
        facts = [f"{name}: {value}" for name, value in one.fields.items() if value]
        facts += [f"towards {other}: {value}" for other, value in one.relations.items() if value]
        facts = ["dead, and stays so", *facts] if one.dead else facts
        line = " ".join(untrusted.data(f"{one.name}: {'; '.join(facts)}").split())
        left -= text_tokens(line) + 1
        if left < 0:
            break
        if facts:
            lines.append(line)
    return "\n".join(["<state>", *reversed(lines), "</state>"]) if lines else ""


def since(
    story: Story, told: Sequence[Turn], settled: int, before: Mapping[str, Character], now_told: str = ""
) -> str:
    """Who has died, and what people have corrected, in the turns that the prompt's beginning does not know yet: those
    from number `settled` on, `before` which the characters stood so; and in the one whose scene is written.
    """
    now = characters(story, told[settled:], before)
    if now_told:
        correct(now, story.corrections.get(now_told, ()))
    died = [one.name for name, one in now.items() if one.dead and not (name in before and before[name].dead)]
    lines = [f"{name} is dead, and stays so." for name in died]
    turns = [*(turn.id for turn in told[settled:]), *([""] if not settled else []), *filter(None, [now_told])]
    corrected = (one for turn in turns for one in story.corrections.get(turn, ()))
    lines += [f"{one.character}, {one.field}: {one.value}" for one in corrected]
    return (
        "\n".join(["<state>", *(" ".join(untrusted.data(one).split()) for one in lines), "</state>"])
        if lines
        else ""
    )


def chapters(story: Story, told: Sequence[Turn] | None = None) -> list[Chapter]:
    """Those that have begun, the current one last."""
    turns = {turn.id for turn in (story.told if told is None else told)}
    return [
        one for one in story.chapters.values() if not one.turn or (one.turn in turns and _stands(story, one))
    ]


def _stands(story: Story, chapter: Chapter) -> bool:
    """Whether the version still counts behind which the writer has thought it up."""
    turn = story.turns.get(chapter.turn)
    shown = turn.scene if turn is not None else None
    return not chapter.scene or (shown is not None and shown.id == chapter.scene)


def titles(story: Story, path: Sequence[str]) -> list[tuple[int, str]]:
    """The titles of the chapters that these turns have lived through, each with the place of the first turn in it."""
    chapters = [one for one in story.chapters.values() if _stands(story, one)]
    begins = {one.turn: (number, one.title) for number, one in enumerate(chapters)}
    found, last = list[tuple[int, str]](), -1
    for at, turn in enumerate(chain(("",), path) if begins else ()):
        number, title = begins.get(turn, (-1, ""))
        if number > last:  # as in `chapters`: where turns were undone, a later one may begin before another
            found.append((at, title))
            last = number
    return found


def title_at(titles: Sequence[tuple[int, str]], at: int) -> str:
    """The title of the chapter in which the turn of this place is, "" for none."""
    begun = bisect_right(titles, at, key=lambda one: one[0])
    return titles[begun - 1][1] if begun else ""


def done(story: Story, told: Sequence[Turn] | None = None) -> set[str]:
    """The ids of key events that have happened, and of chapters whose climax has: as was found, and corrected."""
    happened = set[str]()
    _tick(happened, story.ticks.get("", ()))
    for turn in story.told if told is None else told:
        ticks, at = story.ticks.get(turn.id, ()), _version(turn)
        if not (ticks or turn.scenes or turn.found):
            continue
        _tick(happened, [one for one in ticks if one.versions <= at])
        if (extracted := turn.extracted) is not None:
            happened.update(extracted.done)
        _tick(happened, [one for one in ticks if one.versions > at])
    return happened


def _tick(happened: set[str], ticks: Sequence[Tick]) -> None:
    for one in ticks:
        if one.happened:
            happened.add(one.event)
        else:
            happened.discard(one.event)


def memories(story: Story, name: str) -> list[tuple[Turn, CharacterMemory]]:
    """What a character remembers, each with the turn that it is of, in order."""
    key = name.casefold()
    return [
        (turn, one)
        for turn in story.told
        if (extracted := turn.extracted) is not None
        for one in extracted.memories
        if one.character.casefold() == key
    ]


def checked(chapter: Chapter, happened: set[str], mode: str) -> list[KeyEvent]:
    """The open events that are looked for next: one, three, or ("all") as many as the chapter's progress allows.

    "all" looks two ahead in its first third, four in its second, and then at all that are left: what comes late in a
    chapter is seldom true early, and each event that is asked for can be answered wrongly.
    """
    left = [event for event in chapter.key_events if event.id not in happened]
    if mode in ("1", "3"):
        return left[: int(mode)]
    progress = 1 - len(left) / len(chapter.key_events) if chapter.key_events else 1.0
    return left[: 2 if progress < 1 / 3 else 4 if progress < 2 / 3 else len(left)]


def guidance(story: Story, told: Sequence[Turn], mode: str) -> str:
    """Where the current chapter may go next: its open events, then its climax, then its resolution; "" for nothing."""
    if not (begun := chapters(story, told)):
        return ""
    chapter, happened = begun[-1], done(story, told)
    goals = [event.text for event in checked(chapter, happened, mode)]
    if not goals and (chapter.key_events or chapter.climax):
        goals = [chapter.climax if chapter.climax and chapter.id not in happened else chapter.resolution]
    lines = [f"- {untrusted.data(' '.join(goal.split()))}" for goal in goals if goal]
    return "\n".join(["<milestones>", *lines, "</milestones>"]) if lines else ""


def idle(story: Story, told: Sequence[Turn]) -> int:
    """For how many scenes of the current chapter nothing of it has happened."""
    begun, happened = chapters(story, told), done(story, told)
    count = 0
    for turn in reversed(told):
        extracted = turn.extracted
        if (begun and turn.id == begun[-1].turn) or (
            extracted is not None and not happened.isdisjoint(extracted.done)
        ):
            break
        count += 1
    return count


def chapter_prompt(story: Story, told: Sequence[Turn]) -> str:
    """What has been and which chapter it is, as it stands behind the foundation; "" where there are no chapters."""
    begun, happened = chapters(story, told), done(story, told)
    if not begun:
        return ""
    past = []
    for one in begun[:-1]:
        events = [event.text for event in one.key_events if event.id in happened]
        if one.climax and one.id in happened:
            events.append(one.climax)
        # It came to its resolution only where all that leads there has happened.
        ended = len(events) == len(one.key_events) + bool(one.climax) and events
        text = "; ".join([*events, *([one.resolution] if one.resolution and ended else [])])[:SUMMARY_CHARS]
        past.append(" ".join(untrusted.data(f"{one.title}: {text}" if text else one.title).split()))
    now = begun[-1]
    about = [
        f"{name}: {untrusted.data(value)}"
        for name, value in (
            ("title", now.title), ("location", now.location), ("time", now.time), ("scenario", now.scenario)
        )
        if value
    ]  # fmt: skip
    parts = ["<history>", *past, "</history>"] if past else []
    return "\n".join([*parts, "<chapter>", *about, "</chapter>"])
