"""Work that goes on beside a run's answer, which does not need it: what goes wrong with it goes to the log alone.

And calls that no message's turn tries again: `patiently` does, ever more slowly.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from bot.adapters.surface import Later, SurfaceFault
from bot.adapters.writer import BACKOFF_S, Rank, urgency
from storage.faults import StorageFault

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Beside:
    """One run's. What is begun first is done first. `rank`: how much somebody waits for it, where that counts."""

    def __init__(self, run: str, rank: Rank | None = None) -> None:
        self._run = run
        self._rank = rank
        self._tasks: set[asyncio.Task[None]] = set()

    def do(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _quietly(self, work: Coroutine[Any, Any, object]) -> None:
        if self._rank is not None:
            urgency.set(self._rank)
        try:
            await work
        except (SurfaceFault, StorageFault) as fault:
            _log.info("run %s: something beside the answer was left out: %s", self._run, fault)


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Make the call again while the network or the platform is not up to it. Raises Later in the end."""
    for wait in BACKOFF_S:
        try:
            return await call()
        except Later:
            await asyncio.sleep(wait)
    return await call()
