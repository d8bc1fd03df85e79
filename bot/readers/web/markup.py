"""HTML and XHTML as a stream of elements and words, without invisible ones.

No tree is built, so a page with a hundred thousand nested elements uses no stack, and a large one hardly any memory.
Independent of files, and writes nothing: `survey` and `walker` are the two readings.

libxml2 decides how tags differ from text and which tag closes which (since 2.14 with the tokenizer of the HTML
standard, 13.2.5). It differs from browsers for misplaced elements: text outside a cell stays inside its table (`walker`
writes it before the table, as browsers show it), formatting is not carried over to the next paragraph, and `<x/>`
closes itself, as in XHTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol, cast

from lxml import etree

from bot.readers.writer import PAGE

Attributes = Mapping[str, str]
Walked = Callable[[int], None]
"""Called now and then with the number of elements visited."""
Label = Callable[[Attributes], str | None]
"""The printed number of the page that begins with an element; None if no page does."""

BREAK: Final = "\v"
"""A line end within collected text. Other line ends are blanks."""

_LEFT_OUT = frozenset((
    "script", "style", "template", "nav", "noscript", "iframe", "video", "audio", "select", "datalist", "button",
    "textarea", "annotation", "annotation-xml", "rp",
))  # fmt: skip
_DECORATION = frozenset(("a", "b", "em", "i", "small", "span", "strong", "sub", "sup", "svg"))
"""`aria-hidden` on these means a picture or a repetition of the adjacent words; on a whole page, an open menu."""
_LEFT_OUT_CLASSES = frozenset(("mw-editsection", "pagenum", "pageno"))
"""MediaWiki's additions to headings, and Project Gutenberg's page numbers in the middle of sentences."""
_UNSEEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_PREFIXES = frozenset(("h", "html", "xhtml", "m", "math", "mml", "svg"))
"""The prefixes of XHTML's own elements; Word's `o:p` is no paragraph."""
_MAIN = frozenset(("main", "article"))
_FURNITURE = frozenset(("header", "footer", "aside", "banner", "contentinfo", "complementary"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NO_ATTRIBUTES: Final[Attributes] = {}
_NO_KINDS: Final[frozenset[str]] = frozenset()
_LONGEST_HEADING: Final = 200
"""The most characters of a heading; a longer one is a paragraph in large type."""
_BLANKS = re.compile(r"[ \t\n\r]+")
_ENDS = re.compile(rf" *{BREAK}[ {BREAK}]*")
_CHARACTERS: dict[int, str | None] = {
    **dict.fromkeys((*range(9), *range(0x0E, 0x20), *range(0x7F, 0xA0))),  # controls
    **dict.fromkeys((0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF)),  # without width, also inside words
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A))),  # that change the text's direction
    **dict.fromkeys((0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    **dict.fromkeys((0x2028, 0x2029), BREAK),
}


def tidy(text: str) -> str:
    """Collected text with blanks as people see them, breaks as line ends, and its page marks."""
    words = cleaned(text).strip(" \t\n\r")
    if not words.isprintable() or "  " in words:
        words = _BLANKS.sub(" ", words)
    if BREAK in words:
        words = _ENDS.sub(lambda match: "\n" if match[0].count(BREAK) == 1 else "\n\n", words).strip("\n")
    return words


def titled(text: str) -> tuple[str, str]:
    """The title in a heading's collected text without the sign that links to itself; and the part that is too long for
    a title.
    """
    words = tidy(text).rstrip(" \n¶§🔗")
    title, _, remainder = words.partition("\n")
    if len(words) <= _LONGEST_HEADING:
        return words.replace("\n", " "), ""
    return (title, remainder) if len(title) <= _LONGEST_HEADING else ("", words)


def plain(text: str) -> str:
    """Text from a file without our own marks."""
    return text.replace(PAGE, " ").replace(BREAK, " ")


def cleaned(text: str) -> str:
    """Text without invisible characters, and with every kind of blank as a plain one."""
    return text if text.isascii() and text.isprintable() else text.translate(_CHARACTERS)


def kinds_of(attributes: Attributes) -> frozenset[str]:
    """An element's declared kinds: its roles, and EPUB's types."""
    names = f"{attributes.get('epub:type', '')} {attributes.get('role', '')}"
    return frozenset(names.lower().split()) if names != " " else _NO_KINDS


def level_of(tag: str, attributes: Attributes, kinds: frozenset[str]) -> int:
    """The level of a heading; 0 for another element."""
    if "heading" in kinds:
        return number(attributes.get("aria-level"), 2)
    return _HEADINGS.get(tag, 0)


def names_of(tag: str, attributes: Attributes) -> list[str]:
    """The names with which links refer to this place."""
    if not attributes:
        return []
    names = (attributes.get("id"), attributes.get("name") if tag == "a" else None)
    return [name for name in names if name]


def number(text: str | None, otherwise: int) -> int:
    """An attribute's whole number of at most nine digits, by the HTML standard's rules for parsing integers."""
    match = re.match(r"\s*([+-]?\d{1,9})", text or "")
    return int(match[1]) if match else otherwise


class Target(Protocol):
    """The events of `parse`."""

    def start(self, tag: str, attributes: dict[str, str]) -> None: ...
    def end(self, tag: str) -> None: ...
    def data(self, text: str) -> None: ...
    def close(self) -> None: ...


def parse(data: bytes, target: Target) -> None:
    """Report to `target` the content of `data`, which is UTF-8."""
    parser = etree.HTMLParser(target=cast(Any, target), encoding="utf-8", huge_tree=True)
    with suppress(etree.XMLSyntaxError):  # it has no element
        etree.fromstring(data, parser)


def tree(data: bytes) -> etree._Element:
    """The root element of `data`, which is UTF-8; for small files, at most 2,048 elements deep."""
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    root: etree._Element | None = etree.fromstring(data, parser)  # None without an element
    return etree.Element("html") if root is None else root


class Visible:
    """A target of `parse` that gets the visible parts: `opened`, `words`, `closed`, `turned`.

    `count` is the number of elements begun so far, including hidden ones; an element has the same number in each
    reading. `progress` is called with it now and then.
    """

    def __init__(self, label: Label | None, progress: Walked) -> None:
        self.count = 0
        self._progress = progress
        self._hidden = 0
        self._label = label

    def start(self, tag: str, attributes: Attributes) -> None:
        self.count += 1
        if self.count % 1000 == 0:
            self._progress(self.count)
        if self._hidden:
            self._hidden += 1
            return
        prefix, colon, local = tag.partition(":")
        if colon and prefix in _PREFIXES:
            tag = local
        if not attributes:  # most elements have none
            if tag in _LEFT_OUT or tag == "dialog":
                self._hidden = 1
            else:
                self.opened(tag, _NO_ATTRIBUTES, _NO_KINDS)
            return
        kinds = kinds_of(attributes)
        if self._label and (page := self._label(attributes)) is not None:
            self.turned(page)
        if self._left_out(tag, attributes, kinds):
            self._hidden = 1
        else:
            self.opened(tag, attributes, kinds)

    def end(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= 1
        else:
            self.closed()

    def data(self, text: str) -> None:
        if not self._hidden:
            self.words(plain(text))

    def close(self) -> None:
        return

    def opened(self, tag: str, attributes: Attributes, kinds: frozenset[str]) -> None:
        raise NotImplementedError

    def closed(self) -> None:
        raise NotImplementedError

    def words(self, text: str) -> None:
        raise NotImplementedError

    def turned(self, page: str) -> None:
        return

    def _left_out(self, tag: str, attributes: Attributes, kinds: frozenset[str]) -> bool:
        return (
            tag in _LEFT_OUT
            or not kinds.isdisjoint(("navigation", "pagebreak", "doc-pagebreak"))
            or ("hidden" in attributes and attributes["hidden"] != "until-found")
            or (tag == "dialog" and "open" not in attributes)
            or (
                tag == "div" and attributes.get("title") in ("header", "footer")
            )  # LibreOffice's running headers and footers
            or (tag in _DECORATION and attributes.get("aria-hidden") == "true")
            or ("class" in attributes and not _LEFT_OUT_CLASSES.isdisjoint(attributes["class"].split()))
            or ("style" in attributes and bool(_UNSEEN.search(attributes["style"])))
        )


def is_main(tag: str, kinds: frozenset[str]) -> bool:
    """Whether this holds the page's main content."""
    return tag in _MAIN or bool(kinds and kinds & _MAIN)


def is_furniture(tag: str, kinds: frozenset[str]) -> bool:
    """Whether this belongs to the site rather than to the page, if it is outside `is_main`."""
    return tag in _FURNITURE or bool(kinds and kinds & _FURNITURE)
