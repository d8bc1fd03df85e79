"""Removes running headers, footers and page numbers: nearly the same words at the same height on many pages.

Independent of PDF.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final

from bot.readers.pdf.layout import Line

_RANK: Final = 3
"""The rows from a page's edge that may be furniture."""
_HEIGHT: Final = 3.0
"""Points by which the height of the same header may differ."""
_NEAR: Final = 4
"""The pages before and after in which a header must be repeated."""
_TIMES: Final = 3
_SHARE: Final = 0.5
"""The share of the lines at one height that must repeat; with a smaller share they are only page beginnings, some of
them similar.
"""
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
_FIRST_NUMBER: Final = re.compile(r"^(\d{1,4})(?=\s)")
_LAST_NUMBER: Final = re.compile(r"(?<=\s)(\d{1,4})$")
_COUNTED: Final = 4
_COUNTED_SHARE: Final = 0.3
"""The number and the share of pages on which such a number must appear."""
_APART: Final = 1.5
"""The least distance in ems to the nearest line of the text."""
_MARGIN_LINES: Final = 5
_MARGIN_WIDTH: Final = 0.3
"""The share of the width of the page's widest block."""
_LETTER: Final = re.compile(r"\w")


def without_furniture(lines: Sequence[Line], pages: int, title: str) -> list[Line]:
    """The lines without headers and footers: repeated lines, and the page's own number, alone or with the title. No
    page loses all its lines.
    """
    margins = _margins(lines)
    outer = [
        line
        for line in lines
        if (line.rank < _RANK or (line.page, line.block) in margins) and _LETTER.search(line.text)
    ]
    repeated_ids = _again(outer, pages)
    heights: dict[tuple[bool, int], list[Line]] = defaultdict(list)
    for line in outer:
        heights[(line.page, line.block) in margins, round(line.base / _HEIGHT)].append(line)
    numbered = _key(f"{title} 1"), _key(f"1 {title}"), *_NUMBERED
    removed = {
        id(line)
        for line in outer
        if not line.rank and _key(line.text) in numbered and str(line.page + 1) in _DIGITS.findall(line.text)
    }
    removed |= _counting(outer, pages)
    for (margin, slot), group in heights.items():
        nearby = [line for near in (slot - 1, slot, slot + 1) for line in heights.get((margin, near), ())]
        repeated = sum(id(line) in repeated_ids for line in nearby)
        if repeated >= _SHARE * len(nearby):
            removed.update(id(line) for line in group if id(line) in repeated_ids)
    by_page: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        by_page[line.page].append(line)
    left_out = {id(line) for page_lines in by_page.values() for line in _outside(page_lines, removed)}
    blocks_kept = {(line.page, line.block) for line in lines if id(line) not in removed}
    margins_removed = margins - blocks_kept
    left_out |= {id(line) for line in lines if (line.page, line.block) in margins_removed}
    return [line for line in lines if id(line) not in left_out]


def _counting(outer: Sequence[Line], pages: int) -> set[int]:
    """The ids of lines at a page's edge that begin or end with its printed number, whatever else they say. The
    difference between that number and the page's place in the file must be the same on enough pages.
    """
    ahead: dict[int, list[Line]] = defaultdict(list)
    for line in outer:
        for number in {*_FIRST_NUMBER.findall(line.text), *_LAST_NUMBER.findall(line.text)}:
            if not line.rank:
                ahead[int(number) - line.page].append(line)
    minimum = max(_COUNTED, _COUNTED_SHARE * pages)
    return {
        id(line) for same in ahead.values() if len({line.page for line in same}) >= minimum for line in same
    }


def _margins(lines: Sequence[Line]) -> set[tuple[int, int]]:
    """The blocks, by page and number, that are as narrow and short as margin text."""
    blocks: dict[tuple[int, int], list[Line]] = defaultdict(list)
    widths: dict[int, float] = defaultdict(float)
    for line in lines:
        blocks[line.page, line.block].append(line)
        widths[line.page] = max(widths[line.page], line.edges[1] - line.edges[0])
    return {
        block
        for block, block_lines in blocks.items()
        if len(block_lines) <= _MARGIN_LINES
        and block_lines[0].edges[1] - block_lines[0].edges[0] <= _MARGIN_WIDTH * widths[block[0]]
    }


def _outside(page: Sequence[Line], removed: Collection[int]) -> list[Line]:
    """The page's `removed` lines (by id) that are separated from the rest by a gap, with no other lines among them."""
    rows: list[list[Line]] = []
    for line in sorted(page, key=lambda line_of_page: line_of_page.base):
        if rows and line.base - rows[-1][0].base <= _HEIGHT:
            rows[-1].append(line)
        else:
            rows.append([line])
    outer: list[Line] = []
    for order in (rows, rows[::-1]):
        most = 0
        for lines_counted, (row, inner) in enumerate(pairwise(order[: _RANK + 1]), 1):
            if not all(id(line) in removed for line in row):
                break
            if abs(inner[0].base - row[0].base) >= _APART * row[0].size:
                most = lines_counted
        outer += [line for row in order[:most] for line in row]
    return outer if len(outer) < len(page) else []


def _again(outer: Iterable[Line], pages: int) -> set[int]:
    """The ids of the lines whose words are repeated at the same height on nearby pages."""
    alike: dict[str, list[Line]] = defaultdict(list)
    for line in outer:
        alike[_key(line.text)].append(line)
    times = _TIMES if pages > _TIMES else 2
    repeated: set[int] = set()
    for group in alike.values():
        if len(group) < times:
            continue
        group.sort(key=lambda line: line.page)
        for at, line in enumerate(group):
            neighbours = group[max(0, at - 2 * _NEAR) : at + 2 * _NEAR + 1]
            on = {
                neighbour.page
                for neighbour in neighbours
                if abs(neighbour.page - line.page) <= _NEAR and abs(neighbour.base - line.base) <= _HEIGHT
            }
            if len(on) >= times:
                repeated.add(id(line))
    return repeated


def _key(text: str) -> str:
    """The words without the numbers among them."""
    return _ROMAN.sub("#", " ".join(text.casefold().split()))
