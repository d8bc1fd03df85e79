"""Counts headings, words and tables of files with other libraries, and prints them as JSON.

    PYTHON benchmarks/peers.py FILE ...

Runs in a separate venv with any of python-pptx, openpyxl, odfpy, nbformat, docutils, webvtt-py, srt, screenplain and
pypandoc_binary. Files that none of them reads are left out. Imports none of our modules.
"""

from __future__ import annotations

import csv
import json
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Counts = tuple[str, int | None, int, int | None]
"""The library's name, headings, words and tables; None for figures that it does not give."""


def words(text: str) -> int:
    return len(re.findall(r"\w+", text))


def slides(file: Path) -> Counts:
    import pptx

    headings = tables = 0
    texts: list[str] = []

    def shapes(group: Any) -> None:
        nonlocal tables
        for shape in group:
            if shape.shape_type == 6:
                shapes(shape.shapes)
            elif shape.has_text_frame:
                texts.append(shape.text_frame.text)
            elif shape.has_table:
                tables += 1
                texts.extend(
                    cell.text for row in shape.table.rows for cell in row.cells if not cell.is_spanned
                )

    for slide in pptx.Presentation(str(file)).slides:
        if slide._element.get("show") == "0":
            continue
        headings += 1
        shapes(slide.shapes)
        if slide.has_notes_slide:
            texts.append(slide.notes_slide.notes_text_frame.text)
    return "python-pptx", headings, words(" ".join(texts)), tables


def sheets(file: Path) -> Counts:
    import openpyxl

    book = openpyxl.load_workbook(file, data_only=True)
    shown = [sheet for sheet in book if sheet.sheet_state == "visible"]
    texts = [
        str(cell.value)
        for sheet in shown
        for cell in sheet._cells.values()  # its rows would be a million, each of sixteen thousand cells
        if cell.value is not None and not sheet.row_dimensions[cell.row].hidden
    ]
    return "openpyxl", len(shown), words(" ".join(texts)), None


def notebook(file: Path) -> Counts:
    import nbformat

    cells = nbformat.read(file, 4).cells
    marked = [cell.source for cell in cells if cell.cell_type == "markdown"]
    headings = sum(len(re.findall(r"^#{1,6} ", text, re.MULTILINE)) for text in marked)
    return (
        "nbformat",
        headings,
        words(" ".join(cell.source for cell in cells if cell.cell_type != "raw")),
        None,
    )


def open_document(file: Path) -> Counts:
    from odf import opendocument, teletype
    from odf.draw import Page
    from odf.table import Table, TableCell
    from odf.text import H, P

    document = opendocument.load(str(file))
    if file.suffix == ".ods":
        tables = document.getElementsByType(Table)
        cells = [teletype.extractText(cell) for cell in document.getElementsByType(TableCell)]
        return "odfpy", len(tables), words(" ".join(cells)), None
    heads = document.getElementsByType(H) if file.suffix == ".odt" else document.getElementsByType(Page)
    texts = [teletype.extractText(each) for kind in (H, P) for each in document.getElementsByType(kind)]
    return "odfpy", len(heads), words(" ".join(texts)), len(document.getElementsByType(Table))


def restructured(file: Path) -> Counts:
    from docutils import core, nodes

    quiet = {"report_level": 5, "file_insertion_enabled": False, "raw_enabled": False}
    tree = core.publish_doctree(file.read_text("utf-8"), settings_overrides=quiet)
    shown = [
        each.astext()
        for each in tree.findall(nodes.Text)
        if not isinstance(each.parent, nodes.system_message | nodes.comment)
    ]
    headings = len(list(tree.findall(nodes.section))) + ("title" in tree)
    return "docutils", headings, words(" ".join(shown)), len(list(tree.findall(nodes.table)))


def separated(file: Path) -> Counts:
    with file.open(encoding="utf-8", newline="") as lines:
        dialect = csv.Sniffer().sniff(lines.read(4096), ",;\t|")
        lines.seek(0)
        return "csv", 0, words(" ".join(cell for row in csv.reader(lines, dialect) for cell in row)), 1


def captions(file: Path) -> Counts:
    if file.suffix == ".srt":
        import srt

        return "srt", 0, words(" ".join(each.content for each in srt.parse(file.read_text("utf-8")))), 0
    import webvtt

    return "webvtt-py", 0, words(" ".join(caption.text for caption in webvtt.read(str(file)))), 0


def fountain(file: Path) -> Counts:
    from screenplain.parsers import fountain as parser
    from screenplain.types import Slug

    with file.open(encoding="utf-8") as lines:
        script = parser.parse(lines)
    texts = [line.to_html() for each in script.paragraphs for line in getattr(each, "lines", [])]
    return "screenplain", sum(isinstance(each, Slug) for each in script.paragraphs), words(" ".join(texts)), 0


def pandoc(file: Path) -> Counts:
    import pypandoc

    kinds = {".adoc": "asciidoc", ".md": "markdown"}
    kind = kinds.get(file.suffix, file.suffix[1:])
    tree = pypandoc.convert_file(str(file), "json", format=kind)
    plain = pypandoc.convert_file(str(file), "plain", format=kind, extra_args=["--wrap=none"])
    return "pandoc", tree.count('"t":"Header"'), words(plain), tree.count('"t":"Table"')


PEERS: dict[str, Callable[[Path], Counts]] = {
    ".pptx": slides, ".xlsx": sheets, ".ipynb": notebook, ".odt": open_document, ".odp": open_document,
    ".ods": open_document, ".rst": restructured, ".csv": separated, ".tsv": separated, ".srt": captions,
    ".vtt": captions, ".fountain": fountain, ".rtf": pandoc, ".adoc": pandoc, ".docx": pandoc, ".epub": pandoc,
}  # fmt: skip


def main(files: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (4_000_000_000, 4_000_000_000))
    found = {}
    for name in files:
        peer = PEERS.get(Path(name).suffix)
        try:
            if peer is not None:
                found[name] = peer(Path(name))
        except (Exception, MemoryError) as fault:
            print(f"{name}: {type(fault).__name__}: {fault}"[:200], file=sys.stderr)
    print(json.dumps(found))


main(sys.argv[1:])
