"""Which work holds a thread, and what was asked and answered there.

Knows nothing of works: `citations` is the caller's JSON. Who owns which session is asked in `storage.owned`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from storage.db import Database, new_id

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


@dataclass(frozen=True, slots=True)
class SessionRow:
    """`author_id` is who began it, `title` what people call it ("" until they do), `updated_at` when it grew."""

    id: str
    space: str
    platform: str
    channel: str
    thread: str
    work: str
    state: Literal["active", "closed", "archived"]
    created_at: datetime
    closed_at: datetime | None
    title: str
    author_id: str
    updated_at: datetime

    @property
    def alias(self) -> str:
        """A short name for people: the id's end, because the ids of one day begin alike."""
        return self.id[-6:]


@dataclass(frozen=True, slots=True)
class ExchangeRow:
    seq: int
    space: str
    session_id: str
    run_id: str
    question: str
    answer: str
    citations: str
    created_at: datetime


class Sessions:
    """At most one session of a place is active; an index sees to it."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def active(self, space: str, platform: str, channel: str, thread: str) -> SessionRow | None:
        from storage.tables import sessions

        query = sessions.select().where(*active_at(space, platform, channel, thread))
        return await self._db.row(query, SessionRow)

    async def open(
        self,
        space: str,
        platform: str,
        channel: str,
        thread: str,
        work: str,
        *,
        author_id: str = "",
        title: str = "",
    ) -> SessionRow:
        """The place's active session of `work`: the one there, or a new one after closing another work's.

        A new one belongs to `author_id` and is called `title`.
        """
        from storage.tables import sessions

        active = active_at(space, platform, channel, thread)
        now = datetime.now(UTC)
        new = self._db.insert(sessions).values(
            id=new_id(),
            space=space,
            platform=platform,
            channel=channel,
            thread=thread,
            work=work,
            state="active",
            created_at=now,
            title=title,
            author_id=author_id,
            updated_at=now,
        )
        async with self._db.write() as connection:
            await connection.execute(
                sessions.update()
                .where(*active, sessions.c.work != work)
                .values(state="closed", closed_at=now)
            )
            await connection.execute(new.on_conflict_do_nothing())
            row = (await connection.execute(sessions.select().where(*active))).one()
            return SessionRow(**row._mapping)

    async def close(self, space: str, platform: str, channel: str, thread: str) -> bool:
        """Close the place's active session; whether there was one."""
        from storage.tables import sessions

        changed = await self._db.run(
            sessions.update()
            .where(*active_at(space, platform, channel, thread))
            .values(state="closed", closed_at=datetime.now(UTC))
        )
        return changed == 1

    async def first_here(self, session: SessionRow) -> bool:
        """Whether its place has had no other session: none that was left behind there, or put away."""
        from sqlalchemy import exists, select

        from storage.tables import sessions

        active = active_at(session.space, session.platform, session.channel, session.thread)[:-1]
        async with self._db.read() as connection:
            other_session = exists().where(*active, sessions.c.id != session.id)
            return not (await connection.execute(select(other_session))).scalar_one()

    async def starter(self, space: str, platform: str, channel: str, thread: str) -> str:
        """Who began the first session of the place, "" for somebody who was forgotten, or where there was none."""
        from sqlalchemy import select

        from storage.tables import sessions as table

        in_place = active_at(space, platform, channel, thread)[:-1]
        first = select(table.c.author_id).where(*in_place).order_by(table.c.created_at, table.c.id).limit(1)
        async with self._db.read() as connection:
            return str(await connection.scalar(first) or "")

    async def add_exchange(
        self, space: str, session_id: str, run_id: str, question: str, answer: str, citations: str = "[]"
    ) -> bool:
        """Keep a question and its answer, instead of what was kept of this run's before a restart cut it off.

        False if the session is not one of this space's, or was deleted while the run went on: then the run's
        council is not kept either.
        """
        from storage.tables import councils, exchanges, sessions

        now = datetime.now(UTC)
        new = self._db.insert(exchanges).values(
            space=space,
            session_id=session_id,
            run_id=run_id,
            question=question,
            answer=answer,
            citations=citations,
            created_at=now,
        )
        grown = sessions.update().where(sessions.c.space == space, sessions.c.id == session_id)
        async with self._db.write() as connection:
            if (await connection.execute(grown.values(updated_at=now))).rowcount != 1:
                council_of_run = councils.delete().where(
                    councils.c.space == space, councils.c.run_id == run_id
                )
                await connection.execute(council_of_run)
                return False
            values = {"question": question, "answer": answer, "citations": citations}
            await connection.execute(
                new.on_conflict_do_update(index_elements=["session_id", "run_id"], set_=values)
            )
            return True

    async def last_exchanges(self, space: str, session_id: str, n: int) -> list[ExchangeRow]:
        """The last `n` of a session, oldest first."""
        from storage.tables import exchanges

        query = (
            exchanges.select()
            .where(exchanges.c.space == space, exchanges.c.session_id == session_id)
            .order_by(exchanges.c.seq.desc())
            .limit(n)
        )
        return (await self._db.rows(query, ExchangeRow))[::-1]

    async def reword_exchange(self, space: str, run_id: str, question: str) -> bool:
        """What a run was asked, as it reads now, of a council too; whether there was anything."""
        from storage.tables import councils, exchanges

        changed = 0
        async with self._db.write() as connection:
            for table in (exchanges, councils):
                of_run = (table.c.space == space, table.c.run_id == run_id)
                changed += (
                    await connection.execute(table.update().where(*of_run).values(question=question))
                ).rowcount
        return changed > 0


def active_at(space: str, platform: str, channel: str, thread: str) -> tuple[ColumnElement[bool], ...]:
    """What makes a session the active one of a place."""
    from storage.tables import sessions

    return (
        sessions.c.space == space,
        sessions.c.platform == platform,
        sessions.c.channel == channel,
        sessions.c.thread == thread,
        sessions.c.state == "active",
    )
