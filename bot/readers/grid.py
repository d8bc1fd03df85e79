"""Expands a table's column and row spans into rows of equal length.

Pure. Spans follow the HTML standard's "forming a table" (4.9.12) with stricter limits: a cell's text is repeated only
while that adds no more than a few times the table itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bot.readers.writer import PAGE

_COLUMNS: Final = 1_000
_ROWS: Final = 65_534
"""The largest spans of a cell (HTML's standard)."""
_REPEATED: Final = 200
"""Characters; a longer cell is written once, whatever it spans."""


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    columns: int
    rows: int
    head: bool


@dataclass(slots=True)
class Grid:
    """Collects one table's cells: call `row`, then `cell` for each of its cells."""

    _rows: list[tuple[bool, list[_Cell]]] = field(default_factory=list)
    _cells: int = 0

    def row(self, *, head: bool) -> None:
        """Begin a row. `head`: it is marked as a row of column names."""
        self._rows.append((head, []))

    def cell(self, text: str, *, columns: int, rows: int, head: bool) -> None:
        """Add the next cell; 0 `rows` extends it to the table's end."""
        if not self._rows:
            self.row(head=False)
        self._cells += 1
        cell = _Cell(text, min(max(columns, 1), _COLUMNS), rows if rows > 0 else _ROWS, head)
        self._rows[-1][1].append(cell)

    def lines(self) -> list[list[str]]:
        """The rows, with the column names first; those of several heading rows are joined column by column.

        A cell over several rows is repeated in each. One over several columns is repeated among column names, and
        elsewhere is written in the first.
        """
        rows = self._spread()
        heads = self._heads()
        if heads > 1:
            width = max(len(line) for line in rows[:heads])
            padded = [[*line, *[""] * (width - len(line))] for line in rows[:heads]]
            rows[:heads] = [[_joined(names) for names in zip(*padded, strict=True)]]
        return _paged(rows)

    def _heads(self) -> int:
        count = 0
        while count < len(self._rows) and self._rows[count][0]:
            count += 1
        if count:
            return count
        while (
            count < len(self._rows)
            and self._rows[count][1]
            and all(cell.head for cell in self._rows[count][1])
        ):
            count += 1
        return count if count < len(self._rows) else min(count, 1)

    def _spread(self) -> list[list[str]]:
        room = 10_000 + 4 * self._cells
        heads = self._heads()
        carried: dict[int, tuple[int, str]] = {}
        lines: list[list[str]] = []
        for at, (_, cells) in enumerate(self._rows):
            line: list[str] = []
            for cell in cells:
                _carry(line, carried)
                repeated = cell.text.replace(PAGE, "") if len(cell.text) <= _REPEATED else ""
                columns = cell.columns if room > 0 else 1
                for column in range(columns):
                    if cell.rows > 1 and room > 0:
                        carried[len(line)] = (cell.rows - 1, "" if column and at >= heads else repeated)
                    line.append((repeated if at < heads else "") if column else cell.text)
                room -= columns - 1
            if carried and max(carried) >= len(line):
                for column in range(len(line), max(carried) + 1):
                    if column in carried:
                        _carry(line, carried)
                    elif len(line) == column:
                        line.append("")
            room -= len(line) - len(cells)
            if room <= 0:
                carried.clear()
            lines.append(line)
        return lines


def _carry(line: list[str], carried: dict[int, tuple[int, str]]) -> None:
    """Move cells that span into this row from above to their place, if it is next."""
    while (cell := carried.get(len(line))) is not None:
        rows_left, text = cell
        if rows_left > 1:
            carried[len(line)] = (rows_left - 1, text)
        else:
            del carried[len(line)]
        line.append(text)


def _joined(names: tuple[str, ...]) -> str:
    return " ".join(dict.fromkeys(name for name in names if name))


def _paged(lines: list[list[str]]) -> list[list[str]]:
    """Move page marks out of rows that contain nothing else: to the next cell with words, or the last."""
    rows: list[list[str]] = []
    pending = ""
    for line in lines:
        if any(cell.strip(PAGE) for cell in line):
            rows.append([pending + line[0], *line[1:]])
            pending = ""
        else:
            pending += PAGE * sum(cell.count(PAGE) for cell in line)
    if pending and rows:
        rows[-1][-1] += pending
    return rows or ([[pending]] if pending else [])
