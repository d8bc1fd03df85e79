"""The arc of a story: milestones in three acts, which are reached one after another (`state.happened_ids`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from bot import untrusted
from bot.words import Words
from bot.works.story import limits
from bot.works.story.log.story import Story
from bot.works.story.log.turn import Milestone, Turn
from bot.works.story.world import state

ACTS: Final = 3
MOST: Final = 15
"""The maximum number of milestones in an arc."""
CHARS: Final = limits.VALUE_CHARS
_ACT: Final = re.compile(r"(?:act|ato)\s*([123]|i{1,3})\b[\s:.)*_–—-]*", re.IGNORECASE)
_MARKS: Final = re.compile(r"^(?:[-*•#>\s]+|\d{1,2}[.)]\s+)+")
_BOX: Final = re.compile(r"^(?:\[\s*([xX]?)\s*\]|([☐☑]))\s*")


def current(story: Story, turns: Sequence[Turn] | None = None) -> Milestone | None:
    """The first milestone that is not reached; None for none."""
    if not story.arc:
        return None
    reached = state.happened_ids(story, turns)
    return next((milestone for milestone in story.arc if milestone.id not in reached), None)


def as_prompt(story: Story, turns: Sequence[Turn]) -> str:
    """The next milestone, for the writer of a scene; "" for none."""
    if (milestone := current(story, turns)) is None:
        return ""
    text = untrusted.data(" ".join(milestone.text.split()))
    return (
        f"<arc>act {milestone.act} of {ACTS}, heading for: {text}</arc>\n"
        "The scene follows the players. Where it fits what they do, let it lean towards that, without naming it."
    )


def read(text: str, first: int = 1) -> list[tuple[int, str, bool]]:
    """The milestones of a text: (act, words, whether it is marked as reached).

    Milestones are separated by line ends or semicolons. An act begins with "Act 2:" or after a bar. Text before the
    first act belongs to the act `first`; with 0 it is ignored.
    """
    milestones = list[tuple[int, str, bool]]()
    for act, part in _parts(text, first):
        box = _BOX.match(part)
        words = " ".join(_BOX.sub("", part).strip("*_ ").split())[:CHARS]
        reached = box is not None and bool(box[1] or box[2] == "☑")
        if act and any(map(str.isalnum, words)) and all(words != other for _, other, _ in milestones):
            milestones.append((act, words, reached))
    return milestones[:MOST]


def _parts(text: str, act: int) -> Iterator[tuple[int, str]]:
    """The act and the text of each line or part of a line."""
    for n, barred in enumerate(text.split("|")):
        act = max(act, min(n + 1, ACTS)) if n else act
        for line in re.split(r"[\n;]", barred):
            plain = _MARKS.sub("", line).strip("*_ ")
            if match := _ACT.match(plain):
                number = match[1].casefold()
                act = int(number) if number.isdecimal() else len(number)
                plain = plain[match.end() :]
            yield act, _MARKS.sub("", plain)


def as_text(story: Story) -> str:
    """The arc as text for editing; `read` parses it back."""
    lines, act = list[str](), 0
    for milestone in story.arc:
        if milestone.act != act:
            act = milestone.act
            lines.append(f"Act {act}")
        lines.append(f"- {milestone.text}")
    return "\n".join(lines)


def lines(story: Story, reached: Collection[str], say: Words) -> tuple[list[str], list[str]]:
    """Markdown lines of what is reached, and of what is to come, each below its act."""
    past, ahead = list[str](), list[str]()
    for rows, are_reached in ((past, True), (ahead, False)):
        act = 0
        for n, milestone in enumerate(story.arc, 1):
            if (milestone.id in reached) != are_reached:
                continue
            if milestone.act != act:
                act = milestone.act
                rows += [*([""] if rows else []), f"**{say('story.act', n=act)}**\n"]
            rows.append(f"- {'☑' if are_reached else '☐'} **{n}.** {milestone.text}")
    return past, ahead
