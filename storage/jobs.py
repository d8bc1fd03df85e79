"""Library jobs as people see them: progress, failed files, outcome.

Knows nothing of the work itself, which the engine keeps durable; `values` is the caller's JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from storage.db import Database
from storage.inbox import UNFINISHED

_STEADY = timedelta(seconds=3)
"""How long a phase is observed before its pace is used: a restarted process first reports what an earlier one did."""


@dataclass(frozen=True, slots=True)
class JobErrorRow:
    """A file that was not added, and its message: a key of the catalogue and its values."""

    name: str
    key: str
    values: str


@dataclass(frozen=True, slots=True)
class JobRow:
    """`done` of `total` are units of the current `phase`: bytes read, vectors computed. File counts are those of the
    whole job.

    `state` takes the state of the job's run into account if the inbox has one, so it is correct even after a crash.
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

    @property
    def run(self) -> str:
        """The id of the job's run: a reindex has a job for each shelf."""
        return run_of(self.id)


@dataclass(frozen=True, slots=True)
class JobRunRow:
    """A run of jobs that is running, or waits for its turn and has no job yet. `payload` is its request."""

    id: str
    kind: str
    author_id: str
    payload: str
    created_at: datetime


def run_of(job: str) -> str:
    """The run's id, which a job's id is, or which follows the shelf's name in it."""
    return job.rpartition(":")[2]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Jobs:
    def __init__(self, db: Database, now: Callable[[], datetime] = _utc_now) -> None:
        self._db = db
        self._now = now
        self._begun: dict[tuple[str, str], tuple[str, int, datetime]] = {}
        """The phase of each job of this process, the units done when it was first seen, and that time."""

    async def create(self, space: str, id: str, shelf: str, kind: str, files_total: int) -> bool:
        """Store a job under its run's id; returns False without a change if it exists."""
        from storage.tables import jobs

        now = self._now()
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
        return await self._db.run(new.on_conflict_do_nothing()) == 1

    async def progress(
        self, space: str, id: str, phase: str, bytes_done: int, total: int, *, files_done: int | None = None
    ) -> None:
        if self._begun.get((space, id), ("",))[0] != phase:
            self._begun[space, id] = (phase, bytes_done, self._now())
        values: dict[str, object] = {"phase": phase, "done": bytes_done, "total": total}
        if files_done is not None:
            values["files_done"] = files_done
        await self._update(space, id, values)

    async def finish(self, space: str, id: str, state: Literal["done", "failed", "stopped"]) -> None:
        self._begun.pop((space, id), None)
        await self._update(space, id, {"state": state})

    def remaining(self, job: JobRow) -> timedelta | None:
        """The time that the job's phase will still take at its pace in this process; None if it is not known yet, or if
        another process does the job.
        """
        phase, done, since = self._begun.get((job.space, job.id), ("", 0, job.updated_at))
        took = job.updated_at - since
        if phase != job.phase or job.done <= done or took < _STEADY:
            return None
        return took * ((job.total - job.done) / (job.done - done))

    async def add_error(self, space: str, id: str, name: str, key: str, values: str = "{}") -> None:
        """Note a file that failed; a replay's second note of the same file replaces the first."""
        from storage.tables import job_errors

        new = self._db.insert(job_errors).values(
            space=space, job_id=id, name=name, key=key, values=values, created_at=self._now()
        )
        await self._db.run(
            new.on_conflict_do_update(
                index_elements=["space", "job_id", "name"], set_={"key": key, "values": values}
            )
        )

    async def list(self, space: str, limit: int = 20) -> Sequence[JobRow]:
        """The latest jobs, newest first, each with its errors."""
        from storage.tables import inbox, job_errors, jobs

        query = jobs.select().where(jobs.c.space == space)
        query = query.order_by(jobs.c.created_at.desc(), jobs.c.id.desc()).limit(limit)
        async with self._db.read() as connection:
            rows = [dict(row._mapping) for row in await connection.execute(query)]
            runs = {run_of(row["id"]) for row in rows}
            of_runs = inbox.select().with_only_columns(inbox.c.id, inbox.c.state)
            of_runs = of_runs.where(inbox.c.space == space, inbox.c.id.in_(runs))
            states = {row.id: row.state for row in await connection.execute(of_runs)}
            wrong = job_errors.select().where(
                job_errors.c.space == space, job_errors.c.job_id.in_([row["id"] for row in rows])
            )
            errors: dict[str, list[JobErrorRow]] = {}
            for error in await connection.execute(wrong.order_by(job_errors.c.created_at, job_errors.c.name)):
                mapping = error._mapping
                errors.setdefault(mapping["job_id"], []).append(
                    JobErrorRow(mapping["name"], mapping["key"], mapping["values"])
                )
        for row in rows:
            row["state"] = _state(row["state"], states.get(run_of(row["id"])))
        return [JobRow(**row, errors=tuple(errors.get(row["id"], ()))) for row in rows]

    async def runs(self, space: str, kinds: Sequence[tuple[str, str]]) -> Sequence[JobRunRow]:
        """The runs of these (work, verb) that have not ended, in the order in which they came."""
        from sqlalchemy import tuple_

        from storage.tables import inbox

        query = inbox.select().where(
            inbox.c.space == space,
            tuple_(inbox.c.work, inbox.c.verb).in_(kinds),
            inbox.c.state.in_(UNFINISHED),
        )
        rows = await self._db.execute(query.order_by(inbox.c.seq))
        return [JobRunRow(row.id, row.verb, row.author_id, row.payload, row.created_at) for row in rows]

    async def refused(self, space: str, run: str) -> dict[str, str] | None:
        """The files that a failed run could not read, by name, each with the reason (a key of the catalogue); None for
        a run that was completed or stopped.

        Files that are neither listed nor in the library are missing for another reason.
        """
        from sqlalchemy import or_

        from storage.tables import inbox, job_errors

        i, e = inbox.c, job_errors.c
        ended = inbox.select().with_only_columns(i.state).where(i.space == space, i.id == run)
        of_run = or_(e.job_id == run, e.job_id.endswith(f":{run}", autoescape=True))
        names = job_errors.select().with_only_columns(e.name, e.key).where(e.space == space, of_run)
        async with self._db.read() as connection:
            if await connection.scalar(ended) in ("done", "stopped"):
                return None
            return {row.name: row.key for row in await connection.execute(names)}

    async def _update(self, space: str, id: str, values: dict[str, object]) -> None:
        from storage.tables import jobs

        await self._db.run(
            jobs.update()
            .where(jobs.c.space == space, jobs.c.id == id)
            .values(**values, updated_at=self._now())
        )


def _state(job: str, run: str | None) -> str:
    """The state from the job's own row and its run's. A job that a closing process interrupted is stored as "stopped",
    too.
    """
    if run is None or job in ("done", "failed"):
        return job
    return "running" if run in UNFINISHED else run
