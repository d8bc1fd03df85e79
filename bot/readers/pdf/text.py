"""A PDF's lines as paragraphs, lists and tables, with words that line ends broke joined again.

Independent of PDF; writes through `Writer`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

from bot.readers.pdf.headings import Heading, body_style
from bot.readers.pdf.layout import Line
from bot.readers.pdf.tables import tables
from bot.readers.writer import PAGE, Writer

_GAP: Final = 1.25
"""A distance between two lines above this multiple of the usual one begins a paragraph."""
_INDENT: Final = 0.7
"""The least indent in ems."""
_SAME_SIZE: Final = 0.1
_NOTE_SIZE: Final = 0.93
"""The largest size of a footnote, as a share of the text's size."""
_NOTES: Final = 40
"""The most lines of notes between the halves of a paragraph."""
_NOTED: Final = re.compile(r"\d{1,3}\b|[*†‡§¶]")
_BULLET: Final = re.compile(r"([•▪➢✓◦‣∙●○■□◆▶►·]|[-–](?= ))\s*(?=\S)")
_NUMBER: Final = re.compile(r"\(?(\d{1,3})[.)]\s+(?=\S)")
_ENDED: Final = re.compile(r"[.!?:;…][\"”’')\]»]*$")
_BROKEN: Final = re.compile(r"(\w+)([-‐\xad])$")
_DASHED: Final = re.compile(r"[—/]$|\w–$")
_WORD: Final = re.compile(r"\w+(?:[-‐]\w+)*")
_FIRST: Final = re.compile(r"\w+")
_ADDRESS_END: Final = re.compile(r"(?:://|\bwww\.)\S*$")


class Vocabulary:
    """The words of a document, which tell a word's own hyphen from one at a line end."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._words: Counter[str] = Counter()
        for before, line in zip([None, *lines], lines, strict=False):
            words = _WORD.findall(line.text.replace("‐", "-").casefold())
            if words and _BROKEN.search(line.text):
                words.pop()
            if words and before is not None and _BROKEN.search(before.text):
                words.pop(0)
            self._words.update(words)

    def joined(self, before: str, after: str, mark: str = "") -> str:
        """Two lines' words as one text; `mark` is put where the second one begins."""
        if not before or not after:
            return before + mark + after
        broken = _BROKEN.search(before)
        if broken is not None and _ADDRESS_END.search(before):  # its hyphens are its own
            return f"{before}{mark}{after}"
        if broken is None:
            return f"{before}{mark}{after}" if _DASHED.search(before) else f"{before} {mark}{after}"
        first = _FIRST.match(after)
        if first is None:
            return f"{before[:-1]}- {mark}{after}"
        return f"{before[:-1]}{'-' if self._hyphened(broken[1], first[0]) else ''}{mark}{after}"

    def celled(self, before: str, after: str) -> str:
        """The same for two lines of a narrow cell, where a word may be broken without a hyphen."""
        old, new = _FIRST.findall(before)[-1:], _FIRST.match(after)
        if old and new and before.endswith(old[0]):
            joined_count = self._words[(old[0] + new[0]).casefold()]
            if joined_count > self._words[old[0].casefold()]:
                return before + after
        return self.joined(before, after)

    def _hyphened(self, before: str, after: str) -> bool:
        old, new = before.casefold(), after.casefold()
        joined_count, parted = self._words[old + new], self._words[f"{old}-{new}"]
        if joined_count or parted:
            return parted > joined_count
        if not (before[-1].isalpha() and after[0].isalpha() and after[0].islower()):
            return True
        return min(len(old), len(new)) >= 3 and bool(self._words[old] and self._words[new])


class Composer:
    """Writes lines, headings among them, to a writer."""

    def __init__(self, lines: Sequence[Line], headings: Sequence[Heading], writer: Writer) -> None:
        self._lines = lines
        self._headings = {heading.first: heading for heading in headings}
        self._writer = writer
        self._words = Vocabulary(lines)
        self._leading = _leading(lines)
        self._size = body_style(lines)[0]
        self._page = -1
        self._number = 0
        self._bullets: list[float] = []

    def write(self) -> None:
        """Write everything, once."""
        titled = {at for heading in self._headings.values() for at in range(heading.first, heading.last)}
        items = {at for at, line in enumerate(self._lines) if line.cells and _BULLET.match(line.text)}
        tables_by_line = tables(self._lines, titled | items, self._words.celled)
        closed = titled | tables_by_line.keys()
        at = 0
        while at < len(self._lines):
            self.turn(self._lines[at].page)
            if heading := self._headings.get(at):
                self._writer.heading(heading.level, self._text(at, heading.last))
                at = heading.last
            elif table := tables_by_line.get(at):
                self._number, self._bullets = 0, []
                self._writer.table([[cell.replace("\xad", "-") for cell in row] for row in table.rows])
                at = table.last
            else:
                at = self._prose(at, len(self._lines), closed)
            self._page = self._lines[at - 1].page
        self.turn(self._page)

    def turn(self, page: int) -> None:
        """Write page marks up to `page` (from 0)."""
        for _ in range(page - self._page):
            self._writer.page()
        self._page = max(page, self._page)

    def _text(self, first: int, last: int) -> str:
        """The lines as one, with a mark where a page begins."""
        text = self._lines[first].text
        for at in range(first + 1, last):
            mark = PAGE * (self._lines[at].page - self._lines[at - 1].page)
            text = self._words.joined(text, self._lines[at].text, mark)
        return _whole(text)

    def _prose(self, first: int, last: int, closed: Collection[int]) -> int:
        """Write the paragraph or list item at `first` from the lines before `last` that are not `closed` to prose.
        Returns where the next one begins.
        """
        bullet, number = _BULLET.match(self._lines[first].text), _NUMBER.match(self._lines[first].text)
        if number and int(number[1]) not in (1, self._number + 1):
            number = None
        if mark := bullet or number:
            return self._item(first, last, mark, closed)
        text = self._lines[first].text
        above, at = first, first + 1
        notes: list[range] = []
        while at < last and at not in closed:
            end = self._end(first, above, at)
            if end is None:
                beyond = self._beyond(above, at, last, closed)
                if beyond is None:
                    break
                notes.append(range(at, beyond))
                at = beyond
                end = False
            mark_of = PAGE * (self._lines[at].page - self._lines[above].page)
            line = self._lines[at].text
            text = f"{text}\n{mark_of}{line}" if end else self._words.joined(text, line, mark_of)
            above, at = at, at + 1
        if _indent(self._lines[first]) < min(self._bullets, default=0.0) + 1.0:
            self._bullets = []
        first_page, last_page = self._lines[first].page, self._lines[above].page
        early = [note for note in notes if self._lines[note.start].page == first_page != last_page]
        for note in early:
            self._notes(note)
        self._writer.paragraph(_whole(text))
        for note in notes:
            if note not in early:
                self._notes(note)
        return at

    def _notes(self, lines: range) -> None:
        """Write the lines between the halves of a paragraph; before it, if after it would be another page."""
        at = lines.start
        while at < lines.stop:
            at = self._prose(at, lines.stop, frozenset())

    def _note(self, above: Line, line: Line) -> bool:
        """Whether a line is set like a note, on the page of a line set like the text."""
        return (
            line.page == above.page and line.size <= _NOTE_SIZE * self._size <= _NOTE_SIZE * above.size * 1.05
        )

    def _beyond(self, above: int, at: int, last: int, closed: Collection[int]) -> int | None:
        """Where a paragraph continues after smaller type at the foot of a page or column, which is mostly notes."""
        body, end = self._lines[above], at
        while end < min(last, at + _NOTES) and end not in closed and self._note(body, self._lines[end]):
            end += 1
        if end in (at, last) or end in closed:
            return None
        line = self._lines[end]
        if (line.page, line.block) == (body.page, body.block) or line.page > body.page + 1:
            return None
        if not _alike(body, line) or _ENDED.search(body.text) or line.cells:
            return None
        goes_on = line.text[0].islower() or (_BROKEN.search(body.text) and line.text[0].isalnum())
        return end if goes_on or (_NOTED.match(self._lines[at].text) and self._full(body, line)) else None

    def _item(self, first: int, last: int, mark: re.Match[str], closed: Collection[int]) -> int:
        line = self._lines[first]
        at = first + 1
        while at < last and at not in closed and self._hangs(first, at):
            at += 1
        text = self._text(first, at)[mark.end() :]
        own = _indent(line)
        self._bullets = [indent for indent in self._bullets if indent < own - 0.5 * line.size] + [own]
        depth = min(len(self._bullets), 6) - 1
        number = int(mark[1]) if mark[1].isdigit() else None
        self._number = number or self._number
        self._writer.item(text, depth=depth, number=number)
        return at

    def _hangs(self, first: int, at: int) -> bool:
        """Whether a line belongs to the item that begins at `first`."""
        head, above, line = self._lines[first], self._lines[at - 1], self._lines[at]
        if _BULLET.match(line.text) or _NUMBER.match(line.text) or not _alike(above, line):
            return False
        if (line.page, line.block) != (above.page, above.block):
            return not _ENDED.search(above.text) and self._full(above, line) and line.text[0].islower()
        if not 0 < line.base - above.base <= _GAP * self._leading * line.size:
            return False
        return line.left > head.left + 0.5 * line.size or (
            at > first and self._full(above, line) and not _ENDED.search(above.text)
        )

    def _end(self, first: int, before: int, at: int) -> bool | None:
        """How a paragraph continues from line `before` to line `at`: on the same line of text (False), on its own line
        (True), or not at all (None).
        """
        above, line = self._lines[before], self._lines[at]
        if not _alike(above, line):
            return None
        if _BROKEN.search(above.text) and line.text[0].isalnum():
            return False
        ended, full = bool(_ENDED.search(above.text)), self._full(above, line)
        if (line.page, line.block) != (above.page, above.block):
            goes_on = not ended and (full or line.text[0].islower())
            return False if goes_on and not line.cells and not self._note(above, line) else None
        if not 0 < line.base - above.base <= _GAP * self._leading * line.size:
            return None
        if _BULLET.match(line.text) or (_NUMBER.match(line.text) and (ended or not full)):
            return None
        shift = line.left - above.left
        if shift >= _INDENT * line.size and (ended or not full) and not above.cells:
            return None
        if shift <= -_INDENT * line.size and at - first > 1 and (ended or not full) and not above.cells:
            return None
        if full and not ended and line.text[0].islower():
            return False
        if self._row(above) or self._row(line):
            return True
        return not full and not (line.text[0].islower() and not ended)

    def _row(self, line: Line) -> bool:
        """Whether it is one of several rows, rather than a line of prose with a wide gap."""
        return len(line.cells) > 2 or (bool(line.cells) and max(len(cell.text) for cell in line.cells) < 40)

    def _full(self, above: Line, line: Line) -> bool:
        """Whether the next line's first word did not fit on the line above."""
        each = (line.right - line.left) / max(len(line.text), 1)
        word = len(line.text.split(" ", 1)[0]) + 1
        return above.edges[1] - above.right <= word * each + 0.5 * line.size


def _indent(line: Line) -> float:
    """The line's indent within its column."""
    return line.left - line.edges[0]


def _alike(above: Line, line: Line) -> bool:
    return abs(above.size - line.size) <= _SAME_SIZE * max(above.size, line.size)


def _whole(text: str) -> str:
    return text.replace("\xad", "-")


def _leading(lines: Sequence[Line]) -> float:
    """The usual distance of two lines, in ems."""
    leadings: Counter[float] = Counter()
    for above, line in pairwise(lines):
        if (above.page, above.block, above.size) == (line.page, line.block, line.size):
            gap = (line.base - above.base) / line.size
            if 0.9 <= gap <= 3.0:
                leadings[round(gap * 20) / 20] += len(line.text)
    return leadings.most_common(1)[0][0] if leadings else 1.2
