"""Stores the library of characters and worlds that a person keeps from stories and may share with the space.

A world is a lorebook; each of its entries is a separate row, which is deleted with the data of the person who wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias

from storage.db import Database

Kept: TypeAlias = Literal["character", "world"]


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A kept character or world. `key` is the name in one case; `body` is the caller's JSON. `writer_id` wrote its
    words, in the run `run_id`. `revision` counts how often it was kept. `file` is what a character's card came in, b""
    for none.
    """

    id: str
    space: str
    kind: Kept
    key: str
    name: str
    author_id: str
    writer_id: str
    run_id: str
    shared: bool
    revision: int
    body: str
    file: bytes = b""


@dataclass(frozen=True, slots=True)
class KeptLore:
    """An entry of a world, as JSON; `key` names it there."""

    key: str
    author_id: str
    run_id: str
    entry: str


class StoryLibrary:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def keep(self, row: KeptRow, lore: Sequence[KeptLore] = ()) -> KeptRow:
        """Store it, replacing what the person has kept under this name; it stays shared if that was."""
        from storage.tables import story_library as t
        from storage.tables import story_library_lore as lore_table

        mine = (t.c.space == row.space, t.c.kind == row.kind, t.c.author_id == row.author_id)
        async with self._db.write(alone=f"kept {row.space} {row.author_id}") as connection:
            query = t.select().where(*mine, t.c.key == row.key)
            if (before := (await connection.execute(query)).one_or_none()) is not None:
                row = replace(row, id=before.id, shared=before.shared, revision=before.revision + 1)
                await connection.execute(t.delete().where(t.c.space == row.space, t.c.id == row.id))
            await connection.execute(t.insert().values(**asdict(row)))
            await connection.execute(lore_table.delete().where(lore_table.c.library_id == row.id))
            for entry in lore:
                values = {"space": row.space, "library_id": row.id, **asdict(entry)}
                await connection.execute(lore_table.insert().values(**values))
        return row

    async def seen_by(self, space: str, person: str) -> list[KeptRow]:
        """What the person has kept, and then what others have shared, by name; without files."""
        from sqlalchemy import literal, or_

        from storage.tables import story_library as t

        columns = [column for column in t.c if column is not t.c.file]
        query = t.select().with_only_columns(*columns, literal(b"").label("file"))
        query = query.where(t.c.space == space, or_(t.c.author_id == person, t.c.shared.is_(True)))
        rows = await self._db.rows(query.order_by(t.c.key, t.c.id), KeptRow)
        return sorted(rows, key=lambda row: row.author_id != person)

    async def get(self, space: str, id: str) -> KeptRow | None:
        from storage.tables import story_library as t

        rows = await self._db.rows(t.select().where(t.c.space == space, t.c.id == id), KeptRow)
        return rows[0] if rows else None

    async def lore(self, space: str, id: str) -> list[KeptLore]:
        """The entries of a world."""
        from storage.tables import story_library_lore as t

        query = t.select().with_only_columns(t.c.key, t.c.author_id, t.c.run_id, t.c.entry)
        return await self._db.rows(
            query.where(t.c.space == space, t.c.library_id == id).order_by(t.c.key), KeptLore
        )

    async def share(self, space: str, id: str, person: str, *, shared: bool) -> None:
        """Share what the person has kept with everybody in the space, or stop sharing it."""
        from storage.tables import story_library as t

        own_row = (t.c.space == space, t.c.id == id, t.c.author_id == person)
        await self._db.run(t.update().where(*own_row).values(shared=shared))

    async def remove(self, space: str, id: str, person: str) -> None:
        from storage.tables import story_library as t

        await self._db.run(t.delete().where(t.c.space == space, t.c.id == id, t.c.author_id == person))
