"""What the process that parses a file says to the one that asked: how far it is, and the Document or why there is none.

A frame is a byte for its kind, four for its length (big-endian), and JSON: nothing in it can run. What is heard is
looked at before it is believed, for whoever says it has read a stranger's file.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from bot.events import Sorry
from bot.readers.document import Document, Link, Section, one_line
from bot.readers.screenplay.elements import KINDS, MOST_EIGHTHS, RIGHT, Element, Screenplay

HEAD: Final = struct.Struct(">cI")
PROGRESS, DOCUMENT, SORRY = b"p", b"d", b"s"
LONGEST: Final = 64 * 1024 * 1024
"""Bytes of a frame; no book has as many letters."""
SHORT: Final = 4096
"""Bytes of a frame that is no document."""

NONSENSE: Final = (ValueError, LookupError, TypeError, RecursionError)
"""What reading a frame may raise."""

_KEY: Final = re.compile(r"library\.file_[a-z_]{1,40}")
_UNFIT: Final = re.compile("[\x00\ud800-\udfff]")
"""Characters that no database takes."""


def framed(kind: bytes, said: Any) -> bytes:
    """A whole frame; `said` is what its JSON says."""
    body = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return HEAD.pack(kind, len(body)) + body


def told(document: Document) -> dict[str, Any]:
    """The document as JSON has it."""
    return {
        "title": _fit(one_line(document.title)),
        "text": _fit(document.text),
        "language": document.language,
        "sections": [
            [one.level, _fit(one.title), [_fit(step) for step in one.path], one.start, one.end, one.page]
            for one in document.sections
        ],
        "links": [[one.section, _fit(one.target)] for one in document.links],
        "pages": document.pages,
        "screenplay": document.screenplay and screenplay_told(document.screenplay),
    }


def screenplay_told(screenplay: Screenplay) -> dict[str, Any]:
    """The screenplay as JSON has it."""
    return {
        "elements": [
            [
                KINDS.index(one.kind),
                _fit(one.text),
                _fit(one.number),
                one.eighths,
                one.dual,
                one.level,
                one.revision,
            ]
            for one in screenplay.elements
        ],
        "title_page": [[_fit(key), _fit(said)] for key, said in screenplay.title_page],
        "guessed": screenplay.guessed,
    }


def heard(body: bytes) -> Document:
    """The document in a frame's body. Raises one of NONSENSE for what is none."""
    said = json.loads(body)
    text = _text(said["text"])
    sections = tuple(_section(ordinal, one, len(text)) for ordinal, one in enumerate(said["sections"]))
    links = tuple(Link(_within(section, len(sections) - 1), _text(to)) for section, to in said["links"])
    pages = tuple(_within(one, len(text)) for one in said["pages"])
    if not sections or not _ascending([one.start for one in sections]) or not _ascending(pages):
        raise ValueError("sections or pages out of order")
    screenplay = screenplay_heard(said["screenplay"]) if said.get("screenplay") else None
    return Document(
        _text(said["title"]), text, _text(said["language"])[:8], sections, links, pages, screenplay
    )


def screenplay_heard(said: Any) -> Screenplay:
    """The screenplay that `screenplay_told` told of. Raises one of NONSENSE for what is none."""
    return Screenplay(
        tuple(_element(*one) for one in said["elements"]),
        tuple((_text(key), _text(words)) for key, words in said["title_page"]),
        bool(said["guessed"]),
    )


def _element(
    kind: Any, text: Any, number: Any, eighths: Any, dual: Any, level: Any, revision: Any
) -> Element:
    return Element(
        KINDS[_within(kind, len(KINDS) - 1)],
        _text(text),
        _text(number),
        None if eighths is None else _within(eighths, MOST_EIGHTHS),
        _within(dual, RIGHT),
        _within(level, 6),
        _within(revision, 10**9),
    )


def sorry(body: bytes, name: str) -> tuple[Sorry, str]:
    """Why there is no document; for a mistake, where it was made. Raises one of NONSENSE."""
    said = json.loads(body)
    key, values = _text(said["key"]), dict(said["values"])
    if not _KEY.fullmatch(key) or not all(isinstance(one, str | int | float) for one in values.values()):
        raise ValueError("not a reason")
    return Sorry(key, **{**values, "name": name}), _text(said.get("at", ""))


def steps(body: bytes) -> tuple[int, int]:
    """How many of how many pages. Raises one of NONSENSE."""
    done, total = json.loads(body)
    return _within(done, 10**9), _within(total, 10**9)


def _section(ordinal: int, said: Any, length: int) -> Section:
    level, title, path, start, end, page = said
    return Section(
        ordinal,
        _within(level, 6),
        _text(title),
        tuple(_text(step) for step in path),
        _within(start, length),
        _within(end, length, start),
        None if page is None else _within(page, 10**9, 1),
    )


def _within(value: Any, most: int, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError("a number out of its range")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or _UNFIT.search(value):
        raise ValueError("not a text")
    return value


def _fit(text: str) -> str:
    return _UNFIT.sub("\ufffd", text)


def _ascending(numbers: Sequence[int]) -> bool:
    return all(one <= other for one, other in pairwise(numbers))
