"""A PDF's outline: its entries, found again among the lines of the pages that they lead to.

Knows no PDF.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rapidfuzz import fuzz

from bot.readers.pdf.layout import Line, Style

NUMBER: Final = re.compile(
    r"(?:(?:chapter|part|section|cap[ií]tulo|parte|se[cç][aã]o)\s+)?(\d{1,3}(?:\.\d{1,3}){0,5})\.?\s+(?=\w)",
    re.I,
)
LINES: Final = 4
"""Of one heading."""
_ALIKE: Final = 88.0
"""Per cent, that a line's words are those of an outline's entry, where none has just these."""
_ALNUM: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One of an outline's: `level` from 1, the `page` (from 0) it leads to, and how many points from its foot."""

    level: int
    title: str
    page: int | None
    height: float | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """Lines [first, last) are one, of this level."""

    first: int
    last: int
    level: int


def matched(lines: Sequence[Line], outline: Sequence[Entry], heights: Sequence[float]) -> list[Heading]:
    """The outline's entries that stand on their page, by their words. `heights` are those of the pages."""
    begins: dict[int, int] = {}
    for at, line in enumerate(lines):
        begins.setdefault(line.page, at)
    starts = sorted(begins)
    taken: set[int] = set()
    found: list[Heading] = []
    missed: list[tuple[Entry, int]] = []
    after: dict[int, int] = {}
    for entry in outline:
        wanted = _key(entry.title)
        if not wanted or entry.page is None:
            continue
        hit = None
        for page in (entry.page, entry.page + 1):
            first = begins.get(page)
            if first is None:
                continue
            end = next((begins[later] for later in starts[bisect_left(starts, page) + 1 :][:1]), len(lines))
            hit = _find(lines, wanted, max(first, after.get(page, 0)), end, taken) or _find(
                lines, wanted, first, end, taken
            )
            if hit:
                after[page] = hit[1]
                break
        if hit:
            taken.update(range(*hit))
            found.append(Heading(*hit, min(entry.level, 6)))
        else:
            missed.append((entry, len(found)))
    if all(one.first < other.first for one, other in pairwise(found)):
        found += _by_style(lines, found, missed, begins, heights)
    return sorted(found, key=lambda one: one.first)


def _by_style(
    lines: Sequence[Line],
    found: Sequence[Heading],
    missed: Sequence[tuple[Entry, int]],
    begins: dict[int, int],
    heights: Sequence[float],
) -> list[Heading]:
    """Entries whose words are not those on the page, as some programs garble them: the next line, below where the
    entry leads to, that is set as headings of its level are. `missed` has how many were found before each."""
    styles: dict[int, Counter[Style]] = defaultdict(Counter)
    for heading in found:
        styles[heading.level][lines[heading.first].style] += 1
    made: list[Heading] = []
    for entry, before in missed:
        level = min(entry.level, 6)
        if entry.page is None or entry.height is None or level not in styles or entry.page >= len(heights):
            continue
        top = heights[entry.page] - entry.height
        style = styles[level].most_common(1)[0][0]
        before_it = [one.last for one in (*found[:before][-1:], *made[-1:])]
        end = found[before].first if before < len(found) else len(lines)
        for at in range(max([begins.get(entry.page, end), *before_it]), end):
            line = lines[at]
            if line.page != entry.page:
                break
            if line.style == style and not line.cells and line.base >= top:
                made.append(Heading(at, at + 1, level))
                break
    return made


def _find(
    lines: Sequence[Line], wanted: str, first: int, end: int, taken: set[int]
) -> tuple[int, int] | None:
    """The lines, of lines [first, end), whose words are the wanted ones, or nearly so; a number before them is let
    pass."""
    nearly: tuple[float, int, int] = (_ALIKE, 0, 0)
    for at in range(first, end):
        words = ""
        for last in range(at, min(at + LINES, end)):
            if last in taken:
                break
            words = f"{words} {lines[last].text}".lstrip()
            key = _key(words)
            if wanted in (
                key,
                _key(NUMBER.sub("", words, count=1)) if NUMBER.match(lines[at].text) else key,
            ):
                return at, last + 1
            if len(key) > len(wanted) + 12:
                break
            if len(wanted) > 5 and (close := fuzz.ratio(key, wanted, score_cutoff=nearly[0])) > nearly[0]:
                nearly = close, at, last + 1
    return nearly[1:] if nearly[2] else None


def _key(text: str) -> str:
    return _ALNUM.sub("", text.casefold())
