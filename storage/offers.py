"""The offers behind a message's buttons, for presses that come after a restart.

Knows no platform and no kind: an item is the caller's JSON, numbered from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from storage.db import Database


class Offers:
    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam

        from storage.tables import offers as t

        self._db = db
        # Nearly every run asks these: to build a statement costs more than to execute it.
        names = {"of_space": t.c.space, "of_run": t.c.run_id, "of_kind": t.c.kind}
        self._forget_kind = t.delete().where(*(column == bindparam(name) for name, column in names.items()))
        self._insert = t.insert()

    async def keep(
        self, space: str, run: str, kind: str, items: Sequence[str], *, author_id: str = ""
    ) -> None:
        """Keep what the run offers of this kind, in place of what it offered before: to `author_id`, or to all."""
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
        async with self._db.read() as connection:
            row = (await connection.execute(query)).one_or_none()
            return str(row.item) if row else None

    async def all(self, space: str, run: str, kind: str) -> list[str]:
        """In their order."""
        from storage.tables import offers as t

        same_kind = (t.c.space == space, t.c.run_id == run, t.c.kind == kind)
        async with self._db.read() as connection:
            rows = await connection.execute(t.select().where(*same_kind).order_by(t.c.n))
            return [str(row.item) for row in rows]

    async def forget(self, space: str, run: str) -> None:
        """Keep nothing that the run offered."""
        from storage.tables import offers as t

        await self._db.run(t.delete().where(t.c.space == space, t.c.run_id == run))

    async def sweep(self, kind: str, age: timedelta) -> int:
        """Keep nothing of this kind that is older, in any space; how much it was."""
        from storage.tables import offers as t

        old = t.delete().where(t.c.kind == kind, t.c.created_at < datetime.now(UTC) - age)
        return await self._db.run(old)
