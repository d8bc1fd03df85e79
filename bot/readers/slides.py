"""PowerPoint slides (.pptx) into Documents: a section and a page for each slide, with its speaker's notes.

Reads the XML itself, because python-pptx depends on Pillow and XlsxWriter and does not read diagrams. Hidden slides are
left out but counted; comments, charts, pictures and the master's own text are left out. If there are several sections,
they are headings above their slides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.readers import package
from bot.readers.archive import Archive
from bot.readers.document import Document, title_from_name
from bot.readers.grid import Grid
from bot.readers.package import Element, attribute, child, children, local, number, within
from bot.readers.writer import Writer, flow

if TYPE_CHECKING:
    from bot.readers.document import Progress

_TITLES: Final = ("title", "ctrTitle")
_LISTS: Final = ("", "body", "obj")
"""Placeholders whose paragraphs are list items, unless they say otherwise."""
_FURNITURE: Final = ("sldNum", "dt", "ftr", "hdr", "sldImg")
_HEADING: Final = 100
"""The most characters of a heading; a longer first text of a slide without a title is cut."""
_OFF: Final = ("0", "false")


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The slides in `data`; blocking. Raises UserError: "library.file_damaged", "library.file_scanned" for a file with
    pictures only, and as `Archive` does.
    """
    archive = Archive(name, data)
    of_package = package.relations(archive, "")
    main = package.first(of_package, "officeDocument") or "ppt/presentation.xml"
    root = archive.xml(main)
    if local(root) != "presentation":
        raise UserError("library.file_damaged", name=name)
    related = package.relations(archive, main)
    slides = [
        (slide.get("id", ""), related[attribute(slide, "id")].member)
        for slide in children(root, "sldIdLst")
        if attribute(slide, "id") in related
    ]
    sections = _sections(root)
    writer = Writer()
    headline = ""
    for done, (id, member) in enumerate(slides):
        progress(done, len(slides))
        writer.page()
        if id in sections:
            writer.heading(1, sections[id])
        slide = archive.xml(member)
        if slide.get("show") not in _OFF:
            heading = _Slide(writer, archive, member, slide).write(2 if sections else 1)
            headline = headline or heading
    if writer.empty and any("/media/" in member for member in archive.names):
        raise UserError("library.file_scanned", name=name)
    properties = package.part(archive, package.first(of_package, "core-properties") or "docProps/core.xml")
    return writer.document(package.title(properties) or headline or title_from_name(name))


def _sections(root: Element) -> dict[str, str]:
    """The names of sections by the ids of their first slides, if there are several."""
    named: dict[str, str] = {}
    for section in within(root, "section"):
        first = next(within(section, "sldId"), None)
        if first is not None and section.get("name"):
            named.setdefault(first.get("id", ""), section.get("name", ""))
    return named if len(named) > 1 else {}


class _Slide:
    def __init__(self, writer: Writer, archive: Archive, member: str, slide: Element) -> None:
        self._writer = writer
        self._archive = archive
        self._related = package.relations(archive, member)
        self._slide = slide

    def write(self, level: int) -> str:
        """Write the slide. Returns its heading."""
        shapes = list(self._shapes(child(self._slide, "cSld", "spTree")))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        texts = [
            text for shape in titles for paragraph in _paragraphs(shape) if (text := flow(_text(paragraph)))
        ]
        heading = " ".join(texts)
        if not heading:
            titles = []
            first = next(
                (text for shape in shapes for inner in _paragraphs(shape) if (text := flow(_text(inner)))), ""
            )
            heading = first if len(first) <= _HEADING else first[:_HEADING].rpartition(" ")[0] + " …"
        self._writer.heading(level, heading)
        for shape in shapes:
            if shape not in titles:
                self._shape(shape, skipped=heading if not titles else "")
        self._notes()
        return heading

    def _shapes(self, tree: Element | None) -> Iterator[Element]:
        """The shapes with words in reading order, including those in groups."""
        for element in tree if tree is not None else ():
            name = local(element)
            if name in ("sp", "cxnSp", "graphicFrame"):
                hidden = next((each.get("hidden") for each in within(element, "cNvPr")), None)
                if hidden in (None, *_OFF) and _placeholder(element) not in _FURNITURE:
                    yield element
            elif name in ("grpSp", "AlternateContent", "Choice"):
                yield from self._shapes(element)

    def _shape(self, shape: Element, *, skipped: str) -> None:
        if local(shape) == "graphicFrame":
            for table in within(shape, "tbl"):
                self._writer.table(_table(table))
            for diagram in within(shape, "relIds"):
                self._diagram(attribute(diagram, "dm"))
            return
        paragraphs = [inner for inner in _paragraphs(shape) if flow(_text(inner))]
        listed = len(paragraphs) > 1 and _placeholder(shape) in _LISTS
        numbers: dict[int, int] = {}
        for paragraph in paragraphs:
            text = _text(paragraph)
            if skipped and flow(text) == skipped:
                skipped = ""
                continue
            properties = child(paragraph, "pPr")
            depth = min(number(properties.get("lvl")) if properties is not None else 0, 8)
            marks = {name for mark in children(paragraph, "pPr") if (name := local(mark)).startswith("bu")}
            if "buNone" in marks or not (listed or marks & {"buChar", "buAutoNum", "buBlip"}):
                self._writer.paragraph(text.replace("\v", "\n"))
                continue
            numbers = {level: n for level, n in numbers.items() if level <= depth}
            if "buAutoNum" in marks:
                numbers[depth] = numbers.get(depth, 0) + 1
            else:
                numbers.pop(depth, None)
            self._writer.item(text, depth=depth, number=numbers.get(depth))

    def _diagram(self, id: str) -> None:
        """Write the words of a SmartArt diagram."""
        if (
            id in self._related
            and (root := package.part(self._archive, self._related[id].member)) is not None
        ):
            for point in within(root, "pt"):
                for paragraph in within(point, "p"):
                    self._writer.item(_text(paragraph))

    def _notes(self) -> None:
        notes = package.part(self._archive, package.first(self._related, "notesSlide"))
        for shape in self._shapes(child(notes, "cSld", "spTree")):
            if _placeholder(shape) == "body":
                self._writer.quote(
                    "\n".join(_text(inner).replace("\v", "\n") for inner in _paragraphs(shape))
                )


def _placeholder(shape: Element) -> str | None:
    """The shape's placeholder on its layout; None if it has none."""
    placeholder = next(within(shape[0], "ph"), None) if len(shape) else None
    return None if placeholder is None else placeholder.get("type", "")


def _paragraphs(shape: Element) -> list[Element]:
    body = child(shape, "txBody")
    return [inner for inner in body if local(inner) == "p"] if body is not None else []


def _text(paragraph: Element) -> str:
    """A paragraph's words, including those of formulas, with its line breaks as "\\v"."""
    parts: list[str] = []
    for element in paragraph.iter():
        name = local(element)
        if name == "t" and not _fallen_back(element, paragraph):
            parts.append(element.text or "")
        elif name == "br":
            parts.append("\v")
        elif name == "tab":
            parts.append("\t")
    return "".join(parts)


def _fallen_back(element: Element, top: Element) -> bool:
    """Whether the words are only a fallback for programs that do not support the others."""
    parent = element.getparent()
    while parent is not None and parent is not top:
        if local(parent) == "Fallback":
            return True
        parent = parent.getparent()
    return False


def _table(table: Element) -> list[list[str]]:
    grid = Grid()
    properties = child(table, "tblPr")
    named = properties is not None and properties.get("firstRow") not in (None, *_OFF)
    for at, row in enumerate(inner for inner in table if local(inner) == "tr"):
        grid.row(head=named and not at)
        for cell in row:
            if local(cell) != "tc" or {cell.get("hMerge"), cell.get("vMerge")} & {"1", "true"}:
                continue
            text = " ".join(_text(inner) for inner in _paragraphs(cell))
            grid.cell(
                flow(text),
                columns=number(cell.get("gridSpan"), 1),
                rows=max(number(cell.get("rowSpan"), 1), 1),
                head=False,
            )
    return grid.lines()
