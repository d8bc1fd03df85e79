"""Stores settings of people, threads, channels, categories and spaces, which replace the config's values.

Knows nothing of what a setting means: the caller has checked the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from storage.db import Database, new_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

TOLD: Final = "told."
"""The prefix of rows that note that a budget warning was given."""
Scope: TypeAlias = Literal["person", "thread", "channel", "category", "space", "config"]
"""The scope of a setting; "config" is for config.toml, and is never stored."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """`of` is the id of the person, thread, channel or category, "" for the space; `author_id` is who set it."""

    space: str
    scope: Scope
    of: str
    name: str
    value: str
    author_id: str
    updated_at: datetime


SHARED: Final[tuple[Scope, ...]] = ("channel", "category", "space")
"""The scopes whose changes are logged."""
KEPT_CHARS: Final = 500
"""The most characters of a value in the log of changes."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change of a setting. `value` is its beginning, None if the setting was removed; `author_id` is "" if
    unknown.
    """

    id: str
    space: str
    scope: Scope
    of: str
    name: str
    value: str | None
    author_id: str
    changed_at: datetime


class SettingsStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def get(self, space: str, name: str, scope: Scope = "space", of: str = "") -> SettingRow | None:
        from storage.tables import settings as t

        return await self._db.row(t.select().where(*_at(space, name, scope, of)), SettingRow)

    async def of_space(self, space: str, prefix: str) -> dict[str, SettingRow]:
        """The space's own settings with this prefix, in order, by the rest of their names."""
        from storage.tables import settings as t

        with_prefix = (t.c.space == space, t.c.scope == "space", t.c.name.startswith(prefix, autoescape=True))
        rows = await self._db.rows(t.select().where(*with_prefix).order_by(t.c.name), SettingRow)
        return {row.name.removeprefix(prefix): row for row in rows}

    async def named(self, space: str, names: Sequence[str], prefixes: Sequence[str] = ()) -> list[SettingRow]:
        """All settings of the space with these names or prefixes, in every scope."""
        from sqlalchemy import or_

        from storage.tables import settings as t

        begins = partial(t.c.name.startswith, autoescape=True)
        by_name = or_(t.c.name.in_(names), *map(begins, prefixes))
        query = t.select().where(t.c.space == space, by_name).order_by(t.c.name)
        return await self._db.rows(query, SettingRow)

    async def with_prefix(self, space: str, prefix: str) -> Sequence[SettingRow]:
        """All settings of the space with this prefix, in every scope."""
        from storage.tables import settings as t

        query = t.select().where(t.c.space == space, t.c.name.startswith(prefix, autoescape=True))
        return await self._db.rows(query, SettingRow)

    async def set(
        self, space: str, name: str, value: str, author_id: str, scope: Scope = "space", of: str = ""
    ) -> None:
        await self.write(space, {(scope, of, name): value}, author_id)

    async def add(
        self, space: str, name: str, value: str, author_id: str, scope: Scope = "space", of: str = ""
    ) -> bool:
        """Set the value unless one is already set there; returns whether it did."""
        from storage.tables import settings as t

        row = {
            "space": space,
            "scope": scope,
            "of": of,
            "name": name,
            "value": value,
            "author_id": author_id,
            "updated_at": datetime.now(UTC),
        }
        async with self._db.write() as connection:
            new = self._db.insert(t).values(row).on_conflict_do_nothing()
            added = (await connection.execute(new)).rowcount > 0
            if added:
                await self._keep(connection, row, {name: value})
        return added

    async def set_all(
        self, space: str, values: Mapping[str, str], author_id: str, scope: Scope = "space", of: str = ""
    ) -> None:
        """Set all of these values, or none."""
        await self.write(space, {(scope, of, name): value for name, value in values.items()}, author_id)

    async def write(self, space: str, values: Mapping[tuple[Scope, str, str], str], author_id: str) -> None:
        """Set all of these values, by scope, owner and name, or none."""
        from storage.tables import settings as t

        if not values:
            return
        by = {"space": space, "author_id": author_id, "updated_at": datetime.now(UTC)}
        rows = [
            by | {"scope": scope, "of": of, "name": name, "value": value}
            for (scope, of, name), value in values.items()
        ]
        async with self._db.write() as connection:
            for row in rows:
                new = self._db.insert(t).values(row)
                changed = {name: new.excluded[name] for name in ("value", "author_id", "updated_at")}
                key = ["space", "scope", "of", "name"]
                await connection.execute(new.on_conflict_do_update(index_elements=key, set_=changed))
                await self._keep(connection, row, {str(row["name"]): str(row["value"])})

    async def reset(
        self, space: str, name: str, author_id: str, scope: Scope = "space", of: str = ""
    ) -> bool:
        """Remove the setting there; returns whether there was one."""
        return await self.reset_all(space, [name], author_id, scope, of)

    async def reset_all(
        self, space: str, names: Sequence[str], author_id: str, scope: Scope = "space", of: str = ""
    ) -> bool:
        """Remove these settings there; returns whether there were any."""
        from storage.tables import settings as t

        of_owner = (t.c.space == space, t.c.scope == scope, t.c.of == of, t.c.name.in_(names))
        at = {"space": space, "scope": scope, "of": of, "author_id": author_id}
        async with self._db.write() as connection:
            was = (
                (await connection.execute(t.select().with_only_columns(t.c.name).where(*of_owner)))
                .scalars()
                .all()
            )
            await connection.execute(t.delete().where(*of_owner))
            await self._keep(connection, at, dict.fromkeys(was))
        return bool(was)

    async def changes(self, space: str, most: int) -> list[SettingChange]:
        """The latest changes of the space's shared settings, the newest first."""
        from storage.tables import setting_changes as t

        newest = t.select().where(t.c.space == space).order_by(t.c.changed_at.desc(), t.c.id.desc())
        return await self._db.rows(newest.limit(most), SettingChange)

    async def _keep(
        self, connection: AsyncConnection, at: Mapping[str, object], values: Mapping[str, str | None]
    ) -> None:
        """Log the changes of shared settings; notes about budget warnings are not changes."""
        from storage.tables import setting_changes as t

        if at["scope"] not in SHARED:
            return
        row = {name: at[name] for name in ("space", "scope", "of", "author_id")}
        rows = [
            row
            | {"id": new_id(), "name": name, "changed_at": datetime.now(UTC)}
            | {"value": None if value is None else value[:KEPT_CHARS]}
            for name, value in values.items()
            if not name.startswith(TOLD)
        ]
        if rows:
            await connection.execute(t.insert(), rows)


def _at(space: str, name: str, scope: Scope, of: str) -> tuple[ColumnElement[bool], ...]:
    from storage.tables import settings as t

    return t.c.space == space, t.c.scope == scope, t.c.of == of, t.c.name == name
