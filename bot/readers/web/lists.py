"""Lists and tables of HTML: items with their marks or numbers, terms with what they mean; data as a grid of cells, what
is merely laid out in columns as ordinary blocks.

Knows no other blocks: see `walker`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from bot.readers.grid import Grid
from bot.readers.web.inline import Closer, Inline, Opener
from bot.readers.web.markup import Attributes, Label, Walked, number, tidy
from bot.readers.web.survey import Seen
from bot.readers.writer import Writer

_DEEPEST: Final = 8
"""A list in lists beyond that is indented no further."""

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


class Listed(Tabled):
    """Writes items. In the cell of a table they are words of that cell."""

    def __init__(
        self, writer: Writer, seen: Seen, label: Label | None, progress: Walked, see: Callable[[str], None]
    ) -> None:
        super().__init__(writer, seen, label, progress, see)
        self._lists: list[tuple[int | None, int]] = []  # the next number, and the step
        self._item: tuple[int, int | None] | None = None
        self._naming = self._term = False  # inside a term, behind one
        self._glued: int | None = None  # where a definition begins that is still without words
        self._listed: dict[str, Opener] = {
            **dict.fromkeys(("ul", "menu", "dir", "dl"), partial(self._list, False)),
            "ol": partial(self._list, True),
            "li": self._entry,
            "dt": self._name,
            "dd": self._meaning,
        }

    def _write_item(self, words: str) -> None:
        assert self._item is not None
        (depth, at), self._item = self._item, None
        label = f"{at}."
        if words.startswith(label) and not words[len(label) : len(label) + 1].isdigit():
            words = words[len(label) :].lstrip(". ") or words  # LibreOffice writes them out as well
        self._writer.item(words, depth=depth, number=at)

    def _list(self, ordered: bool, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        """Its items; one that counts down says where from, or has no numbers here."""
        self._fresh()
        down = "reversed" in attributes
        counts = ordered and ("start" in attributes or not down)
        step = -1 if down else 1
        self._lists.append((number(attributes.get("start"), 1) if counts else None, step))
        return self._end_list

    def _end_list(self) -> None:
        self._fresh()
        self._term = False
        self._lists.pop()

    def _fresh(self) -> None:
        """Begin anew, also inside a heading or code; not inside a cell."""
        if self._cell:
            self._add(" ")
        else:
            self._flush()

    def _entry(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        self._fresh()
        following, step = self._lists[-1] if self._lists else (None, 1)
        if following is not None:
            following = number(attributes.get("value"), following)
            self._lists[-1] = (following + step, step)
        self._mark(following)
        return self._end_entry

    def _mark(self, at: int | None) -> None:
        """What comes is an item of the innermost list."""
        if not self._cell:
            self._item = (min(max(len(self._lists) - 1, 0), _DEEPEST), at)

    def _end_entry(self) -> None:
        self._fresh()
        self._item = None

    def _name(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        if (self._naming or self._term) and "".join(self._frames[-1]).strip():
            self._close_up(", ")
        else:
            self._fresh()
            self._mark(None)
        self._naming = True
        return self._end_name

    def _close_up(self, sign: str) -> None:
        """Go on behind the last word."""
        self._frames[-1][:] = ["".join(self._frames[-1]).rstrip(" \t\n\r"), sign]

    def _end_name(self) -> None:
        self._term, self._naming = True, False

    def _meaning(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        if self._term and "".join(self._frames[-1]).strip():
            self._close_up(": ")
            self._term, self._glued = False, len(self._frames[-1])
        else:
            self._fresh()
            self._mark(None)
        return self._end_entry
