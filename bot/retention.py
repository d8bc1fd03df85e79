"""Deletes data older than `[storage] keep_days`, and data of spaces that the bot left more than `grace_days` ago.

This happens at the start and once a day. Knows no table.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Protocol

from bot.waiting import cancelled
from storage.db import Database
from storage.departures import Departures
from storage.faults import StorageFault
from storage.retention import BATCH, Retention

FIRST_S = 30.0
"""How many seconds after a start the first deletion waits, so that waiting requests are answered first."""

DAY_S = 86_400.0

PAUSE_S = 0.05
"""The pause in seconds between two batches, for other writers."""

_log = logging.getLogger(__name__)


class Forget(Protocol):
    """Deletes what the engine has stored of runs, by their ids."""

    async def __call__(self, *run_ids: str) -> None: ...


class DeleteDocuments(Protocol):
    """Deletes documents of a space, by their ids, with their vectors and their files."""

    async def __call__(self, space: str, *document_ids: str) -> None: ...


class KeptDays:
    """Deletes old data daily; one per process. Does nothing if everything is kept forever."""

    def __init__(
        self,
        db: Database,
        days: int,
        forget: Forget,
        *,
        grace_days: int = 0,
        delete_documents: DeleteDocuments,
    ) -> None:
        self._db = db
        self._days = days
        self._forget = forget
        self._grace_days = grace_days
        self._delete_documents = delete_documents
        self._departures = Departures(db)
        self._retention = Retention(db)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._days or self._grace_days:
            self._task = asyncio.create_task(self._loop())

    async def close(self) -> None:
        """Stop; the next start continues."""
        await cancelled(self._task)

    async def _loop(self) -> None:
        await asyncio.sleep(FIRST_S)
        while True:
            try:
                now = datetime.now(UTC)
                if self._days:
                    await self.round(now)
                if self._grace_days:
                    await self.delete_left(now)
            except StorageFault as fault:  # tried again the next day
                _log.warning("what is due could not be deleted: %s", fault)
            await asyncio.sleep(DAY_S)

    async def round(self, now: datetime) -> int:
        """Delete everything that is due; returns the number of deleted runs, conversations and changes of settings.

        Raises StorageFault.
        """
        before = now - timedelta(days=self._days)
        forgotten, after = 0, 0
        while True:
            after, runs = await self._retention.forget_runs(before, after)
            if not runs:
                break
            await self._forget(*runs)
            forgotten += len(runs)
            await asyncio.sleep(PAUSE_S)
        while conversations := await self._retention.forget_conversations(before):
            forgotten += conversations
            await asyncio.sleep(PAUSE_S)
        while changes := await self._retention.forget_changes(before):
            forgotten += changes
            await asyncio.sleep(PAUSE_S)
        if forgotten:
            await self._db.scrub()
            _log.info("deleted %d runs, conversations and changes older than %d days", forgotten, self._days)
        return forgotten

    async def delete_left(self, now: datetime) -> list[str]:
        """Delete all data of the spaces that the bot left more than `grace_days` ago; returns their ids.

        Raises StorageFault; the rest is deleted next time.
        """
        due = await self._departures.departed_before(now - timedelta(days=self._grace_days))
        for space in due:
            if documents := await self._departures.documents(space):
                await self._delete_documents(space, *documents)
            runs = await self._departures.runs(space)
            for first in range(0, len(runs), BATCH):
                await self._forget(*runs[first : first + BATCH])
                await asyncio.sleep(PAUSE_S)
            rows = await self._departures.delete(space)
            _log.info("deleted %d rows of a space that the bot left %d days ago", rows, self._grace_days)
        if due:
            await self._db.scrub()
        return due
