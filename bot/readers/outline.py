"""Headings and where they stand into sections: every reader's last step.

Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from bot.readers.document import Section

TITLE_CHARS: Final = 300
"""Of a title. It stands before each passage that a model is shown, so a stranger's must not be a text of its own."""

_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Controls, and what turns the direction of reading."""

Mark = tuple[int, int, str, tuple[str, ...]]
"""Where a section begins (a character), its level, its title, and its headings from the outermost to the title."""


def sectioned(
    text: str, marks: Sequence[Mark], start: int = 0, pages: Sequence[int] = ()
) -> tuple[Section, ...]:
    """The sections that `marks` (in order) begin, each up to the next one; the last to the end of `text`.

    What stands before the first mark, from `start` on, is a section without a title, as is a text without marks.
    `pages` are the offsets of the pages.
    """
    first = marks[0][0] if marks else len(text)
    if text[start:first].strip() or not marks:
        marks = [(start if text[start:].strip() else 0, 0, "", ()), *marks]
    ends = [mark[0] for mark in marks[1:]] + [len(text)]
    return tuple(
        Section(
            ordinal, level, one_line(words), tuple(map(one_line, path)), begin, end, page_at(pages, begin)
        )
        for ordinal, ((begin, level, words, path), end) in enumerate(zip(marks, ends, strict=True))
    )


def one_line(title: str) -> str:
    """A title in one line of at most TITLE_CHARS, without characters that nobody sees."""
    return _UNSEEN.sub("", " ".join(title.split()))[:TITLE_CHARS].rstrip()


def page_at(pages: Sequence[int], offset: int) -> int | None:
    """The page (from 1) of a character, by the offsets of the pages' first characters; None where there are none.

    A page without a character of its own begins where the next one does, and is nobody's.
    """
    return bisect_right(pages, offset) or 1 if pages else None
