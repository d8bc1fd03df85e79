"""How long a request to a model service may take: until it answers, between its events, and in all.

Knows no service: `bot.llm.service` sends the request and reports activity.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.llm.answer import Answer

AFTER_FINISH_S = 3.0
"""How many seconds the usage may lag behind the finish reason before it is estimated."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds: to connect; until the first event (a local model reads its prompt first); between events; in
    all.
    """

    connect: float = 10.0
    first: float = 120.0
    idle: float = 45.0
    total: float = 600.0


class Deadlines:
    """The deadlines of one request over all its attempts, counted from now.

    `limits` are the timeouts; each except `connect` is at least `min_timeout` seconds: see Prompt.
    """

    def __init__(self, timeouts: Timeouts, min_timeout: float | None) -> None:
        minimum = min_timeout or 0.0
        self.limits = replace(
            timeouts,
            first=max(timeouts.first, minimum),
            idle=max(timeouts.idle, minimum),
            total=max(timeouts.total, minimum),
        )
        now = asyncio.get_running_loop().time()
        self._end = now + self.limits.total
        # No new attempt after `min_timeout` has passed.
        self._last_attempt = self._end if min_timeout is None else now + min_timeout
        self._timer: asyncio.Timeout | None = None
        self._silence = 0.0

    def within(self, seconds: float) -> asyncio.Timeout:
        """The deadline for an operation that may take `seconds`, but not longer than the total time left."""
        return asyncio.timeout_at(min(asyncio.get_running_loop().time() + seconds, self._end))

    @asynccontextmanager
    async def next_event(self, answer: Answer) -> AsyncIterator[asyncio.Timeout]:
        """The deadline for the next event of `answer`; any `activity` restarts it."""
        idle = self.limits.idle if answer.events else self.limits.first
        async with self.within(min(idle, AFTER_FINISH_S) if answer.finish else idle) as timer:
            # Once the answer is complete, only its usage is still expected.
            self._timer, self._silence = None if answer.finish else timer, idle
            try:
                yield timer
            finally:
                self._timer = None

    def activity(self) -> None:
        """Restart the idle timeout, but not the total one: the service has sent bytes."""
        if self._timer is not None and not self._timer.expired():
            self._timer.reschedule(min(asyncio.get_running_loop().time() + self._silence, self._end))

    def allow(self, wait: float) -> bool:
        """Whether another attempt may start in `wait` seconds."""
        return asyncio.get_running_loop().time() + wait < self._last_attempt
