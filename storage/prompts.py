"""A space's own wording of a prompt, standing over the file's.

Knows nothing of placeholders: whoever sets an override has checked it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from storage.db import Database


@dataclass(frozen=True, slots=True)
class OverrideRow:
    space: str
    name: str
    text: str
    author_id: str
    updated_at: datetime


class Overrides:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def get(self, space: str, name: str) -> OverrideRow | None:
        from storage.tables import prompt_overrides as t

        async with self._db.read() as connection:
            row = (
                await connection.execute(t.select().where(t.c.space == space, t.c.name == name))
            ).one_or_none()
            return OverrideRow(**row._mapping) if row else None

    async def all(self, space: str) -> list[OverrideRow]:
        """By name."""
        from storage.tables import prompt_overrides as t

        async with self._db.read() as connection:
            rows = await connection.execute(t.select().where(t.c.space == space).order_by(t.c.name))
            return [OverrideRow(**row._mapping) for row in rows]

    async def set(self, space: str, name: str, text: str, author_id: str) -> None:
        from storage.tables import prompt_overrides as t

        values = {"text": text, "author_id": author_id, "updated_at": datetime.now(UTC)}
        new = self._db.insert(t).values(space=space, name=name, **values)
        async with self._db.write() as connection:
            await connection.execute(new.on_conflict_do_update(index_elements=["space", "name"], set_=values))

    async def reset(self, space: str, name: str) -> bool:
        """Back to the file's wording; whether there was an override."""
        from storage.tables import prompt_overrides as t

        async with self._db.write() as connection:
            result = await connection.execute(t.delete().where(t.c.space == space, t.c.name == name))
            return result.rowcount == 1
