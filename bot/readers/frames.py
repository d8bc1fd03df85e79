"""The frames that a parser's process sends: progress, and the Document or the reason why there is none.

A frame is a byte for its kind, four for its length (big-endian), and JSON, so nothing in it can be executed. Frames are
validated, because their sender has read an untrusted file.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from bot.events import UserError
from bot.readers.document import Document, Link, Section, Unread, one_line
from bot.readers.screenplay.elements import KINDS, MOST_EIGHTHS, RIGHT, Element, Screenplay

HEAD: Final = struct.Struct(">cI")
PROGRESS, DOCUMENT, SORRY = b"p", b"d", b"s"
LONGEST: Final = 64 * 1024 * 1024
"""The largest frame in bytes; no book is as long."""
SHORT: Final = 4096
"""The largest frame in bytes that is no document."""

DECODE_ERRORS: Final = (ValueError, LookupError, TypeError, RecursionError)
"""The errors that decoding a frame may raise."""

_KEY: Final = re.compile(r"library\.file_[a-z_]{1,40}")
_UNREAD: Final = re.compile(r"[a-z_]{1,40}")
_MOST_UNREAD: Final = 50
_UNFIT: Final = re.compile("[\x00\ud800-\udfff]")
"""Characters that no database accepts."""


def framed(kind: bytes, payload: Any) -> bytes:
    """A whole frame; `payload` becomes its JSON."""
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return HEAD.pack(kind, len(body)) + body


def encode_document(document: Document) -> dict[str, Any]:
    """The document as a JSON object."""
    return {
        "title": _fit(one_line(document.title)),
        "text": _fit(document.text),
        "language": document.language,
        "sections": [
            [
                section.level,
                _fit(section.title),
                [_fit(step) for step in section.path],
                section.start,
                section.end,
                section.page,
            ]
            for section in document.sections
        ],
        "links": [[link.section, _fit(link.target)] for link in document.links],
        "pages": document.pages,
        "screenplay": document.screenplay and encode_screenplay(document.screenplay),
        "unread": [
            [
                key,
                {
                    name: _fit(value)[:200] if isinstance(value, str) else value
                    for name, value in values.items()
                },
            ]
            for key, values in document.unread[:_MOST_UNREAD]
        ],
    }


def encode_screenplay(screenplay: Screenplay) -> dict[str, Any]:
    """The screenplay as a JSON object."""
    return {
        "elements": [
            [
                KINDS.index(element.kind),
                _fit(element.text),
                _fit(element.number),
                element.eighths,
                element.dual,
                element.level,
                element.revision,
            ]
            for element in screenplay.elements
        ],
        "title_page": [[_fit(key), _fit(value)] for key, value in screenplay.title_page],
        "guessed": screenplay.guessed,
    }


def decode_document(body: bytes) -> Document:
    """The document in a frame's body. Raises one of DECODE_ERRORS if it is invalid."""
    payload = json.loads(body)
    text = _text(payload["text"])
    sections = tuple(
        _section(ordinal, section, len(text)) for ordinal, section in enumerate(payload["sections"])
    )
    links = tuple(Link(_within(section, len(sections) - 1), _text(to)) for section, to in payload["links"])
    pages = tuple(_within(page, len(text)) for page in payload["pages"])
    if not sections or not _ascending([section.start for section in sections]) or not _ascending(pages):
        raise ValueError("sections or pages out of order")
    screenplay = decode_screenplay(payload["screenplay"]) if payload.get("screenplay") else None
    unread = tuple(_unread(*each) for each in payload.get("unread", ()))
    return Document(
        _text(payload["title"]),
        text,
        _text(payload["language"])[:8],
        sections,
        links,
        pages,
        screenplay,
        unread,
    )


def _unread(key: Any, values: Any) -> Unread:
    if not _UNREAD.fullmatch(key):
        raise ValueError("not a reason")
    return key, {
        _text(name): value if type(value) is int else one_line(_text(value))
        for name, value in dict(values).items()
    }


def decode_screenplay(payload: Any) -> Screenplay:
    """The screenplay that `encode_screenplay` wrote. Raises one of DECODE_ERRORS if it is invalid."""
    return Screenplay(
        tuple(_element(*element) for element in payload["elements"]),
        tuple((_text(key), _text(words)) for key, words in payload["title_page"]),
        bool(payload["guessed"]),
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


def decode_refusal(body: bytes, name: str) -> tuple[UserError, str]:
    """The reason why there is no document, and for a defect also its location. Raises one of DECODE_ERRORS."""
    payload = json.loads(body)
    key, values = _text(payload["key"]), dict(payload["values"])
    if not _KEY.fullmatch(key) or not all(isinstance(value, str | int | float) for value in values.values()):
        raise ValueError("not a reason")
    return UserError(key, **{**values, "name": name}), _text(payload.get("at", ""))


def decode_progress(body: bytes) -> tuple[int, int]:
    """(pages read, all pages). Raises one of DECODE_ERRORS."""
    pages_done, total = json.loads(body)
    return _within(pages_done, 10**9), _within(total, 10**9)


def _section(ordinal: int, payload: Any, length: int) -> Section:
    level, title, path, start, end, page = payload
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
    return all(left <= right for left, right in pairwise(numbers))
