"""A person's sessions: found by name, resumed, renamed, archived, deleted.

Knows nothing of works, and lets nobody reach another person's session or another space's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from storage.db import Database
from storage.sessions import SessionRow, active_at

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

MOST = 200
"""The most sessions of a person that are listed; older ones are not needed."""


class OwnSessions:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def all(self, space: str, author_id: str) -> Sequence[SessionRow]:
        """The person's sessions, those that grew last first."""
        from storage.tables import sessions

        query = (
            sessions.select()
            .where(*_own(space, author_id))
            .order_by(sessions.c.updated_at.desc())
            .limit(MOST)
        )
        return await self._db.rows(query, SessionRow)

    async def resume(
        self, space: str, author_id: str, session_id: str, channel: str, thread: str
    ) -> SessionRow | None:
        """Make the session the place's active one, replacing another.

        Returns its new row; None without a change if it is not this person's.
        """
        from storage.tables import sessions

        now = datetime.now(UTC)
        this_session = (*_own(space, author_id), sessions.c.id == session_id)
        async with self._db.write() as connection:
            row = (await connection.execute(sessions.select().where(*this_session))).one_or_none()
            if row is None:
                return None
            others_active = (*active_at(space, row.platform, channel, thread), sessions.c.id != session_id)
            await connection.execute(
                sessions.update().where(*others_active).values(state="closed", closed_at=now)
            )
            active_here = {"channel": channel, "thread": thread, "state": "active", "closed_at": None}
            await connection.execute(
                sessions.update().where(*this_session).values(**active_here, updated_at=now)
            )
            return SessionRow(
                **(await connection.execute(sessions.select().where(*this_session))).one()._mapping
            )

    async def rename(self, space: str, author_id: str, session_id: str, title: str) -> bool:
        """Rename the session; returns whether it is this person's."""
        return await self._change(space, author_id, session_id, title=title)

    async def archive(self, space: str, author_id: str, session_id: str) -> bool:
        """Archive the session; returns whether it is this person's."""
        return await self._change(space, author_id, session_id, state="archived", closed_at=datetime.now(UTC))

    async def runs(
        self, space: str, author_id: str, session_id: str, *, works: Collection[str], naming: str, before: str
    ) -> Sequence[str]:
        """The runs whose requests hold words of the session, if it is one of this person's: those that were
        answered in it; what else they asked of `works` where it was, in its time; and what they asked of the work
        `naming`, by its name perhaps. None that came later than the run `before`.
        """
        from sqlalchemy import and_, func, or_, select

        from storage.tables import exchanges, inbox, sessions

        i, s, e = inbox.c, sessions.c, exchanges.c
        this_session = (*_own(space, author_id), s.id == session_id)
        async with self._db.read() as connection:
            row = (await connection.execute(sessions.select().where(*this_session))).one_or_none()
            if row is None:
                return []
            place = ("space", "platform", "channel", "thread")
            same_place = [s[name] == getattr(row, name) for name in place]
            closed_before = select(func.max(s.closed_at)).where(*same_place, s.closed_at < row.created_at)
            since = await connection.scalar(closed_before)
            conditions = [i[name] == getattr(row, name) for name in place]
            conditions += [i.author_id == author_id, i.work.in_(works)]
            conditions += [i.created_at > since] if since is not None else []
            conditions += [i.created_at <= row.closed_at] if row.closed_at is not None else []
            answered = select(e.run_id).where(e.space == space)
            conditions.append(i.id.not_in(answered.where(e.session_id != session_id)))
            words = or_(
                i.id.in_(answered.where(e.session_id == session_id)),
                and_(*conditions),
                and_(i.author_id == author_id, i.work == naming),
            )
            earlier = select(i.seq).where(i.id == before).scalar_subquery()
            query = select(i.id).where(i.space == space, words, i.seq < earlier).order_by(i.seq)
            return list((await connection.execute(query)).scalars())

    async def delete(self, space: str, author_id: str, session_id: str) -> bool:
        """Delete the session with its questions and answers; returns whether it was this person's.

        Its requests and the engine's data of their runs stay: see `runs`.
        """
        from sqlalchemy import select

        from storage.tables import councils, exchanges, sessions

        this_session = (*_own(space, author_id), sessions.c.id == session_id)
        runs_of_session = select(exchanges.c.run_id).join(sessions).where(*this_session)
        councils_of_session = councils.delete().where(
            councils.c.space == space, councils.c.run_id.in_(runs_of_session)
        )
        async with self._db.write() as connection:
            await connection.execute(councils_of_session)
            return (await connection.execute(sessions.delete().where(*this_session))).rowcount == 1

    async def _change(self, space: str, author_id: str, session_id: str, **values: Any) -> bool:
        from storage.tables import sessions

        this_session = (*_own(space, author_id), sessions.c.id == session_id)
        return await self._db.run(sessions.update().where(*this_session).values(**values)) == 1


def _own(space: str, author_id: str) -> tuple[ColumnElement[bool], ...]:
    from storage.tables import sessions

    # A session from before sessions had owners is nobody's.
    return sessions.c.space == space, sessions.c.author_id == author_id, sessions.c.author_id != ""
