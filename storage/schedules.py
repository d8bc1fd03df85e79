"""Scheduled posts: where, what, and when next. The caller decides when they are due and what is done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from storage.db import Database

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """`id` is that of the run that made it. `options` and `rule` are the caller's JSON; it has `fired` so often."""

    id: str
    space: str
    platform: str
    channel: str
    thread: str
    author_id: str
    locale: str
    kind: str
    text: str
    options: str
    rule: str
    missed: str
    next_at: datetime
    created_at: datetime
    fired: int = 0


class Schedules:
    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam, select

        from storage.tables import schedule_followers as f
        from storage.tables import schedules as t

        self._db = db
        # Many come in the same minute: to build a statement costs more than to execute it.
        unchanged = (t.c.id == bindparam("of"), t.c.next_at == bindparam("due", type_=t.c.next_at.type))
        self._end = t.delete().where(*unchanged)
        move = t.update().where(*unchanged)
        self._move = move.values(next_at=bindparam("following"), fired=bindparam("times"))
        of_schedule = (f.c.space == bindparam("space"), f.c.schedule_id == bindparam("of"))
        self._followers = select(f.c.author_id).where(*of_schedule).order_by(f.c.created_at, f.c.author_id)

    async def add(self, row: ScheduleRow) -> None:
        """Store a schedule; an existing one stays unchanged."""
        from storage.tables import schedules as t

        new = self._db.insert(t).values(**asdict(row))
        await self._db.run(new.on_conflict_do_nothing(index_elements=["id"]))

    async def at_place(self, space: str, platform: str, channel: str, thread: str) -> Sequence[ScheduleRow]:
        """The schedules of a place, the next one first."""
        from storage.tables import schedules as t

        query = t.select().where(*_at(space, platform, channel, thread)).order_by(t.c.next_at, t.c.id)
        return await self._db.rows(query, ScheduleRow)

    async def remove_there(self, space: str, platform: str, channel: str, thread: str = "") -> int:
        """Remove the schedules of a thread, or of a channel and its threads, with their followers; returns how many."""
        from sqlalchemy import select

        from storage.tables import schedules as t

        in_place = (t.c.space == space, t.c.platform == platform, t.c.channel == channel)
        ids = await self._db.column(select(t.c.id).where(*in_place, *[t.c.thread == thread] * bool(thread)))
        await self.remove(space, *ids)
        return len(ids)

    async def by_author(self, space: str, author: str) -> Sequence[ScheduleRow]:
        """The schedules that a person has made in the space, the next one first."""
        from storage.tables import schedules as t

        by_author = t.select().where(t.c.space == space, t.c.author_id == author)
        return await self._db.rows(by_author.order_by(t.c.next_at, t.c.id), ScheduleRow)

    async def due(self, now: datetime, platforms: Collection[str], limit: int) -> Sequence[ScheduleRow]:
        """The schedules of these platforms that are due, the longest due first."""
        from storage.tables import schedules as t

        query = t.select().where(t.c.platform.in_(list(platforms)), t.c.next_at <= now)
        return await self._db.rows(query.order_by(t.c.next_at, t.c.id).limit(limit), ScheduleRow)

    async def move(self, row: ScheduleRow, following: datetime | None, *, fired: bool) -> None:
        """It has come, or was left out, and waits until `following`; None for never again, which deletes it.

        Nothing happens where it was moved on already.
        """
        unchanged = {"of": row.id, "due": row.next_at}
        if following is None:
            await self._db.run(self._end, **unchanged)
        else:
            await self._db.run(self._move, **unchanged, following=following, times=row.fired + fired)

    async def remove(self, space: str, *ids: str) -> bool:
        """Remove schedules with their followers; returns whether there were any."""
        if not ids:
            return False
        from storage.tables import schedule_followers as f
        from storage.tables import schedules as t

        async with self._db.write() as connection:
            await connection.execute(f.delete().where(f.c.space == space, f.c.schedule_id.in_(ids)))
            removed = await connection.execute(t.delete().where(t.c.space == space, t.c.id.in_(ids)))
            return bool(removed.rowcount)

    async def follow(self, space: str, id: str, author: str) -> None:
        from storage.tables import schedule_followers as t

        new = self._db.insert(t).values(
            schedule_id=id, space=space, author_id=author, created_at=datetime.now(UTC)
        )
        await self._db.run(new.on_conflict_do_nothing(index_elements=["schedule_id", "author_id"]))

    async def unfollow(self, space: str, id: str, author: str) -> bool:
        """Stop following; returns whether the person had followed it."""
        from storage.tables import schedule_followers as t

        followed = (t.c.space == space, t.c.schedule_id == id, t.c.author_id == author)
        return await self._db.run(t.delete().where(*followed)) == 1

    async def followers(self, space: str, id: str) -> Sequence[str]:
        """The people who follow it, in the order in which they began to."""
        return await self._db.column(self._followers, space=space, of=id)


def _at(space: str, platform: str, channel: str, thread: str) -> tuple[ColumnElement[bool], ...]:
    from storage.tables import schedules as t

    return t.c.space == space, t.c.platform == platform, t.c.channel == channel, t.c.thread == thread
