"""Writes a book as PDF, and records what is drawn on each page. Reads no Markdown: see `books_blocks`."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.pagesizes import A4, B5
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    LongTable,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Preformatted,
    TableStyle,
)

from scripts.books_blocks import Block, Run

LETTERS = str.maketrans({"−": "–", "‒": "–", "ʼ": "’", "\u0336": None})
"""Replacements for characters that the PDF's standard fonts (WinAnsi) lack."""
MARGIN, HEADER, GAP = 14 * mm, 6 * mm, 5 * mm


class Drawn(Paragraph):
    """A flowable that notes what it draws on which page; if it is split over pages, each part does so."""

    def draw(self) -> None:
        lines = self.blPara.lines
        # A line is a tuple of its words, or an object with the fragments that it is drawn in.
        pieces = [
            line[1] if isinstance(line, tuple) else [piece.text for piece in line.words] for line in lines
        ]
        _note(self.canv, " ".join(" ".join(piece) for piece in pieces))
        super().draw()


class DrawnCode(Preformatted):
    def draw(self) -> None:
        _note(self.canv, " ".join(self.lines))
        super().draw()


def _note(canvas: Any, words: str) -> None:
    pages: list[str] = canvas._doctemplate.drawn
    pages += [""] * (canvas.getPageNumber() - len(pages))
    pages[-1] += words + " "


class Template(BaseDocTemplate):
    """Knows the page each heading is on, for the outline and the running header."""

    outlined = True

    def __init__(self, file: str, **options: Any) -> None:
        super().__init__(file, **options)
        self.drawn: list[str] = []
        self._chapter = ""
        self._above: list[int] = []

    def afterFlowable(self, flowable: Any) -> None:  # noqa: N802 (reportlab's name)
        level = getattr(flowable, "level", 0)
        if not level:
            return
        words = flowable.getPlainText()
        self._chapter = words if level == 1 else self._chapter
        if self.outlined:
            key = f"h{self.seq.nextf('headings')}"
            self.canv.bookmarkPage(key)
            # An outline may not skip a level, as headings sometimes do.
            self._above = [*(heading_level for heading_level in self._above if heading_level < level), level]
            self.canv.addOutlineEntry(words, key, len(self._above) - 1, closed=True)

    def running(self, canvas: Any, _template: Any) -> None:
        """Draw the header above and the footer below each page's text."""
        wide, high = self.pagesize
        canvas.setFont("Times-Italic", 8)
        canvas.drawString(MARGIN, high - MARGIN + 2 * mm, self.title)
        canvas.drawRightString(wide - MARGIN, high - MARGIN + 2 * mm, self._chapter)
        canvas.setFont("Times-Roman", 8)
        canvas.drawCentredString(wide / 2, MARGIN - HEADER, f"Page {canvas.getPageNumber()}")


def write_pdf(file: Path, title: str, blocks: Sequence[Block], *, outline: bool, columns: int) -> list[str]:
    """Returns each page's words as they are drawn, without the running header and footer."""
    page = B5 if columns == 1 else A4
    template = Template(str(file), pagesize=page, title=title, invariant=1)
    template.outlined = outline
    page_width, high = page[0] - 2 * MARGIN, page[1] - 2 * MARGIN
    wide = (page_width - (columns - 1) * GAP) / columns
    places = [Frame(MARGIN + n * (wide + GAP), MARGIN, wide, high, 0, 0, 0, 0) for n in range(columns)]
    template.addPageTemplates(
        [
            PageTemplate("columns", places, onPageEnd=template.running),
            PageTemplate(
                "whole", [Frame(MARGIN, MARGIN, page_width, high, 0, 0, 0, 0)], onPageEnd=template.running
            ),
        ]
    )
    size = 9 if columns == 1 else 8
    body = ParagraphStyle(
        "body", fontName="Times-Roman", fontSize=size, leading=size * 1.2, spaceAfter=size / 2
    )
    flow: list[Any] = []
    for block in blocks:
        flow += (
            _table(block, wide, page_width, body) if block.kind == "table" else [_flowable(block, size, body)]
        )
    template.build(flow)
    return template.drawn


def _flowable(block: Block, size: float, body: ParagraphStyle) -> Any:
    if block.kind == "code":
        style = ParagraphStyle("code", body, fontName="Courier", fontSize=size - 2)
        return DrawnCode(block.words.translate(LETTERS), style)
    if block.kind == "heading":
        style = ParagraphStyle(
            "heading", body, fontName="Helvetica-Bold", fontSize=size * (1.9 - 0.15 * block.level),
            leading=size * 2.2 - block.level, spaceBefore=size, keepWithNext=1,
        )  # fmt: skip
        heading = Drawn(_marked(block.runs), style)
        heading.level = block.level
        return heading
    if block.kind == "item":
        style = ParagraphStyle("item", body, leftIndent=12 * (block.level + 1), bulletIndent=12 * block.level)
        return Drawn(_marked(block.runs), style, bulletText=block.mark)
    inset = 10 if block.kind == "quote" else 0
    return Drawn(
        _marked(block.runs), ParagraphStyle("text", body, leftIndent=inset, rightIndent=inset, alignment=4)
    )


def _table(block: Block, wide: float, page_width: float, body: ParagraphStyle) -> Iterator[Any]:
    """A table whose words are never broken: one that is too wide for its column gets a page of its own, as in real
    books.
    """
    cell = ParagraphStyle("cell", body, spaceAfter=0, fontSize=body.fontSize - 1, leading=body.leading - 1)
    count = max(len(row) for row in block.rows)
    rows = [[_marked(cell_runs) for cell_runs in row] + [""] * (count - len(row)) for row in block.rows]
    plain = [
        ["".join(run[0] for run in row[n]) if n < len(row) else "" for row in block.rows]
        for n in range(count)
    ]
    least = [
        4 + 1.1 * max(_width(word, cell) for cell_runs in column for word in [*cell_runs.split(), ""])
        for column in plain
    ]
    alone = sum(least) > wide
    room = (page_width if alone else wide) - sum(least)
    wish = [min(100.0, max(_width(cell_runs, cell) for cell_runs in column)) + 1 for column in plain]
    widths = [low + max(0.0, room) * wished / sum(wish) for low, wished in zip(least, wish, strict=True)]
    style = [("GRID", (0, 0), (-1, -1), 0.25, "grey"), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    style += [(f"{side}PADDING", (0, 0), (-1, -1), 2) for side in ("LEFT", "RIGHT", "TOP", "BOTTOM")]
    drawn = [[Drawn(cell_runs, cell) for cell_runs in row] for row in rows]
    table = LongTable(drawn, widths, repeatRows=1, style=TableStyle(style), spaceAfter=6)
    if alone and wide < page_width:
        yield from (NextPageTemplate("whole"), PageBreak(), table, NextPageTemplate("columns"), PageBreak())
    else:
        yield table


def _width(words: str, style: ParagraphStyle) -> float:
    return float(stringWidth(words, "Times-Bold", style.fontSize))


def _marked(runs: Sequence[Run]) -> str:
    """The runs in reportlab's markup."""
    markup = ""
    for words, bold, italic in runs:
        text = html.escape(words.translate(LETTERS), quote=False).replace("\n", "<br/>")
        text = f"<b>{text}</b>" if bold else text
        markup += f"<i>{text}</i>" if italic else text
    return markup
