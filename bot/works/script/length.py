"""How long a scene is on the page, in eighths, where its file does not say so. Pure.

The page: Courier of 12 points, ten characters to the inch and six lines to it; 54 lines on a page (Write Brothers'
"Understanding why importing from or exporting to Final Draft can result in a different page count": 54 to 55 with the
page's number). Widths and the lines left free above are Final Draft's own, as its files state them under
ElementSettings. The sum is rounded to the nearest eighth, never to none: so come out the 3/8 and 2/8 that Final
Draft itself gives its users' test script.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bot.readers.screenplay.elements import LEFT, RIGHT, SPOKEN, Element, Kind, plain

PAGE_LINES: Final = 54
"""Lines of a printed page."""
_SET: Final[dict[Kind, tuple[int, int]]] = {
    "heading": (60, 2),
    "action": (60, 1),
    "general": (60, 1),
    "centered": (60, 1),
    "shot": (60, 1),
    "cue": (35, 1),
    "parenthetical": (20, 0),
    "dialogue": (36, 0),
    "lyric": (36, 0),
    "transition": (15, 1),
}
"""Characters to a line, and lines left free above."""


def measured(elements: Iterable[Element]) -> int:
    """Eighths of a page that the elements of a scene take; of a dual dialogue the longer side."""
    total = left = right = 0
    side = 0
    for element in elements:
        if element.kind not in _SET:
            continue
        width, above = _SET[element.kind]
        lines = above + sum(_lines(line, width) for line in plain(element.text).split("\n"))
        spoken_part = element.kind in SPOKEN
        if not spoken_part and (element.kind != "cue" or element.dual != RIGHT):
            total += max(left, right)
            left = right = 0
        if element.kind == "cue":
            side = element.dual
        elif not spoken_part:
            side = 0
        if not side:
            total += lines
        elif side == LEFT:
            left += lines
        else:
            right += lines
    total += max(left, right)
    return max(1, (total * 16 + PAGE_LINES) // (2 * PAGE_LINES))


def page_of(eighths: int) -> int:
    """The page, from 1, on which a scene begins that so many eighths stand before."""
    return eighths // 8 + 1


def pages(eighths: int) -> str:
    """As production writes a length: "1 5/8", "3/8", "2"."""
    full_pages, rest = divmod(eighths, 8)
    return " ".join([str(full_pages)] * bool(full_pages) + [f"{rest}/8"] * bool(rest)) or "0"


def _lines(text: str, width: int) -> int:
    """Lines that the words take, broken between them."""
    lines, room = 1, width
    for word in text.split():
        need = len(word) + (room < width)
        if need <= room:
            room -= need
        else:
            lines += (room < width) + (len(word) - 1) // width
            room = width - ((len(word) - 1) % width + 1)
    return lines
