"""What every reader makes of a file: its text, its sections, its authors' own references.

Knows no file format and no storage.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    """A file as read. `text` is the file's own text, only its newlines made alike; `language` is ISO 639-1."""

    title: str
    text: str
    language: str
    sections: tuple[Section, ...]
    links: tuple[Link, ...] = ()
