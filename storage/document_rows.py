"""The library's values: a new document, and the rows that queries return.

Knows no table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Protocol

VISIBLE: Final = ("lexical", "ready")
"""The states of documents that are on their shelf."""


class NewSection(Protocol):
    """What `add` needs of a section: its place in the text (characters) and its headings, outermost first."""

    @property
    def ordinal(self) -> int: ...
    @property
    def level(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def path(self) -> tuple[str, ...]: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def page(self) -> int | None: ...


class NewChunk(Protocol):
    """What `add` needs of a chunk; `section` is the section's ordinal."""

    @property
    def ordinal(self) -> int: ...
    @property
    def section(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def breadcrumb(self) -> str: ...


class NewLink(Protocol):
    """What `add` needs of an author's own reference from a section to somewhere else."""

    @property
    def section(self) -> int: ...
    @property
    def target(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Lesson:
    """A part of an outlined document: its sections from `first` up to `past`, less that one (ordinals).

    `id` is the same in every edition of the document, `number` the author's own, of which there may be several alike;
    `link` is a web address, or "".
    """

    id: str
    number: int
    title: str
    link: str
    first: int
    past: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A document author's own metadata: its source, its author, and its parts in order."""

    link: str
    instructor: str
    lessons: tuple[Lesson, ...]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A whole document. `source` is its file's name or its link, `size` the file's size in bytes.

    `kind` is "" for a book; a document of another kind, such as a course, is on no shelf of books.
    """

    id: str
    space: str
    shelf: str
    source: str
    title: str
    language: str
    sha256: str
    size: int
    text: str
    sections: Sequence[NewSection]
    chunks: Sequence[NewChunk]
    links: Sequence[NewLink]
    segment: bytes
    pages: Sequence[int] = ()
    """Where each page begins, in characters of the text."""
    kind: str = ""
    outline: Outline | None = None
    unread: str = "[]"
    """The parts of the file that are not in the text, as the reader's JSON."""


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """`embedded` chunks, from the first on, have vectors of `embedder`; "ready" once all have.

    `other_embedded` chunks have vectors for questions in another language, which `other_embedder` is to make for all.

    `kind` is "" for a book. The state "building": not on its shelf yet, built for the run `built_by`; "retired": taken
    off it at `retired_at`, and read only through passages that were found before.
    """

    id: str
    space: str
    shelf: str
    source: str
    title: str
    language: str
    sha256: str
    size: int
    state: Literal["building", "lexical", "ready", "retired"]
    section_count: int
    chunk_count: int
    embedded: int
    embedder: str | None
    created_at: datetime
    built_by: str | None
    retired_at: datetime | None
    kind: str
    other_embedder: str | None = None
    other_embedded: int = 0
    unread: str = "[]"

    @property
    def alias(self) -> str:
        """A short name for people: the id's end, because the ids of one day begin alike."""
        return self.id[-6:]


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """`id` is its document's id and its ordinal."""

    document_id: str
    ordinal: int
    section: int
    start: int
    end: int
    breadcrumb: str
    text: str
    id: str


@dataclass(frozen=True, slots=True)
class PassageRow:
    """A chunk with the data of a citation: its document's source and title, its headings, the page it begins on."""

    chunk: ChunkRow
    shelf: str
    source: str
    title: str
    path: tuple[str, ...]
    page: int | None
    unread: str = "[]"


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A whole section with its document's source and title; `path` are its headings, `page` is where it begins."""

    source: str
    document: str
    title: str
    path: tuple[str, ...]
    page: int | None
    text: str


@dataclass(frozen=True, slots=True)
class HeadingRow:
    """A section's heading: `level` from 1, and the page that it begins on, None where there are no pages."""

    level: int
    title: str
    page: int | None


@dataclass(frozen=True, slots=True)
class Leftover:
    """A document that is off its shelf, but whose vectors and stored file may still exist."""

    space: str
    document_id: str
    shelf: str
