"""Councils: the question, the members' answers, their ballots, and the verdict.

Knows no model and counts no vote: `research`, `tally`, `shown`, `ranking` and `critiques` are the caller's JSON. A
withdrawn council is deleted: anything that its run still stores afterwards is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from storage.db import Database

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.ext.asyncio import AsyncConnection

CouncilKind = Literal["", "synthesis", "single", "best"]
SeatState = Literal["answered", "failed", "refused"]


@dataclass(frozen=True, slots=True)
class CouncilRow:
    """One run. `kind` is the kind of verdict, "" while it runs or if it was interrupted.

    "single" is the answer of one model, "best" the best answer where no chair could write.
    """

    space: str
    run_id: str
    platform: str
    channel: str
    thread: str
    author_id: str
    question: str
    level: str
    criteria: str
    research: str
    chair: str
    kind: CouncilKind
    verdict: str
    dissent: str
    tally: str
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def alias(self) -> str:
        """A short name for people, see `Councils.named`."""
        return self.run_id[-6:]


@dataclass(frozen=True, slots=True)
class SeatRow:
    """One member. `name` is what people call it, `model` "provider:model", `first_answer` what it said before
    a debate ("" without one). `fault` says why there is no answer. Dollars are None where they are not known,
    `place`, `score` and `mean_rank` where nothing was counted.
    """

    space: str
    run_id: str
    seat: int
    name: str
    model: str
    settings: str
    state: SeatState
    fault: str
    answer: str
    first_answer: str
    reasoning: str
    seconds: float
    tokens: int | None
    cost_usd: Decimal | None
    place: int | None = None
    score: float | None = None
    mean_rank: float | None = None


@dataclass(frozen=True, slots=True)
class BallotRow:
    """The ballot of one judge. `raw` is its answer, `again` its second answer ("" if it was asked only once)."""

    space: str
    run_id: str
    seat: int
    shown: str
    ranking: str
    source: str
    partial: bool
    raw: str
    again: str
    reasoning: str
    critiques: str
    seconds: float
    fault: str


@dataclass(frozen=True, slots=True)
class Council:
    """Seats and ballots are in order of seat."""

    row: CouncilRow
    seats: tuple[SeatRow, ...]
    ballots: tuple[BallotRow, ...]


class Councils:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def begin(self, row: CouncilRow) -> None:
        """Store a council that begins. An existing one stays unchanged."""
        from storage.tables import councils

        new = self._db.insert(councils).values(**asdict(row))
        await self._db.run(new.on_conflict_do_nothing())

    async def keep_seats(self, space: str, run: str, rows: Sequence[SeatRow]) -> None:
        """Store the members, replacing those of the same seats."""
        from storage.tables import council_seats

        async with self._db.write() as connection:
            await self._keep(connection, council_seats, space, run, rows)

    async def keep_ballots(self, space: str, run: str, rows: Sequence[BallotRow]) -> None:
        """Store ballots, replacing those of the same judges."""
        from storage.tables import council_ballots

        async with self._db.write() as connection:
            await self._keep(connection, council_ballots, space, run, rows)

    async def end(
        self,
        space: str,
        run: str,
        *,
        kind: CouncilKind,
        verdict: str,
        dissent: str,
        chair: str,
        tally: str,
        seats: Sequence[SeatRow],
    ) -> None:
        """Store how a council ended, with its members at that time, completely or not at all.

        A second call keeps the first call's time.
        """
        from sqlalchemy import func

        from storage.tables import council_seats, councils

        c = councils.c
        ended = func.coalesce(c.ended_at, datetime.now(UTC), type_=c.ended_at.type)
        unfinished = councils.update().where(c.space == space, c.run_id == run)
        async with self._db.write() as connection:
            await connection.execute(
                unfinished.values(
                    kind=kind, verdict=verdict, dissent=dissent, chair=chair, tally=tally, ended_at=ended
                )
            )
            await self._keep(connection, council_seats, space, run, seats)

    async def get(self, space: str, run: str) -> Council | None:
        """A whole council; None if this space has none of that run."""
        from storage.tables import council_ballots, council_seats, councils

        def rows_of_run(table: Table) -> tuple[ColumnElement[bool], ...]:
            return table.c.space == space, table.c.run_id == run

        async with self._db.read() as connection:
            row = (await connection.execute(councils.select().where(*rows_of_run(councils)))).one_or_none()
            if row is None:
                return None
            seats, ballots = [
                (
                    await connection.execute(table.select().where(*rows_of_run(table)).order_by(table.c.seat))
                ).all()
                for table in (council_seats, council_ballots)
            ]
        return Council(
            CouncilRow(**row._mapping),
            tuple(SeatRow(**seat._mapping) for seat in seats),
            tuple(BallotRow(**ballot._mapping) for ballot in ballots),
        )

    async def named(self, space: str, alias: str) -> list[str]:
        """The runs whose id ends in `alias`, ignoring case, newest first; none for an empty alias."""
        from sqlalchemy import select

        from storage.tables import councils

        c = councils.c
        if not (alias := alias.strip()):
            return []
        query = (
            select(c.run_id)
            .where(c.space == space, c.run_id.iendswith(alias, autoescape=True))
            .order_by(c.created_at.desc(), c.run_id.desc())
        )
        return await self._db.column(query)

    async def last(self, space: str, platform: str, channel: str, thread: str) -> str | None:
        """The run of the newest council in a place."""
        from sqlalchemy import select

        from storage.tables import councils

        c = councils.c
        in_place = (c.space == space, c.platform == platform, c.channel == channel, c.thread == thread)
        query = select(c.run_id).where(*in_place).order_by(c.created_at.desc(), c.run_id.desc()).limit(1)
        return (await self._db.execute(query)).scalar_one_or_none()

    async def records(self, space: str, limit: int = 1000) -> list[tuple[CouncilRow, SeatRow]]:
        """The seats of the space's newest `limit` councils, newest first, for counting.

        Without their long texts: the question, criteria, research, verdict, dissent, tally, answers and
        reasoning are "".
        """
        from sqlalchemy import select

        from storage.tables import council_seats, councils

        c, s = councils.c, council_seats.c
        newest = (
            select(*_short(councils, "question", "criteria", "research", "verdict", "dissent", "tally"))
            .where(c.space == space)
            .order_by(c.created_at.desc(), c.run_id.desc())
            .limit(limit)
        )
        runs = newest.with_only_columns(c.run_id).subquery()
        sat = (
            select(*_short(council_seats, "answer", "first_answer", "reasoning"))
            .join(runs, runs.c.run_id == s.run_id)
            .where(s.space == space)
            .order_by(s.seat)
        )
        async with self._db.read() as connection:
            rows = [CouncilRow(**row._mapping) for row in await connection.execute(newest)]
            seats: dict[str, list[SeatRow]] = {row.run_id: [] for row in rows}
            for seat in await connection.execute(sat):
                seats[seat.run_id].append(SeatRow(**seat._mapping))
        return [(row, seat) for row in rows for seat in seats[row.run_id]]

    async def _keep(
        self,
        connection: AsyncConnection,
        table: Table,
        space: str,
        run: str,
        rows: Sequence[SeatRow] | Sequence[BallotRow],
    ) -> None:
        from storage.tables import councils

        # The row stays locked until the end of the transaction, so that it is not withdrawn in between.
        council = councils.select().where(councils.c.space == space, councils.c.run_id == run)
        if not rows or (await connection.execute(council.with_for_update())).one_or_none() is None:
            return
        new = self._db.insert(table)
        changed = {column.name: new.excluded[column.name] for column in table.c if not column.primary_key}
        await connection.execute(
            new.on_conflict_do_update(index_elements=["space", "run_id", "seat"], set_=changed),
            [asdict(replace(row, space=space, run_id=run)) for row in rows],
        )


def _short(table: Table, *texts: str) -> list[ColumnElement[Any]]:
    """The table's columns, with those in `texts` empty, so that megabytes of text are not read for counting."""
    from sqlalchemy import literal

    return [literal("").label(column.name) if column.name in texts else column for column in table.c]
