"""Notes that a process keeps between starts: what it has announced, whom it has welcomed.

They belong to no space: nothing that a person wrote may be stored here.
"""

from __future__ import annotations

from datetime import UTC, datetime

from storage.db import Database


class Marks:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def get(self, name: str) -> str | None:
        from storage.tables import marks as t

        row = (await self._db.execute(t.select().where(t.c.name == name))).one_or_none()
        return str(row.value) if row else None

    async def set(self, name: str, value: str) -> None:
        from storage.tables import marks as t

        values = {"value": value, "updated_at": datetime.now(UTC)}
        new = self._db.insert(t).values(name=name, **values)
        await self._db.run(new.on_conflict_do_update(index_elements=["name"], set_=values))

    async def remove(self, name: str) -> None:
        from storage.tables import marks as t

        await self._db.run(t.delete().where(t.c.name == name))

    async def with_prefix(self, prefix: str) -> dict[str, str]:
        """The values of all whose names begin so."""
        from storage.tables import marks as t

        rows = await self._db.execute(t.select().where(t.c.name.startswith(prefix, autoescape=True)))
        return {str(row.name): str(row.value) for row in rows}
