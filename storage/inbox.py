"""Stores requests in the order of arrival, so that none is lost or run twice.

Knows nothing of what a request asks: `payload` is the caller's JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

from storage.db import Database
from storage.faults import StorageFault

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

InboxState = Literal["received", "running", "answered", "done", "failed", "stopped"]
UNFINISHED = ("received", "running", "answered")
"""The states of runs that the next start continues; an "answered" one works in the background after its answer."""


class Overtaken(Exception):
    """Other requests have arrived in the place meanwhile: `ids`."""

    def __init__(self, ids: Collection[str]) -> None:
        super().__init__(f"{len(ids)} requests")
        self.ids = ids


@dataclass(frozen=True, slots=True)
class NewRequest:
    id: str
    platform: str
    space: str
    channel: str
    thread: str
    author_id: str
    work: str
    verb: str
    ordered: bool
    payload: str
    parent: str = ""
    follows: str = ""
    line: str = ""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow(NewRequest):
    """A stored request. `seq` grows with each request in the database. `parent` is the run that started it, `follows`
    the run that it answers or repeats, `line` the queue that it waits in, `process` the process that received it; each
    is "" if there is none.
    """

    seq: int
    state: InboxState
    process: str


class Inbox:
    """A request's id is a hash over its space, so the engine may look one up by id alone."""

    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam, or_

        from storage.tables import inbox as t

        self._db = db
        # Prepared once, because every run uses them and building a statement costs more than executing it.
        received = db.insert(t).values(state="received", process=db.process)
        self._receive = received.on_conflict_do_nothing(index_elements=["id"]).returning(t.c.id, t.c.seq)
        self._get = t.select().where(t.c.id == bindparam("of"))
        self._end = t.update().where(t.c.id == bindparam("of")).values(state=bindparam("to"))
        self._go_on = self._end.where(or_(*(t.c.state == state for state in UNFINISHED)))

    async def receive(self, rows: Sequence[NewRequest]) -> dict[str, int]:
        """Store all of these requests, or none. Returns `seq` by id, growing in the order of `rows`.

        An id that is missing in the result was stored before: the platform delivered it twice.
        """
        values = list(map(asdict, rows))
        try:
            return await self._received(values)
        except StorageFault as fault:
            if not fault.away:
                raise
        # They may have been stored nevertheless.
        fresh = await self._received(values)
        return fresh | await self._waiting(list({row.id for row in rows} - fresh.keys()))

    async def _received(self, values: Sequence[dict[str, Any]]) -> dict[str, int]:
        if len(values) == 1:  # nearly always; one statement is cheaper than a transaction
            fresh = await self._db.execute(self._receive, **values[0])
            return dict(map(tuple, fresh))
        async with self._db.write() as connection:
            fresh = await connection.execute(self._receive, values)
            return dict(sorted(map(tuple, fresh), key=itemgetter(1)))

    async def receive_behind(self, row: NewRequest, seen: Collection[str]) -> int | None:
        """Store a request if everything that waits or runs in its place is in `seen`. Returns its `seq`, or None if it
        was stored before. Raises Overtaken. Two simultaneous calls, in any processes, are ordered.
        """
        try:
            return await self._received_behind(row, seen)
        except StorageFault as fault:
            if not fault.away:
                raise
        # It may have been stored nevertheless.
        seq = await self._received_behind(row, seen)
        return seq if seq is not None else (await self._waiting([row.id])).get(row.id)

    async def _received_behind(self, row: NewRequest, seen: Collection[str]) -> int | None:
        from storage.tables import inbox as t

        place = {"platform": row.platform, "space": row.space, "channel": row.channel, "thread": row.thread}
        in_place = [column == place[name] for name, column in t.c.items() if name in place]
        waiting = (
            t.select().with_only_columns(t.c.id).where(t.c.state.in_(("received", "running")), *in_place)
        )
        async with self._db.write(alone=f"inbox {' '.join(place.values())}") as connection:
            waiting_ids = set((await connection.execute(waiting)).scalars().all())
            if unseen := waiting_ids - {row.id, *seen}:
                raise Overtaken(unseen)
            fresh = (await connection.execute(self._receive, asdict(row))).one_or_none()
            return int(fresh.seq) if fresh is not None else None

    async def _waiting(self, ids: Sequence[str]) -> dict[str, int]:
        """The `seq` by id of those requests that this process has received and that have not begun."""
        from storage.tables import inbox as t

        ours = (t.c.id.in_(ids), t.c.process == self._db.process, t.c.state == "received")
        rows = await self._db.execute(t.select().with_only_columns(t.c.id, t.c.seq).where(*ours))
        return dict(sorted(map(tuple, rows), key=itemgetter(1)))

    async def get(self, id: str) -> InboxRow | None:
        return await self._db.row(self._get, InboxRow, of=id)

    async def last_of(self, space: str, author_id: str) -> InboxRow | None:
        """The latest request of this person in the space."""
        from storage.tables import inbox

        by_author = (inbox.c.space == space, inbox.c.author_id == author_id)
        query = inbox.select().where(*by_author).order_by(inbox.c.seq.desc()).limit(1)
        return await self._db.row(query, InboxRow)

    async def set_states(self, states: Mapping[str, InboxState]) -> None:
        """Set the states of these requests by id, all or none. An ended run stays ended."""
        if len(states) == 1:  # nearly always; one statement is cheaper than a transaction
            ((id, state),) = states.items()
            await self._db.run(self._go_on if state in UNFINISHED else self._end, of=id, to=state)
            return
        running, ended = list[dict[str, str]](), list[dict[str, str]]()
        for id, state in states.items():
            (running if state in UNFINISHED else ended).append({"of": id, "to": state})
        async with self._db.write() as connection:
            for change, rows in ((self._go_on, running), (self._end, ended)):
                if rows:
                    await connection.execute(change, rows)

    async def reword(self, id: str, payload: str) -> None:
        """Replace the request's payload, because the person changed or withdrew their words."""
        from storage.tables import inbox

        await self._db.run(inbox.update().where(inbox.c.id == id).values(payload=payload))

    async def withdraw(self, space: str, run: str, payload: str, title: str = "") -> bool:
        """Withdraw a request with its answers and their buttons, completely or not at all: the request keeps only
        `payload`, is stopped unless it has ended, and all rows that belong to its run are deleted.

        A conversation of the same person and place with the name `title`, made of the request's words, loses its name.
        If the request is no longer stored, the rest of its run is deleted. Returns whether this space had any of it.
        """
        from sqlalchemy import case

        from storage.tables import inbox, sessions

        this_run = (inbox.c.space == space, inbox.c.id == run)
        unfinished = inbox.c.state.in_(UNFINISHED)
        async with self._db.write() as connection:
            row = (await connection.execute(inbox.select().where(*this_run))).one_or_none()
            if row is None:
                return await self._erase(connection, space, run) > 0
            # In the same statement as the words: a crash must not continue a run without words.
            state = case((unfinished, "stopped"), else_=inbox.c.state)
            await connection.execute(inbox.update().where(*this_run).values(payload=payload, state=state))
            await self._erase(connection, space, run)
            named = (
                sessions.c.space == space,
                sessions.c.platform == row.platform,
                sessions.c.channel == row.channel,
                sessions.c.thread == row.thread,
                sessions.c.author_id == row.author_id,
                sessions.c.title == title,
            )
            await connection.execute(sessions.update().where(*named).values(title=""))
        return True

    async def _erase(self, connection: AsyncConnection, space: str, run: str) -> int:
        """Delete the rows that belong to a run, and empty those that stay; returns how many."""
        from storage.ownership import going, ownership
        from storage.tables import metadata

        n = 0
        for table in metadata.sorted_tables:
            if (declared := ownership(table)).goes_with == "run":
                rows_of_run = (table.c.space == space, table.c[declared.run] == run)
                n += (await connection.execute(table.delete().where(*rows_of_run, *going(table)))).rowcount
            elif declared.blanked:  # the other columns are words of other people and of models
                rows_of_run = (table.c.space == space, table.c[declared.run] == run)
                has_person = table.c[declared.people[0].column] != ""
                emptied = dict.fromkeys(declared.blanked, "")
                changed = table.update().where(*rows_of_run, has_person).values(emptied)
                n += (await connection.execute(changed)).rowcount
        return n

    async def unfinished(self, space: str = "", *, abandoned: str | None = None) -> list[InboxRow]:
        """The unfinished requests of the space, or of all spaces, in order: those that a start continues.

        `abandoned`: only those that this process, or one that has ended, received.
        """
        from storage.processes import is_ownerless
        from storage.tables import inbox

        conditions: list[ColumnElement[bool]] = [inbox.c.state.in_(UNFINISHED)]
        if space:
            conditions.append(inbox.c.space == space)
        if abandoned is not None:
            conditions.append(is_ownerless(inbox.c.process, abandoned))
        return await self._rows(*conditions)

    async def waiting_at(self, space: str, platform: str, channel: str, thread: str) -> bool:
        """Whether an ordered request of this place is unfinished."""
        from storage.tables import inbox

        query = (
            inbox.select()
            .with_only_columns(inbox.c.seq)
            .where(
                inbox.c.state.in_(("received", "running")),
                inbox.c.space == space,
                inbox.c.platform == platform,
                inbox.c.channel == channel,
                inbox.c.thread == thread,
                inbox.c.ordered,
                inbox.c.parent == "",
            )
            .limit(1)
        )
        return (await self._db.execute(query)).first() is not None

    async def ahead(self, line: str, seq: int) -> int:
        """How many requests wait or run in the line before the request of this number."""
        from sqlalchemy import func, select

        from storage.tables import inbox

        query = select(func.count()).where(
            inbox.c.state.in_(("received", "running")), inbox.c.line == line, inbox.c.seq < seq
        )
        return int((await self._db.execute(query)).scalar_one())

    async def received_before(self, line: str, seq: int) -> list[str]:
        """The ids of the requests in the line before this number that have not begun, in order."""
        from storage.tables import inbox

        before = (inbox.c.state == "received", inbox.c.line == line, inbox.c.seq < seq)
        query = inbox.select().with_only_columns(inbox.c.id).where(*before).order_by(inbox.c.seq)
        return await self._db.column(query)

    async def unseen(self, line: str, seq: int) -> bool:
        """Whether a request that waits or runs in the line before this number has no message yet."""
        from sqlalchemy import exists

        from storage.tables import inbox, outbox

        has_message = exists().where(
            outbox.c.space == inbox.c.space, outbox.c.run_id == inbox.c.id, outbox.c.message_id.is_not(None)
        )
        before = (inbox.c.state.in_(("received", "running")), inbox.c.line == line, inbox.c.seq < seq)
        query = inbox.select().with_only_columns(inbox.c.seq).where(*before, ~has_message).limit(1)
        return (await self._db.execute(query)).first() is not None

    async def children(self, space: str, run: str) -> list[InboxRow]:
        """The runs that the run has started, in order."""
        from storage.tables import inbox

        return await self._rows(inbox.c.space == space, inbox.c.parent == run)

    async def following(self, space: str, run: str) -> list[InboxRow]:
        """The requests from button presses on the run's messages, its repetitions, and those of its schedule,
        in order.
        """
        from storage.tables import inbox

        return await self._rows(inbox.c.space == space, inbox.c.follows == run)

    async def _rows(self, *where: ColumnElement[bool]) -> list[InboxRow]:
        from storage.tables import inbox

        query = inbox.select().where(*where).order_by(inbox.c.seq)
        return await self._db.rows(query, InboxRow)
