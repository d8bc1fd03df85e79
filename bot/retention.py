"""Forgets what is older than `[storage] keep_days`, at a start and once a day. Knows no table."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

from storage.db import Database
from storage.faults import StorageFault
from storage.retention import Retention

FIRST_S = 30.0
"""Delay after a start, so that what waits is answered first."""

DAY_S = 86_400.0

PAUSE_S = 0.05
"""Between two batches, for others who write."""

_log = logging.getLogger(__name__)

Forget = Callable[[Sequence[str]], Awaitable[None]]
"""Deletes what the engine has kept of runs."""


class KeptDays:
    """One per process. Does nothing where everything is kept for ever."""

    def __init__(self, db: Database, days: int, forget: Forget) -> None:
        self._db = db
        self._days = days
        self._forget = forget
        self._retention = Retention(db)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._days:
            self._task = asyncio.create_task(self._loop())

    async def close(self) -> None:
        """Stop; the next start goes on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _loop(self) -> None:
        await asyncio.sleep(FIRST_S)
        while True:
            try:
                await self.round(datetime.now(UTC))
            except StorageFault as fault:  # tried again tomorrow
                _log.warning("what is older than keep_days could not be deleted: %s", fault)
            await asyncio.sleep(DAY_S)

    async def round(self, now: datetime) -> int:
        """Forget all that is due; how many runs and conversations. Raises StorageFault."""
        before = now - timedelta(days=self._days)
        forgotten, after = 0, 0
        while True:
            after, runs = await self._retention.forget_runs(before, after)
            if not runs:
                break
            await self._forget(runs)
            forgotten += len(runs)
            await asyncio.sleep(PAUSE_S)
        while conversations := await self._retention.forget_conversations(before):
            forgotten += conversations
            await asyncio.sleep(PAUSE_S)
        if forgotten:
            await self._db.scrub()
            _log.info("deleted %d runs and conversations older than %d days", forgotten, self._days)
        return forgotten
