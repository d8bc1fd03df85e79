"""A Markdown table for platforms without tables: aligned columns in a code block, or a list of records.

Pure; independent of platforms. A long table is divided into parts. The layout of each depends only on its own rows, so
that the full parts of a growing table do not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from wcwidth import wcswidth

WIDTH = 60
"""Columns of a code block that a desktop client shows without wrapping."""

GAP = "  "

SHORT = 140
"""The most characters of a record on one line; a longer one has a line for each cell."""

_CELL_END = re.compile(r"(?<!\\)\|")
_FENCE_MARKS = "```"

Cell = Callable[[str], str]
"""Converts a cell's Markdown."""


def cells(line: str) -> list[str]:
    """The cells of a row, without the pipes at its ends; `\\|` is a pipe in the text."""
    bare = line.strip().removeprefix("|")
    if bare.endswith("|") and not bare.endswith("\\|"):
        bare = bare[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(bare)]


def width_of(text: str) -> int:
    """The text's width in columns of a fixed-width font."""
    if text.isascii():
        return len(text)
    return max(wcswidth(text), 0)


def tables(source: str, limit: int, size: Callable[[str], int], *, code: Cell, prose: Cell) -> list[str]:
    """The table in parts of at most `limit`, unless a single row is longer.

    `code` shows a cell inside a code block, `prose` in a list.
    """
    header, delimiter, *rows = [line for line in source.split("\n") if line.strip()]
    shape = _Shape(cells(header), [cell.endswith(":") and cell[0] != ":" for cell in cells(delimiter)])
    parts: list[str] = []
    part = _Part(shape, size, code, prose)
    for line in rows:
        row = cells(line)
        if part.rows and not part.takes(row, limit):
            parts.append(part.shown())
            part = _Part(shape, size, code, prose)
        part.add(row)
    return [*parts, part.shown()]


@dataclass(frozen=True, slots=True)
class _Shape:
    header: list[str]
    right: list[bool]


@dataclass(slots=True)
class _Part:
    """Some rows of a table. Their length is computed row by row before they are laid out."""

    shape: _Shape
    size: Callable[[str], int]
    code: Cell
    prose: Cell
    rows: list[list[str]] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    extra: int = 0
    listed: int = 0

    def __post_init__(self) -> None:
        header = [self.code(cell) for cell in self.shape.header]
        self.widths = [width_of(cell) for cell in header]
        self.extra = sum(self.size(cell) - width_of(cell) for cell in header)
        self.listed = self.size(self._named()) + 1

    def takes(self, row: list[str], limit: int) -> bool:
        widths, extra, listed = self._with(row)
        if not _fits(widths):
            return listed <= limit
        lines = len(self.rows) + 3
        return lines * (_across(widths) + 1) + extra + 2 * len(_FENCE_MARKS) + 2 <= limit

    def add(self, row: list[str]) -> None:
        self.widths, self.extra, self.listed = self._with(row)
        self.rows.append(row)

    def shown(self) -> str:
        if not _fits(self.widths):
            return "\n".join([self._named(), *map(self._record, self.rows)])
        rule = GAP.join("─" * width for width in self.widths)
        header, *rows = (self._aligned(row) for row in [self.shape.header, *self.rows])
        return "\n".join([_FENCE_MARKS, header, rule, *rows, _FENCE_MARKS])

    def _with(self, row: list[str]) -> tuple[list[int], int, int]:
        cells = [self.code(cell) for cell in row]
        taken = [width_of(cell) for cell in cells]
        columns = max(len(taken), len(self.widths))
        widths = [
            max(self.widths[at] if at < len(self.widths) else 0, taken[at] if at < len(taken) else 0)
            for at in range(columns)
        ]
        extra = self.extra + sum(self.size(cell) for cell in cells) - sum(taken)
        return widths, extra, self.listed + self.size(self._record(row)) + 1

    def _aligned(self, row: list[str]) -> str:
        padded = []
        for at, width in enumerate(self.widths):
            cell = self.code(row[at]) if at < len(row) else ""
            space = " " * (width - width_of(cell))
            right = at < len(self.shape.right) and self.shape.right[at]
            padded.append(space + cell if right else cell + space)
        return GAP.join(padded).rstrip()

    def _named(self) -> str:
        """The column names for the line above the records, because the first column's name is shown nowhere else."""
        return "-# " + " · ".join(self.prose(name) for name in self.shape.header if name)

    def _record(self, row: list[str]) -> str:
        """A row as a list item, with its first cell as the heading of the others."""
        fields = [
            (self.prose(self.shape.header[at]) if at < len(self.shape.header) else "", self.prose(cell))
            for at, cell in enumerate(row)
            if cell
        ]
        if not fields:
            return "-"
        (_, title), *details = fields
        title = f"- **{title.replace('**', '')}**"
        if len(details) == 1 and len(self.shape.header) <= 2:
            return f"{title}: {details[0][1]}"
        values = [
            f"{name}{'' if name.endswith('?') else ':'} {cell}" if name else cell for name, cell in details
        ]
        if sum(map(len, values)) <= SHORT:
            return " · ".join([title, *values])
        return "\n".join([title, *(f"  - {cell}" for cell in values)])


def _across(widths: list[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _fits(widths: list[int]) -> bool:
    return _across(widths) <= WIDTH
