"""Requests as they came in, in order, so that none is lost and none is done twice.

Knows nothing of what a request asks: `payload` is the caller's JSON.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from storage.db import Database

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

InboxState = Literal["received", "running", "done", "failed", "stopped"]


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


@dataclass(frozen=True, slots=True)
class InboxRow:
    """`seq` grows with each request of the whole database."""

    seq: int
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
    state: InboxState
    snapshot: str | None
    created_at: datetime


class Inbox:
    """A request's id is a hash over its space, so the engine may look one up by id alone."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def receive(self, row: NewRequest) -> bool:
        """Keep a request. False if its id is there already: the platform delivered it twice."""
        from storage.tables import inbox

        new = self._db.insert(inbox).values(**asdict(row), state="received", created_at=datetime.now(UTC))
        async with self._db.write() as connection:
            result = await connection.execute(new.on_conflict_do_nothing(index_elements=["id"]))
            return result.rowcount == 1

    async def get(self, id: str) -> InboxRow | None:
        from storage.tables import inbox

        rows = await self._rows(inbox.c.id == id)
        return rows[0] if rows else None

    async def set_state(self, id: str, state: InboxState) -> None:
        from storage.tables import inbox

        async with self._db.write() as connection:
            await connection.execute(inbox.update().where(inbox.c.id == id).values(state=state))

    async def unfinished(self) -> list[InboxRow]:
        """Requests received or running, of all spaces: what a start has to go on with, in order."""
        from storage.tables import inbox

        return await self._rows(inbox.c.state.in_(("received", "running")))

    async def _rows(self, *where: ColumnElement[bool]) -> list[InboxRow]:
        from storage.tables import inbox

        query = inbox.select().where(*where).order_by(inbox.c.seq)
        async with self._db.read() as connection:
            return [InboxRow(**row._mapping) for row in await connection.execute(query)]
