"""What every reader makes of a file: its text, its sections, its authors' own references.

Knows no file format and no storage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int], None]
"""Told how many of how many pages, or parts, have been read."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its own body, up to the next heading of any level.

    `start` and `end` are characters of `Document.text`; the heading's line is inside. `path` is the
    breadcrumb, the title last; it is empty for text that stands before the first heading. `level` is 0
    there, else 1 to 6. A section that a boxed aside interrupts goes on afterwards under the same title.
    """

    ordinal: int
    level: int
    title: str
    path: tuple[str, ...]
    start: int
    end: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """The authors' own "see also": from a section (its ordinal) to a title or an anchor, as written."""

    section: int
    target: str


@dataclass(frozen=True, slots=True)
class Document:
    """A file as read. `language` is ISO 639-1; a parsed file's is judged last, "" until then.

    `text` is a text file's own, only its newlines made alike; of other formats, their words as Markdown. `pages` are
    the offsets of the pages' first characters, where the format has pages.
    """

    title: str
    text: str
    language: str
    sections: tuple[Section, ...]
    links: tuple[Link, ...] = ()
    pages: tuple[int, ...] = ()
