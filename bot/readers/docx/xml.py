"""The XML of WordprocessingML by short names, for both of its namespaces.

Sources: ECMA-376 (ISO/IEC 29500) part 1, transitional and strict. Independent of documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from lxml.etree import _Element

Element = _Element

_WORDS: Final = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_PREFIXES: Final = {
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
    "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing": "wp:",
    "http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing": "wp:",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m:",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m:",
    "urn:schemas-microsoft-com:vml": "v:",
    "http://schemas.microsoft.com/office/drawing/2017/decorative": "adec:",
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel:",
} | dict.fromkeys(_WORDS, "")
_OFF: Final = ("0", "false", "off")


def kind(element: Element) -> str:
    """An element's local name, with a prefix unless it is Word's own; "" for comments and entities."""
    tag = element.tag
    return _short(tag) if isinstance(tag, str) else ""


@lru_cache(maxsize=1024)
def _short(tag: str) -> str:
    namespace, _, local = tag[1:].rpartition("}")
    return _PREFIXES.get(namespace, "?:") + local


@lru_cache(maxsize=1024)
def _keys(name: str) -> tuple[str, ...]:
    return tuple(f"{{{namespace}}}{name}" for namespace in _WORDS)


def child(element: Element | None, name: str) -> Element | None:
    """The first child of that kind."""
    return None if element is None else next((inner for inner in element if kind(inner) == name), None)


def children(element: Element | None, name: str) -> Iterator[Element]:
    return iter(()) if element is None else (inner for inner in element if kind(inner) == name)


def value(element: Element | None, name: str = "val") -> str | None:
    """The value of one of Word's own attributes."""
    if element is None:
        return None
    return next((text for key in _keys(name) if (text := element.get(key)) is not None), None)


def number(element: Element | None, name: str = "val") -> int | None:
    """A whole number of at most six digits; None for anything else."""
    text = value(element, name) or ""
    plain = text[1:] if text[:1] == "-" else text
    return int(text) if plain.isascii() and plain.isdigit() and len(plain) <= 6 else None


def switch(element: Element | None) -> bool | None:
    """The value of a property that is on if present without a value; None if absent (17.17.4)."""
    return None if element is None else value(element) not in _OFF


def own_text(element: Element) -> str:
    """The element's own characters, without those of elements in it."""
    return (element.text or "") + "".join(inner.tail or "" for inner in element)
