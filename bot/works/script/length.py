"""The lengths of scenes in eighths of a page: measures them if the file does not give them, and formats them. Pure.

The page: Courier of 12 points, ten characters to the inch and six lines to it; 54 lines on a page (Write Brothers'
"Understanding why importing from or exporting to Final Draft can result in a different page count": 54 to 55 with the
page's number). Widths and the empty lines above are Final Draft's own, as its files state them under ElementSettings.
The sum is rounded to the nearest eighth, but at least to one: this gives the same 3/8 and 2/8 as Final Draft itself for
its users' test script.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from bot.readers.screenplay.elements import LEFT, RIGHT, SPOKEN, Element, Kind, plain

if TYPE_CHECKING:
    from bot.words import Words

PAGE_LINES: Final = 54
"""The number of lines on a printed page."""
_FORMATS: Final[dict[Kind, tuple[int, int]]] = {
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
"""The width in characters, and the number of empty lines above."""


def measured(elements: Iterable[Element]) -> int:
    """The length of a scene's elements in eighths of a page; for a dual dialogue, that of the longer side."""
    total = left = right = 0
    column = 0
    for element in elements:
        if element.kind not in _FORMATS:
            continue
        width, above = _FORMATS[element.kind]
        lines = above + sum(_line_count(line, width) for line in plain(element.text).split("\n"))
        is_speech = element.kind in SPOKEN
        if not is_speech and (element.kind != "cue" or element.dual != RIGHT):
            total += max(left, right)
            left = right = 0
        if element.kind == "cue":
            column = element.dual
        elif not is_speech:
            column = 0
        if not column:
            total += lines
        elif column == LEFT:
            left += lines
        else:
            right += lines
    total += max(left, right)
    return max(1, (total * 16 + PAGE_LINES) // (2 * PAGE_LINES))


def pages(eighths: int) -> str:
    """A length in production notation: "1 5/8", "3/8", "2"."""
    full_pages, rest = divmod(eighths, 8)
    return " ".join([str(full_pages)] * bool(full_pages) + [f"{rest}/8"] * bool(rest)) or "0"


def in_pages(eighths: int, say: Words) -> str:
    """A length in words: "3/8 of a page", "1 page", "1 5/8 pages"."""
    name = "part_of_page" if eighths < 8 else "one_page" if eighths == 8 else "many_pages"
    return say(f"script.{name}", pages=pages(eighths))


def _line_count(text: str, width: int) -> int:
    """The number of lines of a text that is broken between words."""
    lines, room = 1, width
    for word in text.split():
        need = len(word) + (room < width)
        if need <= room:
            room -= need
        else:
            lines += (room < width) + (len(word) - 1) // width
            room = width - ((len(word) - 1) % width + 1)
    return lines
