"""Headings of a Word document that has none by style, or one above all: short lines, all in bold or in larger letters.

Knows no lists and no tables.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from bot.readers.docx.blocks import Block
from bot.readers.docx.styles import Styles
from bot.readers.docx.xml import Element, child, kind, number, said, switch, value

_LONGEST: Final = 100
_SENTENCE: Final = (".", ",", ";", ":", "…")
_LARGER: Final = 2
"""Half-points above the body's size."""
_ROW: Final = 4
"""As many alike one after another head nothing."""


def guess(blocks: list[Block], styles: Styles, below: int = 0) -> None:
    """Make headings of the paragraphs that look like some; the larger the letters, the higher the level.

    `below` is the level that they stand under: that of a single heading, at the beginning.
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
    found: dict[int, int] = {}
    for at, (bold, smallest, _) in looks.items():
        larger = smallest >= body + _LARGER
        if at + 1 < len(blocks) and _short(blocks[at]) and (larger or (bold and thin)):
            found[at] = smallest if larger else body
    for at in _alike(found):
        del found[at]
    levels = {size: level for level, size in enumerate(sorted(set(found.values()), reverse=True), below + 1)}
    for at, size in found.items():
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


def _alike(found: dict[int, int]) -> list[int]:
    """Those in a row of as many as head nothing."""
    rows: list[list[int]] = []
    for at, size in found.items():
        if rows and rows[-1][-1] == at - 1 and found[at - 1] == size:
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
        if kind(run) != "r" or not any(kind(one) == "t" and said(one).strip() for one in run):
            continue
        properties = child(run, "rPr")
        own = styles.of(value(child(properties, "rStyle")) or "")
        bold = switch(child(properties, "b"))
        bolds.append(bold if bold is not None else own.bold or style.bold)
        sizes.append(number(child(properties, "sz")) or own.size or style.size or styles.size)
    return bool(bolds) and all(bolds), min(sizes, default=0), max(sizes, default=0)
