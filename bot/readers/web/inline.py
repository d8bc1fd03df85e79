"""What stands inside a line of HTML, as plain words: links, raised and lowered letters, readings, formulas, pictures.

Knows no blocks: see `walker`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from bot.readers.web.markup import BREAK, Attributes, Label, Visible, Walked, plain, tidy
from bot.readers.writer import PAGE

Closer = Callable[[], None]
Opener = Callable[[Attributes, frozenset[str]], Closer | None]

_REFERENCES = frozenset(("noteref", "doc-noteref"))
_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms"))
_TOLD = frozenset(("title", "desc", "text", "foreignobject"))
_AT_ONCE: Final = 16
"""Superscripts and readings inside each other that are still told apart."""
_NOTE = re.compile(r"\s*[\[(]?(?:\d{1,4}|[*†‡]{1,4})[\])]?\s*")
_SIGN = re.compile(r"[\s↩↑⏎⮐^¶§🔗\ufe0e\ufe0f]+")
_FILE_NAME = re.compile(r"[^\s/]{1,80}\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)", re.IGNORECASE)


class Inline(Visible):
    """Collects words in `frames`: the last one takes them, and an element that must see its own first opens another.

    `see` is called for each link with its address.
    """

    def __init__(self, label: Label | None, progress: Walked, see: Callable[[str], None]) -> None:
        super().__init__(label, progress)
        self._frames: list[list[str]] = [[]]
        self._to = see
        self._svg = self._told = 0
        self._rubies: list[list[str]] = []
        self._alternative = ""
        self._inline: dict[str, Opener] = {
            **dict.fromkeys(_TOKENS, self._token),
            **dict.fromkeys(_TOLD, self._tell),
            "a": self._link,
            "br": self._end_line,
            "img": self._picture,
            "math": self._formula,
            "q": self._said,
            "rt": self._reading,
            "ruby": self._ruby,
            "sup": self._raised,
            "svg": self._drawing,
        }

    def words(self, text: str) -> None:
        if not self._svg or self._told:
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

    def _said(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
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
        """Of those to a place in the book, numbers that cling to words are notes', and mere signs lead back."""
        text = "".join(self._frames.pop())
        if reference or (inside and _NOTE.fullmatch(text) and not self._before().isspace()):
            words = text.strip(" \t\n\r[]()" + PAGE)
            blank = "" if any(self._frames) else " "  # behind a note's own number
            self._add(f"[{words}]{blank}{PAGE * text.count(PAGE)}" if words else text)
        else:
            self._add(PAGE * text.count(PAGE) if inside and _SIGN.fullmatch(text) else text)

    def _raised(self, attributes: Attributes, kinds: frozenset[str]) -> Closer | None:
        """A power; the letters of an ordinal and the numbers of notes stand as they are."""
        return self._end_raised if self._aside() else None

    def _end_raised(self) -> None:
        text = "".join(self._frames.pop())
        before = self._before()
        power = text[:1].isdigit() or text[:1] in ("+", "-", "−")
        self._add(f"^{text}" if power and (before.isalnum() or before == ")") else text)

    def _before(self) -> str:
        """The last character of the words so far, "" where there are none."""
        return next((part[-1] for part in reversed(self._frames[-1]) if part), "")

    def _ruby(self, attributes: Attributes, kinds: frozenset[str]) -> Closer:
        """Its readings stand behind all of it, so that a word of several signs stays whole."""
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
        )  # one letter is a drop cap, part of the word after it

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
        """A drawing's title, description or lettering; a page's title is no part of its text."""
        if not self._svg:
            self._instead()
            return None
        self._told += 1
        self._add(" ")
        return self._end_told

    def _end_told(self) -> None:
        self._told -= 1
        self._add(" ")

    def _instead(self) -> None:
        """What is inside the element that has just begun is left out."""
        raise NotImplementedError
