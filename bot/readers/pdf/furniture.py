"""Finds running headers, footers and page numbers: much the same words at the same height of page after page.

Knows no PDF.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final

from bot.readers.pdf.layout import Line

_RANK: Final = 3
"""Rows from a page's edge that may be furniture."""
_HEIGHT: Final = 3.0
"""Points by which the same header's height may differ."""
_NEAR: Final = 4
"""Pages before and after in which a header comes again."""
_TIMES: Final = 3
_SHARE: Final = 0.5
"""Of the lines at a height: as many must come again, or it is where pages begin, and some begin alike."""
_ROMAN: Final = re.compile(r"\b[ivxlc]+\b|\d+")
_NUMBERED: Final = (
    "#",
    "- # -",
    "– # –",
    "page #",
    "página #",
    "seite #",
    "# / #",
    "page # of #",
    "página # de #",
)
_DIGITS: Final = re.compile(r"\d+")
_APART: Final = 1.5
"""Ems to the nearest line of the text, at least."""
_MARGIN_LINES: Final = 5
_MARGIN_WIDTH: Final = 0.3
"""Of the page's widest block."""
_LETTER: Final = re.compile(r"\w")


def without_furniture(lines: Sequence[Line], pages: int, title: str) -> list[Line]:
    """The lines but those of headers and footers: what comes again, and the page's own number, alone or with the
    title. No page loses all it has to them."""
    margins = _margins(lines)
    outer = [
        line
        for line in lines
        if (line.rank < _RANK or (line.page, line.block) in margins) and _LETTER.search(line.text)
    ]
    again = _again(outer, pages)
    heights: dict[tuple[bool, int], list[Line]] = defaultdict(list)
    for line in outer:
        heights[(line.page, line.block) in margins, round(line.base / _HEIGHT)].append(line)
    numbered = _key(f"{title} 1"), _key(f"1 {title}"), *_NUMBERED
    gone = {
        id(line)
        for line in outer
        if not line.rank and _key(line.text) in numbered and str(line.page + 1) in _DIGITS.findall(line.text)
    }
    for (margin, slot), there in heights.items():
        here = [line for near in (slot - 1, slot, slot + 1) for line in heights.get((margin, near), ())]
        repeated = sum(id(line) in again for line in here)
        if repeated >= _SHARE * len(here):
            gone.update(id(line) for line in there if id(line) in again)
    by_page: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        by_page[line.page].append(line)
    left_out = {id(line) for there in by_page.values() for line in _outside(there, gone)}
    kept = {(line.page, line.block) for line in lines if id(line) not in gone}
    beside = margins - kept
    left_out |= {id(line) for line in lines if (line.page, line.block) in beside}
    return [line for line in lines if id(line) not in left_out]


def _margins(lines: Sequence[Line]) -> set[tuple[int, int]]:
    """The blocks, by page and number, that are as narrow and short as what stands in a margin."""
    blocks: dict[tuple[int, int], list[Line]] = defaultdict(list)
    widths: dict[int, float] = defaultdict(float)
    for line in lines:
        blocks[line.page, line.block].append(line)
        widths[line.page] = max(widths[line.page], line.edges[1] - line.edges[0])
    return {
        block
        for block, there in blocks.items()
        if len(there) <= _MARGIN_LINES
        and there[0].edges[1] - there[0].edges[0] <= _MARGIN_WIDTH * widths[block[0]]
    }


def _outside(page: Sequence[Line], gone: Collection[int]) -> list[Line]:
    """Those of a page's lines that are `gone` (by their ids) and lie, with nothing else, beyond a gap from the rest."""
    rows: list[list[Line]] = []
    for line in sorted(page, key=lambda one: one.base):
        if rows and line.base - rows[-1][0].base <= _HEIGHT:
            rows[-1].append(line)
        else:
            rows.append([line])
    found: list[Line] = []
    for order in (rows, rows[::-1]):
        most = 0
        for many, (row, inner) in enumerate(pairwise(order[: _RANK + 1]), 1):
            if not all(id(line) in gone for line in row):
                break
            if abs(inner[0].base - row[0].base) >= _APART * row[0].size:
                most = many
        found += [line for row in order[:most] for line in row]
    return found if len(found) < len(page) else []


def _again(outer: Iterable[Line], pages: int) -> set[int]:
    """The lines (their ids) whose words stand at the same height of pages nearby."""
    alike: dict[str, list[Line]] = defaultdict(list)
    for line in outer:
        alike[_key(line.text)].append(line)
    times = _TIMES if pages > _TIMES else 2
    found: set[int] = set()
    for same in alike.values():
        if len(same) < times:
            continue
        same.sort(key=lambda line: line.page)
        for at, line in enumerate(same):
            near = same[max(0, at - 2 * _NEAR) : at + 2 * _NEAR + 1]
            on = {
                other.page
                for other in near
                if abs(other.page - line.page) <= _NEAR and abs(other.base - line.base) <= _HEIGHT
            }
            if len(on) >= times:
                found.add(id(line))
    return found


def _key(text: str) -> str:
    """The words, whatever the numbers among them."""
    return _ROMAN.sub("#", " ".join(text.casefold().split()))
