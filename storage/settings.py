"""What a person, a channel or a space has set, standing over the config's.

Knows nothing of what a setting means: whoever sets a value has checked it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from storage.db import Database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

Scope: TypeAlias = Literal["person", "channel", "space"]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """`of` is the person's or the channel's id, "" for the space; `author_id` is who set it."""

    space: str
    scope: Scope
    of: str
    name: str
    value: str
    author_id: str
    updated_at: datetime


class KeptSettings:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def one(self, space: str, name: str, scope: Scope = "space", of: str = "") -> SettingRow | None:
        rows = await self._rows(*_at(space, name, scope, of))
        return rows[0] if rows else None

    async def under(self, space: str, prefix: str) -> dict[str, SettingRow]:
        """The space's own whose names begin so, in order, by the rest of their names."""
        from storage.tables import settings as t

        rows = await self._rows(
            t.c.space == space, t.c.scope == "space", t.c.name.startswith(prefix, autoescape=True)
        )
        return {row.name.removeprefix(prefix): row for row in rows}

    async def named(self, space: str, names: Sequence[str]) -> list[SettingRow]:
        """All that is set under these names in the space, by whomever and wherever."""
        from storage.tables import settings as t

        return await self._rows(t.c.space == space, t.c.name.in_(names))

    async def set(
        self, space: str, name: str, value: str, author_id: str, scope: Scope = "space", of: str = ""
    ) -> None:
        from storage.tables import settings as t

        values = {"value": value, "author_id": author_id, "updated_at": datetime.now(UTC)}
        new = self._db.insert(t).values(space=space, scope=scope, of=of, name=name, **values)
        key = ["space", "scope", "of", "name"]
        async with self._db.write() as connection:
            await connection.execute(new.on_conflict_do_update(index_elements=key, set_=values))

    async def reset(self, space: str, name: str, scope: Scope = "space", of: str = "") -> bool:
        """Keep nothing of it there; whether there was anything."""
        from storage.tables import settings as t

        async with self._db.write() as connection:
            gone = await connection.execute(t.delete().where(*_at(space, name, scope, of)))
            return gone.rowcount == 1

    async def _rows(self, *where: ColumnElement[bool]) -> list[SettingRow]:
        from storage.tables import settings as t

        async with self._db.read() as connection:
            rows = await connection.execute(t.select().where(*where).order_by(t.c.name))
            return [SettingRow(**row._mapping) for row in rows]


def _at(space: str, name: str, scope: Scope, of: str) -> tuple[ColumnElement[bool], ...]:
    from storage.tables import settings as t

    return t.c.space == space, t.c.scope == scope, t.c.of == of, t.c.name == name
