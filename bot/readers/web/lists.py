"""Lists of HTML: items with their marks or numbers, and terms with what they mean.

Knows no other blocks: see `walker`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from bot.readers.web.inline import Closer, Opener
from bot.readers.web.markup import Attributes, Label, Walked, number
from bot.readers.web.survey import Seen
from bot.readers.web.tables import Tabled
from bot.readers.writer import Writer

_DEEPEST: Final = 8
"""A list in lists beyond that is indented no further."""


class Listed(Tabled):
    """Writes items. In the cell of a table they are words of that cell."""

    def __init__(
        self, writer: Writer, seen: Seen, label: Label | None, progress: Walked, see: Callable[[str], None]
    ) -> None:
        super().__init__(writer, seen, label, progress, see)
        self._lists: list[tuple[int | None, int]] = []  # the next number, and the step
        self._item: tuple[int, int | None] | None = None
        self._naming = self._term = False  # inside a term, behind one
        self._glued: int | None = None  # where a definition begins that is still without words
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
            words = words[len(label) :].lstrip(". ") or words  # LibreOffice writes them out as well
        self._writer.item(words, depth=depth, number=at)

    def _list(self, ordered: bool, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        """Its items; one that counts down says where from, or has no numbers here."""
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
        """Begin anew, also inside a heading or code; not inside a cell."""
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
        """What comes is an item of the innermost list."""
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
        """Go on behind the last word."""
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
