"""What stands in the library's documents: chunks, passages as citations need them, sections, any span of a text.

Only reads; `documents` put it there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from storage.db import Database
from storage.document_rows import ChunkRow, PassageRow


class Passages:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def chunks_of(
        self, space: str, document_id: str, after_ordinal: int = -1, limit: int = 256
    ) -> Sequence[ChunkRow]:
        """The next chunks of a document in order, without keeping the rest in memory."""
        from sqlalchemy import select

        from storage.tables import chunks, documents

        query = (
            select(chunks)
            .join(documents)
            .where(
                documents.c.space == space,
                chunks.c.document_id == document_id,
                chunks.c.ordinal > after_ordinal,
            )
            .order_by(chunks.c.ordinal)
            .limit(limit)
        )
        async with self._db.read() as connection:
            return [ChunkRow(**row._mapping) for row in await connection.execute(query)]

    async def get(self, space: str, ids: Iterable[str]) -> dict[str, PassageRow]:
        """Chunks by id, with what a citation needs. Unknown ids (replaced meanwhile) are left out."""
        from sqlalchemy import and_, or_, select

        from storage.tables import chunks, documents, sections

        ordinals: dict[str, list[int]] = {}
        for id in ids:
            document_id, _, ordinal = id.rpartition(":")
            if ordinal.isdecimal():
                ordinals.setdefault(document_id, []).append(int(ordinal))
        if not ordinals:
            return {}
        wanted = or_(
            *(
                and_(chunks.c.document_id == key, chunks.c.ordinal.in_(found))
                for key, found in ordinals.items()
            )
        )
        d, s = documents.c, sections.c
        same_section = and_(s.document_id == chunks.c.document_id, s.ordinal == chunks.c.section)
        query = (
            select(chunks, d.shelf, d.source, d.title, s.path, s.page)
            .join(documents, d.id == chunks.c.document_id)
            .outerjoin(sections, same_section)
            .where(d.space == space, wanted)
        )
        result: dict[str, PassageRow] = {}
        async with self._db.read() as connection:
            for row in await connection.execute(query):
                *own, shelf, source, title, path, page = row
                chunk = ChunkRow(*own)
                headings = tuple(json.loads(path)) if path else ()
                result[chunk.id] = PassageRow(chunk, shelf, source, title, headings, page)
        return result

    async def section_text(self, space: str, document_id: str, ordinal: int) -> str | None:
        """A section's text, cut out by the database."""
        from sqlalchemy import and_, func, select

        from storage.tables import documents, sections, texts

        s = sections.c
        query = (
            select(func.substr(texts.c.text, s.start + 1, s.end - s.start))
            .select_from(sections)
            .join(texts, texts.c.document_id == s.document_id)
            .join(documents, documents.c.id == s.document_id)
            .where(and_(documents.c.space == space, s.document_id == document_id, s.ordinal == ordinal))
        )
        async with self._db.read() as connection:
            return (await connection.execute(query)).scalar()

    async def span(self, space: str, document_id: str, start: int, end: int) -> str | None:
        """The characters start … end-1 of a document, cut out by the database."""
        from sqlalchemy import func, select

        from storage.tables import documents, texts

        query = (
            select(func.substr(texts.c.text, start + 1, max(0, end - start)))
            .join(documents)
            .where(documents.c.space == space, documents.c.id == document_id)
        )
        async with self._db.read() as connection:
            return (await connection.execute(query)).scalar()
