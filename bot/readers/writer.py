"""Writes a Document block by block, for readers of formats with their own markup.

The text is ordinary Markdown, so that the chunker recognizes its tables and platforms can show it. Sections and pages
are recorded as they are written, so nothing is parsed a second time. Independent of formats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.readers.document import Document, Link, Mark, links, sectioned

PAGE = "\f"
"""Within any text given to the writer: the text after it is on the next page."""

_BLANKS = re.compile(r"[ \t\n\r\v\xa0]+")
_MARKUP = re.compile(r"^(?=#{1,6}(?:\s|$)|```|~~~)", re.MULTILINE)
_PADDED = 200_000
"""The most cells of a table whose rows are all made as long as the longest."""
_FENCES = re.compile(r"`{3,}")


def flow(text: str) -> str:
    """The words of a freely breakable text on one line; page marks stay."""
    return _BLANKS.sub(" ", text).strip(" ")


class Writer:
    """Writes one document as Markdown. Content without words leaves only its page marks."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._last = ""
        self._marks: list[Mark] = []
        self._trail: list[tuple[int, str]] = []
        self._turned = 0
        self._pages: list[int] = []
        self._links: list[Link] = []

    @property
    def empty(self) -> bool:
        """Whether no words have been written."""
        return not self._parts

    def page(self) -> None:
        """The following content is on the next page; also called before the first page."""
        self._turned += 1

    def heading(self, level: int, title: str) -> None:
        """Begin a section: level 1 (the outermost) to 6."""
        title = flow(self._opened(title))
        words = title.replace(PAGE, "")
        if not words:
            return
        level = min(max(level, 1), 6)
        self._trail = [*(step for step in self._trail if step[0] < level), (level, words)]
        start = self._block("heading", f"{'#' * level} {title}")
        self._marks.append((start, level, words, tuple(step[1] for step in self._trail)))

    def paragraph(self, text: str) -> None:
        """Write a paragraph, keeping its line ends; `flow` it first if they mean nothing."""
        self._block("paragraph", _MARKUP.sub(r"\\", _lines(self._opened(text))))

    def item(self, text: str, *, depth: int = 0, number: int | None = None) -> None:
        """Write a list item at a depth from 0, with a number if the list has them."""
        mark = "-" if number is None else f"{number}."
        if words := flow(self._opened(text)):
            self._block("item", f"{'  ' * depth}{mark} {words}")

    def quote(self, text: str) -> None:
        """Write a boxed aside, or somebody else's words."""
        if words := _lines(self._opened(text)):
            self._block("quote", "\n".join(f"> {line}".rstrip() for line in words.split("\n")))

    def code(self, text: str) -> None:
        """Write code, whose blanks and line ends matter."""
        if words := self._opened(text):
            indent = text[: len(text) - len(words)].replace(PAGE, "").rpartition("\n")[2]
            stripped = words.rstrip(f" \t\n\r\v\xa0{PAGE}")
            fence = "`" * (1 + max((len(run) for run in _FENCES.findall(stripped)), default=2))
            self._block("code", f"{fence}\n{indent}{stripped}\n{fence}")
            self._turned += words.count(PAGE, len(stripped))

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Write a table by rows of cells; the first row is the heading."""
        table_rows: list[list[str]] = []
        marks = ""  # of rows without words
        for row in rows:
            cells = [flow(cell) for cell in row]
            if any(cell.strip(PAGE) for cell in cells):
                table_rows.append([marks + cells[0], *cells[1:]])
                marks = ""
            else:
                marks += "".join(cells)
        if table_rows:
            table_rows[0][0] = self._opened(table_rows[0][0])
            width = max(map(len, table_rows))
            padded = width if width * len(table_rows) <= _PADDED else 0
            head, *table_body = (_row([*row, *[""] * (padded - len(row))]) for row in table_rows)
            self._block(
                "table", "\n".join([head, _row(["---"] * max(padded, len(table_rows[0]))), *table_body])
            )
        self._turned += len(marks)

    def see(self, target: str) -> None:
        """Note that the authors refer from the present section to that title."""
        if target := flow(target.replace(PAGE, " ")):
            self._links.append(Link(len(self._marks) - 1, target))

    def document(self, title: str, language: str = "") -> Document:
        """The document; `sandbox` detects its language if the file does not state it."""
        text = "".join(self._parts)
        pages = [*self._pages, *[len(text)] * self._turned]
        sections = sectioned(text, self._marks, pages=pages)
        before = len(sections) - len(self._marks)
        named = [Link(max(0, link.section + before), link.target) for link in self._links]
        return Document(
            title=title,
            text=text,
            language=language,
            sections=sections,
            links=tuple(dict.fromkeys((*links(text, sections), *named))),
            pages=tuple(pages),
        )

    def _block(self, kind: str, text: str) -> int:
        """Write a block with its page marks removed and noted. Returns where it begins."""
        if not text:
            return self._length
        gap = "" if not self._parts else "\n" if kind == self._last == "item" else "\n\n"
        start = self._length + len(gap)
        self._pages += [start] * self._turned
        self._turned = 0
        at = start
        *pieces, last = text.split(PAGE)
        for piece in pieces:
            at += len(piece)
            self._pages.append(at)
        words = "".join([*pieces, last])
        self._parts += [gap, words]
        self._length = start + len(words)
        self._last = kind
        return start

    def _opened(self, text: str) -> str:
        """The text without the blanks and page marks before its first word; the marks are noted."""
        words = text.lstrip(f" \t\n\r\v\xa0{PAGE}")
        self._turned += text.count(PAGE, 0, len(text) - len(words))
        return words


def _lines(text: str) -> str:
    return "\n".join(line.strip(" \t\r\v\xa0") for line in text.strip(" \t\n\r\v\xa0").split("\n"))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
