"""Turns HTML elements into words: inline elements (links, superscripts and subscripts, ruby readings, formulas,
pictures), tables and lists.

Data tables become a grid of cells; columns for mere layout become ordinary blocks. `walker` handles all other blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from bot.readers.grid import Grid
from bot.readers.web.markup import BREAK, Attributes, Label, Visible, Walked, number, plain, tidy
from bot.readers.web.survey import Survey
from bot.readers.writer import PAGE, Writer

Closer = Callable[[], None]
Opener = Callable[[Attributes, frozenset[str]], Closer | None]

_REFERENCES = frozenset(("noteref", "doc-noteref"))
_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms"))
_TOLD = frozenset(("title", "desc", "text", "foreignobject"))
_AT_ONCE: Final = 16
"""The deepest nesting of superscripts and readings that is distinguished."""
_NOTE = re.compile(r"\s*[\[(]?(?:\d{1,4}|[*†‡]{1,4})[\])]?\s*")
_SIGN = re.compile(r"[\s↩↑⏎⮐^¶§🔗\ufe0e\ufe0f]+")
_FILE_NAME = re.compile(r"[^\s/]{1,80}\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)", re.IGNORECASE)
_DEEPEST: Final = 8
"""Lists nested deeper are indented no further."""

_PADDING: Final = 50_000
"""The most empty cells that a table may need; with more its rows are written as paragraphs."""


class Inline(Visible):
    """Collects words in `frames`: words go to the last frame, and an element that must see its own words first opens
    another.

    `see` is called for each link with its address.
    """

    def __init__(self, label: Label | None, progress: Walked, see: Callable[[str], None]) -> None:
        super().__init__(label, progress)
        self._frames: list[list[str]] = [[]]
        self._to = see
        self._svg = self._descriptions = 0
        self._rubies: list[list[str]] = []
        self._alternative = ""
        self._inline: dict[str, Opener] = {
            **dict.fromkeys(_TOKENS, self._token),
            **dict.fromkeys(_TOLD, self._tell),
            "a": self._link,
            "br": self._end_line,
            "img": self._picture,
            "math": self._formula,
            "q": self._quotation,
            "rt": self._reading,
            "ruby": self._ruby,
            "sup": self._raised,
            "svg": self._drawing,
        }

    def words(self, text: str) -> None:
        if not self._svg or self._descriptions:
            self._frames[-1].append(text)

    def turned(self, page: str) -> None:
        self._frames[-1].append(PAGE)

    def _add(self, text: str) -> None:
        self._frames[-1].append(text)

    def _aside(self) -> bool:
        """Open a frame, unless there are too many."""
        if len(self._frames) >= _AT_ONCE:
            return False
        self._frames.append([])
        return True

    def _end_line(self, attributes: Attributes, kinds: frozenset[str]) -> None:
        self._add(BREAK)

    def _quotation(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        self._add("“")
        return partial(self._add, "”")

    def _link(self, attributes: Attributes, kinds: frozenset[str]) -> Closer | None:
        href = attributes.get("href", "")
        if href:
            self._to(href)
        if not self._aside():
            return None
        return partial(self._end_link, "#" in href, not kinds.isdisjoint(_REFERENCES))

    def _end_link(self, inside: bool, reference: bool) -> None:
        """End a link. Among links within the book, a number attached to a word is a note, and a mere sign
        leads back.
        """
        text = "".join(self._frames.pop())
        if reference or (inside and _NOTE.fullmatch(text) and not self._before().isspace()):
            words = text.strip(" \t\n\r[]()" + PAGE)
            blank = "" if any(self._frames) else " "  # after a note's own number
            self._add(f"[{words}]{blank}{PAGE * text.count(PAGE)}" if words else text)
        else:
            self._add(PAGE * text.count(PAGE) if inside and _SIGN.fullmatch(text) else text)

    def _raised(self, attributes: Attributes, kinds: frozenset[str]) -> Closer | None:
        """Handle a superscript as a power; ordinal letters and note numbers are kept as they are."""
        return self._end_raised if self._aside() else None

    def _end_raised(self) -> None:
        text = "".join(self._frames.pop())
        before = self._before()
        power = text[:1].isdigit() or text[:1] in ("+", "-", "−")
        self._add(f"^{text}" if power and (before.isalnum() or before == ")") else text)

    def _before(self) -> str:
        """The last character of the words so far; "" if there are none."""
        return next((part[-1] for part in reversed(self._frames[-1]) if part), "")

    def _ruby(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        """Write ruby readings after the whole element, so that a word of several characters stays together."""
        self._rubies.append([])
        return self._end_ruby

    def _end_ruby(self) -> None:
        if readings := "".join(self._rubies.pop()).strip(" \t\n\r"):
            self._add(f"({readings})")

    def _reading(self, attributes: Attributes, kinds: frozenset[str]) -> Closer | None:
        return self._end_reading if self._rubies and self._aside() else None

    def _end_reading(self) -> None:
        self._rubies[-1].append("".join(self._frames.pop()))

    def _picture(self, attributes: Attributes, kinds: frozenset[str]) -> None:
        words = tidy(plain(attributes.get("alt", "")))
        if not words or _FILE_NAME.fullmatch(words):
            return
        self._alternative = words
        self._add(
            words if len(words) == 1 else f" {words} "
        )  # one letter is a drop cap, part of the following word

    def _formula(self, attributes: Attributes, kinds: frozenset[str]) -> None:
        if words := plain(attributes.get("alttext", "")).strip():
            self._add(f" {words} ")
            self._instead()

    def _token(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        self._add(" ")
        return partial(self._add, " ")

    def _drawing(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        self._svg += 1
        if words := plain(attributes.get("aria-label", "")).strip():
            self._add(f" {words} ")
        return self._end_drawing

    def _end_drawing(self) -> None:
        self._svg -= 1

    def _tell(self, attributes: Attributes, kinds: frozenset[str]) -> Closer | None:
        """Write a drawing's title, description or lettering; a page's title is not part of its text."""
        if not self._svg:
            self._instead()
            return None
        self._descriptions += 1
        self._add(" ")
        return self._end_description

    def _end_description(self) -> None:
        self._descriptions -= 1
        self._add(" ")

    def _instead(self) -> None:
        """Skip the content of the element that has just begun."""
        raise NotImplementedError


class Tabled(Inline):
    """Writes tables. A table inside another's cell becomes words of that cell."""

    def __init__(
        self,
        writer: Writer,
        survey: Survey,
        label: Label | None,
        progress: Walked,
        see: Callable[[str], None],
    ) -> None:
        super().__init__(label, progress, see)
        self._writer = writer
        self._survey = survey
        self._grid: Grid | None = None
        self._cell = self._heads = False

    def _break(self) -> None:
        """Begin or end a block, if the surroundings can contain blocks."""
        raise NotImplementedError

    def _flush(self) -> None:
        """Write the collected words as the block that they form."""
        raise NotImplementedError

    def _block(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        self._break()
        return self._break

    def _table(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        if self._cell:
            return self._block(attributes, kinds)
        self._flush()
        if self._grid is not None or self.count in self._survey.layout:
            return self._flush
        self._grid = Grid()
        return self._end_table

    def _end_table(self) -> None:
        self._flush()
        assert self._grid is not None
        lines = self._grid.lines()
        self._grid = None
        width = max((len(line) for line in lines), default=0)
        if sum(width - len(line) for line in lines) <= _PADDING:
            self._writer.table(lines)
            return
        for line in lines:
            self._writer.paragraph(" · ".join(cell for cell in line if cell))

    def _table_part(self, tag: str, attributes: Attributes) -> Closer | None:
        assert self._grid is not None
        self._flush()  # text outside any cell
        if tag in ("td", "th"):
            self._frames.append([])
            self._cell = True
            columns, rows = number(attributes.get("colspan"), 1), number(attributes.get("rowspan"), 1)
            return partial(self._end_cell, columns, rows, tag == "th")
        if tag == "tr":
            self._grid.row(head=self._heads)
            return None
        self._heads = tag == "thead"
        return self._end_group

    def _end_group(self) -> None:
        self._heads = False

    def _end_cell(self, columns: int, rows: int, head: bool) -> None:
        assert self._grid is not None
        self._cell = False
        text = tidy("".join(self._frames.pop())).replace("\n", " ")
        self._grid.cell(text, columns=columns, rows=rows, head=head)


class Listed(Tabled):
    """Writes list items. In a table cell they become words of that cell."""

    def __init__(
        self,
        writer: Writer,
        survey: Survey,
        label: Label | None,
        progress: Walked,
        see: Callable[[str], None],
    ) -> None:
        super().__init__(writer, survey, label, progress, see)
        self._lists: list[tuple[int | None, int]] = []  # the next number, and the step
        self._item: tuple[int, int | None] | None = None
        self._naming = self._term = False  # inside a term, after one
        self._glued: int | None = None  # where a definition without words so far begins
        self._listed: dict[str, Opener] = {
            **dict.fromkeys(("ul", "menu", "dir", "dl"), partial(self._list, False)),
            "ol": partial(self._list, True),
            "li": self._entry,
            "dt": self._name,
            "dd": self._meaning,
        }

    def _write_item(self, words: str) -> None:
        assert self._item is not None
        (depth, at), self._item = self._item, None
        label = f"{at}."
        if words.startswith(label) and not words[len(label) : len(label) + 1].isdigit():
            words = words[len(label) :].lstrip(". ") or words  # LibreOffice also writes them as text
        self._writer.item(words, depth=depth, number=at)

    def _list(self, ordered: bool, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        """Open a list. A list that counts down needs a given start, otherwise its items have no numbers."""
        self._fresh()
        down = "reversed" in attributes
        counts = ordered and ("start" in attributes or not down)
        step = -1 if down else 1
        self._lists.append((number(attributes.get("start"), 1) if counts else None, step))
        return self._end_list

    def _end_list(self) -> None:
        self._fresh()
        self._term = False
        self._lists.pop()

    def _fresh(self) -> None:
        """Start a new block, even inside a heading or code, but not inside a cell."""
        if self._cell:
            self._add(" ")
        else:
            self._flush()

    def _entry(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        self._fresh()
        following, step = self._lists[-1] if self._lists else (None, 1)
        if following is not None:
            following = number(attributes.get("value"), following)
            self._lists[-1] = (following + step, step)
        self._mark(following)
        return self._end_entry

    def _mark(self, at: int | None) -> None:
        """The following text is an item of the innermost list."""
        if not self._cell:
            self._item = (min(max(len(self._lists) - 1, 0), _DEEPEST), at)

    def _end_entry(self) -> None:
        self._fresh()
        self._item = None

    def _name(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        if (self._naming or self._term) and "".join(self._frames[-1]).strip():
            self._close_up(", ")
        else:
            self._fresh()
            self._mark(None)
        self._naming = True
        return self._end_name

    def _close_up(self, sign: str) -> None:
        """Continue directly after the last word."""
        self._frames[-1][:] = ["".join(self._frames[-1]).rstrip(" \t\n\r"), sign]

    def _end_name(self) -> None:
        self._term, self._naming = True, False

    def _meaning(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        if self._term and "".join(self._frames[-1]).strip():
            self._close_up(": ")
            self._term, self._glued = False, len(self._frames[-1])
        else:
            self._fresh()
            self._mark(None)
        return self._end_entry
