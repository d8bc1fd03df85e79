"""What a space itself has set for its council, standing over the config's.

Knows nothing of members or chairs: whoever sets a value has checked it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from storage.db import Database


@dataclass(frozen=True, slots=True)
class SettingRow:
    name: str
    value: str
    author_id: str
    updated_at: datetime


class CouncilSettings:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def get(self, space: str) -> dict[str, SettingRow]:
        """All that the space has set, by name."""
        from sqlalchemy import select

        from storage.tables import council_settings as t

        query = select(t.c.name, t.c.value, t.c.author_id, t.c.updated_at).where(t.c.space == space)
        async with self._db.read() as connection:
            rows = await connection.execute(query.order_by(t.c.name))
            return {row.name: SettingRow(**row._mapping) for row in rows}

    async def set(self, space: str, name: str, value: str, author: str) -> None:
        from storage.tables import council_settings as t

        values = {"value": value, "author_id": author, "updated_at": datetime.now(UTC)}
        new = self._db.insert(t).values(space=space, name=name, **values)
        async with self._db.write() as connection:
            await connection.execute(new.on_conflict_do_update(index_elements=["space", "name"], set_=values))

    async def reset(self, space: str, name: str) -> bool:
        """Back to the config's; whether there was anything."""
        from storage.tables import council_settings as t

        async with self._db.write() as connection:
            result = await connection.execute(t.delete().where(t.c.space == space, t.c.name == name))
            return result.rowcount == 1
