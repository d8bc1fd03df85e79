"""A table of cells that reach over columns and rows, as rows of equal columns.

Pure. Spans follow the HTML standard's "forming a table" (4.9.12), but for its limits: what a cell says is repeated
only while that costs no more than a few times the table itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from bot.readers.writer import PAGE

_COLUMNS: Final = 1_000
_ROWS: Final = 65_534
"""Of a span, as in the standard."""
_REPEATED: Final = 200
"""Characters: a longer cell stands once, whatever it reaches over."""


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    columns: int
    rows: int
    head: bool


@dataclass(slots=True)
class Grid:
    """One table's cells as they come: `row`, then its `cell`s."""

    _rows: list[tuple[bool, list[_Cell]]] = field(default_factory=list)
    _cells: int = 0

    def row(self, *, head: bool) -> None:
        """A row begins; `head` where it is said to be one of column names."""
        self._rows.append((head, []))

    def cell(self, text: str, *, columns: int, rows: int, head: bool) -> None:
        """The next one; 0 `rows` reach to the table's end."""
        if not self._rows:
            self.row(head=False)
        self._cells += 1
        cell = _Cell(text, min(max(columns, 1), _COLUMNS), rows if rows > 0 else _ROWS, head)
        self._rows[-1][1].append(cell)

    def lines(self) -> list[list[str]]:
        """Row by row, the column names first: those of several heading rows joined, column by column.

        A cell over several rows says the same in each; one over several columns does so among column names, and
        stands in the first one elsewhere.
        """
        made = self._spread()
        heads = self._heads()
        if heads > 1:
            width = max(len(line) for line in made[:heads])
            padded = [[*line, *[""] * (width - len(line))] for line in made[:heads]]
            made[:heads] = [[_joined(names) for names in zip(*padded, strict=True)]]
        return _paged(made)

    def _heads(self) -> int:
        said = 0
        while said < len(self._rows) and self._rows[said][0]:
            said += 1
        if said:
            return said
        while said < len(self._rows) and self._rows[said][1] and all(one.head for one in self._rows[said][1]):
            said += 1
        return said if said < len(self._rows) else min(said, 1)

    def _spread(self) -> list[list[str]]:
        room = 10_000 + 4 * self._cells
        heads = self._heads()
        carried: dict[int, tuple[int, str]] = {}
        made: list[list[str]] = []
        for at, (_, cells) in enumerate(self._rows):
            line: list[str] = []
            for cell in cells:
                _carry(line, carried)
                again = cell.text.replace(PAGE, "") if len(cell.text) <= _REPEATED else ""
                columns = cell.columns if room > 0 else 1
                for column in range(columns):
                    if cell.rows > 1 and room > 0:
                        carried[len(line)] = (cell.rows - 1, "" if column and at >= heads else again)
                    line.append((again if at < heads else "") if column else cell.text)
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
            made.append(line)
        return made


def _carry(line: list[str], carried: dict[int, tuple[int, str]]) -> None:
    """Put what reaches into this row from above to its place, as far as it stands next."""
    while (held := carried.get(len(line))) is not None:
        left, text = held
        if left > 1:
            carried[len(line)] = (left - 1, text)
        else:
            del carried[len(line)]
        line.append(text)


def _joined(names: tuple[str, ...]) -> str:
    return " ".join(dict.fromkeys(name for name in names if name))


def _paged(lines: list[list[str]]) -> list[list[str]]:
    """A row of nothing but page marks is no row: they go to the next cell with words, or the last."""
    kept: list[list[str]] = []
    held = ""
    for line in lines:
        if any(cell.strip(PAGE) for cell in line):
            kept.append([held + line[0], *line[1:]])
            held = ""
        else:
            held += PAGE * sum(cell.count(PAGE) for cell in line)
    if held and kept:
        kept[-1][-1] += held
    return kept or ([[held]] if held else [])
