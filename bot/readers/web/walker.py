"""HTML into a Document's words: the second reading, which writes its blocks.

Independent of files and encodings; see `html` and `epub`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from bot.readers.web.elements import Closer, Listed, Opener
from bot.readers.web.markup import (
    BREAK,
    Attributes,
    Label,
    Walked,
    cleaned,
    is_furniture,
    is_main,
    level_of,
    names_of,
    tidy,
    titled,
)
from bot.readers.web.survey import Survey
from bot.readers.writer import PAGE, Writer

_BLOCKS = frozenset((
    "address", "article", "body", "center", "details", "dialog", "div", "fieldset", "figure", "footer", "form",
    "header", "hgroup", "hr", "html", "legend", "main", "noframes", "optgroup", "option", "p", "search", "section",
    "summary", "tbody", "td", "tfoot", "th", "thead", "tr",
))  # fmt: skip
_PRE = frozenset(("pre", "listing", "xmp", "plaintext"))
_NOTES = frozenset(("footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote"))
_TABLE_PARTS = frozenset(("tr", "td", "th", "thead", "tbody", "tfoot"))
_CODE_START = re.compile(rf"^[\s{PAGE}]*{PAGE}\n?")


class Walker(Listed):
    """Writes one file's words. `survey` is the `Survey` of it.

    `see` returns the heading that a link's address leads to, "" for none. Headings move down by `shift` levels. At an
    id in `named` a heading (level, title) is written that the file itself lacks, as `title` was before the file; a
    following paragraph that repeats it is left out. `label` says which elements begin a page. `furniture` is left out
    if there is a `main`.
    """

    def __init__(
        self,
        writer: Writer,
        survey: Survey,
        see: Callable[[str], str],
        *,
        furniture: bool = True,
        shift: int = 0,
        title: str = "",
        named: Mapping[str, tuple[int, str]] | None = None,
        label: Label | None = None,
        progress: Walked,
    ) -> None:
        super().__init__(writer, survey, label, progress, self._refer)
        self._see = see
        self._furniture = furniture and survey.main
        self._boxed = survey.boxed
        self._shift = shift
        self._given_title = title
        self._named = dict(named or {})
        self._closers: list[Closer | None] = []
        self._main = self._quotes = self._pre = 0
        self._headings: list[int] = []  # of open headings: the level, 0 once written
        self._caption = False
        self._openers: dict[str, Opener] = {
            **self._inline,
            **self._listed,
            **dict.fromkeys(_BLOCKS, self._block),
            **dict.fromkeys(_PRE, self._code),
            **dict.fromkeys(("blockquote", "aside"), self._quote),
            **dict.fromkeys(("caption", "figcaption"), self._captioned),
        }

    def opened(self, tag: str, attributes: Attributes, kinds: frozenset[str]) -> None:
        if self._furniture and not self._main and is_furniture(tag, kinds):
            self._hidden = 1
            return
        for name in names_of(tag, attributes) if self._named else ():
            if heading := self._named.pop(name, None):
                self._flush()
                self._writer.heading(*heading)
                self._given_title = heading[1]
        main = is_main(tag, kinds)
        self._main += main
        closer = self._opened(tag, attributes, kinds)
        if not self._hidden:
            self._closers.append(partial(self._end_main, closer) if main else closer)

    def _opened(self, tag: str, attributes: Attributes, kinds: frozenset[str]) -> Closer | None:
        level = level_of(tag, attributes, kinds)
        if level and not self._cell:
            self._flush()
            self._headings.append(level)
            return self._end_heading
        if tag == "table":
            return self._table(attributes, kinds)
        if self._grid is not None and not self._cell and tag in _TABLE_PARTS:
            return self._table_part(tag, attributes)
        opener = self._block if level else self._openers.get(tag)
        return opener(attributes, kinds) if opener else None

    def closed(self) -> None:
        if closer := self._closers.pop():
            closer()

    def close(self) -> None:
        self._flush()

    def _refer(self, href: str) -> None:
        if not self._headings and (title := self._see(href)):
            self._writer.see(title)

    def _instead(self) -> None:
        self._hidden = 1

    def _break(self) -> None:
        if self._cell:
            self._add(" ")
        elif self._pre or (self._headings and self._headings[-1]):
            self._add(BREAK)
        elif self._glued is None or "".join(self._frames[-1][self._glued :]).strip():
            self._flush()

    def _flush(self) -> None:
        self._glued = None
        if not any(self._frames):
            return
        text = "".join(part for frame in self._frames for part in frame)
        for frame in self._frames:
            frame.clear()
        level = self._headings[-1] if self._headings else 0
        code = self._pre and not level and not self._cell
        words = cleaned(text) if code else tidy(text)
        if not words.strip(f" \n{BREAK}{PAGE}"):
            for _ in range(text.count(PAGE)):
                self._writer.page()
            return
        title, self._given_title = self._given_title, ""
        if code:
            self._write_code(words)
        elif level:
            self._headings[-1] = 0
            self._write_heading(level, text)
        elif title and words.replace("\n", " ").casefold() == title.casefold():
            self._item = None
        elif self._item:
            self._write_item(words)
        elif self._quotes:
            self._writer.quote(words)
        elif not (self._caption and words == self._alternative):  # pandoc repeats a picture's caption
            self._writer.paragraph(words)

    def _write_heading(self, level: int, text: str) -> None:
        self._item = None
        title, remainder = titled(text)
        if title and self._quotes and self._boxed:
            self._writer.quote(f"**{title}**")
        else:
            self._writer.heading(level + self._shift, title)
        if remainder:
            self._writer.paragraph(remainder)

    def _write_code(self, text: str) -> None:
        text = re.sub(f"{BREAK}+", "\n", text)
        if before := _CODE_START.match(text):
            text = text[before.end() :]
            for _ in range(before[0].count(PAGE)):
                self._writer.page()
        body = text.rstrip(f" \t\n{PAGE}")
        self._writer.code(body)
        for _ in range(text.count(PAGE, len(body))):
            self._writer.page()

    def _end_main(self, closer: Closer | None) -> None:
        if closer:
            closer()
        self._main -= 1

    def _end_heading(self) -> None:
        self._flush()
        self._headings.pop()

    def _code(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        if self._cell:
            return self._block(attributes, kinds)
        self._flush()
        self._pre += 1
        return self._end_code

    def _end_code(self) -> None:
        self._flush()
        self._pre -= 1

    def _quote(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        if self._cell or not kinds.isdisjoint(_NOTES):
            return self._block(attributes, kinds)
        self._flush()
        self._quotes += 1
        return self._end_quote

    def _end_quote(self) -> None:
        self._flush()
        self._quotes -= 1

    def _captioned(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        self._break()
        self._caption = True
        return self._end_caption

    def _end_caption(self) -> None:
        self._break()
        self._caption = False
