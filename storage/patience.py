"""How long database calls wait while the server is down or the network is interrupted.

Knows no database. Repeated calls must be idempotent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeVar

from storage.faults import StorageFault

T = TypeVar("T")

EVENT_S = 1.5
"""The total wait in seconds for a platform's event: half the time it waits for an acknowledgement. After that the
person is asked to try again.
"""
RUN_S = 120.0
"""The wait in seconds for each call of a run, because people wait for its answer anyway."""
RETRY_S = 0.25

_until: ContextVar[Callable[[], float] | None] = ContextVar("until", default=None)
"""Until when calls may wait, by the monotonic clock; None if they may not."""


def patient_in_a_run() -> None:
    """Let each later call of this task wait RUN_S."""
    _until.set(lambda: time.monotonic() + RUN_S)


def patient_with_an_event() -> None:
    """Let all later calls of this task wait EVENT_S in total, unless it is patient already."""
    if _until.get() is None:
        ends = time.monotonic() + EVENT_S
        _until.set(lambda: ends)


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """The call's result; it is repeated while the database server is down. Raises StorageFault in the end."""
    until = _until.get()
    ends = until() if until is not None else 0.0
    while True:
        try:
            return await call()
        except StorageFault as fault:
            if not fault.away or time.monotonic() > ends:
                raise
        await asyncio.sleep(RETRY_S)
