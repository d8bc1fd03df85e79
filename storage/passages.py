"""The texts of the library's documents: chunks, passages as citations need them, sections, any span.

Only reads; `documents` writes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from storage.db import Database
from storage.document_rows import ChunkRow, HeadingRow, PassageRow, SectionRow

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table


class Passages:
    """Reads documents in any state, so that a passage of a replaced document can still be read on."""

    def __init__(self, db: Database) -> None:
        from sqlalchemy import String, and_, cast, func, select

        from storage.tables import chunks, documents, pages, sections

        self._db = db
        c, d, s = chunks.c, documents.c, sections.c
        id = (c.document_id + ":" + cast(c.ordinal, String)).label("id")
        self._chunks = select(chunks, id).select_from(chunks.join(documents))
        # Prepared once, because every search uses it and building a statement costs more than executing it.
        same_section = and_(s.document_id == c.document_id, s.ordinal == c.section)
        page = func.coalesce(_page_at(pages, c.document_id, c.start), s.page)
        with_headings = self._chunks.outerjoin(sections, same_section)
        self._passages = with_headings.add_columns(d.shelf, d.source, d.title, s.path, page, d.unread)

    async def chunks_of(
        self, space: str, document_id: str, after_ordinal: int = -1, limit: int = 256
    ) -> Sequence[ChunkRow]:
        """The next chunks of a document in order, without keeping the rest in memory."""
        from storage.tables import chunks, documents

        query = (
            self._chunks.where(
                documents.c.space == space,
                chunks.c.document_id == document_id,
                chunks.c.ordinal > after_ordinal,
            )
            .order_by(chunks.c.ordinal)
            .limit(limit)
        )
        return await self._db.rows(query, ChunkRow)

    async def get(self, space: str, ids: Iterable[str]) -> dict[str, PassageRow]:
        """Chunks by id, with what a citation needs. Unknown ids (replaced meanwhile) are left out."""
        from sqlalchemy import and_, or_

        from storage.tables import chunks, documents

        ordinals: dict[str, list[int]] = {}
        for id in ids:
            document_id, _, ordinal = id.rpartition(":")
            if ordinal.isdecimal():
                ordinals.setdefault(document_id, []).append(int(ordinal))
        if not ordinals:
            return {}
        any_of_these = or_(
            *(
                and_(chunks.c.document_id == key, chunks.c.ordinal.in_(numbers))
                for key, numbers in ordinals.items()
            )
        )
        result: dict[str, PassageRow] = {}
        query = self._passages.where(documents.c.space == space, any_of_these)
        for row in await self._db.execute(query):
            *chunk_columns, shelf, source, title, path, page, unread = row
            chunk = ChunkRow(*chunk_columns)
            headings = tuple(json.loads(path)) if path else ()
            result[chunk.id] = PassageRow(chunk, shelf, source, title, headings, page, unread)
        return result

    async def turns(
        self, space: str, spans: Collection[tuple[str, int, int]]
    ) -> dict[str, list[tuple[int, int]]]:
        """Where pages begin within spans, but for their first characters: (start, number) in order, by document.

        A span is a document's id and the characters start … end-1.
        """
        from sqlalchemy import and_, or_, select

        from storage.tables import documents, pages

        p = pages.c
        page_starts = (and_(p.document_id == id, p.start > start, p.start < end) for id, start, end in spans)
        query = (
            select(p.document_id, p.start, p.number)
            .join(documents)
            .where(documents.c.space == space, or_(*page_starts))
            .order_by(p.document_id, p.number)
        )
        pages_begun: dict[str, list[tuple[int, int]]] = {}
        for document, start, number in await self._db.execute(query):
            pages_begun.setdefault(document, []).append((start, number))
        return pages_begun

    async def section(self, space: str, document_id: str, ordinal: int) -> SectionRow | None:
        """A whole section, its text cut out by the database."""
        from sqlalchemy import func, select

        from storage.tables import documents, pages, sections, texts

        d, s = documents.c, sections.c
        page = _page_at(pages, s.document_id, s.start)
        text = func.substr(texts.c.text, s.start + 1, s.end - s.start)
        query = (
            select(d.source, d.title, s.title, s.path, func.coalesce(page, s.page), text)
            .select_from(sections)
            .join(texts, texts.c.document_id == s.document_id)
            .join(documents, d.id == s.document_id)
            .where(d.space == space, s.document_id == document_id, s.ordinal == ordinal)
        )
        row = (await self._db.execute(query)).first()
        if row is None:
            return None
        source, document, title, path, number, words = row
        return SectionRow(source, document, title, tuple(json.loads(path)), number, words)

    async def headings(self, space: str, document_id: str) -> list[HeadingRow]:
        """Those of a document's sections that have one, in order."""
        from sqlalchemy import func, select

        from storage.tables import documents, pages, sections

        s = sections.c
        page = func.coalesce(_page_at(pages, s.document_id, s.start), s.page).label("page")
        query = (
            select(s.level, s.title, page)
            .join(documents)
            .where(documents.c.space == space, s.document_id == document_id, s.level > 0, s.title != "")
            .order_by(s.ordinal)
        )
        return await self._db.rows(query, HeadingRow)

    async def page_count(self, space: str, document_id: str) -> int:
        """0 for a document without pages."""
        from sqlalchemy import func, select

        from storage.tables import documents, pages

        query = select(func.max(pages.c.number)).join(documents)
        query = query.where(documents.c.space == space, pages.c.document_id == document_id)
        return (await self._db.execute(query)).scalar() or 0

    async def span(self, space: str, document_id: str, start: int, end: int) -> str | None:
        """The characters start … end-1 of a document, cut out by the database."""
        from sqlalchemy import func, select

        from storage.tables import documents, texts

        query = (
            select(func.substr(texts.c.text, start + 1, max(0, end - start)))
            .join(documents)
            .where(documents.c.space == space, documents.c.id == document_id)
        )
        return (await self._db.execute(query)).scalar()


def _page_at(pages: Table, document_id: ColumnElement[str], start: ColumnElement[int]) -> Any:
    """The page of a document's character, NULL where it has no pages."""
    from sqlalchemy import func, select

    p = pages.c
    query = select(func.max(p.number)).where(p.document_id == document_id, p.start <= start)
    return query.scalar_subquery()
