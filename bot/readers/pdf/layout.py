"""Orders the words of a page into lines in reading order: columns one after another, and lines across them in their
place. Separated letters (initials, titles in spaced letters) are joined to words.

A recursive cut in two (after Nagy and Seth's X-Y cut, 1984) along a gutter, a strip that is clear over many rows.
Columns differ from a table in that the file has them one after the other, or that both sides are prose. Independent of
PDF.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from bot.readers.pdf.page import HYPHEN, Word

CELL_GAP: Final = 1.0
"""Ems between two words of a row from which they may be in different columns of a table."""
_GUTTER: Final = 0.9
"""The least width in ems of a gutter between columns of text."""
_BIN: Final = 2.0
"""Points: the resolution of the search for gutters."""
_BINS: Final = 1000
_DEPTH: Final = 6
_ROWS: Final = 3
"""The least number of rows of a column."""
_TRIES: Final = 3
_WORDS: Final = 20_000
"""The words on a page above which it is read in the file's order; a readable page has 2,000."""

Style = tuple[float, bool, bool]
_INITIALS: Final = 100
"""The most letters on a page that are examined as initials."""

_SPACED: Final = 5
"""The letters in a line of nothing else from which they form words."""

_LARGER: Final = 1.8
"""The least size of an initial, as a multiple of the text next to it."""
_PART: Final = 1_000
"""The most blocks of one part of a page; more would use the next part's numbers."""


@dataclass(frozen=True, slots=True)
class Cell:
    left: float
    right: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text in its column. `edges` are the column's; `page` counts from 0."""

    page: int
    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool
    italic: bool
    edges: tuple[float, float]
    block: int
    """Neighbouring lines in the same column and band share the number."""
    cells: tuple[Cell, ...] = ()
    """Its pieces, if wide gaps separate it."""
    rank: int = 9
    """The number of rows between it and the page's nearest edge, above or below; at most 9."""

    @property
    def turned(self) -> bool:
        """Whether its direction differs from most of its page, like a stamp in the margin."""
        return self.block >= _PART

    @property
    def style(self) -> Style:
        """The style that distinguishes headings from other lines: size to half a point, bold, slanted."""
        return round(self.size * 2) / 2, self.bold, self.italic


@dataclass(slots=True)
class _Row:
    words: list[tuple[int, Word]]
    base: float
    size: float

    def overlaps(self, word: Word) -> bool:
        """Whether a word is on the row: raised or lowered by less than half a letter's height."""
        top, low = max(self.base - 0.75 * self.size, word.base - 0.75 * word.size), min(self.base, word.base)
        return low + 0.2 * min(self.size, word.size) - top >= 0.5 * 0.95 * min(self.size, word.size)


def laid_out(words: Sequence[Word], page: int, part: int = 0) -> list[Line]:
    """The lines of a page, or of a `part` of it with another rotation, in reading order."""
    rows = _rows(enumerate(with_initials(words)))
    groups = [rows] if len(words) > _WORDS else list(_cut(rows, _DEPTH))
    ranks = _ranks(rows)
    lines: list[Line] = []
    for block, group in enumerate(groups, _PART * part):
        edges = (
            min(word.left for row in group for _, word in row.words),
            max(word.right for row in group for _, word in row.words),
        )
        lines += [_line(row, page, block, edges, ranks) for row in group]
    return lines


def _rows(words: Iterable[tuple[int, Word]]) -> list[_Row]:
    """Words, with their positions in the file, by base lines from top to bottom."""
    rows: list[_Row] = []
    for place, word in sorted(words, key=lambda numbered: (numbered[1].base, numbered[0])):
        row = next((row for row in rows[:-4:-1] if row.overlaps(word)), None)
        if row is None:
            rows.append(_Row([(place, word)], word.base, word.size))
            continue
        row.words.append((place, word))
        if word.size > row.size:
            row.base, row.size = word.base, word.size
    rows.sort(key=lambda row: row.base)
    return rows


def _ranks(rows: list[_Row]) -> dict[int, int]:
    """The ranks of rows, by the position of a row's first word."""
    last = len(rows) - 1
    return {place: min(at, last - at) for at, row in enumerate(rows) for place, _ in row.words}


def _cut(rows: list[_Row], depth: int) -> Iterator[list[_Row]]:
    """Groups of rows that are read one after another."""
    cut = _columns(rows) if depth and len(rows) >= _ROWS else None
    if cut is None:
        if rows:
            yield rows
        return
    first, last, at = cut
    if first:
        yield from _cut(rows[:first], depth - 1)
    sides = [_side(rows[first:last], at, right) for right in (False, True)]
    if _backwards(rows[first:last]):
        sides.reverse()
    for side in sides:
        yield from _cut(side, depth - 1)
    if last < len(rows):
        yield from _cut(rows[last:], depth - 1)


def _side(rows: list[_Row], at: float, right: bool) -> list[_Row]:
    """The words on one side of a gutter in rows of their own, so that a large heading on the other side does not merge
    two lines.
    """
    return _rows([word for row in rows for word in row.words if (word[1].left >= at) is right])


def _columns(rows: list[_Row]) -> tuple[int, int, float] | None:
    """The rows [first, last) that a gutter divides into columns of text, and the gutter's position."""
    left = min(word.left for row in rows for _, word in row.words)
    right = max(word.right for row in rows for _, word in row.words)
    step = max(_BIN, (right - left) / _BINS)
    columns = int((right - left) / step) + 1
    began = np.zeros(columns, int)  # where the current run of clear rows began
    sides = np.zeros((2, columns), int)  # the number of its rows with words to the left and to the right
    bands: list[tuple[int, int, int, int]] = []

    def close(bins: Any, row: int) -> None:
        scores = sides.min(axis=0)
        bands.extend(
            (int(scores[column]), int(began[column]), row, int(column))
            for column in np.flatnonzero(bins & (scores >= _ROWS))
        )
        began[bins] = row + 1
        sides[:, bins] = 0

    for number, row in enumerate(rows):
        spans = sorted((word.left, word.right) for _, word in row.words)
        clear = np.zeros(columns, bool)
        reach = spans[0][0]
        first = int((reach - left) / step)
        for start, end in spans:
            if start - reach >= _GUTTER * row.size:
                clear[int((reach - left) / step) + 1 : int((start - left) / step)] = True
            reach = max(reach, end)
        last = int((reach - left) / step) + 1
        sides[0, first:] += 1
        sides[1, :last] += 1
        clear[:first] = clear[last:] = True
        if not clear.all():
            close(~clear, number)
    close(np.ones(columns, bool), len(rows))
    bands.sort(key=lambda band: (-band[0], band[1] - band[2]))
    checked: set[tuple[int, int]] = set()
    for score, first, last, column in bands:
        if (first, last) in checked:
            continue
        if len(checked) == _TRIES:
            break
        checked.add((first, last))
        same_band = [column_there for *band, column_there in bands if band == [score, first, last]]
        at = left + (_middle(same_band, column) + 0.5) * step
        first, last = _trimmed(rows, first, last, at)
        if last - first >= _ROWS and _are_columns(rows[first:last], at, right - left):
            return first, last, at
    return None


def _middle(bins: list[int], start: int) -> int:
    """The middle of the unbroken run of bins that `start` is in."""
    columns = set(bins) | {start}
    low = high = start
    while low - 1 in columns:
        low -= 1
    while high + 1 in columns:
        high += 1
    return (low + high) // 2


def _trimmed(rows: list[_Row], first: int, last: int, at: float) -> tuple[int, int]:
    """The band without first rows that have words on one side only; a short heading above both columns precedes them
    either way.
    """
    while first < last and not any(word.left >= at for _, word in rows[first].words):
        nearest = min(word.base for row in rows[first + 1 : last] for _, word in row.words if word.left >= at)
        if nearest - rows[first].base <= 0.5 * rows[first].size:
            break
        first += 1
    return first, last


def _are_columns(rows: list[_Row], at: float, width: float) -> bool:
    """Whether the two sides are columns of text rather than of a table."""
    sides = [_side(rows, at, right) for right in (False, True)]
    if min(map(len, sides)) < _ROWS or min(map(_width, sides)) < 0.12 * width:
        return False
    order = [
        side for _, side in sorted((place, word.left >= at) for row in rows for place, word in row.words)
    ]
    switches = sum(first != second for first, second in pairwise(order))
    if switches <= 1 + min(map(len, sides)) // 8:
        return True
    return all(_prose(side) for side in sides)


def _width(rows: list[_Row]) -> float:
    words = [word for row in rows for _, word in row.words]
    return max(word.right for word in words) - min(word.left for word in words)


def _prose(rows: list[_Row]) -> bool:
    """Whether most rows are full of words."""
    width = _width(rows)
    full = sum(
        len(row.words) >= 4 and sum(word.right - word.left for _, word in row.words) >= 0.65 * width
        for row in rows
    )
    return full >= 0.5 * len(rows) and len(rows) >= 5


def _backwards(rows: list[_Row]) -> bool:
    """Whether the words are in a right-to-left script."""
    letters = Counter(
        unicodedata.bidirectional(word.text[0]) in ("R", "AL") for row in rows for _, word in row.words
    )
    return letters[True] > letters[False]


def _line(row: _Row, page: int, block: int, edges: tuple[float, float], ranks: dict[int, int]) -> Line:
    backwards = _backwards([row])
    words = row.words if backwards else sorted(row.words, key=lambda numbered: numbered[1].left)
    if backwards:
        words = sorted(words)
    sizes: Counter[float] = Counter()
    for _, word in words:
        sizes[word.size] += len(word.text)
    lettered = [word for _, word in words if any(map(str.isalnum, word.text))]
    size = sizes.most_common(1)[0][0]
    left, right = min(word.left for _, word in words), max(word.right for _, word in words)
    ordered = [word for _, word in words]
    cells = () if backwards or closed_up(ordered) else tuple(_cells(ordered, size))
    return Line(
        page=page,
        text=_joined(ordered),
        left=left,
        right=right,
        base=max(word.base for _, word in words if word.size == size),
        size=size,
        bold=bool(lettered) and all(word.bold for word in lettered),
        italic=bool(lettered) and all(word.italic for word in lettered),
        edges=edges,
        block=block,
        cells=cells if len(cells) > 1 else (),
        rank=min(ranks[words[0][0]], 9),
    )


def _cells(words: list[Word], size: float) -> Iterator[Cell]:
    cell_words: list[Word] = []
    for word in words:
        if cell_words and word.left - max(cell_word.right for cell_word in cell_words) >= CELL_GAP * size:
            yield Cell(
                cell_words[0].left, max(cell_word.right for cell_word in cell_words), _joined(cell_words)
            )
            cell_words = []
        cell_words.append(word)
    yield Cell(cell_words[0].left, max(cell_word.right for cell_word in cell_words), _joined(cell_words))


def _joined(words: list[Word]) -> str:
    """The words joined with blanks; a hyphen inside a line that PDFium took for a line end becomes a normal hyphen."""
    return closed_up(words) or " ".join(
        [*(word.text.replace(HYPHEN, "-") for word in words[:-1]), words[-1].text]
    )


def with_initials(words: Sequence[Word]) -> Sequence[Word]:
    """The words, with initials over several lines joined to the words that they begin."""
    merged: set[int] = set()
    joined: dict[int, Word] = {}
    large = [at for at, word in enumerate(words) if len(word.text) == 1 and word.text.isupper()][:_INITIALS]
    for at in large:
        initial = words[at]
        line_words = [
            (word.base, word.left, place)
            for place, word in enumerate(words)
            if initial.size >= _LARGER * word.size
            and -0.3 * word.size <= word.left - initial.right <= 1.2 * word.size
            and initial.base - 0.85 * initial.size <= word.base <= initial.base + 0.3 * word.size
        ]
        if len(line_words) < 2 or len({word[0] for word in line_words}) != len(line_words):
            continue
        (base, left, place), *below = sorted(line_words)
        word = words[place]
        if initial.base - base < 0.8 * word.size or place in joined:
            continue
        spaces = (
            left - min(neighbour for _, neighbour, _ in below) >= 0.15 * word.size
            or not word.text[0].isalpha()
        )
        joined[place] = replace(word, text=f"{initial.text}{' ' * spaces}{word.text}")
        merged.add(at)
    return [joined.get(at, word) for at, word in enumerate(words) if at not in merged] if merged else words


def closed_up(words: Sequence[Word]) -> str:
    """The words of a title in spaced letters, separated at the wider gaps; "" for any other line, such as
    an alphabet.
    """
    texts = [word.text for word in words]
    if (
        len(texts) < _SPACED
        or not all(len(text) == 1 and text.isalpha() for text in texts)
        or texts == sorted(texts)
    ):
        return ""
    gaps = [after.left - before.right for before, after in pairwise(words)]
    usual = sorted(gaps)[len(gaps) // 3]
    wide = [gap > usual + 0.15 * words[0].size for gap in gaps]
    if 2 * sum(wide) > len(wide):
        return ""
    return texts[0] + "".join(f"{' ' * parts}{text}" for text, parts in zip(texts[1:], wide, strict=True))
