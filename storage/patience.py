"""How long what is asked of a database's server waits while that is away: while it starts again, or the network is cut.

Knows no database. What is done again must be such that doing it twice does no harm.
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
"""For all that an event of a platform asks: half of what it waits for an acknowledgement. Afterwards the person is told
to try again.
"""
RUN_S = 120.0
"""For each thing that a run asks: people wait for its answer anyway."""
RETRY_S = 0.25

_until: ContextVar[Callable[[], float] | None] = ContextVar("until", default=None)
"""The moment until which what is asked now may wait, by the monotonic clock; None where nothing waits."""


def patient_in_a_run() -> None:
    """What this task asks from now on waits RUN_S, each time."""
    _until.set(lambda: time.monotonic() + RUN_S)


def patient_with_an_event() -> None:
    """What this task asks from now on waits EVENT_S in all, unless it is patient already."""
    if _until.get() is None:
        ends = time.monotonic() + EVENT_S
        _until.set(lambda: ends)


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """The call's result; it is made again while the database's server is away. Raises StorageFault in the end."""
    until = _until.get()
    ends = until() if until is not None else 0.0
    while True:
        try:
            return await call()
        except StorageFault as fault:
            if not fault.away or time.monotonic() > ends:
                raise
        await asyncio.sleep(RETRY_S)
