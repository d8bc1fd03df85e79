"""Tables of HTML: data as a grid of cells, and what is merely laid out in columns as ordinary blocks.

Knows no other blocks: see `walker`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from bot.readers.grid import Grid
from bot.readers.web.inline import Closer, Inline
from bot.readers.web.markup import Attributes, Label, Walked, number, tidy
from bot.readers.web.survey import Seen
from bot.readers.writer import Writer

_PADDING: Final = 50_000
"""Empty cells that a table may need to be one: beyond that its rows are written as paragraphs."""


class Tabled(Inline):
    """Writes tables. One inside a cell of another is words of that cell."""

    def __init__(
        self, writer: Writer, seen: Seen, label: Label | None, progress: Walked, see: Callable[[str], None]
    ) -> None:
        super().__init__(label, progress, see)
        self._writer = writer
        self._seen = seen
        self._grid: Grid | None = None
        self._cell = self._heads = False

    def _break(self) -> None:
        """A block begins or ends here, as far as its surroundings can have blocks."""
        raise NotImplementedError

    def _flush(self) -> None:
        """Write what has been collected, as what it is."""
        raise NotImplementedError

    def _block(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        self._break()
        return self._break

    def _table(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        if self._cell:
            return self._block(attributes, kinds)
        self._flush()
        if self._grid is not None or self.count in self._seen.layout:
            return self._flush
        self._grid = Grid()
        return self._end_table

    def _end_table(self) -> None:
        self._flush()
        assert self._grid is not None
        lines = self._grid.lines()
        self._grid = None
        width = max((len(line) for line in lines), default=0)
        if sum(width - len(line) for line in lines) <= _PADDING:
            self._writer.table(lines)
            return
        for line in lines:
            self._writer.paragraph(" · ".join(cell for cell in line if cell))

    def _table_part(self, tag: str, attributes: Attributes) -> Closer | None:
        assert self._grid is not None
        self._flush()  # what stands in no cell
        if tag in ("td", "th"):
            self._frames.append([])
            self._cell = True
            columns, rows = number(attributes.get("colspan"), 1), number(attributes.get("rowspan"), 1)
            return partial(self._end_cell, columns, rows, tag == "th")
        if tag == "tr":
            self._grid.row(head=self._heads)
            return None
        self._heads = tag == "thead"
        return self._end_group

    def _end_group(self) -> None:
        self._heads = False

    def _end_cell(self, columns: int, rows: int, head: bool) -> None:
        assert self._grid is not None
        self._cell = False
        text = tidy("".join(self._frames.pop())).replace("\n", " ")
        self._grid.cell(text, columns=columns, rows=rows, head=head)
