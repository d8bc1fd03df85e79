"""Runs a durable step and passes on the progress that it reports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from typing import Generic, TypeVar

Report = TypeVar("Report")
Value = TypeVar("Value")
PAUSE_S = 0.25
"""Seconds between two reports of progress: more frequent ones cannot be read."""


class ReportingStep(Generic[Report, Value]):
    """Runs one step, which reports its progress.

    `put` is called within the step, in the loop's thread; once `reports` has ended, `value` is the step's result.
    """

    value: Value

    def __init__(self, pause_s: float = PAUSE_S) -> None:
        self._pause_s = pause_s
        self._unread: list[Report] = []
        self._changed = asyncio.Event()

    def put(self, report: Report) -> None:
        """Report, replacing a report that has not been read yet."""
        self._unread[:] = [report]
        self._changed.set()

    async def reports(self, step: Awaitable[Value]) -> AsyncGenerator[Report, None]:
        """Run the step; raises what it raises. If the caller leaves early, the step is cancelled and awaited."""
        task = asyncio.ensure_future(step)
        task.add_done_callback(lambda _: self._changed.set())
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                if task.done():
                    break
                yield self._unread.pop()
                await asyncio.wait({task}, timeout=self._pause_s)
            self.value = task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # retrieved even if nobody is waiting any more
