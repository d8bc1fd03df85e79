"""Which work holds a thread, and what was asked and answered there.

Knows nothing of works: `citations` is the caller's JSON. Who owns which session is asked in `storage.owned`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from storage.db import Database, new_id

if TYPE_CHECKING:
    from sqlalchemy import BindParameter, ColumnElement

    Text = str | BindParameter[str]


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
        from sqlalchemy import bindparam

        from storage.tables import exchanges as e
        from storage.tables import sessions as t

        self._db = db
        # Nearly every run asks these: to build a statement costs more than to execute it.
        active = active_at(*map(bindparam, ("in_space", "in_platform", "in_channel", "in_thread")))
        self._active = t.select().where(*active)
        of_others = t.update().where(*active, t.c.work != bindparam("of_work"))
        self._close_others = of_others.values(state="closed", closed_at=bindparam("now"))
        self._open = db.insert(t).on_conflict_do_nothing()
        of_session = (t.c.space == bindparam("in_space"), t.c.id == bindparam("of_session"))
        self._grow = t.update().where(*of_session).values(updated_at=bindparam("now"))
        new = db.insert(e)
        kept_anew = {name: new.excluded[name] for name in ("question", "answer", "citations")}
        self._keep = new.on_conflict_do_update(index_elements=["session_id", "run_id"], set_=kept_anew)
        of_session = (e.c.space == bindparam("in_space"), e.c.session_id == bindparam("of_session"))
        last = e.select().where(*of_session).order_by(e.c.seq.desc())
        self._last = last.limit(bindparam("most"))

    async def active(self, space: str, platform: str, channel: str, thread: str) -> SessionRow | None:
        place = {"in_space": space, "in_platform": platform, "in_channel": channel, "in_thread": thread}
        return await self._db.row(self._active, SessionRow, **place)

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
        now = datetime.now(UTC)
        place = {"in_space": space, "in_platform": platform, "in_channel": channel, "in_thread": thread}
        new = {
            "id": new_id(),
            "space": space,
            "platform": platform,
            "channel": channel,
            "thread": thread,
            "work": work,
            "state": "active",
            "created_at": now,
            "title": title,
            "author_id": author_id,
            "updated_at": now,
        }
        async with self._db.write() as connection:
            await connection.execute(self._close_others, {**place, "of_work": work, "now": now})
            await connection.execute(self._open, new)
            row = (await connection.execute(self._active, place)).one()
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
        now = datetime.now(UTC)
        async with self._db.write() as connection:
            of_session = {"in_space": space, "of_session": session_id, "now": now}
            if (await connection.execute(self._grow, of_session)).rowcount != 1:
                from storage.tables import councils

                council_of_run = councils.delete().where(
                    councils.c.space == space, councils.c.run_id == run_id
                )
                await connection.execute(council_of_run)
                return False
            exchange = {
                "space": space,
                "session_id": session_id,
                "run_id": run_id,
                "question": question,
                "answer": answer,
                "citations": citations,
                "created_at": now,
            }
            await connection.execute(self._keep, exchange)
            return True

    async def last_exchanges(self, space: str, session_id: str, n: int) -> list[ExchangeRow]:
        """The last `n` of a session, oldest first."""
        last = {"in_space": space, "of_session": session_id, "most": n}
        return (await self._db.rows(self._last, ExchangeRow, **last))[::-1]

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


def active_at(space: Text, platform: Text, channel: Text, thread: Text) -> tuple[ColumnElement[bool], ...]:
    """What makes a session the active one of a place."""
    from storage.tables import sessions

    return (
        sessions.c.space == space,
        sessions.c.platform == platform,
        sessions.c.channel == channel,
        sessions.c.thread == thread,
        sessions.c.state == "active",
    )
