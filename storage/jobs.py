"""Library jobs as people look at them: how far, what failed, how it ended.

Knows nothing of the work itself, which the engine keeps durable; `values` is the caller's JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from storage.db import Database


@dataclass(frozen=True, slots=True)
class JobErrorRow:
    """One file that did not go in, and the sentence for it: a key of the catalogue and its values."""

    name: str
    key: str
    values: str


@dataclass(frozen=True, slots=True)
class JobRow:
    """`done` of `total` are units of the present `phase`; files are counted over the whole job.

    `state` is that of the job's request where the inbox has one: it is right even after a crash.
    """

    id: str
    space: str
    shelf: str
    kind: str
    state: Literal["running", "done", "failed", "stopped"]
    phase: str
    done: int
    total: int
    files_total: int
    files_done: int
    created_at: datetime
    updated_at: datetime
    errors: tuple[JobErrorRow, ...] = ()


class Jobs:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def create(self, space: str, id: str, shelf: str, kind: str, files_total: int) -> bool:
        """Note a job under its run's id; False, changing nothing, if it is there already."""
        from storage.tables import jobs

        now = datetime.now(UTC)
        new = self._db.insert(jobs).values(
            id=id,
            space=space,
            shelf=shelf,
            kind=kind,
            state="running",
            phase="",
            done=0,
            total=0,
            files_total=files_total,
            files_done=0,
            created_at=now,
            updated_at=now,
        )
        async with self._db.write() as connection:
            return (await connection.execute(new.on_conflict_do_nothing())).rowcount == 1

    async def progress(
        self, space: str, id: str, phase: str, done: int, total: int, *, files_done: int | None = None
    ) -> None:
        values: dict[str, object] = {"phase": phase, "done": done, "total": total}
        if files_done is not None:
            values["files_done"] = files_done
        await self._update(space, id, values)

    async def finish(self, space: str, id: str, state: Literal["done", "failed", "stopped"]) -> None:
        await self._update(space, id, {"state": state})

    async def add_error(self, space: str, id: str, name: str, key: str, values: str = "{}") -> None:
        """Note a file that failed; a replay's second note of the same file replaces the first."""
        from storage.tables import job_errors

        new = self._db.insert(job_errors).values(
            space=space, job_id=id, name=name, key=key, values=values, created_at=datetime.now(UTC)
        )
        async with self._db.write() as connection:
            await connection.execute(
                new.on_conflict_do_update(
                    index_elements=["space", "job_id", "name"], set_={"key": key, "values": values}
                )
            )

    async def list(self, space: str, limit: int = 20) -> Sequence[JobRow]:
        """The latest jobs, newest first, each with its errors."""
        from sqlalchemy import case, func, select

        from storage.tables import inbox, job_errors, jobs

        asked = case((inbox.c.state == "received", "running"), else_=inbox.c.state)
        columns = [one for one in jobs.c if one is not jobs.c.state]
        query = (
            select(*columns, func.coalesce(asked, jobs.c.state).label("state"))
            .outerjoin(inbox, (inbox.c.id == jobs.c.id) & (inbox.c.space == jobs.c.space))
            .where(jobs.c.space == space)
        )
        query = query.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)
        async with self._db.read() as connection:
            rows = list(await connection.execute(query))
            wrong = job_errors.select().where(
                job_errors.c.space == space, job_errors.c.job_id.in_([row.id for row in rows])
            )
            errors: dict[str, list[JobErrorRow]] = {}
            for error in await connection.execute(wrong.order_by(job_errors.c.created_at, job_errors.c.name)):
                mapping = error._mapping
                errors.setdefault(mapping["job_id"], []).append(
                    JobErrorRow(mapping["name"], mapping["key"], mapping["values"])
                )
        return [JobRow(**row._mapping, errors=tuple(errors.get(row.id, ()))) for row in rows]

    async def _update(self, space: str, id: str, values: dict[str, object]) -> None:
        from storage.tables import jobs

        async with self._db.write() as connection:
            await connection.execute(
                jobs.update()
                .where(jobs.c.space == space, jobs.c.id == id)
                .values(**values, updated_at=datetime.now(UTC))
            )
