"""Divides the lines of a chat log into stretches that are read at once, and finds the line of each finding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from bot.works.story.log.story import Story
from bot.works.story.log.turn import Turn

STRETCH_CHARS: Final = 6_000
"""The maximum length of a stretch's lines: as much as a small model can summarise in twenty sentences."""
_WORD: Final = re.compile(r"\w{3,}")


def stretches(story: Story, lines: int) -> list[list[Turn]]:
    """The unread stretches, the oldest first, of the last `lines` lines: each has consecutive lines of one scene.

    A line is read if it belongs to a stretch whose last line counts and has an extraction.
    """
    open_lines: list[int] = []
    at, seen = story.length - 1, 0
    while at >= 0 and seen < lines:
        turn, lines_of_it = story.turns[story.path[at]], 1
        if is_line(turn):
            if turn.extracted_from_text is None:
                open_lines.append(at)
            else:
                lines_of_it = max(1, turn.extracted_from_text.turns)
            seen += lines_of_it
        at -= lines_of_it
    unread, chars = list[list[Turn]](), 0
    before = -2
    for at in reversed(open_lines):
        turn = story.turns[story.path[at]]
        length = len(turn.act.name) + len(turn.act.text)
        if at != before + 1 or unread[-1][-1].act.group != turn.act.group or chars + length > STRETCH_CHARS:
            unread.append([])
            chars = 0
        unread[-1].append(turn)
        chars, before = chars + length, at
    return unread


def is_line(turn: Turn) -> bool:
    """Whether the turn is a line of a chat log that no scene follows."""
    return bool(turn.act.label and turn.act.text) and not turn.scenes


def as_scene(stretch: Sequence[Turn]) -> str:
    """The stretch as the extractor reads it, with the times of its lines."""
    lines, when = list[str](), ""
    for turn in stretch:
        if turn.act.when not in ("", when):
            when = turn.act.when
            lines.append(f"[{when}]")
        lines.append(f"{turn.act.name}: {turn.act.text}")
    return "\n".join(lines)


def lines_back(texts: Sequence[str], stretch: Sequence[Turn]) -> list[int]:
    """For each text, how many lines before the last one the line with the most similar words is; 0 for none."""
    words = [set(_WORD.findall(f"{turn.act.name} {turn.act.text}".casefold())) for turn in stretch]
    counts = Counter(word for line in words for word in line)
    distances = []
    for text in texts:
        words_of_text = set(_WORD.findall(text.casefold()))
        shared = [sum(1 / counts[word] for word in words_of_text & line) for line in words]
        best = max(range(len(stretch)), key=lambda n: (shared[n], -n)) if any(shared) else len(stretch) - 1
        distances.append(len(stretch) - 1 - best)
    return distances
