"""Converts Markdown into the formats of books, to measure what readers lose: html, epub, docx, and three PDFs.

    .venv-bench/bin/python -m scripts.books FOLDER BOOK.md

For each PDF it also writes what is drawn on each page, as JSON: the ground truth for citations. Uses none of our
readers and needs only Python: `make bench` runs it in a separate venv (the group `bench` of pyproject.toml).
"""

from __future__ import annotations

import html
import json
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from docx import Document
from docx.document import Document as Word
from docx.text.paragraph import Paragraph as WordParagraph
from markdown_it import MarkdownIt

from scripts.books_blocks import Block, Run, blocks
from scripts.books_pdf import write_pdf


def main(folder: Path, book: Path) -> None:
    """Writes NAME.html, .epub, .docx, and with its pages .pdf (with an outline), -plain.pdf (without), -columns.pdf."""
    folder.mkdir(parents=True, exist_ok=True)
    reader = MarkdownIt("commonmark", {"xhtmlOut": True}).enable("table")
    tokens = reader.parse(book.read_text(encoding="utf-8"))
    blocks_of_book = list(blocks(tokens))
    title = book.stem
    body = reader.renderer.render(tokens, reader.options, {})
    (folder / f"{title}.html").write_text(_page(title, body), encoding="utf-8")
    write_epub(folder / f"{title}.epub", title, body)
    write_docx(folder / f"{title}.docx", title, blocks_of_book)
    for name, outline, columns in (
        (title, True, 1),
        (f"{title}-plain", False, 1),
        (f"{title}-columns", False, 2),
    ):
        pages = write_pdf(folder / f"{name}.pdf", title, blocks_of_book, outline=outline, columns=columns)
        (folder / f"{name}.pdf.pages.json").write_text(json.dumps(pages), encoding="utf-8")


def _page(title: str, body: str) -> str:
    """A page as XHTML, which is also valid HTML."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml">'
        f"<head><title>{html.escape(title)}</title></head>\n<body>\n{body}</body></html>\n"
    )


def write_epub(file: Path, title: str, body: str) -> None:
    """Write an EPUB 3 with a chapter for each first-level heading, and a navigation document."""
    first, *rest = body.split("<h1>")
    chapters = [html for html in (first, *(f"<h1>{chapter}" for chapter in rest)) if html.strip()]
    names = [f"chapter{n}.xhtml" for n in range(len(chapters))]
    kind = 'media-type="application/xhtml+xml"'
    items = "".join(f'<item id="c{n}" href="{name}" {kind}/>' for n, name in enumerate(names))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(names)))
    entries = "".join(f'<li><a href="{name}">{name}</a></li>' for name in names)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr(
            "META-INF/container.xml",
            '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/>'
            "</rootfiles></container>",
        )
        book.writestr(
            "OEBPS/content.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f'<dc:identifier id="id">{title}</dc:identifier><dc:title>{title}</dc:title>'
            "<dc:language>en</dc:language></metadata>"
            f'<manifest><item id="nav" href="nav.xhtml" properties="nav" {kind}/>{items}</manifest>'
            f"<spine>{spine}</spine></package>",
        )
        nav = f'<nav epub:type="toc" xmlns:epub="http://www.idpf.org/2007/ops"><ol>{entries}</ol></nav>'
        book.writestr("OEBPS/nav.xhtml", _page("Contents", nav))
        for name, chapter in zip(names, chapters, strict=True):
            book.writestr(f"OEBPS/{name}", _page(title, chapter))


def write_docx(file: Path, title: str, blocks_of_book: Sequence[Block]) -> None:
    """Write a DOCX with Word's own styles for headings, lists and quotes, a running header, and real tables."""
    word = Document()
    word.core_properties.title = title
    word.sections[0].header.paragraphs[0].text = title
    styles = {style.name: style for style in word.styles}  # python-docx would search for each by name
    for block in blocks_of_book:
        if block.kind == "table":
            _word_table(word, block)
            continue
        name = {
            "heading": f"Heading {block.level}",
            "item": "List Bullet" if block.mark == "•" else "List Number",
            "quote": "Quote",
        }.get(block.kind, "Normal")
        if block.kind == "item" and block.level:
            name = f"{name} {min(block.level + 1, 3)}"
        paragraph = word.add_paragraph()
        paragraph.style = styles[name]
        _said(paragraph, block.runs)
    word.save(str(file))


def _word_table(word: Word, block: Block) -> None:
    width = max(len(row) for row in block.rows)
    table = word.add_table(len(block.rows), width)
    table.style = "Table Grid"
    for row, word_row in zip(block.rows, table.rows, strict=True):
        for cell, empty in zip(row, word_row.cells, strict=False):
            _said(empty.paragraphs[0], cell)


def _said(paragraph: WordParagraph, runs: Sequence[Run]) -> None:
    for words, bold, italic in runs:
        run = paragraph.add_run(words)
        run.bold, run.italic = bold or None, italic or None


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
