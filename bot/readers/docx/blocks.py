"""A Word document's body as blocks in order: headings, paragraphs, list items, tables, quotes, code.

Notes and text boxes follow, as quotes, the block that they belong to; there they are in the same passage and interrupt
no sentence. Independent of Document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from bot.readers.docx.line import THROUGH, Fields, Line, Reader, prompting, sdt_content
from bot.readers.docx.numbering import Label
from bot.readers.docx.parts import Parts
from bot.readers.docx.styles import Style, level_of, numbering_of
from bot.readers.docx.xml import Element, child, kind, number, switch, value
from bot.readers.grid import Grid

if TYPE_CHECKING:
    from bot.readers.document import Progress

_BOX: Final = 3000
"""Characters up to which a one-cell table is a box; a longer one is page layout."""
_LAYOUT: Final = 1000
"""Characters of a cell with headings beyond which its table is page layout."""
_HEADING: Final = 250
"""Characters beyond which a paragraph is no heading, whatever its style."""
_EVERY: Final = 100

Kind = Literal["heading", "title", "paragraph", "item", "quote", "code", "table"]
COLUMNS: Final = 63
"""Word's own limit of columns; cells beyond it are added to the last column."""

Part = TypeVar("Part")


@dataclass(slots=True)
class Block:
    """A block. `level` is a heading's from 1, a list item's depth from 0. `paragraph` is its source.

    `anchors` are the bookmarks in it, `targets` those that it points to; `picture`: it describes a picture.
    """

    kind: Kind
    text: str = ""
    level: int = 0
    number: int | None = None
    rows: list[list[str]] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    paragraph: Element | None = None
    picture: bool = False


def blocks(parts: Parts, progress: Progress) -> list[Block]:
    walk = _Walk(parts)
    total = len(parts.body)
    for position, element in enumerate(parts.body):
        if position % _EVERY == 0:
            progress(position, total)
        walk.block(element)
    walk.end()
    progress(total, total)
    return walk.blocks


def lines(blocks: list[Block]) -> Iterator[str]:
    """The blocks as one line of text each, for a place that accepts no blocks."""
    for block in blocks:
        if block.kind == "table":
            yield "; ".join(" ".join(cell for cell in row if cell) for row in block.rows)
        elif block.text:
            mark = "" if block.kind != "item" else "- " if block.number is None else f"{block.number}. "
            yield mark + block.text


class _Walk:
    def __init__(self, parts: Parts) -> None:
        self.blocks: list[Block] = []
        self._parts = parts
        turns = [value(element, "fldCharType") for element in parts.body.iter() if kind(element) == "fldChar"]
        self._reader = Reader(parts.styles, Fields(paired=turns.count("begin") == turns.count("end")))
        self._anchors: list[str] = []
        self._notes: list[tuple[str, int]] = []
        self._noted: set[tuple[str, int]] = set()
        self._held = Line()
        self._within = 0

    def block(self, element: Element) -> None:
        """Write one element of a container, with its contents."""
        name = kind(element)
        if name == "p":
            self._paragraph(element)
        elif name == "tbl":
            self._table(element)
        elif name == "bookmarkStart":
            self._anchors.append(value(element, "name") or "")
        elif name == "sdt":
            if not prompting(element):
                self._all(sdt_content(element))
        elif name in THROUGH:
            self._all(element)
        elif name == "mc:AlternateContent":
            self._all(next((inner for inner in element if len(inner)), element))
        if not self._within and name in ("p", "tbl"):
            self._tell_notes()

    def end(self) -> None:
        """Add the held line if no paragraph followed it."""
        self._tell(self._held, Block("paragraph", self._held.text))
        self._tell_notes()

    def _all(self, container: Element) -> None:
        for element in container:
            self.block(element)

    def _inner(self, container: Element) -> list[Block]:
        """The content of a cell, a box or a note, read separately so that it can be placed elsewhere."""
        outer, self.blocks = self.blocks, []
        line, self._held = self._held, Line()
        self._within += 1
        self._all(container)
        self._tell(self._held, Block("paragraph", self._held.text))
        self._within -= 1
        inner, self.blocks = self.blocks, outer
        self._held = line
        return inner

    def _apart(self, container: Element) -> Block:
        """The content of a box or a note as a quote, because it is a text of its own."""
        reader, self._reader = self._reader, Reader(self._parts.styles, Fields(paired=False))
        inner = self._inner(container)
        self._reader = reader
        return Block(
            "quote",
            "\n".join(lines(inner)),
            anchors=[anchor for block in inner for anchor in block.anchors],
            targets=[target for block in inner for target in block.targets],
        )

    def _add(self, block: Block) -> None:
        block.anchors, self._anchors = self._anchors + block.anchors, []
        self.blocks.append(block)

    def _tell_notes(self) -> None:
        """Write each note once, after its first reference; notes that a note refers to follow it."""
        while self._notes:
            notes, self._notes = self._notes, []
            for note_id in notes:
                if note_id not in self._noted and (note := self._parts.notes.get(note_id)) is not None:
                    self._noted.add(note_id)
                    self._add(self._apart(note))

    def _paragraph(self, element: Element) -> None:
        properties = child(element, "pPr")
        style = self._parts.styles.paragraph(value(child(properties, "pStyle")))
        quiet = self._reader.fields.quiet
        line = self._reader.line(element, self._held)
        if _runs_on(properties):
            return
        self._held = Line()
        if style.role == "toc":
            return
        text = line.text
        # An empty list paragraph counts too, unless it is left out.
        left_out = quiet or self._reader.fields.quiet or next(element.iter("{*}del"), None) is not None
        counts = text.strip() or not left_out
        label = self._label(properties, style) if counts else (None, 0)
        self._tell(line, _shaped(text, properties, style, label), element)

    def _tell(self, line: Line, block: Block, paragraph: Element | None = None) -> None:
        """Write a line as its block, followed by its notes and boxes."""
        block.paragraph = paragraph
        self._notes += line.notes
        if block.text.strip():
            block.anchors, block.targets = line.anchors, line.targets
            if self.blocks and self.blocks[-1].picture and self.blocks[-1].text == block.text.strip():
                self._anchors += self.blocks.pop().anchors  # its caption says the same
            self._add(block)
        else:
            self._anchors += line.anchors
        for words in line.pictures:
            self._add(Block("paragraph", words, picture=True))
        for box in line.boxes:
            self._add(self._apart(box))

    def _label(self, properties: Element | None, style: Style) -> tuple[Label | None, int]:
        """The label of the list that the paragraph belongs to, and its depth."""
        own_numbering = numbering_of(properties)
        list_id, at = own_numbering or style.numbered or (0, 0)
        name = value(child(properties, "pStyle")) or ""
        if at is None:
            at = style.numbered[1] if style.numbered else None
        depth = self._parts.numbering.level_of(list_id, name) if at is None else max(at, 0)
        return (self._parts.numbering.label(list_id, depth) if list_id else None), depth or style.depth

    def _table(self, table: Element) -> None:
        rows = read_rows(table, self._inner)
        cells = [cell for row in rows for cell in row.cells]
        inner = [block for cell in cells for block in cell.content]
        length = max((sum(len(block.text) for block in cell.content) for cell in cells), default=0)
        headed = any(block.kind == "heading" for block in inner)
        narrow = all(len(row.cells) == 1 for row in rows)
        if (headed and (narrow or length > _LAYOUT)) or (len(cells) == 1 and length > _BOX):
            for block in inner:
                self._add(block)
            return
        anchors = [anchor for block in inner for anchor in block.anchors]
        targets = [target for block in inner for target in block.targets]
        if len(cells) == 1:
            self._add(Block("quote", "\n".join(lines(inner)), anchors=anchors, targets=targets))
            return
        # A first row with one cell across all columns is the table's title.
        while len(rows) > 1 and len(rows[0].cells) == 1 and rows[0].cells[0].columns > 1:
            for block in rows.pop(0).cells[0].content:
                self._add(block)
        table_rows = grid(rows, lambda cell: " ".join(lines(cell)))
        self._add(Block("table", rows=table_rows, anchors=anchors, targets=targets))


def _runs_on(properties: Element | None) -> bool:
    """Whether the next paragraph continues its line, because it is a drop cap or its end was deleted."""
    frame = child(properties, "framePr")
    dropped = frame is not None and value(frame, "dropCap") in ("drop", "margin")
    return dropped or child(child(properties, "rPr"), "del") is not None


def _shaped(text: str, properties: Element | None, style: Style, labelled: tuple[Label | None, int]) -> Block:
    """The block for a paragraph, by its style, its outline level and its list."""
    label, depth = labelled
    words = label.words if label and text.strip() else ""
    own_level = level_of(properties)
    level = style.level if own_level is None else own_level
    if (level or style.role == "title") and len(text) <= _HEADING:
        heading = f"{words} {text.strip()}" if words else text
        return Block("heading", heading, level) if level else Block("title", heading, 1)
    if style.role in ("code", "quote") and label is None:
        return Block("code" if style.role == "code" else "quote", text)
    listed = (
        style.role in ("bullet", "number") and numbering_of(properties) is None and style.numbered is None
    )
    if label is None and not listed:
        return Block("paragraph", text)
    if words and label is not None and label.number is None:
        text = f"{words} {text.lstrip()}"
    return Block("item", text, depth, label.number if label else None)


@dataclass(slots=True)
class Cell(Generic[Part]):
    """A cell. `goes_on`: it is merged with the cell above."""

    content: list[Part]
    columns: int = 1
    goes_on: bool = False


@dataclass(slots=True)
class Row(Generic[Part]):
    """A row. `head`: it is marked as a row of column names."""

    cells: list[Cell[Part]]
    head: bool


def read_rows(table: Element, read: Callable[[Element], list[Part]]) -> list[Row[Part]]:
    """The rows that have cells and were not deleted."""
    rows = []
    for element in _below(table, "tr"):
        properties = child(element, "trPr")
        if child(properties, "del") is None and (cells := _cells(element, read)):
            rows.append(Row(cells, bool(switch(child(properties, "tblHeader")))))
    return rows


def grid(rows: list[Row[Part]], say: Callable[[list[Part]], str]) -> list[list[str]]:
    """The cells' words in their columns, with the column names first."""
    heights: dict[tuple[int, int], int] = {}
    starts_above: dict[int, tuple[int, int]] = {}
    for at, row in enumerate(rows):
        starts: dict[int, tuple[int, int]] = {}
        column = 0
        for cell in row.cells:
            goes_on = cell.goes_on and not cell.content
            starts[column] = starts_above.get(column, (at, column)) if goes_on else (at, column)
            heights[starts[column]] = heights.get(starts[column], 0) + 1
            column += cell.columns
        starts_above = starts
    table = Grid()
    for at, row in enumerate(rows):
        table.row(head=row.head)
        column = 0
        for cell in row.cells:
            if height := heights.get((at, column)):
                table.cell(say(cell.content), columns=cell.columns, rows=height, head=row.head)
            column += cell.columns
    return table.lines()


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


def _below(element: Element, kind_wanted: str) -> Iterator[Element]:
    """A table's rows or a row's cells, including those in content controls."""
    for inner in element:
        child_name = kind(inner)
        if child_name == kind_wanted:
            yield inner
        elif child_name in THROUGH or child_name == "sdt":
            yield from _below(inner, kind_wanted)
