"""Finds lines of a PDF that are a table: aligned pieces, separated by gutters through all rows.

Only certain tables count; other lines stay lines. Independent of PDF.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from bot.readers.pdf.layout import Cell, Line
from bot.readers.writer import PAGE

_GUTTER: Final = 0.8
"""The least width of a gutter in ems."""
_ROWS: Final = 3
_ROW_GAP: Final = 2.6
"""The most ems from one base line to the next."""
_LEADING: Final = 1.35
"""The most ems between the lines of one cell."""
_ALIGNED: Final = 0.7
"""The share of a column's cells that must have the same left edge, right edge or middle."""

Span = tuple[float, float]
Join = Callable[[str, str], str]


@dataclass(slots=True)
class Table:
    """A table in lines [first, last). All `rows` have one cell per column; `lefts` are the columns' left edges."""

    first: int
    last: int
    rows: list[list[str]]
    lefts: list[float]


def tables(lines: Sequence[Line], headings: Collection[int], join: Join) -> dict[int, Table]:
    """The tables by their first lines. `headings` are lines that belong to no table; `join` mends a
    cell's line ends.
    """
    tables_by_line: dict[int, Table] = {}
    before: Table | None = None
    at = 0
    while at < len(lines):
        table = _table(lines, at, headings, join) if lines[at].cells and at not in headings else None
        if table is None:
            at += 1
            continue
        if before is not None and before.last == at and _same(before, table, lines):
            _append(before, table, lines[at].page - lines[at - 1].page)
        else:
            tables_by_line[table.first] = before = table
        at = table.last
    return tables_by_line


def _same(before: Table, after: Table, lines: Sequence[Line]) -> bool:
    """Whether a table continues on the next page."""
    return (
        lines[after.first].page == lines[before.last - 1].page + 1
        and len(before.lefts) == len(after.lefts)
        and all(
            abs(left - right) <= 0.8 * lines[after.first].size
            for left, right in zip(before.lefts, after.lefts, strict=True)
        )
    )


def _append(table: Table, continuation: Table, pages: int) -> None:
    rows = continuation.rows[1:] if continuation.rows[0] == table.rows[0] else continuation.rows
    table.last = continuation.last
    for at, cell in enumerate(rows[0] if rows else ()):
        if cell:
            rows[0][at] = PAGE * pages + cell
            break
    table.rows += rows


def _table(lines: Sequence[Line], first: int, headings: Collection[int], join: Join) -> Table | None:
    gutters, last = _extent(lines, first, headings)
    columns = len(gutters) + 1
    while (
        last > first and len(lines[last - 1].cells) < 2 and not _column(_pieces(lines[last - 1])[0], gutters)
    ):
        last -= 1
    members = lines[first:last]
    placed = [_placed(line, gutters) for line in members]
    full = [row for row in placed if sum(map(bool, row)) >= 2]
    if columns < 2 or len(full) < _ROWS or any(len(row) != columns for row in placed):
        return None
    if len(full) < 0.5 * len(placed):
        return None
    em = members[0].size
    if not all(_aligned([row[column] for row in full if row[column]], em) for column in range(columns)):
        return None
    rows: list[list[str]] = []
    for number, (line, cells) in enumerate(zip(members, placed, strict=True)):
        texts = [" ".join(cell.text for cell in row) for row in cells]
        if number and _goes_on(rows[-1], texts, line.base - members[number - 1].base, line.size):
            rows[-1] = [
                join(above, below) if below else above for above, below in zip(rows[-1], texts, strict=True)
            ]
        else:
            rows.append(texts)
    while _heads(lines, first, gutters, headings):
        first -= 1
        column = _column(_pieces(lines[first])[0], gutters)
        rows[0][column] = join(lines[first].text, rows[0][column])
    lefts = [min(cell.left for row in full for cell in row[column]) for column in range(columns)]
    return Table(first, last, rows, lefts) if len(rows) >= _ROWS else None


def _heads(lines: Sequence[Line], first: int, gutters: Sequence[Span], headings: Collection[int]) -> bool:
    """Whether the line above is the beginning of a cell in the first row, which is aligned to the row's foot."""
    if first == 0 or first - 1 in headings:
        return False
    above, line = lines[first - 1], lines[first]
    is_near = 0 < line.base - above.base <= _LEADING * line.size
    return (
        is_near
        and (above.page, above.block) == (line.page, line.block)
        and not above.cells
        and above.left >= gutters[0][1] - 0.1
        and all(above.right <= start + 0.1 or above.left >= end - 0.1 for start, end in gutters)
    )


def _extent(lines: Sequence[Line], first: int, headings: Collection[int]) -> tuple[list[Span], int]:
    """The gutters through all lines from `first` on, and the line where they end."""
    line = lines[first]
    gutters = _gaps(line)[1:-1]
    most = len(gutters)
    at = first + 1
    while at < len(lines) and at not in headings:
        below = lines[at]
        if (
            below.page != line.page
            or below.block != line.block
            or not 0 <= below.base - lines[at - 1].base <= _ROW_GAP * below.size
        ):
            break
        gutters_kept = [
            (max(start, low), min(end, high))
            for start, end in gutters
            for low, high in _gaps(below)
            if min(end, high) - max(start, low) >= _GUTTER * line.size
        ]
        if not gutters_kept or 2 * len(gutters_kept) < most:
            break
        gutters = gutters_kept
        at += 1
    return gutters, at


def _pieces(line: Line) -> Sequence[Cell]:
    return line.cells or (Cell(line.left, line.right, line.text),)


def _gaps(line: Line) -> list[Span]:
    """The clear stretches of a line, including those before and after its text."""
    cells = _pieces(line)
    return list(
        zip(
            [-math.inf, *(cell.right for cell in cells)],
            [*(cell.left for cell in cells), math.inf],
            strict=True,
        )
    )


def _column(cell: Cell, gutters: Sequence[Span]) -> int:
    return sum(cell.left >= end - 0.1 for _, end in gutters)


def _placed(line: Line, gutters: Sequence[Span]) -> list[list[Cell]]:
    placed: list[list[Cell]] = [[] for _ in range(len(gutters) + 1)]
    for cell in _pieces(line):
        placed[_column(cell, gutters)].append(cell)
    return placed


def _aligned(cells: Sequence[Sequence[Cell]], em: float) -> bool:
    """Whether most of a column's cells begin, end or are centred at the same place."""
    if len(cells) < 2:
        return False
    for place in (
        [row[0].left for row in cells],
        [row[-1].right for row in cells],
        [(row[0].left + row[-1].right) / 2 for row in cells],
    ):
        slots = Counter(round(edge / em * 2) for edge in place)
        slot = slots.most_common(1)[0][0]
        if sum(slots[near] for near in (slot - 1, slot, slot + 1)) >= _ALIGNED * len(cells):
            return True
    return False


def _goes_on(above: Sequence[str], texts: Sequence[str], gap: float, size: float) -> bool:
    """Whether a line continues the cells above it."""
    filled = sum(map(bool, texts))
    if gap > _LEADING * size or filled == len(texts):
        return False
    if not texts[0] and (filled < len(texts) - 1 or len(texts) == 2):
        return True
    return any(
        over.endswith(("\xad", "-")) or text[0].islower()
        for over, text in zip(above, texts, strict=True)
        if text and over
    )
