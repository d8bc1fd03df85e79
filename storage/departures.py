"""The spaces that the bot has left: when it left, and the deletion of a space's data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from storage.marks import Marks

if TYPE_CHECKING:
    from storage.db import Database

_LEFT = "left:"
"""The prefix of a mark's name; the space follows. Its value is when the bot left, in ISO 8601."""


class Departures:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._marks = Marks(db)

    async def note_departure(self, space: str, now: datetime | None = None) -> None:
        """Note that the bot has left the space, whose data is deleted after `[storage] grace_days`."""
        if await self._marks.get(_LEFT + space) is None:
            await self._marks.set(_LEFT + space, (now or datetime.now(UTC)).isoformat())

    async def note_return(self, space: str) -> None:
        """Note that the bot is in the space."""
        await self._marks.remove(_LEFT + space)

    async def spaces(self) -> list[str]:
        """The spaces that the bot has left."""
        return [name.removeprefix(_LEFT) for name in await self._marks.with_prefix(_LEFT)]

    async def departed_before(self, moment: datetime) -> list[str]:
        """The spaces that the bot left before a moment, and in which nobody has asked anything since."""
        spaces = []
        for name, value in (await self._marks.with_prefix(_LEFT)).items():
            space, left = name.removeprefix(_LEFT), datetime.fromisoformat(value)
            if left >= moment:
                continue
            if await self._asked_since(space, left):
                await self.note_return(space)
            else:
                spaces.append(space)
        return spaces

    async def _asked_since(self, space: str, moment: datetime) -> bool:
        from storage.tables import inbox as t

        newer = t.select().where(t.c.space == space, t.c.created_at > moment).limit(1)
        return bool(await self._db.column(newer.with_only_columns(t.c.id)))

    async def documents(self, space: str) -> list[str]:
        """The ids of the space's documents, on their shelves or not."""
        from storage.tables import documents as t

        return list(await self._db.column(t.select().with_only_columns(t.c.id).where(t.c.space == space)))

    async def runs(self, space: str) -> list[str]:
        from storage.tables import inbox as t

        return list(await self._db.column(t.select().with_only_columns(t.c.id).where(t.c.space == space)))

    async def delete(self, space: str) -> int:
        """Delete every row of the space, except removed documents whose vectors are still to be deleted; returns how
        many.
        """
        from storage.tables import metadata

        deleted = 0
        for table in reversed(metadata.sorted_tables):
            if "space" in table.c and table.name != "leftovers":
                deleted += await self._db.run(table.delete().where(table.c.space == space))
        await self.note_return(space)
        return deleted
