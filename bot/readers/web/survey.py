"""The first reading of HTML: finds what must be known before the first word is written.

Which tables are data, which headings there are and which ids lead to them, where pages begin. Writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.readers.web.markup import (
    BREAK,
    Attributes,
    Label,
    Visible,
    Walked,
    is_furniture,
    is_main,
    level_of,
    names_of,
    plain,
    tidy,
    titled,
)

_ENDING = frozenset(("br", "div", "p"))
_NOTHING: list[str] = []


@dataclass(slots=True)
class Heading:
    """One visible heading. `main`: inside the page's main content; `furniture`: part of the site's navigation."""

    level: int
    title: str = ""
    quoted: bool = False
    main: bool = False
    furniture: bool = False
    led: bool = False
    """Whether words precede it."""


@dataclass(slots=True)
class _Table:
    """An open table, with the signs that tell data from page layout."""

    ordinal: int
    layout: bool
    labelled: bool = False
    blocks: bool = False
    """Whether it contains headings, code or tables of several cells."""
    cells: int = 0
    row: int = 0
    widest: int = 0


@dataclass(slots=True)
class Survey:
    """The result of the first reading: `titles` of headings by the ids of their links; `layout` tables by `count`."""

    title: str = ""
    main: bool = False
    headings: list[Heading] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    layout: set[int] = field(default_factory=set)
    pages: list[str] = field(default_factory=list)
    elements: int = 0
    words: bool = False

    @property
    def own(self) -> list[Heading]:
        """The page's headings, without the site's."""
        inside = [heading for heading in self.headings if heading.main]
        return inside or [heading for heading in self.headings if not (self.main and heading.furniture)]

    @property
    def boxed(self) -> bool:
        """Whether headings inside quotes are no sections; false if a page puts all its text into quotes."""
        return 2 * sum(heading.quoted for heading in self.headings) <= len(self.headings)


class SurveyHandler(Visible):
    def __init__(self, label: Label | None, progress: Walked) -> None:
        super().__init__(label, progress)
        self.survey = Survey()
        self._open: list[list[str]] = []
        self._pending: list[str] = []
        self._heading: Heading | None = None
        self._text: list[str] = []
        self._tables: list[_Table] = []
        self._depths = dict.fromkeys(("heading", "table", "quote", "furniture", "main", "svg", "title"), 0)

    def turned(self, page: str) -> None:
        self.survey.pages.append(page)

    def opened(self, tag: str, attributes: Attributes, kinds: frozenset[str]) -> None:
        if names := names_of(tag, attributes):
            self._pending += names
            self.survey.ids.update(names)
        roles = []
        if level := level_of(tag, attributes, kinds):
            roles.append("heading")
            self._end_heading()
            quoted, main, furniture = (bool(self._depths[role]) for role in ("quote", "main", "furniture"))
            self._heading = Heading(level, "", quoted, main, furniture, self.survey.words)
            self._mark_blocks()
        elif tag == "table":
            roles.append("table")
            self._tables.append(_Table(self.count, not kinds.isdisjoint(("presentation", "none"))))
        elif self._tables and tag in ("tr", "td", "th", "thead", "caption", "pre"):
            self._table_part(tag)
        elif tag in ("blockquote", "aside"):
            roles.append("quote")
        elif tag in ("svg", "title"):
            roles.append(tag)
        elif tag == "img":
            self.words(plain(attributes.get("alt", "")))
        elif tag in _ENDING and self._heading:
            self._text.append(BREAK)
        if is_main(tag, kinds):
            self.survey.main = True
            roles.append("main")
        elif is_furniture(tag, kinds):
            roles.append("furniture")
        for role in roles:
            self._depths[role] += 1
        self._open.append(roles or _NOTHING)

    def closed(self) -> None:
        for role in self._open.pop():
            self._depths[role] -= 1
            if role == "heading":
                self._end_heading()
            elif role == "table":
                self._end_table(self._tables.pop())

    def words(self, text: str) -> None:
        if self._depths["title"]:
            if not self._depths["svg"] and len(self.survey.title) < 1000:
                self.survey.title += text[:1000]
        elif self._heading:
            self._text.append(text)
        elif text and not text.isspace():
            self.survey.words = True
            self._pending.clear()

    def close(self) -> None:
        self.survey.title = tidy(self.survey.title)
        self.survey.elements = self.count

    def _table_part(self, tag: str) -> None:
        table = self._tables[-1]
        if tag == "tr":
            table.row = 0
        elif tag == "pre":
            table.blocks = True
        else:
            table.labelled |= tag != "td"
            if tag in ("td", "th"):
                table.cells += 1
                table.row += 1
                table.widest = max(table.widest, table.row)

    def _mark_blocks(self) -> None:
        if self._tables:
            self._tables[-1].blocks = True

    def _end_table(self, table: _Table) -> None:
        if table.layout or table.cells <= 1 or (not table.labelled and (table.blocks or table.widest <= 1)):
            self.survey.layout.add(table.ordinal)
            if table.blocks:
                self._mark_blocks()
        else:
            self._mark_blocks()

    def _end_heading(self) -> None:
        if not (heading := self._heading):
            return
        self._heading = None
        heading.title, remainder = titled("".join(self._text))
        self._text.clear()
        if heading.title:
            self.survey.headings.append(heading)
            self.survey.titles.update((name, heading.title) for name in self._pending)
        if heading.title or remainder:
            self.survey.words = True
            self._pending.clear()
