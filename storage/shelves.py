"""Reads shelves: the list of them, the contents of one for a search (everything but the texts, at one moment), and the
outlines of its documents by their authors.

Knows nothing of how it is searched; a segment is the caller's bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, starmap
from operator import attrgetter, itemgetter

from storage.db import Database
from storage.document_rows import VISIBLE, Lesson


@dataclass(frozen=True, slots=True)
class ShelvedRow:
    """One document. Sections and chunks are in the order of their ordinals."""

    id: str
    title: str
    language: str
    segment: bytes
    embedder: str | None
    embedded: int
    sections: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """(title, headings from the outermost to the title)."""
    chunk_sections: list[int] = field(default_factory=list)
    """The ordinal of each chunk's section."""
    links: list[tuple[int, str]] = field(default_factory=list)
    """(section's ordinal, what its author refers to)."""


class Shelves:
    def __init__(self, db: Database) -> None:
        from sqlalchemy import and_, bindparam, func, select

        from storage.tables import documents, shelves

        self._db = db
        # Prepared once, because every search uses them and building a statement costs more than executing it.
        s, d, space = shelves.c, documents.c, shelves.c.space == bindparam("space")
        self._version = select(s.version).where(space, s.name == bindparam("shelf"))
        books = and_(d.space == s.space, d.shelf == s.name, d.state.in_(VISIBLE), d.kind == "")
        counted = select(s.name, func.count()).join(documents, books).where(space)
        self._all = counted.group_by(s.name).order_by(s.name)

    async def all(self, space: str) -> dict[str, int]:
        """The space's shelves that hold books, in the order of their names, and how many each holds."""
        return dict(map(tuple, await self._db.execute(self._all, space=space)))

    async def version(self, space: str, shelf: str) -> int:
        """Grows with every document put on the shelf or taken off it, and never goes back; 0 before the first."""
        return (await self._db.execute(self._version, space=space, shelf=shelf)).scalar() or 0

    async def contents(self, space: str, shelf: str) -> tuple[int, Sequence[ShelvedRow]]:
        """The shelf's version and its documents, by id."""
        from sqlalchemy import select

        from storage import tables as t

        d = t.documents.c
        on_shelf = (d.space == space, d.shelf == shelf, d.state.in_(VISIBLE))
        heads = (
            select(d.id, d.title, d.language, t.segments.c.data, d.embedder, d.embedded)
            .join(t.segments, t.segments.c.document_id == d.id)
            .where(*on_shelf)
            .order_by(d.id)
        )
        s, c, k = t.sections.c, t.chunks.c, t.links.c
        sections = (
            select(s.document_id, s.title, s.path)
            .join(t.documents)
            .where(*on_shelf)
            .order_by(s.document_id, s.ordinal)
        )
        chunks = (
            select(c.document_id, c.section)
            .join(t.documents)
            .where(*on_shelf)
            .order_by(c.document_id, c.ordinal)
        )
        links = (
            select(k.document_id, k.section, k.target)
            .join(t.documents)
            .where(*on_shelf)
            .order_by(k.document_id, k.ordinal)
        )
        async with self._db.read() as connection:
            version = await connection.scalar(self._version, {"space": space, "shelf": shelf})
            shelved = list(starmap(ShelvedRow, await connection.execute(heads)))
            by_id = dict(zip(map(attrgetter("id"), shelved), shelved, strict=True))
            for document, title, path in await connection.execute(sections):
                by_id[document].sections.append((title, tuple(json.loads(path))))
            for document, section in await connection.execute(chunks):
                by_id[document].chunk_sections.append(section)
            for document, section, target in await connection.execute(links):
                by_id[document].links.append((section, target))
        return version or 0, shelved


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A document on its shelf, by its id, with its outline."""

    document_id: str
    source: str
    title: str
    language: str
    link: str
    instructor: str
    unread: str
    lessons: tuple[Lesson, ...]


class Outlines:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def of_shelf(self, space: str, shelf: str) -> Sequence[OutlineRow]:
        """The outlines of a shelf's documents, all at one moment, by title."""
        from sqlalchemy import select

        from storage.tables import documents, lessons, outlines

        d, k = documents.c, lessons.c
        on_shelf = (d.space == space, d.shelf == shelf, d.state.in_(VISIBLE))
        heads = (
            select(d.id, d.source, d.title, d.language, outlines.c.link, outlines.c.instructor, d.unread)
            .join(outlines, outlines.c.document_id == d.id)
            .where(*on_shelf)
            .order_by(d.title, d.id)
        )
        parts = (
            select(k.document_id, k.id, k.number, k.title, k.link, k.first, k.past)
            .join(documents)
            .where(*on_shelf)
            .order_by(k.document_id, k.ordinal)
        )
        async with self._db.read() as connection:
            head_rows = (await connection.execute(heads)).all()
            rows = (await connection.execute(parts)).all()
        of_shelf = {
            id: tuple(Lesson(*row[1:]) for row in lesson_rows)
            for id, lesson_rows in groupby(rows, itemgetter(0))
        }
        return [OutlineRow(*head, of_shelf.get(head.id, ())) for head in head_rows]
