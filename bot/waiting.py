"""Waiting for code that may hang or fail: a view, an acknowledgement, a file system.

Knows no platform.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)


async def wait_at_most(waited: Awaitable[object], seconds: float, what: str) -> bool:
    """Whether it ended without a fault in time; else the log says that `what`."""
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


def in_own_thread(call: Callable[[], T]) -> asyncio.Future[T]:
    """Run the call in a thread that the end of the process does not wait for."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def hand(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        value, error = None, None
        try:
            value = call()
        except BaseException as fault:
            error = fault
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(hand, value, error)

    threading.Thread(target=work, name="aside", daemon=True).start()
    return result
