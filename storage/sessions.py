"""Stores conversations: the work of each, its questions and answers, and its thread on the platform.

A conversation that opens a thread has a name before the thread exists; `Threads` binds the two. Knows neither works nor
platforms: `citations` is the caller's JSON, every id the caller's text. `storage.own_sessions` knows who owns which
session.
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
    """A session. `author_id` began it, `title` is its name ("" for none yet), `updated_at` is when it last grew."""

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


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """`thread` is the conversation's name in its `channel`, `real` the platform's id of the thread it is in.

    `free_chat`: plain text there is for the bot; None if nobody has chosen. `explained`: the bot has explained once how
    to continue there.
    """

    space: str
    channel: str
    thread: str
    real: str
    free_chat: bool | None
    explained: bool


class Sessions:
    """The sessions. At most one per place is active, which an index enforces."""

    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam

        from storage.tables import exchanges as e
        from storage.tables import sessions as t

        self._db = db
        # Prepared once, because nearly every run uses them and building a statement costs more than executing it.
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
        """The place's active session of `work`: the existing one, or a new one after another work's is closed.

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

    async def title(self, space: str, run: str) -> str:
        """The title of the conversation with this run's answer; "" if there is none."""
        from sqlalchemy import select

        from storage.tables import exchanges, sessions

        query = select(sessions.c.title).join(exchanges, exchanges.c.session_id == sessions.c.id)
        result = await self._db.execute(
            query.where(exchanges.c.space == space, exchanges.c.run_id == run).limit(1)
        )
        return str(result.scalar() or "")

    async def close(self, space: str, platform: str, channel: str, thread: str) -> bool:
        """Close the place's active session; returns whether there was one."""
        from storage.tables import sessions

        changed = await self._db.run(
            sessions.update()
            .where(*active_at(space, platform, channel, thread))
            .values(state="closed", closed_at=datetime.now(UTC))
        )
        return changed == 1

    async def first_here(self, session: SessionRow) -> bool:
        """Whether its place has had no other session, closed or archived."""
        from sqlalchemy import exists, select

        from storage.tables import sessions

        active = active_at(session.space, session.platform, session.channel, session.thread)[:-1]
        other_session = exists().where(*active, sessions.c.id != session.id)
        return not (await self._db.execute(select(other_session))).scalar_one()

    async def starter(self, space: str, platform: str, channel: str, thread: str) -> str:
        """The person who began the first session of the place; "" if their data was deleted or there was no session."""
        from sqlalchemy import select

        from storage.tables import sessions as table

        in_place = active_at(space, platform, channel, thread)[:-1]
        first = select(table.c.author_id).where(*in_place).order_by(table.c.created_at, table.c.id).limit(1)
        return str((await self._db.execute(first)).scalar() or "")

    async def add_exchange(
        self, space: str, session_id: str, run_id: str, question: str, answer: str, citations: str = "[]"
    ) -> bool:
        """Store a question and its answer, replacing what this run stored before a restart interrupted it.

        Returns False if the session does not belong to this space or was deleted during the run; then the run's council
        is not stored either.
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
        """Store a run's question in its new words, also in a council; returns whether there was one."""
        from storage.tables import councils, exchanges

        changed = 0
        async with self._db.write() as connection:
            for table in (exchanges, councils):
                of_run = (table.c.space == space, table.c.run_id == run_id)
                changed += (
                    await connection.execute(table.update().where(*of_run).values(question=question))
                ).rowcount
        return changed > 0


class Threads:
    """One real thread holds one conversation, and a conversation is in one real thread at most."""

    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam

        from storage.tables import threads as t

        self._db = db
        # Prepared once, because every run uses them and building a statement costs more than executing it.
        names = {"space": t.c.space, "channel": t.c.channel, "thread": t.c.thread}
        self._in_place = t.select().where(*(column == bindparam(name) for name, column in names.items()))
        held = _held(bindparam("of_space"), bindparam("of_thread"))
        self._held, self._let_go = t.select().where(*held), t.delete().where(*held)
        new = db.insert(t)
        moved = {"real": new.excluded.real, "free_chat": None, "explained": False}
        self._bind = new.on_conflict_do_update(index_elements=list(names), set_=moved)

    async def bind(self, space: str, channel: str, thread: str, real: str) -> None:
        """Bind the conversation to this real thread. Binding it again has no effect."""
        held = {"of_space": space, "of_thread": real}
        new = {"space": space, "channel": channel, "thread": thread, "real": real, "explained": False}
        async with self._db.write() as connection:
            bound = (await connection.execute(self._held, held)).one_or_none()
            if bound is not None and (bound.channel, bound.thread) == (channel, thread):
                return
            await connection.execute(self._let_go, held)
            await connection.execute(self._bind, new)

    async def real_thread(self, space: str, channel: str, thread: str) -> str | None:
        """The real thread that the conversation is in."""
        place = {"space": space, "channel": channel, "thread": thread}
        row = await self._db.row(self._in_place, ThreadRow, **place)
        return row.real if row else None

    async def get(self, space: str, real: str) -> ThreadRow | None:
        """The conversation in a real thread ("" for no thread); None if the thread is not the bot's."""
        return await self._db.row(self._held, ThreadRow, of_space=space, of_thread=real) if real else None

    async def set_free_chat(self, space: str, real: str, on: bool) -> bool:
        """Set whether plain text there is for the bot; returns False without a change if the thread is not the
        bot's.
        """
        from storage.tables import threads as t

        return await self._db.run(t.update().where(*_held(space, real)).values(free_chat=on)) == 1

    async def mark_explained(self, space: str, real: str) -> bool:
        """True the first time it is called for one of the bot's threads, False afterwards."""
        from storage.tables import threads as t

        first = t.update().where(*_held(space, real), ~t.c.explained).values(explained=True)
        return await self._db.run(first) == 1

    async def forget(self, space: str, real: str) -> bool:
        """Forget a deleted thread; returns whether it was the bot's."""
        return await self._db.run(self._let_go, of_space=space, of_thread=real) == 1


def active_at(space: Text, platform: Text, channel: Text, thread: Text) -> tuple[ColumnElement[bool], ...]:
    """The condition for the active session of a place."""
    from storage.tables import sessions

    return (
        sessions.c.space == space,
        sessions.c.platform == platform,
        sessions.c.channel == channel,
        sessions.c.thread == thread,
        sessions.c.state == "active",
    )


def _held(space: Text, real: Text) -> tuple[ColumnElement[bool], ...]:
    from storage.tables import threads as t

    return t.c.space == space, t.c.real == real
