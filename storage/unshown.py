"""Stores what is not on the screen yet: the ends of runs, and changes of their stages, until the platform has accepted
them.

Knows no platform and no event: `events` is the caller's JSON.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from storage.db import Database

WITHDRAWN, QUOTED = "withdrawn", "quoted"


@dataclass(frozen=True, slots=True)
class UnshownRow:
    """`stage` is that of a change, "" for the end of the run, whose `status` is how it ended.

    With the status WITHDRAWN its messages are to be taken back: with that for a `stage` all that goes with the request,
    with QUOTED only those that quote it.

    `request` is the request's JSON if the inbox no longer has its words, otherwise "".
    """

    space: str
    run_id: str
    stage: str
    status: str
    events: str
    request: str
    created_at: datetime
    process: str


class Unshown:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def keep(
        self, space: str, run: str, stage: str, *, status: str = "", events: str = "", request: str = ""
    ) -> None:
        """Store what is to be shown, replacing what was stored of the same stage."""
        from storage.tables import unshown as t

        values = {
            "status": status,
            "events": events,
            "request": request,
            "created_at": datetime.now(UTC),
            "process": self._db.process,
        }
        key = {"space": space, "run_id": run, "stage": stage}
        query = self._db.insert(t).values(**key, **values)
        await self._db.run(query.on_conflict_do_update(index_elements=list(key), set_=values))

    async def forget(self, space: str, run: str, stage: str) -> None:
        """Delete what has been shown or was given up."""
        from storage.tables import unshown as t

        this_stage = (t.c.space == space, t.c.run_id == run, t.c.stage == stage)
        await self._db.run(t.delete().where(*this_stage))

    async def owed_before(self, line: str, run: str) -> bool:
        """Whether another process has yet to show the end of a run before this one in the line."""
        from sqlalchemy import select

        from storage.tables import inbox
        from storage.tables import unshown as t

        number = select(inbox.c.seq).where(inbox.c.id == run).scalar_subquery()
        earlier = (inbox.c.id == t.c.run_id, inbox.c.line == line, inbox.c.seq < number)
        ends = (t.c.stage == "", t.c.process != self._db.process)
        return bool(await self._db.column(select(t.c.run_id).where(*earlier, *ends).limit(1)))

    async def count(self) -> int:
        """How many rows there are, in all spaces."""
        from sqlalchemy import func, select

        from storage.tables import unshown as t

        return int((await self._db.execute(select(func.count()).select_from(t))).scalar_one())

    async def all(self, *, abandoned: str | None = None, platforms: Collection[str] = ()) -> list[UnshownRow]:
        """All rows in the order of their requests; the end of a run comes before later changes of it.

        `abandoned`: only those that this process, or one that has ended, stored for one of the platforms; they belong
        to this process from now on.
        """
        from sqlalchemy import select

        from storage.processes import is_ownerless
        from storage.tables import inbox
        from storage.tables import unshown as t

        query = select(t).join(inbox, inbox.c.id == t.c.run_id).order_by(inbox.c.seq, t.c.created_at)
        if abandoned is None:
            return await self._db.rows(query, UnshownRow)
        abandoned_rows = (is_ownerless(t.c.process, abandoned), inbox.c.platform.in_(platforms))
        rows = await self._db.rows(query.where(*abandoned_rows), UnshownRow)
        if rows and self._db.process:
            ours = t.update().where(t.c.run_id.in_({row.run_id for row in rows}))
            await self._db.run(ours.values(process=self._db.process))
        return rows
