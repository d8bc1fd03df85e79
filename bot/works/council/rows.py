"""Reads rows of values separated by commas or tabs like those of a table."""

from __future__ import annotations

import csv
import re

from bot.works.council.ballot_words import NOUNS, RANKS, SCORES

_COLUMNS = re.compile(
    rf"^\W*(?:(?:{NOUNS}|label|id)\W*\|(?:.*\|)?\s*(?:{RANKS}|{SCORES})|(?:{RANKS})\s*\|\s*(?:{NOUNS}|label"
    rf"|id))\s*(?:\||$)",
    re.IGNORECASE,
)
"""The names of columns."""
_LONGEST = 2_000
"""The maximum length of a line that may be a row."""


def with_bars(lines: list[str]) -> list[str]:
    """The lines, with rows of values separated by commas or tabs written as those of a table."""
    made = list(lines)
    for at, line in enumerate(lines):
        mark = next((mark for mark in "\t;," if line.count(mark)), "")
        if not mark or not _COLUMNS.search(line.replace(mark, " | ")) or len(line) > _LONGEST:
            continue
        width = line.count(mark)
        for row in range(at, len(lines)):
            cells = next(csv.reader([lines[row]], delimiter=mark), [])
            if len(cells) <= width:
                break
            made[row] = "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
        if row - at < 2:
            return lines
        return made
    return lines
