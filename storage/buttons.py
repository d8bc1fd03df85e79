"""Stores the buttons of messages, for presses that come after a restart, and people's votes and thumbs.

Knows no platform and no kind: an item is the caller's JSON, numbered from 0. A person's last vote or thumb counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from storage.db import Database

Verdict = Literal["up", "down"]


class Offers:
    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam

        from storage.tables import offers as t

        self._db = db
        # Prepared once, because nearly every run uses them and building a statement costs more than executing it.
        names = {"of_space": t.c.space, "of_run": t.c.run_id, "of_kind": t.c.kind}
        self._forget_kind = t.delete().where(*(column == bindparam(name) for name, column in names.items()))
        self._insert = t.insert()

    async def keep(
        self, space: str, run: str, kind: str, items: Sequence[str], *, author_id: str = ""
    ) -> None:
        """Store what the run offers of this kind, replacing what it offered before: to `author_id`, or to everybody."""
        new = {"space": space, "run_id": run, "kind": kind, "created_at": datetime.now(UTC)}
        new["author_id"] = author_id
        rows = [{**new, "n": n, "item": item} for n, item in enumerate(items)]
        same_kind = {"of_space": space, "of_run": run, "of_kind": kind}
        async with self._db.write() as connection:
            await connection.execute(self._forget_kind, same_kind)
            if rows:
                await connection.execute(self._insert, rows)

    async def get(self, space: str, run: str, kind: str, n: int) -> str | None:
        from storage.tables import offers as t

        query = t.select().where(t.c.space == space, t.c.run_id == run, t.c.kind == kind, t.c.n == n)
        row = (await self._db.execute(query)).one_or_none()
        return str(row.item) if row else None

    async def all(self, space: str, run: str, kind: str) -> list[str]:
        """The items of the run, in their order."""
        from storage.tables import offers as t

        same_kind = (t.c.space == space, t.c.run_id == run, t.c.kind == kind)
        rows = await self._db.execute(t.select().where(*same_kind).order_by(t.c.n))
        return [str(row.item) for row in rows]

    async def forget(self, space: str, run: str) -> None:
        """Delete everything that the run offered."""
        from storage.tables import offers as t

        await self._db.run(t.delete().where(t.c.space == space, t.c.run_id == run))

    async def sweep(self, kind: str, age: timedelta) -> int:
        """Delete items of this kind that are older, in every space; returns how many."""
        from storage.tables import offers as t

        old = t.delete().where(t.c.kind == kind, t.c.created_at < datetime.now(UTC) - age)
        return await self._db.run(old)


@dataclass(frozen=True, slots=True)
class Vote:
    """`n` is the number of the choice among the run's."""

    run_id: str
    group: int
    n: int
    updated_at: datetime


class Votes:
    """The votes: one per person in each group of a run's choices. A group is identified by the number of its first
    choice.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    async def give(self, space: str, run: str, group: int, author: str, n: int) -> None:
        """Store a person's vote, replacing their earlier one."""
        from storage.tables import votes as t

        values = {"n": n, "updated_at": datetime.now(UTC)}
        new = self._db.insert(t).values(space=space, run_id=run, group=group, author_id=author, **values)
        key = ["space", "run_id", "group", "author_id"]
        await self._db.run(new.on_conflict_do_update(index_elements=key, set_=values))

    async def counts(self, space: str, run: str, group: int) -> dict[int, int]:
        """How many votes each choice of the group has, by its number; those without any are left out."""
        from sqlalchemy import func, select

        from storage.tables import votes as t

        query = (
            select(t.c.n, func.count())
            .where(t.c.space == space, t.c.run_id == run, t.c.group == group)
            .group_by(t.c.n)
        )
        return {int(row[0]): int(row[1]) for row in await self._db.execute(query)}

    async def by_author(self, space: str, author: str) -> Sequence[Vote]:
        """All votes of a person, the oldest first."""
        from storage.tables import votes as t

        by_author = (t.c.space == space, t.c.author_id == author)
        rows = await self._db.execute(t.select().where(*by_author).order_by(t.c.updated_at))
        return [Vote(row.run_id, row.group, row.n, row.updated_at) for row in rows]

    async def forget(self, space: str, author: str) -> None:
        """Delete all votes of a person."""
        from storage.tables import votes as t

        await self._db.run(t.delete().where(t.c.space == space, t.c.author_id == author))


class Feedback:
    """Thumbs up or down: one verdict per person and run."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def give(self, space: str, run: str, author: str, verdict: Verdict) -> None:
        """Store a person's verdict on a run; the latest counts."""
        from storage.tables import feedback as t

        values = {"verdict": verdict, "updated_at": datetime.now(UTC)}
        new = self._db.insert(t).values(space=space, run_id=run, author_id=author, **values)
        key = ["space", "run_id", "author_id"]
        await self._db.run(new.on_conflict_do_update(index_elements=key, set_=values))

    async def count(self, space: str, since: datetime | None = None) -> dict[Verdict, int]:
        """How many verdicts of each kind were last given at `since` or later."""
        from sqlalchemy import func, select

        from storage.tables import feedback as t

        query = select(t.c.verdict, func.count()).where(t.c.space == space).group_by(t.c.verdict)
        if since is not None:
            query = query.where(t.c.updated_at >= since)
        counted = {row[0]: int(row[1]) for row in await self._db.execute(query)}
        return {"up": counted.get("up", 0), "down": counted.get("down", 0)}
