"""Waiting for somebody else's code, but neither for ever nor for it to be well.

Knows no platform: what is waited for is a view, an acknowledgement, a file system.
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


async def wait_a_while(waited: Awaitable[object], seconds: float, what: str) -> bool:
    """Whether it came to a good end in time; else the log says `what` did not."""
    task = asyncio.ensure_future(waited)
    try:
        # Not a timeout around it: what does not let itself be cancelled must not hold anybody up either.
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


def aside(call: Callable[[], T]) -> asyncio.Future[T]:
    """The call in a thread that leaving does not wait for."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def hand(value: T | None, error: BaseException | None) -> None:
        if found.done():
            return
        if error is not None:
            found.set_exception(error)
        else:
            found.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        value, error = None, None
        try:
            value = call()
        except BaseException as fault:
            error = fault
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(hand, value, error)

    threading.Thread(target=work, name="aside", daemon=True).start()
    return found
