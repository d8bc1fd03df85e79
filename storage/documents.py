"""The library's catalogue: stores documents on shelves with all their parts, removes them, and finds them by name.

Knows neither formats nor languages nor how anything is searched; a segment is the caller's bytes. `passages` reads the
texts of documents, `shelves` whole shelves.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from storage.db import Database
from storage.document_rows import VISIBLE, DocumentRow, Leftover, NewChunk, NewDocument, NewSection
from storage.inbox import UNFINISHED

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.ext.asyncio import AsyncConnection

ROWS = 2_000
"""How many rows are written at once: the event loop is blocked while the statement for them is prepared."""


class Documents:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, new: NewDocument, *, built_by: str | None = None) -> bool:
        """Put a whole document on its shelf at once; returns False without a change if the id exists.

        If it is `built_by` a run (its id), it is stored off the shelf until it is swapped in.
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
            state="building" if built_by is not None else "lexical" if new.chunks else "ready",
            built_by=built_by,
            section_count=len(new.sections),
            chunk_count=len(new.chunks),
            embedded=0,
            created_at=datetime.now(UTC),
            kind=new.kind,
            unread=new.unread,
        )
        parts: list[tuple[Table, list[dict[str, Any]]]] = [
            (t.texts, [{"document_id": new.id, "text": new.text}]),
            (t.segments, [{"document_id": new.id, "data": new.segment}]),
            (t.sections, [_section_values(new.id, section) for section in new.sections]),
            (t.chunks, [_chunk_values(new.id, chunk) for chunk in new.chunks]),
            (
                t.pages,
                [
                    {"document_id": new.id, "number": n, "start": start}
                    for n, start in enumerate(new.pages, 1)
                ],
            ),
            (
                t.links,
                [
                    {"document_id": new.id, "ordinal": n, "section": link.section, "target": link.target}
                    for n, link in enumerate(new.links)
                ],
            ),
        ]
        if (outline := new.outline) is not None:
            about = {"document_id": new.id, "link": outline.link, "instructor": outline.instructor}
            lessons = [
                {"document_id": new.id, "ordinal": n, **asdict(lesson)}
                for n, lesson in enumerate(outline.lessons)
            ]
            parts += [(t.outlines, [about]), (t.lessons, lessons)]
        async with self._db.write() as connection:
            if (await connection.execute(head.on_conflict_do_nothing())).rowcount != 1:
                return False
            for table, rows in parts:
                for first in range(0, len(rows), ROWS):
                    await connection.execute(table.insert(), rows[first : first + ROWS])
            if built_by is None:
                await self._bump(connection, new.space, new.shelf)
        return True

    async def swap(self, space: str, shelf: str, pairs: Sequence[tuple[str, str]]) -> set[str]:
        """Put documents that were built on the shelf, all at once; returns the ids of those that are then on it.

        A pair is a new document's id and the id of the one that it replaces, or "" for the one that now has its
        source's name. Replaced documents are retired. If the one to replace has left the shelf, the new one joins the
        `leftovers`. Calling it again has no effect.
        """
        from sqlalchemy import case, select

        from storage.tables import documents

        d, changed = documents.c, False
        on_shelf = (d.space == space, d.shelf == shelf)
        staged = (*on_shelf, d.id.in_([new for new, _ in pairs]))
        on_it = case((d.chunk_count <= d.embedded, "ready"), else_="lexical")
        async with self._db.write(alone=f"shelf:{space}:{shelf}") as connection:
            built = select(d.id, d.source).where(*staged, d.state == "building")
            sources = {row.id: row.source for row in await connection.execute(built)}
            for new, old in pairs:
                if new not in sources:
                    continue
                place = d.id == old if old else d.source == sources[new]
                retiring = documents.update().where(*on_shelf, d.state.in_(VISIBLE), place)
                now = datetime.now(UTC)
                retired = await connection.execute(retiring.values(state="retired", retired_at=now))
                if old and not retired.rowcount:
                    await self._take_off(connection, d.id == new)
                    continue
                putting = documents.update().where(d.id == new)
                await connection.execute(putting.values(state=on_it, built_by=None))
                changed = True
            if changed:
                await self._bump(connection, space, shelf)
            visible = await connection.execute(select(d.id).where(*staged, d.state.in_(VISIBLE)))
            return set(visible.scalars())

    async def sweep(self, before: datetime) -> None:
        """Remove documents, in all spaces, that are no longer needed: those retired `before`, and those built for runs
        that have ended.
        """
        from sqlalchemy import and_, exists, or_

        from storage.tables import documents, inbox

        d, i = documents.c, inbox.c
        going_on = exists().where(i.id == d.built_by, i.space == d.space, i.state.in_(UNFINISHED))
        dead = or_(and_(d.state == "retired", d.retired_at < before), and_(d.state == "building", ~going_on))
        if (await self._db.execute(documents.select().where(dead).limit(1))).first() is None:
            return
        async with self._db.write() as connection:
            await self._take_off(connection, dead)

    async def unseen(self, space: str, shelf: str) -> set[str]:
        """The ids of documents that are not on the shelf but may have vectors in its collections."""
        from sqlalchemy import select, union

        from storage.tables import documents, leftovers

        d, o = documents.c, leftovers.c
        query = union(
            select(d.id).where(d.space == space, d.shelf == shelf, d.state.not_in(VISIBLE)),
            select(o.document_id).where(o.space == space, o.shelf == shelf),
        )
        return set(await self._db.column(query))

    async def remove(self, space: str, document_id: str) -> bool:
        """Take a document with all its parts off its shelf; returns whether it was there.

        Its vectors stay: it is among the `leftovers` until it is `cleared`.
        """
        from storage.tables import documents

        async with self._db.write() as connection:
            this_document = (documents.c.space == space, documents.c.id == document_id)
            shelves = await self._take_off(connection, *this_document)
            for shelf in shelves:
                await self._bump(connection, space, shelf)
        return bool(shelves)

    async def leftovers(self) -> Sequence[Leftover]:
        """Documents that were taken off their shelf, in all spaces, and are not `cleared` yet."""
        from storage.tables import leftovers

        return await self._db.rows(leftovers.select(), Leftover)

    async def cleared(self, space: str, document_ids: Collection[str]) -> None:
        """Note that nothing is left of documents that were taken off their shelves."""
        from storage.tables import leftovers

        cleared_rows = (leftovers.c.space == space, leftovers.c.document_id.in_(document_ids))
        await self._db.run(leftovers.delete().where(*cleared_rows))

    async def get(self, space: str, document_id: str) -> DocumentRow | None:
        """A document in any state; the other methods return only those on their shelf."""
        from storage.tables import documents

        query = documents.select().where(documents.c.space == space, documents.c.id == document_id)
        return await self._db.row(query, DocumentRow)

    async def list(
        self, space: str, shelf: str | None = None, *, every_kind: bool = False
    ) -> Sequence[DocumentRow]:
        """The documents by shelf, then title: of all shelves only books, unless `every_kind` is set."""
        from storage.tables import documents

        d = documents.c
        query = documents.select().where(d.space == space, d.state.in_(VISIBLE))
        if shelf is not None:
            query = query.where(d.shelf == shelf)
        elif not every_kind:
            query = query.where(d.kind == "")
        return await self._db.rows(query.order_by(d.shelf, d.title, d.id), DocumentRow)

    async def kinds(self, space: str) -> set[str]:
        """The kinds of documents on the shelves; "" stands for books."""
        from sqlalchemy import select

        from storage.tables import documents

        d = documents.c
        return set(
            await self._db.column(select(d.kind).where(d.space == space, d.state.in_(VISIBLE)).distinct())
        )

    async def find(self, space: str, shelf: str | None, name: str) -> Sequence[DocumentRow]:
        """The documents with this source; if there is none, with this title, then with this source except its suffix,
        then with an id that starts or ends so. More than one row means that the name is ambiguous.

        Ignores case, and how accents are composed.
        """
        rows = await self.list(space, shelf)
        folded = _folded(name.strip())
        if not folded:
            return []
        return (
            [row for row in rows if _folded(row.source) == folded]
            or [row for row in rows if _folded(row.title) == folded]
            or [row for row in rows if _folded(row.source.rpartition(".")[0]) == folded]
            or [
                row
                for row in rows
                if len(folded) >= 4 and (row.id.startswith(folded) or row.id.endswith(folded))
            ]
        )

    async def by_sha(self, space: str, shelf: str, sha256: str) -> DocumentRow | None:
        """The document made from exactly these bytes, if it is on the shelf."""
        from storage.tables import documents

        c = documents.c
        same_file = (c.space == space, c.shelf == shelf, c.sha256 == sha256, c.state.in_(VISIBLE))
        return await self._db.row(documents.select().where(*same_file).order_by(c.id).limit(1), DocumentRow)

    async def mark_embedded(self, space: str, document_id: str, upto: int, embedder: str | None) -> bool:
        """Note that chunks 0 … upto-1 have vectors of `embedder`; the document is ready once all have.

        `upto=0` resets it to lexical search only. Embedder None with all chunks means that no vectors are wanted.
        Returns False if the document no longer exists.
        """
        from sqlalchemy import case

        from storage.tables import documents

        c = documents.c
        # Vectors do not put a document on its shelf.
        state = case((c.state.not_in(VISIBLE), c.state), (c.chunk_count <= upto, "ready"), else_="lexical")
        this_document = documents.update().where(c.space == space, c.id == document_id)
        return await self._db.run(this_document.values(embedded=upto, embedder=embedder, state=state)) == 1

    async def without_vectors(self) -> Sequence[DocumentRow]:
        """Documents of all spaces that are on their shelf and lack vectors, the oldest first."""
        from storage.tables import documents

        lexical = documents.select().where(documents.c.state == "lexical")
        query = lexical.order_by(documents.c.created_at, documents.c.id)
        return await self._db.rows(query, DocumentRow)

    async def ask_other_vectors(
        self, space: str, shelf: str, embedder: str, languages: Collection[str]
    ) -> bool:
        """Note that the shelf's documents in these languages need vectors of a second `embedder` too; returns whether
        any of these vectors are missing.
        """
        from sqlalchemy import or_, select

        from storage.tables import documents

        c = documents.c
        of_shelf = (c.space == space, c.shelf == shelf, c.language.in_(languages), c.state.in_(VISIBLE))
        strange = or_(c.other_embedder.is_(None), c.other_embedder != embedder)
        lacking = select(c.id, strange).where(
            *of_shelf, or_(strange, c.other_embedded < c.chunk_count), c.chunk_count > 0
        )
        rows = (await self._db.execute(lacking)).all()
        if any(new for _, new in rows):
            await self._db.run(
                documents.update().where(*of_shelf, strange).values(other_embedder=embedder, other_embedded=0)
            )
        return bool(rows)

    async def ask_other_vectors_where_set(
        self, embedder: str, languages: Collection[str], *, ask: bool = True
    ) -> int:
        """Note the same for all documents in one of the `languages` whose space, or a channel of it, is set to another
        one; returns how many are new. Without `ask` they are only counted.
        """
        from sqlalchemy import exists, func, or_, select

        from storage.tables import documents, settings

        c, spoken = documents.c, func.substr(settings.c.value, 1, 2)
        set_to_another = exists().where(
            settings.c.space == c.space,
            settings.c.name == "language",
            settings.c.scope.in_(("space", "channel")),
            spoken.in_(languages),
            spoken != c.language,
        )
        strange = or_(c.other_embedder.is_(None), c.other_embedder != embedder)
        strange_documents = (
            c.state.in_(VISIBLE),
            c.language.in_(languages),
            c.chunk_count > 0,
            strange,
            set_to_another,
        )
        if ask:
            return await self._db.run(
                documents.update().where(*strange_documents).values(other_embedder=embedder, other_embedded=0)
            )
        return int(
            (
                await self._db.execute(select(func.count()).select_from(documents).where(*strange_documents))
            ).scalar_one()
        )

    async def without_other_vectors(self, embedder: str) -> Sequence[DocumentRow]:
        """Documents of all spaces that are on their shelf and lack vectors of a second embedder, the oldest first."""
        from storage.tables import documents

        c = documents.c
        lacking = (c.state.in_(VISIBLE), c.other_embedder == embedder, c.other_embedded < c.chunk_count)
        query = documents.select().where(*lacking).order_by(c.created_at, c.id)
        return await self._db.rows(query, DocumentRow)

    async def mark_other_vectors(self, space: str, document_id: str, upto: int, embedder: str) -> bool:
        """Note that chunks 0 … upto-1 have vectors of the second `embedder`; returns False if they are no longer wanted
        from it.
        """
        from storage.tables import documents

        c = documents.c
        document = (c.space == space, c.id == document_id, c.other_embedder == embedder, c.state.in_(VISIBLE))
        return await self._db.run(documents.update().where(*document).values(other_embedded=upto)) == 1

    async def forget_vectors(self) -> int:
        """Note that no document of any space has vectors any more; returns how many had."""
        from sqlalchemy import case

        from storage.tables import documents

        c = documents.c
        state = case((c.state.in_(VISIBLE), "lexical"), else_=c.state)
        await self._db.run(documents.update().where(c.other_embedded > 0).values(other_embedded=0))
        reset = documents.update().where(c.embedder.is_not(None), c.embedded > 0)
        return await self._db.run(reset.values(embedded=0, embedder=None, state=state))

    async def _take_off(self, connection: AsyncConnection, *which: ColumnElement[bool]) -> Sequence[str]:
        """Delete documents and note them as leftovers, in the caller's transaction; returns their shelves."""
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


def _folded(name: str) -> str:
    return normalize("NFC", name).casefold()


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
