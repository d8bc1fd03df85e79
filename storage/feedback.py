"""Thumbs up or down: one verdict of each person on each run.

Knows nothing of what was answered.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from storage.db import Database

Verdict = Literal["up", "down"]


class Feedback:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def give(self, space: str, run: str, author: str, verdict: Verdict) -> None:
        """A person's latest verdict on a run counts."""
        from storage.tables import feedback as t

        values = {"verdict": verdict, "updated_at": datetime.now(UTC)}
        new = self._db.insert(t).values(space=space, run_id=run, author_id=author, **values)
        key = ["space", "run_id", "author_id"]
        await self._db.run(new.on_conflict_do_update(index_elements=key, set_=values))

    async def count(self, space: str, since: datetime | None = None) -> dict[Verdict, int]:
        """How many of each there are, of those last given at `since` or later."""
        from sqlalchemy import func, select

        from storage.tables import feedback as t

        query = select(t.c.verdict, func.count()).where(t.c.space == space).group_by(t.c.verdict)
        if since is not None:
            query = query.where(t.c.updated_at >= since)
        async with self._db.read() as connection:
            counted = {row[0]: int(row[1]) for row in await connection.execute(query)}
        return {"up": counted.get("up", 0), "down": counted.get("down", 0)}
