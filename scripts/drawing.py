"""Draws messages as SVG: lines of text, cards and rows of buttons, with the looks of a chat program.

Uses no platform; the calling scripts provide the lines.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape

WIDTH, COLUMNS, HIGH, MARGIN = 880, 108, 20, 16
INLINE = re.compile(r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`]+)`|\*(?P<italic>[^*]+)\*")
STYLES = {"bold": ' font-weight="bold"', "code": ' font-family="monospace"', "italic": ' font-style="italic"'}


@dataclass(frozen=True)
class Looks:
    """Colours; `border` is that of a button, "" for none. `indent` is the indentation of everything except a face."""

    text: str
    faint: str
    name: str
    back: str
    card: str
    button: str
    label: str
    border: str = ""
    face: str = ""
    indent: int = 0


@dataclass(frozen=True)
class Line:
    """A line of text, or with `buttons` a row of buttons. `card` is the colour of the card that it belongs to.

    `face` is the letter on the sender's picture, next to the name; `deep` is the number of indentation steps.
    """

    text: str = ""
    colour: str = ""
    bold: bool = False
    quoted: bool = False
    code: bool = False
    card: str = ""
    buttons: tuple[str, ...] = ()
    face: str = ""
    deep: int = 0


def wrapped(words: str, like: Line, columns: int = COLUMNS) -> Iterator[Line]:
    """Wrap a paragraph into lines of at most `columns` columns that otherwise look like `like`."""
    return (replace(like, text=part) for part in textwrap.wrap(words, columns) or [""])


def drawn(rows: Iterable[Line], looks: Looks) -> str:
    """Draw the lines as SVG."""
    drawn_rows = list(rows)
    height = len(drawn_rows) * HIGH + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
        f'<rect width="100%" height="100%" rx="8" fill="{looks.back}"/>',
        '<g font-family="Helvetica, Arial, sans-serif" font-size="14" xml:space="preserve">',
    ]
    for n, row in enumerate(drawn_rows):
        parts.extend(_row(row, MARGIN + n * HIGH, looks))
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _row(row: Line, y: int, looks: Looks) -> Iterator[str]:
    left = MARGIN + row.deep * looks.indent
    if row.card:
        yield f'<rect x="{left}" y="{y}" width="{WIDTH - MARGIN - left}" height="{HIGH}" fill="{looks.card}"/>'
        yield f'<rect x="{left}" y="{y}" width="4" height="{HIGH}" fill="{row.card}"/>'
    if row.face:
        yield f'<rect x="{left}" y="{y}" width="34" height="34" rx="5" fill="{looks.face}"/>'
        yield (
            f'<text x="{left + 17}" y="{y + 23}" fill="{looks.back}" font-size="18" font-weight="bold" '
            f'text-anchor="middle">{escape(row.face)}</text>'
        )
    x = left + looks.indent + (12 if row.card else 0)
    if row.quoted:
        yield f'<rect x="{x}" y="{y}" width="3" height="{HIGH}" fill="{looks.border or looks.button}"/>'
        x += 10
    yield from _buttons(row.buttons, x, y, looks)
    if row.text:
        weight = STYLES["bold"] if row.bold else ""
        style = STYLES["code"] if row.code else weight
        words = escape(row.text) if row.code else _spans(row.text)
        yield f'<text x="{x}" y="{y + 15}" fill="{row.colour or looks.text}"{style}>{words}</text>'


def _buttons(labels: tuple[str, ...], x: float, y: int, looks: Looks) -> Iterator[str]:
    border = f' stroke="{looks.border}"' if looks.border else ""
    for label in labels:
        wide = 24 + 8 * len(label)
        yield (
            f'<rect x="{x}" y="{y + 1}" width="{wide}" height="{HIGH - 2}" rx="4" fill="{looks.button}"{border}/>'
        )
        yield (
            f'<text x="{x + wide / 2}" y="{y + 15}" fill="{looks.label}" text-anchor="middle">{escape(label)}</text>'
        )
        x += wide + 8


def _spans(text: str) -> str:
    svg, at = "", 0
    for match in INLINE.finditer(text):
        style = match.lastgroup or "bold"
        svg += escape(text[at : match.start()]) + f"<tspan{STYLES[style]}>{escape(match[style])}</tspan>"
        at = match.end()
    return svg + escape(text[at:])
