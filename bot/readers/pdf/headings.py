"""Which lines of a PDF are headings, and their levels: from its outline if it has one, else from their typography.

The outline's entries are searched for among the lines of their target pages. A guess compares the style of a whole line
(size, weight, slant) with the body's, and counts only for a style whose lines mostly stand alone as headings do.
Independent of PDF.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rapidfuzz import fuzz

from bot.readers.pdf.layout import Line, Style

_LARGER: Final = 1.08
"""From this multiple of the body's size, a line counts as larger."""
_SMALLER: Final = 0.8
"""Bold headings may be as small as this share of the body's size."""
_SAME: Final = 0.6
"""Sizes that differ by less than this many points count as equal."""
_CHARACTERS: Final = 160
_STYLE_SHARE: Final = 0.25
"""A style with more than this share of a document's characters is no heading style."""
_ALONE: Final = 0.6
"""At least this share of a style's groups of lines must look like headings."""
_COMPLETE: Final = 0.34
"""From this many outline entries per page, nothing is guessed in addition."""
_END: Final = re.compile(r"[.,;]$|[a-z]-$|\xad$")
_LETTER: Final = re.compile(r"[^\W\d_]")
_LEADERS: Final = re.compile(r"\.{4,}|(?:\. ){4,}|…{2,}")
NUMBER: Final = re.compile(
    r"(?:(?:chapter|part|section|cap[ií]tulo|parte|se[cç][aã]o)\s+)?(\d{1,3}(?:\.\d{1,3}){0,5})\.?\s+(?=\w)",
    re.I,
)
_ROMANS: Final = (
    "I",
    "II",
    "III",
    "IV",
    "V",
    "VI",
    "VII",
    "VIII",
    "IX",
    "X",
    "XI",
    "XII",
    "XIII",
    "XIV",
    "XV",
)
_ROMAN: Final = re.compile(r"([IVX]{1,5})\.\s+(?=[^a-z]{3,}$)")
LINES: Final = 4
"""The most lines of one heading."""

_ALIKE: Final = 88.0
"""The likeness in per cent from which a line counts as an outline's entry, if no line has exactly its words."""

_ALNUM: Final = re.compile(r"[\W_]+")


def body_style(lines: Sequence[Line]) -> Style:
    """The style that most characters are set in."""
    sizes: Counter[Style] = Counter()
    for line in lines:
        sizes[line.style] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else (10.0, False, False)


def headings(lines: Sequence[Line], outline: Sequence[Entry], heights: Sequence[float]) -> list[Heading]:
    """The headings in order, not overlapping. `heights` are those of the pages."""
    pages = len(heights)
    by_outline = matched(lines, outline, heights)
    if len(by_outline) >= _COMPLETE * pages or len(by_outline) >= 0.9 * len(outline) > 3 * pages:
        return by_outline
    guessed = _guessed(lines)
    if not by_outline and (numbered := _roman(lines)):
        return _below(lines, numbered, guessed)
    if not by_outline:
        return _levelled(lines, guessed)
    return _merged(lines, by_outline, guessed)


def _roman(lines: Sequence[Line]) -> list[int]:
    """The lines "I. INTRODUCTION", "II. METHODS" and so on, which two-column papers set no larger than their text; at
    least three that count from I.
    """
    starts: list[int] = []
    for at, line in enumerate(lines):
        match = _ROMAN.match(line.text)
        if (
            match
            and len(starts) < len(_ROMANS)
            and match[1] == _ROMANS[len(starts)]
            and len(line.text) <= _CHARACTERS
        ):
            starts.append(at)
    return starts if len(starts) >= 3 else []


def _below(
    lines: Sequence[Line], numbered: Sequence[int], guessed: Sequence[tuple[int, int]]
) -> list[Heading]:
    """Numbered lines as headings, with the guessed ones below them; lines before the first are the title and the
    authors.
    """
    later = [span for span in guessed if span[0] > numbered[0] and not set(numbered) & set(range(*span))]
    ranks = _ranks(lines, later)
    headings = [Heading(at, at + 1, 1) for at in numbered]
    headings += [Heading(first, last, min(ranks[lines[first].style] + 2, 6)) for first, last in later]
    return sorted(headings, key=lambda heading: heading.first)


def _guessed(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """Groups of lines [first, last) that look like headings."""
    body = body_style(lines)
    total = sum(len(line.text) for line in lines) or 1
    share: Counter[Style] = Counter()
    for line in lines:
        share[line.style] += len(line.text)
    groups: dict[Style, list[tuple[int, int]]] = defaultdict(list)
    for first, last in _groups(lines, body):
        if lines[first].turned or (lines[first].cells and not NUMBER.match(lines[first].text)):
            continue  # probably the head of a table
        groups[lines[first].style].append((first, last))
    spans: list[tuple[int, int]] = []
    for style, members in groups.items():
        likely = [span for span in members if _likely(lines, *span, style, body)]
        larger = style[0] >= 1.3 * body[0]
        if share[style] <= _STYLE_SHARE * total and (larger or len(likely) >= _ALONE * len(members)):
            spans += likely
    return sorted(spans)


def _groups(lines: Sequence[Line], body: Style) -> Iterator[tuple[int, int]]:
    """Neighbouring lines in the same prominent style."""
    at = 0
    while at < len(lines):
        line = lines[at]
        last = at + 1
        if _stands_out(line.style, body):
            while last < len(lines) and _goes_on(lines[last - 1], lines[last]):
                last += 1
            yield at, last
        at = last


def _stands_out(style: Style, body: Style) -> bool:
    size, bold, _ = style
    return size >= _LARGER * body[0] or (bold and not body[1] and size >= _SMALLER * body[0])


def _goes_on(line: Line, after: Line) -> bool:
    """Whether the line below belongs to the same heading: at normal line spacing, after a full first line."""
    return (
        after.page == line.page
        and after.block == line.block
        and after.style == line.style
        and 0 <= after.base - line.base <= 1.45 * line.size
    )


def _likely(lines: Sequence[Line], first: int, last: int, style: Style, body: Style) -> bool:
    words = " ".join(line.text for line in lines[first:last])
    if last - first > LINES or len(words) > _CHARACTERS or len(_LETTER.findall(words)) < 2:
        return False
    if any(line.cells for line in lines[first:last]) and not NUMBER.match(words):
        return False
    if _END.search(words) or _LEADERS.search(words) or words[0] in "•▪–—*":
        return False
    if words[0].islower() and style[0] < 1.3 * body[0]:
        return False
    return _apart(lines, first, last)


def _apart(lines: Sequence[Line], first: int, last: int) -> bool:
    """Whether there is more space above than between lines, or the column begins, and text follows."""
    line = lines[first]
    if last == len(lines):
        return False
    if first == 0 or lines[first - 1].page != line.page or lines[first - 1].block != line.block:
        return True
    previous = lines[first - 1]
    gap = line.base - previous.base
    return gap < 0 or gap >= 1.3 * max(line.size, 0.9 * previous.size)


def _levelled(lines: Sequence[Line], guessed: Sequence[tuple[int, int]]) -> list[Heading]:
    """Headings with levels by the rank of their styles. Lines at the very beginning in a style of their own are the
    title and the authors.
    """
    uses = Counter(lines[first].style for first, _ in guessed)
    remaining = list(guessed)
    while len(remaining) > 3 and lines[remaining[0][0]].page == 0 and uses[lines[remaining[0][0]].style] == 1:
        del remaining[0]
    ranks, depths = _ranks(lines, remaining), _depths(lines, remaining)
    return [
        Heading(first, last, min(depths.get(first, ranks[lines[first].style] + 1), 6))
        for first, last in remaining
    ]


def _ranks(lines: Sequence[Line], guessed: Sequence[tuple[int, int]]) -> dict[Style, int]:
    """Rank 0 for the largest style. Among styles of one size, a style directly followed by the other ranks higher;
    otherwise the rarer one does.
    """
    uses = Counter(lines[first].style for first, _ in guessed)
    stacked: Counter[tuple[Style, Style]] = Counter()
    for (_, last), (first, _) in pairwise(guessed):
        if last == first:
            stacked[lines[last - 1].style, lines[first].style] += 1

    def above(style: Style) -> tuple[float, int, int]:
        similar_styles = [
            similar for similar in uses if similar != style and abs(similar[0] - style[0]) <= _SAME
        ]
        wins = sum(
            (stacked[style, similar] > stacked[similar, style])
            - (stacked[style, similar] < stacked[similar, style])
            for similar in similar_styles
        )
        return -max([style[0], *(similar[0] for similar in similar_styles)]), -wins, uses[style]

    return {style: rank for rank, style in enumerate(sorted(uses, key=above))}


def _depths(lines: Sequence[Line], guessed: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Levels by numbers ("2.1.3" is of the third level), if most headings have one of several depths."""
    depths = {
        first: number[1].count(".") + 1 for first, _ in guessed if (number := NUMBER.match(lines[first].text))
    }
    return depths if len(depths) >= 0.6 * len(guessed) and len(set(depths.values())) > 1 else {}


def _merged(
    lines: Sequence[Line], sure: Sequence[Heading], guessed: Sequence[tuple[int, int]]
) -> list[Heading]:
    """An outline of chapters only, merged with the headings that it leaves out. A heading set like the outline's own
    gets their level; one set smaller is deeper than all of them.
    """
    levels: dict[Style, Counter[int]] = defaultdict(Counter)
    for heading in sure:
        levels[lines[heading.first].style][heading.level] += 1
    levels_known = {style: counts.most_common(1)[0][0] for style, counts in levels.items()}
    deepest, smallest = max(levels_known.values()), min(levels_known)
    covered = {at for heading in sure for at in range(heading.first, heading.last)}
    uncovered = [span for span in guessed if not covered.intersection(range(*span))]
    new_spans = [
        span for span in uncovered if (style := lines[span[0]].style) not in levels_known and style < smallest
    ]
    ranks = _ranks(lines, new_spans)
    headings = list(sure)
    for first, last in uncovered:
        style = lines[first].style
        if style in levels_known:
            headings.append(Heading(first, last, levels_known[style]))
        elif style in ranks:
            headings.append(Heading(first, last, min(deepest + 1 + ranks[style], 6)))
    return sorted(headings, key=lambda heading: heading.first)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of an outline: `level` from 1, its target's `page` (from 0) and height above the page's
    foot (points).
    """

    level: int
    title: str
    page: int | None
    height: float | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of this level in lines [first, last)."""

    first: int
    last: int
    level: int


def matched(lines: Sequence[Line], outline: Sequence[Entry], heights: Sequence[float]) -> list[Heading]:
    """The outline's entries that are found on their page by their words. `heights` are those of the pages."""
    begins: dict[int, int] = {}
    for at, line in enumerate(lines):
        begins.setdefault(line.page, at)
    starts = sorted(begins)
    covered: set[int] = set()
    headings: list[Heading] = []
    missed: list[tuple[Entry, int]] = []
    after: dict[int, int] = {}
    for entry in outline:
        key = _key(entry.title)
        if not key or entry.page is None:
            continue
        hit = None
        for page in (entry.page, entry.page + 1):
            first = begins.get(page)
            if first is None:
                continue
            end = next((begins[later] for later in starts[bisect_left(starts, page) + 1 :][:1]), len(lines))
            hit = _find(lines, key, max(first, after.get(page, 0)), end, covered) or _find(
                lines, key, first, end, covered
            )
            if hit:
                after[page] = hit[1]
                break
        if hit:
            covered.update(range(*hit))
            headings.append(Heading(*hit, min(entry.level, 6)))
        else:
            missed.append((entry, len(headings)))
    if all(earlier.first < following.first for earlier, following in pairwise(headings)):
        headings += _by_style(lines, headings, missed, begins, heights)
    return sorted(headings, key=lambda heading: heading.first)


def _by_style(
    lines: Sequence[Line],
    headings: Sequence[Heading],
    missed: Sequence[tuple[Entry, int]],
    begins: dict[int, int],
    heights: Sequence[float],
) -> list[Heading]:
    """Entries whose words differ from those on the page, because some programs garble them: the next line below the
    entry's target that is set like the headings of its level. `missed` has the number of found entries before each.
    """
    styles: dict[int, Counter[Style]] = defaultdict(Counter)
    for heading in headings:
        styles[heading.level][lines[heading.first].style] += 1
    added: list[Heading] = []
    for entry, before in missed:
        level = min(entry.level, 6)
        if entry.page is None or entry.height is None or level not in styles or entry.page >= len(heights):
            continue
        top = heights[entry.page] - entry.height
        style = styles[level].most_common(1)[0][0]
        before_it = [heading_before.last for heading_before in (*headings[:before][-1:], *added[-1:])]
        end = headings[before].first if before < len(headings) else len(lines)
        for at in range(max([begins.get(entry.page, end), *before_it]), end):
            line = lines[at]
            if line.page != entry.page:
                break
            if line.style == style and not line.cells and line.base >= top:
                added.append(Heading(at, at + 1, level))
                break
    return added


def _find(
    lines: Sequence[Line], wanted_key: str, first: int, end: int, covered: set[int]
) -> tuple[int, int] | None:
    """The lines among [first, end) whose words are the wanted ones, or nearly; a number before them is ignored."""
    nearly: tuple[float, int, int] = (_ALIKE, 0, 0)
    for at in range(first, end):
        words = ""
        for last in range(at, min(at + LINES, end)):
            if last in covered:
                break
            words = f"{words} {lines[last].text}".lstrip()
            key = _key(words)
            if wanted_key in (
                key,
                _key(NUMBER.sub("", words, count=1)) if NUMBER.match(lines[at].text) else key,
            ):
                return at, last + 1
            if len(key) > len(wanted_key) + 12:
                break
            if (
                len(wanted_key) > 5
                and (close := fuzz.ratio(key, wanted_key, score_cutoff=nearly[0])) > nearly[0]
            ):
                nearly = close, at, last + 1
    return nearly[1:] if nearly[2] else None


def _key(text: str) -> str:
    return _ALNUM.sub("", text.casefold())
