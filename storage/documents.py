"""The library's catalogue: documents put on a shelf in all their parts, taken off it, and looked up.

Knows neither formats nor languages nor how anything is searched; a segment is the caller's bytes. What stands in
the documents is read by `passages`, and for a whole shelf by `shelves`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from storage.db import Database
from storage.document_rows import DocumentRow, Leftover, NewChunk, NewDocument, NewSection

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Select, Table
    from sqlalchemy.ext.asyncio import AsyncConnection


class Documents:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, new: NewDocument, *, replaces: Collection[str] = ()) -> bool:
        """Put a whole document on its shelf, and take the documents `replaces` (ids) off it, in one go.

        False, changing nothing, if a document of this id is there already. Vectors are not touched: what
        was replaced is among the `leftovers`.
        """
        from storage import tables as t

        head = self._db.insert(t.documents).values(
            id=new.id,
            space=new.space,
            shelf=new.shelf,
            source=new.source,
            title=new.title,
            language=new.language,
            sha256=new.sha256,
            size=new.size,
            state="lexical" if new.chunks else "ready",
            section_count=len(new.sections),
            chunk_count=len(new.chunks),
            embedded=0,
            created_at=datetime.now(UTC),
        )
        parts: list[tuple[Table, list[dict[str, Any]]]] = [
            (t.texts, [{"document_id": new.id, "text": new.text}]),
            (t.segments, [{"document_id": new.id, "data": new.segment}]),
            (t.sections, [_section_values(new.id, section) for section in new.sections]),
            (t.chunks, [_chunk_values(new.id, chunk) for chunk in new.chunks]),
            (
                t.links,
                [
                    {"document_id": new.id, "ordinal": n, "section": link.section, "target": link.target}
                    for n, link in enumerate(new.links)
                ],
            ),
        ]
        async with self._db.write() as connection:
            if (await connection.execute(head.on_conflict_do_nothing())).rowcount != 1:
                return False
            for table, rows in parts:
                if rows:
                    await connection.execute(table.insert(), rows)
            if replaces:
                d = t.documents.c
                gone = (d.space == new.space, d.shelf == new.shelf, d.id.in_(list(replaces)))
                await self._take_off(connection, *gone)
            await self._bump(connection, new.space, new.shelf)
        return True

    async def remove(self, space: str, document_id: str) -> bool:
        """Take a document off its shelf with all that hangs on it; whether it was there.

        Its vectors are not touched: it is among the `leftovers` until it is `cleared`.
        """
        from storage.tables import documents

        async with self._db.write() as connection:
            mine = (documents.c.space == space, documents.c.id == document_id)
            shelves = await self._take_off(connection, *mine)
            for shelf in shelves:
                await self._bump(connection, space, shelf)
        return bool(shelves)

    async def leftovers(self) -> Sequence[Leftover]:
        """What was taken off its shelf, in all spaces, and has not been `cleared`."""
        from storage.tables import leftovers

        async with self._db.read() as connection:
            return [Leftover(**row._mapping) for row in await connection.execute(leftovers.select())]

    async def cleared(self, space: str, document_id: str) -> None:
        """Nothing is left of a document that was taken off its shelf."""
        from storage.tables import leftovers

        mine = (leftovers.c.space == space, leftovers.c.document_id == document_id)
        async with self._db.write() as connection:
            await connection.execute(leftovers.delete().where(*mine))

    async def get(self, space: str, document_id: str) -> DocumentRow | None:
        from storage.tables import documents

        rows = await self._documents(
            documents.select().where(documents.c.space == space, documents.c.id == document_id)
        )
        return rows[0] if rows else None

    async def list(self, space: str, shelf: str | None = None) -> Sequence[DocumentRow]:
        """By shelf, then title."""
        from storage.tables import documents

        query = documents.select().where(documents.c.space == space)
        if shelf is not None:
            query = query.where(documents.c.shelf == shelf)
        return await self._documents(query.order_by(documents.c.shelf, documents.c.title, documents.c.id))

    async def find(self, space: str, shelf: str | None, name: str) -> Sequence[DocumentRow]:
        """Documents that a person may mean by `name`: by source; else title; else the start or end of an id.

        Capitals do not matter. More than one row means that the name is ambiguous.
        """
        rows = await self.list(space, shelf)
        wanted = name.strip().casefold()
        if not wanted:
            return []
        return (
            [row for row in rows if row.source.casefold() == wanted]
            or [row for row in rows if row.title.casefold() == wanted]
            or [
                row
                for row in rows
                if len(wanted) >= 4 and (row.id.startswith(wanted) or row.id.endswith(wanted))
            ]
        )

    async def by_sha(self, space: str, shelf: str, sha256: str) -> DocumentRow | None:
        """The document made from exactly these bytes, if it is on the shelf."""
        from storage.tables import documents

        c = documents.c
        query = documents.select().where(c.space == space, c.shelf == shelf, c.sha256 == sha256)
        rows = await self._documents(query.order_by(c.id).limit(1))
        return rows[0] if rows else None

    async def mark_embedded(self, space: str, document_id: str, upto: int, embedder: str | None) -> bool:
        """Chunks 0 … upto-1 have vectors of `embedder`; the document is ready once that is all of them.

        `upto=0` takes it back to lexical only. With embedder None and all chunks, no vectors are wanted.
        False if the document is not there any more.
        """
        from sqlalchemy import case

        from storage.tables import documents

        c = documents.c
        async with self._db.write() as connection:
            result = await connection.execute(
                documents.update()
                .where(c.space == space, c.id == document_id)
                .values(
                    embedded=upto,
                    embedder=embedder,
                    state=case((c.chunk_count <= upto, "ready"), else_="lexical"),
                )
            )
            return result.rowcount == 1

    async def _take_off(self, connection: AsyncConnection, *which: ColumnElement[bool]) -> Sequence[str]:
        """Delete documents and note them as leftovers, in the caller's transaction; their shelves."""
        from storage.tables import documents, leftovers

        d = documents.c
        rows = (
            await connection.execute(documents.delete().where(*which).returning(d.space, d.id, d.shelf))
        ).all()
        for space, document_id, shelf in rows:
            new = self._db.insert(leftovers).values(space=space, document_id=document_id, shelf=shelf)
            await connection.execute(new.on_conflict_do_nothing())
        return [row.shelf for row in rows]

    async def _bump(self, connection: AsyncConnection, space: str, shelf: str) -> None:
        from storage.tables import shelves

        new = self._db.insert(shelves).values(space=space, name=shelf, version=1)
        await connection.execute(
            new.on_conflict_do_update(
                index_elements=["space", "name"], set_={"version": shelves.c.version + 1}
            )
        )

    async def _documents(self, query: Select[Any]) -> Sequence[DocumentRow]:
        async with self._db.read() as connection:
            return [DocumentRow(**row._mapping) for row in await connection.execute(query)]


def _section_values(document_id: str, section: NewSection) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "ordinal": section.ordinal,
        "level": section.level,
        "title": section.title,
        "path": json.dumps(section.path, ensure_ascii=False),
        "start": section.start,
        "end": section.end,
        "page": section.page,
    }


def _chunk_values(document_id: str, chunk: NewChunk) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "ordinal": chunk.ordinal,
        "section": chunk.section,
        "start": chunk.start,
        "end": chunk.end,
        "breadcrumb": chunk.breadcrumb,
        "text": chunk.text,
    }
