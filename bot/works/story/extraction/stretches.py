"""The lines of an imported chat log in the stretches that are looked into at once; and which line told what was found.

Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from bot.works.story.log.story import Story
from bot.works.story.log.turn import Turn

STRETCH_CHARS: Final = 6_000
"""Of the lines of a stretch: as much as a small model still tells of in twenty sentences."""
_WORD: Final = re.compile(r"\w{3,}")


def stretches(story: Story, lines: int) -> list[list[Turn]]:
    """Those that nobody has looked into, the oldest first, of the log's last `lines` lines: each of lines that follow
    each other in one scene of the log.

    A line counts as looked into by what was found in any stretch with it that has been lived through to its end.
    """
    open_lines: list[int] = []
    at, seen = story.length - 1, 0
    while at >= 0 and seen < lines:
        turn, lines_of_it = story.turns[story.path[at]], 1
        if is_line(turn):
            if turn.found is None:
                open_lines.append(at)
            else:
                lines_of_it = max(1, turn.found.turns)
            seen += lines_of_it
        at -= lines_of_it
    cut, chars = list[list[Turn]](), 0
    before = -2
    for at in reversed(open_lines):
        turn = story.turns[story.path[at]]
        length = len(turn.act.name) + len(turn.act.text)
        if at != before + 1 or cut[-1][-1].act.group != turn.act.group or chars + length > STRETCH_CHARS:
            cut.append([])
            chars = 0
        cut[-1].append(turn)
        chars, before = chars + length, at
    return cut


def is_line(turn: Turn) -> bool:
    """Whether the turn is a line of a chat log, which no scene has followed."""
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
    """For each text that was found in the stretch how many lines before the last one stands that shares most with it,
    rare words before others; 0 where none does.
    """
    words = [set(_WORD.findall(f"{turn.act.name} {turn.act.text}".casefold())) for turn in stretch]
    counts = Counter(word for line in words for word in line)
    distances = []
    for text in texts:
        words_of_text = set(_WORD.findall(text.casefold()))
        shared = [sum(1 / counts[word] for word in words_of_text & line) for line in words]
        best = max(range(len(stretch)), key=lambda n: (shared[n], -n)) if any(shared) else len(stretch) - 1
        distances.append(len(stretch) - 1 - best)
    return distances
