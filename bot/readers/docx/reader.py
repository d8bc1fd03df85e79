"""Word files (.docx) into Documents: headings, lists, tables, boxes and notes, as people see them.

Reads the XML itself (see `blocks`), because python-docx leaves out content in controls, boxes and notes, and takes ten
times as long. Macros, comments, headers and footers are not read, nor are charts and diagrams, whose words are not in
the text. There are no pages, because each printer decides where they end. In a document with no headings by style, or
only one above all, headings are guessed: short lines, all in bold or in larger letters.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.readers.document import Document, title_from_name
from bot.readers.docx.blocks import Block, blocks
from bot.readers.docx.parts import Parts
from bot.readers.docx.styles import Styles
from bot.readers.docx.xml import Element, child, kind, number, own_text, switch, value
from bot.readers.writer import Writer, flow

if TYPE_CHECKING:
    from bot.readers.document import Progress

_TABS: Final = re.compile(r"[ \t]*\t[ \t]*")
_BLANKS: Final = re.compile(r" {2,}")
_LONGEST: Final = 100
_SENTENCE: Final = (".", ",", ";", ":", "…")
_LARGER: Final = 2
"""Half-points above the body's size."""

_ROW: Final = 4
"""This many consecutive paragraphs that look like headings are not headings."""


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The document in `data`; blocking.

    Raises UserError: "library.file_damaged", "library.file_scanned" for a file with pictures only, and as `Archive`
    does.
    """
    parts = Parts(name, data)
    blocks_read = blocks(parts, progress)
    heads = [block for block in blocks_read if block.kind == "heading"]
    if heads in ([], blocks_read[:1]):
        guess(blocks_read, parts.styles, below=heads[0].level if heads else 0)
    writer = Writer()
    _write(blocks_read, writer)
    if writer.empty and parts.pictures:
        raise UserError("library.file_scanned", name=name)
    return writer.document(parts.title() or _headline(blocks_read) or title_from_name(name))


def _write(blocks: list[Block], writer: Writer) -> None:
    places = _places(blocks)
    heading = ""
    for code, group in groupby(blocks, lambda block: block.kind == "code"):
        alike = list(group)
        if code:
            writer.code("\n".join(block.text for block in alike))
        for block in alike:
            if block.kind in ("heading", "title"):
                heading = flow(block.text)
                writer.heading(block.level, heading)
            elif block.kind == "item":
                writer.item(block.text, depth=block.level, number=block.number)
            elif block.kind == "quote":
                writer.quote(_spaced(block.text))
            elif block.kind == "table":
                writer.table(block.rows)
            elif block.kind == "paragraph":
                writer.paragraph(_spaced(block.text))
            for target in block.targets:
                if (place := places.get(target, heading)) != heading:
                    writer.see(place)


def _places(blocks: list[Block]) -> dict[str, str]:
    """The headings that contain or precede bookmarks, by the bookmarks' names."""
    places: dict[str, str] = {}
    heading = ""
    for block in blocks:
        if block.kind in ("heading", "title"):
            heading = flow(block.text)
        for anchor in block.anchors:
            places.setdefault(anchor, heading)
    return places


def _headline(blocks: list[Block]) -> str:
    """The first paragraph in a title style, else the first heading if all others are below it."""
    titles = [block.text for block in blocks if block.kind == "title"]
    heads = [block for block in blocks if block.kind == "heading"]
    if not titles and heads and all(block.level > heads[0].level for block in heads[1:]):
        titles = [heads[0].text]
    return flow(titles[0]) if titles else ""


def _spaced(text: str) -> str:
    """The text with each run of blanks as one blank, or as one tab if it has a tab."""
    return _BLANKS.sub(" ", _TABS.sub("\t", text))


def guess(blocks: list[Block], styles: Styles, below: int = 0) -> None:
    """Make headings of paragraphs that look like some; larger letters give higher levels.

    `below` is the level above them: that of a single heading at the beginning.
    """
    looks = {
        at: _look(block.paragraph, styles) for at, block in enumerate(blocks) if block.paragraph is not None
    }
    sizes: Counter[int] = Counter()
    weights: Counter[bool] = Counter()
    for at, (bold, _, largest) in looks.items():
        sizes[largest] += len(blocks[at].text)
        weights[bold] += len(blocks[at].text)
    if not sizes:
        return
    body = sizes.most_common(1)[0][0]
    thin = weights[False] >= weights[True]
    sizes_of_headings: dict[int, int] = {}
    for at, (bold, smallest, _) in looks.items():
        larger = smallest >= body + _LARGER
        if at + 1 < len(blocks) and _short(blocks[at]) and (larger or (bold and thin)):
            sizes_of_headings[at] = smallest if larger else body
    for at in _alike(sizes_of_headings):
        del sizes_of_headings[at]
    levels = {
        size: level
        for level, size in enumerate(sorted(set(sizes_of_headings.values()), reverse=True), below + 1)
    }
    for at, size in sizes_of_headings.items():
        if (count := blocks[at].number) is not None:
            blocks[at].text = f"{count}. {blocks[at].text}"
        blocks[at].kind, blocks[at].level, blocks[at].number = "heading", levels[size], None


def _short(block: Block) -> bool:
    words = block.text.strip()
    listed = block.kind == "item" and block.number is None and not words[:1].isdigit()
    return (
        block.kind in ("paragraph", "item")
        and not listed
        and len(words) <= _LONGEST
        and "\n" not in words
        and not words.endswith(_SENTENCE)
        and any(letter.isalpha() for letter in words)
    )


def _alike(sizes_of_headings: dict[int, int]) -> list[int]:
    """The headings of equal size in rows of at least _ROW, which head nothing."""
    rows: list[list[int]] = []
    for at, size in sizes_of_headings.items():
        if rows and rows[-1][-1] == at - 1 and sizes_of_headings[at - 1] == size:
            rows[-1].append(at)
        else:
            rows.append([at])
    return [at for row in rows if len(row) >= _ROW for at in row]


def _look(paragraph: Element | None, styles: Styles) -> tuple[bool, int, int]:
    """(all in bold, the smallest and the largest size) of a paragraph's letters, sizes in half-points."""
    if paragraph is None:
        return False, 0, 0
    style = styles.paragraph(value(child(child(paragraph, "pPr"), "pStyle")))
    bolds: list[bool] = []
    sizes: list[int] = []
    for run in paragraph.iter():
        if kind(run) != "r" or not any(kind(part) == "t" and own_text(part).strip() for part in run):
            continue
        properties = child(run, "rPr")
        character_style = styles.of(value(child(properties, "rStyle")) or "")
        bold = switch(child(properties, "b"))
        bolds.append(bold if bold is not None else character_style.bold or style.bold)
        sizes.append(number(child(properties, "sz")) or character_style.size or style.size or styles.size)
    return bool(bolds) and all(bolds), min(sizes, default=0), max(sizes, default=0)
