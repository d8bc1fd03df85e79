"""A screenplay recognized from the positions of lines on a PDF's pages: a guess, and marked as one.

Final Draft, Fade In and Highland print in Courier of 12 points, ten characters to the inch: action and headings at 1.5
inches, dialogue at 2.5, parentheticals at 3.1, cues at 3.7, transitions at the right (Final Draft's ElementSettings).
The distance of a line from the scene headings decides. Two cues in one row begin a dual dialogue, which is read column
by column. Independent of PDF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final, Protocol

from bot.readers.screenplay.elements import (
    LEFT,
    RIGHT,
    SPOKEN,
    Element,
    Kind,
    Screenplay,
    literal,
    title_page,
)
from bot.readers.screenplay.fountain import is_heading

LETTER: Final = 0.6
"""Width of a letter of Courier in ems."""
_ROW: Final = 0.3
"""Ems by which words of one row may differ in height."""
_PARAGRAPH: Final = 1.6
"""Ems between two rows from which a new paragraph begins; single spacing is 1."""
_GUTTER: Final = 1.5
"""The fewest letters between the two columns of a dual dialogue."""
_CUE: Final = 40
"""The most letters of a cue in a dual dialogue."""
_WORDS: Final = 1_500
"""The most words on a page; no page of a script has as many."""
_SCENES, _SPEECHES = 2, 2
"""The least numbers of scenes and speeches of a script."""
_SET: Final = 0.8
"""The share of all rows that must be indented as in a script."""

_FURNITURE: Final = re.compile(
    r"\(?(?:more|mais|continued|continua|continuação)\)?:?(?: \(\d+\))?", re.IGNORECASE
)
_PAGE_NUMBER: Final = re.compile(r"\d{1,4}[A-Z]?\.?")
_NUMBER: Final = re.compile(r"[A-Z]{0,2}\d{1,4}[A-Z]{0,2}")
_CONTINUED: Final = re.compile(r"\s*\((?:cont['’]?d|cont\.|continuing|continuando)\)$", re.IGNORECASE)


class Placed(Protocol):
    """A word on a page, in points."""

    @property
    def text(self) -> str: ...
    @property
    def left(self) -> float: ...
    @property
    def right(self) -> float: ...
    @property
    def base(self) -> float: ...
    @property
    def size(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a page; `number` is its scene number. `dual`: it is in the LEFT or the RIGHT column of a dual dialogue,
    and so of this `kind`.
    """

    page: int
    text: str
    left: float
    base: float
    size: float
    number: str = ""
    dual: int = 0
    kind: Kind | None = None


def rows(words: Sequence[Placed], page: int) -> list[Row]:
    """The rows of one page from the top, without its number and its "continued" marks."""
    if len(words) > _WORDS:
        return []
    groups: list[list[Placed]] = []
    for word in sorted(words, key=lambda placed: placed.base):
        if groups and word.base - groups[-1][0].base <= _ROW * word.size:
            groups[-1].append(word)
        else:
            groups.append([word])
    rows_made: list[Row] = []
    at = 0
    while at < len(groups):
        if columns := _dual(groups[at:]):
            for side, column in zip((LEFT, RIGHT), columns, strict=True):
                rows_made += _speech(column, side, page)
            at += max(map(len, columns))
            continue
        row = _row(_across(groups[at]), page)
        if not (_FURNITURE.fullmatch(row.text) or (at == 0 and _PAGE_NUMBER.fullmatch(row.text))):
            rows_made.append(row)
        at += 1
    return rows_made


def _across(words: Iterable[Placed]) -> list[Placed]:
    return sorted(words, key=lambda placed: placed.left)


def _dual(groups: Sequence[Sequence[Placed]]) -> tuple[list[list[Placed]], list[list[Placed]]] | None:
    """The words of both columns, row by row, if the first group is the two cues of a dual dialogue."""
    cues = _across(groups[0])
    text = "".join(word.text for word in cues)
    if len(cues) < 2 or any(map(str.islower, text)) or not any(map(str.isalpha, text)):
        return None
    block = [cues]
    for before, group in pairwise(groups):
        if group[0].base - before[0].base >= _PARAGRAPH * group[0].size:
            break
        block.append(_across(group))
    gutter = _gutter(block)
    if len(block) < 2 or gutter is None:
        return None
    columns = (
        [[word for word in row if word.left < gutter] for row in block],
        [[word for word in row if word.left >= gutter] for row in block],
    )
    if not all(column[0] and column[1] and len(_text(column[0])) <= _CUE for column in columns):
        return None
    return columns


def _gutter(block: Sequence[Sequence[Placed]]) -> float | None:
    """Where the right column begins: after the widest strip without a word; None if none is wide enough."""
    words = sorted((word for row in block for word in row), key=lambda placed: placed.left)
    widest, begins, right = 0.0, 0.0, words[0].right
    for word in words[1:]:
        if word.left - right > widest:
            widest, begins = word.left - right, word.left
        right = max(right, word.right)
    return begins if widest >= _GUTTER * LETTER * words[0].size else None


def _speech(column: Iterable[list[Placed]], side: int, page: int) -> Iterable[Row]:
    """The rows of one column: the cue, then the speech, with parentheticals as separate rows."""
    kind: Kind | None = None
    closed = True
    for words in column:
        if not words:
            continue
        text = _text(words)
        if kind is None:
            kind = "cue"
        elif closed:
            kind = "parenthetical" if text.startswith("(") else "dialogue"
        closed = kind != "parenthetical" or text.endswith(")")
        if not _FURNITURE.fullmatch(text):
            yield Row(page, text, words[0].left, words[0].base, words[0].size, dual=side, kind=kind)


def _text(words: Iterable[Placed]) -> str:
    return " ".join(word.text for word in words)


def _row(words: list[Placed], page: int) -> Row:
    """A row without the scene number that stands on both sides, or before a heading."""
    texts, number = [word.text for word in words], ""
    between = " ".join(texts[1:-1])
    enclosed = len(texts) > 2 and texts[0] == texts[-1] and between == between.upper()
    if len(texts) > 1 and _NUMBER.fullmatch(texts[0]) and (enclosed or is_heading(" ".join(texts[1:]))):
        number = texts.pop(0)
        words = words[1:]
        if len(texts) > 1 and texts[-1] == number:
            texts.pop()
    return Row(page, " ".join(texts), words[0].left, words[0].base, words[0].size, number)


def guessed(all_rows: Sequence[Row]) -> Screenplay | None:
    """The screenplay from the rows of all pages; None if they are not set like one."""
    headings = [row for row in all_rows if is_heading(row.text)]
    if len(headings) < _SCENES:
        return None
    margin = median(row.left for row in headings)
    at_margin = (
        at for at, row in enumerate(all_rows) if is_heading(row.text) and abs(row.left - margin) < row.size
    )
    if (first := next(at_margin, None)) is None:
        return None
    opening = [row for row in all_rows[:first] if row.page == all_rows[first].page]
    body = [*opening, *all_rows[first:]]
    kinds = _kinds(body, margin)
    set_so = sum(kind is not None for kind in kinds)
    if kinds.count("heading") < _SCENES or set_so < _SET * len(body):
        return None
    elements = _elements(body, [kind or "general" for kind in kinds])
    if (
        sum(element.kind == "cue" and following.kind in SPOKEN for element, following in pairwise(elements))
        < _SPEECHES
    ):
        return None
    front = [row.text for row in all_rows[:first] if row.page < all_rows[first].page]
    return Screenplay(tuple(elements), title_page(front), guessed=True)


def _kinds(body: Sequence[Row], margin: float) -> list[Kind | None]:
    """The kind of each row, by its distance from the margin in letters; None if a script has nothing there."""
    kinds: list[Kind | None] = []
    for at, row in enumerate(body):
        if row.kind is not None:
            kinds.append(row.kind)
            continue
        indent = (row.left - margin) / (LETTER * row.size)
        capitals = not any(map(str.islower, row.text)) and any(map(str.isalpha, row.text))
        below = body[at + 1] if at + 1 < len(body) else None
        speech_follows = below is not None and _follows(row, below) and below.left < row.left
        previous = kinds[-1] if kinds and _follows(body[at - 1], row) else None
        kind: Kind | None
        if -6 <= indent < 4:
            kind = "heading" if (row.number or is_heading(row.text)) and capitals else "action"
        elif 14 <= indent <= 40 and capitals and speech_follows and previous not in ("parenthetical", "cue"):
            kind = "cue"
        elif 10 <= indent <= 24 and (row.text.startswith("(") or previous == "parenthetical") and indent > 12:
            kind = "parenthetical"
        elif 6 <= indent <= 14:
            kind = "dialogue"
        elif indent > 24 and capitals and row.text.endswith((":", ".")):
            kind = "transition"
        else:
            kind = "centered" if capitals else None
        kinds.append(kind)
    return kinds


def _follows(row: Row, other: Row) -> bool:
    """Whether the other row is directly below."""
    return row.page == other.page and other.base - row.base < _PARAGRAPH * row.size


def _elements(body: Sequence[Row], kinds: Iterable[Kind]) -> list[Element]:
    """The elements: consecutive rows of one kind form a paragraph, and a speech that a page break split is joined."""
    elements: list[Element] = []
    last: Row | None = None
    for row, kind in zip(body, kinds, strict=True):
        text = literal(row.text)
        goes_on = last is not None and (
            _follows(last, row)
            or (last.page != row.page and kind == "dialogue" and elements[-1].kind == kind)
        )
        if kind == "cue" and last is not None and last.page != row.page and _CONTINUED.search(row.text):
            cue = next((element for element in reversed(elements) if element.kind == "cue"), None)
            if cue is not None and _name(cue.text) == _name(text) and elements[-1].kind in SPOKEN:
                last = row
                continue
        if (
            goes_on
            and elements
            and elements[-1].kind == kind
            and kind not in ("heading", "cue", "transition")
        ):
            elements[-1] = replace(elements[-1], text=f"{elements[-1].text} {text}")
        else:
            elements.append(Element(kind, text, number=row.number, dual=row.dual if kind == "cue" else 0))
        last = row
    return elements


def _name(cue: str) -> str:
    return _CONTINUED.sub("", cue).strip()
