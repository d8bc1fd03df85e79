"""Runs calls that may hang, such as those of a file system, each in a separate thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


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
