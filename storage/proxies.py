"""The names under which a proxy such as PluralKit posts people's words in a space, and whose words they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.db import Database
from storage.name_keys import name_key

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


@dataclass(frozen=True, slots=True)
class ProxiedName:
    """`key` is the name in one case. It belongs to `author_id`, called `player`, once that person has confirmed it."""

    space: str
    key: str
    name: str
    author_id: str
    player: str
    confirmed: bool


class Proxies:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def named(self, space: str, name: str) -> list[ProxiedName]:
        """Whose the name is, and who may still confirm that it is theirs."""
        from storage.tables import proxied_names as t

        return await self._rows(t.c.space == space, t.c.key == name_key(name))

    async def by_person(self, space: str, person: str) -> list[ProxiedName]:
        """The names of a person, by name."""
        from storage.tables import proxied_names as t

        return await self._rows(t.c.space == space, t.c.author_id == person)

    async def offer(self, space: str, name: str, person: str, player: str) -> None:
        """Note that the person may confirm the name as theirs."""
        from storage.tables import proxied_names as t

        new = self._db.insert(t).values(
            space=space, key=name_key(name), name=name, author_id=person, player=player, confirmed=False
        )
        await self._db.run(new.on_conflict_do_nothing(index_elements=["space", "key", "author_id"]))

    async def confirm(self, space: str, name: str, person: str, player: str) -> bool:
        """Give the name to the person; returns False if it was not offered to them or belongs to somebody else."""
        from storage.tables import proxied_names as t

        key = name_key(name)
        others_row = t.select().where(
            t.c.space == space, t.c.key == key, t.c.confirmed.is_(True), t.c.author_id != person
        )
        theirs = t.update().where(t.c.space == space, t.c.key == key, t.c.author_id == person)
        async with self._db.write(alone=f"proxy {space} {key}") as connection:
            if (await connection.execute(others_row.limit(1))).first() is not None:
                return False
            confirmed = await connection.execute(theirs.values(confirmed=True, player=player))
            return bool(confirmed.rowcount)

    async def remove(self, space: str, name: str, person: str) -> bool:
        """Take the name from the person; returns whether it was theirs."""
        from storage.tables import proxied_names as t

        own_name = t.delete().where(t.c.space == space, t.c.key == name_key(name), t.c.author_id == person)
        async with self._db.write() as connection:
            return bool((await connection.execute(own_name)).rowcount)

    async def _rows(self, *those: ColumnElement[bool]) -> list[ProxiedName]:
        from storage.tables import proxied_names as t

        return await self._db.rows(t.select().where(*those).order_by(t.c.key), ProxiedName)
