"""How long database calls wait while the server is down or the network is interrupted.

Knows no database. Repeated calls must be idempotent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from math import inf
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

_NETWORK = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
}
"""libpq's network limits in seconds, except for a count and the last one, which is in milliseconds. By default a dead
connection is noticed after two hours.
"""

_until: ContextVar[float] = ContextVar("until", default=0.0)
"""Until when the task's calls may wait, by the monotonic clock; each of them waits RUN_S at most. 0 if they may not."""


def patient_in_a_run() -> None:
    """Let each later call of this task wait RUN_S."""
    _until.set(inf)


def patient_with_an_event() -> None:
    """Let all later calls of this task wait EVENT_S in total, unless it is patient already."""
    if not _until.get():
        _until.set(time.monotonic() + EVENT_S)


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """The call's result; it is repeated while the database server is down. Raises StorageFault in the end."""
    ends = min(_until.get(), time.monotonic() + RUN_S)
    while True:
        try:
            return await call()
        except StorageFault as fault:
            if not fault.away or time.monotonic() > ends:
                raise
        await asyncio.sleep(RETRY_S)


def network_limits(url: str) -> dict[str, int]:
    """libpq's time limits for a server whose machine or network is gone, except those that the URL sets."""
    from sqlalchemy.engine import make_url

    query = make_url(url).query
    return {name: value for name, value in _NETWORK.items() if name not in query}
