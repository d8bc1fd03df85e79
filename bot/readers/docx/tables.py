"""A Word table's rows and cells, whatever is in them; and as columns of words.

How a cell is read and said is its caller's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from bot.readers.docx.line import THROUGH
from bot.readers.docx.xml import Element, child, kind, number, switch, value
from bot.readers.grid import Grid

COLUMNS: Final = 63
"""Word's own limit; what stands beyond it stands in the last one."""

Part = TypeVar("Part")


@dataclass(slots=True)
class Cell(Generic[Part]):
    """`goes_on` where it is one with the cell above."""

    content: list[Part]
    columns: int = 1
    goes_on: bool = False


@dataclass(slots=True)
class Row(Generic[Part]):
    """`head` where it is said to be one of column names."""

    cells: list[Cell[Part]]
    head: bool


def read_rows(table: Element, read: Callable[[Element], list[Part]]) -> list[Row[Part]]:
    """Those that have cells and were not deleted."""
    rows = []
    for element in _below(table, "tr"):
        properties = child(element, "trPr")
        if child(properties, "del") is None and (cells := _cells(element, read)):
            rows.append(Row(cells, bool(switch(child(properties, "tblHeader")))))
    return rows


def grid(rows: list[Row[Part]], say: Callable[[list[Part]], str]) -> list[list[str]]:
    """The cells' words in their columns, the column names first."""
    heights: dict[tuple[int, int], int] = {}
    above: dict[int, tuple[int, int]] = {}
    for at, row in enumerate(rows):
        begun: dict[int, tuple[int, int]] = {}
        column = 0
        for cell in row.cells:
            goes_on = cell.goes_on and not cell.content
            begun[column] = above.get(column, (at, column)) if goes_on else (at, column)
            heights[begun[column]] = heights.get(begun[column], 0) + 1
            column += cell.columns
        above = begun
    made = Grid()
    for at, row in enumerate(rows):
        made.row(head=row.head)
        column = 0
        for cell in row.cells:
            if height := heights.get((at, column)):
                made.cell(say(cell.content), columns=cell.columns, rows=height, head=row.head)
            column += cell.columns
    return made.lines()


def _cells(row: Element, read: Callable[[Element], list[Part]]) -> list[Cell[Part]]:
    cells: list[Cell[Part]] = []
    before = number(child(child(row, "trPr"), "gridBefore")) or 0
    room = COLUMNS - 1
    if before > 0:
        cells.append(Cell([], min(before, room)))
        room -= cells[0].columns
    for element in _below(row, "tc"):
        properties = child(element, "tcPr")
        merged = child(properties, "vMerge")
        columns = max(number(child(properties, "gridSpan")) or 1, 1)
        content = read(element)
        if room < 0:
            cells[-1].content += content
            continue
        goes_on = merged is not None and value(merged) != "restart"
        cells.append(Cell(content, min(columns, room + 1), goes_on))
        room -= columns
    return cells


def _below(element: Element, wanted: str) -> Iterator[Element]:
    """A table's rows or a row's cells, also those in content controls."""
    for one in element:
        name = kind(one)
        if name == wanted:
            yield one
        elif name in THROUGH or name == "sdt":
            yield from _below(one, wanted)
