"""Votes: of each person the last one counts, in each group of choices that a run has offered.

Knows nothing of what is voted on. A group is known by the number of its first choice among the run's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from storage.db import Database


@dataclass(frozen=True, slots=True)
class Vote:
    """`n` is the number of the choice among the run's."""

    run_id: str
    group: int
    n: int
    updated_at: datetime


class Votes:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def give(self, space: str, run: str, group: int, author: str, n: int) -> None:
        """Keep a person's vote, in place of an earlier one of theirs."""
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
        async with self._db.read() as connection:
            return {int(row[0]): int(row[1]) for row in await connection.execute(query)}

    async def of(self, space: str, author: str) -> Sequence[Vote]:
        """All that a person has voted for, the oldest first."""
        from storage.tables import votes as t

        by_author = (t.c.space == space, t.c.author_id == author)
        async with self._db.read() as connection:
            rows = await connection.execute(t.select().where(*by_author).order_by(t.c.updated_at))
            return [Vote(row.run_id, row.group, row.n, row.updated_at) for row in rows]

    async def forget(self, space: str, author: str) -> None:
        """Keep nothing that a person has voted for."""
        from storage.tables import votes as t

        await self._db.run(t.delete().where(t.c.space == space, t.c.author_id == author))
