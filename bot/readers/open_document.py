"""OpenDocument (.odt, .odp, .ods) into Documents: texts, slides with their notes, and sheets.

Reads the XML itself (ISO/IEC 26300-3), because odfpy is partly under the GPL and does not number list items. Footnotes,
boxes and a slide's notes are quotes after their block. Left out: comments, deleted text, lists of contents, page
headers, pictures, hidden slides and sheets.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.readers import package
from bot.readers.archive import Archive
from bot.readers.document import Document, title_from_name
from bot.readers.grid import Grid
from bot.readers.package import Element, attribute, child, children, local, number, within
from bot.readers.rows import write_rows
from bot.readers.writer import Writer, flow

if TYPE_CHECKING:
    from bot.readers.document import Progress

_BODIES: Final = ("text", "presentation", "spreadsheet", "drawing")
_LEFT_OUT: Final = frozenset((
    "tracked-changes", "annotation", "annotation-end", "table-of-content", "illustration-index", "table-index",
    "object-index", "user-index", "alphabetical-index", "forms", "sequence-decls", "variable-decls", "image",
    "plugin", "hidden-text", "title", "desc", "ruby-text", "user-field-decls", "header", "footer",
))  # fmt: skip
_APART: Final = frozenset(("note", "text-box", "custom-shape"))
"""Elements inside a paragraph that are not part of its text."""
_HIDING: Final = ("drawing-page-properties", "table-properties", "text-properties")
_CODE: Final = ("Preformatted_20_Text", "Source_20_Code", "Source_20_Text")
_QUOTES: Final = ("Quotations", "Block_20_Text", "Quote")
_REPEATED: Final = 100
"""The most copies of a repeated row or cell."""
_COLUMNS: Final = 1_024
_DEPTH: Final = 60
_EVERY: Final = 200


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The document in `data`; blocking. Raises UserError: "library.file_damaged", "library.file_locked",
    "library.file_scanned" for a file with pictures only, and as `Archive` does.
    """
    archive = Archive(name, data)
    manifest = package.part(archive, "META-INF/manifest.xml")
    if next(within(manifest, "encryption-data"), None) is not None:
        raise UserError("library.file_locked", name=name)
    root = archive.xml("content.xml")
    body = next((inner for inner in children(root, "body") if local(inner) in _BODIES), None)
    if body is None:
        raise UserError("library.file_damaged", name=name)
    writer = Writer()
    walk = _Walk(writer, (root, package.part(archive, "styles.xml")))
    if local(body) == "spreadsheet":
        sheets = [each for each in body if local(each) == "table" and not walk.hidden(each)]
        for done, sheet in enumerate(sheets):
            progress(done, len(sheets))
            if len(sheets) > 1:
                writer.heading(1, attribute(sheet, "name"))
            write_rows(writer, walk.rows(sheet))
    elif local(body) == "text":
        for done, element in enumerate(body):
            if done % _EVERY == 0:
                progress(done, len(body))
            walk.block(element)
    else:
        for done, page in enumerate(slides := [each for each in body if local(each) == "page"]):
            progress(done, len(slides))
            writer.page()
            if not walk.hidden(page):
                walk.slide(page)
    if writer.empty and any(member.startswith("Pictures/") for member in archive.names):
        raise UserError("library.file_scanned", name=name)
    title = package.title(package.part(archive, "meta.xml"))
    return writer.document(title or walk.title or title_from_name(name))


class _Walk:
    def __init__(self, writer: Writer, roots: tuple[Element | None, ...]) -> None:
        self.title = ""
        self._writer = writer
        self._styles: dict[str, tuple[str, str]] = {}
        self._hidden: set[str] = set()
        self._numbered: dict[str, set[int]] = {}
        self._counts: dict[int, int] = {}
        for root in roots:
            for holder in ("styles", "automatic-styles"):
                for style in children(root, holder):
                    self._take_style(style)

    def _take_style(self, style: Element) -> None:
        name = attribute(style, "name")
        if local(style) == "list-style":
            self._numbered[name] = {
                number(attribute(level, "level"))
                for level in style
                if local(level) == "list-level-style-number" and attribute(level, "num-format")
            }
            return
        parent, outline = attribute(style, "parent-style-name"), attribute(style, "default-outline-level")
        self._styles[name] = (parent, outline)
        for properties in style:
            visibility = {attribute(properties, "visibility"), attribute(properties, "display")}
            if local(properties) in _HIDING and visibility & {"hidden", "false", "none"}:
                self._hidden.add(name)

    def hidden(self, element: Element) -> bool:
        return attribute(element, "style-name") in self._hidden

    def block(self, element: Element, depth: int = 0) -> None:
        """Write one element of a container, with its contents."""
        name = local(element)
        if name in _LEFT_OUT or depth > _DEPTH or attribute(element, "display") == "none":
            return
        if name == "h":
            self._counts = {}
            self._writer.heading(
                number(attribute(element, "outline-level"), 1), _words(element, self._hidden)
            )
        elif name == "p":
            self._paragraph(element)
        elif name == "list":
            self._list(element, 0, "", depth)
        elif name == "table":
            self._table(element)
        else:
            for inner in element:
                self.block(inner, depth + 1)
            return
        self._apart(element, depth)

    def slide(self, page: Element) -> None:
        """Write a slide: its title, then its texts, then its notes."""
        frames = list(self._frames(page, 0))
        titles = [frame for frame in frames if attribute(frame, "class") == "title"]
        texts = [flow(_words(inner)) for frame in titles for inner in within(frame, "p")]
        heading = " ".join(text for text in texts if text)
        if not heading:
            words = (flow(_words(inner)) for frame in frames for inner in within(frame, "p"))
            first = next((text for text in words if text), "")
            heading = first if len(first) <= 100 else first[:100].rpartition(" ")[0] + " …"
            titles = []
        self._writer.heading(1, heading)
        self.title = self.title or heading
        for frame in frames:
            if frame not in titles:
                self._counts = {}
                for inner in within(frame, "table") if local(frame) == "frame" else ():
                    self._table(inner)
                box = child(frame, "text-box")
                for block in box if box is not None else frame:
                    if local(block) in ("p", "list", "h") and flow(_words(block)) != heading:
                        self.block(block)
        for notes in (inner for inner in page if local(inner) == "notes"):
            notes_text = (_words(inner) for frame in self._frames(notes, 0) for inner in within(frame, "p"))
            self._writer.quote("\n".join(words for words in notes_text if flow(words)))

    def _frames(self, page: Element, depth: int) -> Iterator[Element]:
        for element in page:
            if local(element) == "g" and depth < _DEPTH:
                yield from self._frames(element, depth + 1)
            elif local(element) in ("frame", "custom-shape", "rect", "ellipse") and attribute(element, "class") not in (
                "page-number", "date-time", "footer", "header", "page",
            ):  # fmt: skip
                yield element

    def _paragraph(self, element: Element) -> None:
        style, text = self._named(attribute(element, "style-name")), _words(element, self._hidden)
        outline = next((level for _, level in style if level), "")
        names = [name for name, _ in style]
        if "Title" in names and flow(text):
            self.title = self.title or flow(text)
            self._writer.heading(1, text)
        elif outline and len(text) <= 250:
            self._writer.heading(number(outline, 1), text)
        elif any(name in _CODE for name in names):
            self._writer.code(text)
        elif any(name in _QUOTES for name in names):
            self._writer.quote(text)
        else:
            self._writer.paragraph(text)

    def _named(self, name: str) -> list[tuple[str, str]]:
        """A style and its base styles, each with its heading level."""
        levels: list[tuple[str, str]] = []
        while name in self._styles and len(levels) < 20:
            parent, outline = self._styles[name]
            levels.append((name, outline))
            name = parent
        return [*levels, (name, "")]

    def _list(self, element: Element, level: int, style: str, depth: int) -> None:
        style = attribute(element, "style-name") or style
        goes_on = attribute(element, "continue-numbering") == "true" or bool(
            attribute(element, "continue-list")
        )
        if level == 0 and not goes_on:
            self._counts = {}
        self._counts = {deep: n for deep, n in self._counts.items() if deep <= level}
        if level and not goes_on:
            self._counts.pop(level, None)
        for item in element:
            if local(item) not in ("list-item", "list-header") or depth > _DEPTH:
                continue
            first = True
            for block in item:
                if local(block) == "list":
                    self._list(block, level + 1, style, depth + 1)
                elif local(block) == "h":
                    self.block(block, depth + 1)
                elif local(block) == "p" and first and (words := _words(block, self._hidden)).strip():
                    first = False
                    if level + 1 in self._numbered.get(style, ()):
                        begins = number(attribute(item, "start-value"))
                        self._counts[level] = begins or self._counts.get(level, 0) + 1
                    self._writer.item(words, depth=level, number=self._counts.get(level))
                else:
                    self.block(block, depth + 1)

    def _apart(self, element: Element, depth: int) -> None:
        """Write the notes and boxes of a block."""
        if local(element) == "table":
            return
        for inner in element.iter():
            if local(inner) == "note":
                self._writer.quote(" ".join(_words(each) for each in within(child(inner, "note-body"), "p")))
            elif local(inner) == "text-box" and depth < _DEPTH and not _inside(inner, element):
                self._writer.quote("\n".join(_words(each) for each in within(inner, "p")))

    def _table(self, table: Element) -> None:
        grid = Grid()
        for row, head in _rows(table):
            grid.row(head=head)
            for cell in row:
                if local(cell) == "table-cell":
                    for _ in range(min(number(attribute(cell, "number-columns-repeated"), 1), _REPEATED)):
                        grid.cell(
                            _cell(cell),
                            columns=number(attribute(cell, "number-columns-spanned"), 1),
                            rows=max(number(attribute(cell, "number-rows-spanned"), 1), 1),
                            head=False,
                        )
        self._writer.table(grid.lines())

    def rows(self, sheet: Element) -> Iterator[dict[int, str]]:
        """A sheet's rows, each as cells by column; a cell over several rows is repeated in each."""
        reaching: dict[int, tuple[int, str]] = {}
        for row, _ in _rows(sheet):
            if attribute(row, "visibility") in ("collapse", "filter"):
                continue
            cells: dict[int, str] = {}
            column = 0
            for cell in row:
                times = number(attribute(cell, "number-columns-repeated"), 1)
                text = _cell(cell) if local(cell) == "table-cell" else ""
                if not text and column in reaching and local(cell) == "covered-table-cell":
                    text = reaching[column][1]
                for each in range(column, column + min(times, _REPEATED)) if text else ():
                    if each < _COLUMNS:
                        cells[each] = text
                if (down := number(attribute(cell, "number-rows-spanned"), 1)) > 1:
                    reaching[column] = (down, text)
                column += times
            reaching = {place: (down - 1, text) for place, (down, text) in reaching.items() if down > 1}
            for _ in range(min(number(attribute(row, "number-rows-repeated"), 1), _REPEATED) if cells else 1):
                yield dict(cells)


def _rows(table: Element) -> Iterator[tuple[Element, bool]]:
    """The rows of a table, without those of nested tables, and whether each names its columns."""
    for element in table:
        if local(element) == "table-row":
            yield element, False
        elif local(element) == "table-header-rows":
            yield from ((row, True) for row, _ in _rows(element))
        elif local(element) in ("table-rows", "table-row-group"):
            yield from _rows(element)


def _cell(cell: Element) -> str:
    return " ".join(words for each in within(cell, "p") if (words := _words(each)))


def _inside(element: Element, top: Element) -> bool:
    """Whether it is inside another box or note within `top`."""
    parent = element.getparent()
    while parent is not None and parent is not top:
        if local(parent) in ("text-box", "note"):
            return True
        parent = parent.getparent()
    return False


def _words(element: Element, hidden: Set[str] = frozenset(), depth: int = 0) -> str:
    """A paragraph's own words with its blanks, tabs and line breaks; without those in `hidden` styles."""
    parts = [element.text or ""]
    for inner in element:
        name = local(inner)
        if name == "s":
            parts.append(" " * min(number(attribute(inner, "c"), 1), 200))
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        elif name == "span" and attribute(inner, "style-name") in hidden:
            pass
        elif name and name not in _LEFT_OUT and name not in _APART and depth < _DEPTH:
            parts.append(_words(inner, hidden, depth + 1))
        parts.append(inner.tail or "")
    return "".join(parts)
