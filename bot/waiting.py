"""Waits for code that may hang or fail: a view, an acknowledgement, a file system; and keeps tasks that nobody awaits.

Knows no platform.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from storage.faults import StorageFault

T = TypeVar("T")

_log = logging.getLogger(__name__)


async def wait_at_most(waited: Awaitable[object], seconds: float, what: str) -> bool:
    """Wait; returns whether it ended in time without an error. Otherwise `what` is logged."""
    task = asyncio.ensure_future(waited)
    try:
        # Not asyncio.timeout: that would wait for a task which ignores its cancellation.
        await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
    if not task.done() or task.cancelled():
        _log.warning("%s: not in time", what)
        return False
    if (fault := task.exception()) is not None:
        _log.warning("%s", what, exc_info=fault)
        return False
    return True


async def cancelled(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel the tasks and wait until they have ended."""
    if ending := [task for task in tasks if task is not None]:
        for task in ending:
            task.cancel()
        await asyncio.wait(ending)


class Background:
    """Tasks that nobody awaits. The loop alone would not keep them until they end. A fault is logged as `what`."""

    def __init__(self, what: str = "") -> None:
        self.tasks: set[asyncio.Task[Any]] = set()
        self._what = what

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if self._what and not task.cancelled() and (fault := task.exception()) is not None:
            level = logging.WARNING if isinstance(fault, StorageFault) else logging.ERROR
            _log.log(level, "%s", self._what, exc_info=fault)
