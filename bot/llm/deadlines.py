"""Timeouts for a model service: to connect, to the first event, between events, and in total."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.llm.answer import Answer

AFTER_FINISH_S = 3.0
"""How long the usage may lag behind the finish reason before it is estimated."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect; until the first event (a local model reads its prompt); between events; in all."""

    connect: float = 10.0
    first: float = 120.0
    idle: float = 45.0
    total: float = 600.0

    def at_least(self, min_timeout: float | None) -> Timeouts:
        """The same, but each except `connect` at least `min_timeout` seconds: see Prompt."""
        if min_timeout is None:
            return self
        first, idle, total = (max(limit, min_timeout) for limit in (self.first, self.idle, self.total))
        return replace(self, first=first, idle=idle, total=total)


class Deadlines:
    """The deadlines of one question over all its attempts, counted from now."""

    def __init__(self, timeouts: Timeouts, min_timeout: float | None) -> None:
        self._limits = timeouts.at_least(min_timeout)
        now = asyncio.get_running_loop().time()
        self._end = now + self._limits.total
        # No new attempt after `min_timeout` has passed.
        self._last_attempt = self._end if min_timeout is None else now + min_timeout
        self._timer: asyncio.Timeout | None = None
        self._silence = 0.0

    def first_event(self, *, whole: bool) -> asyncio.Timeout:
        """The deadline for the first event; for the `whole` answer if it is not streamed."""
        return self._within(self._limits.total if whole else self._limits.first)

    @asynccontextmanager
    async def next_event(self, answer: Answer) -> AsyncIterator[asyncio.Timeout]:
        """The deadline for the next event of `answer`; restarted by any `activity`."""
        idle = self._limits.idle if answer.events else self._limits.first
        async with self._within(min(idle, AFTER_FINISH_S) if answer.finish else idle) as timer:
            # Once the answer is whole, only its usage is waited for.
            self._timer, self._silence = None if answer.finish else timer, idle
            try:
                yield timer
            finally:
                self._timer = None

    def activity(self) -> None:
        """Bytes came from the service: restart the idle timeout. The total deadline stays."""
        if self._timer is not None and not self._timer.expired():
            self._timer.reschedule(min(asyncio.get_running_loop().time() + self._silence, self._end))

    def allow(self, wait: float) -> bool:
        """Whether there may be another attempt in `wait` seconds."""
        return asyncio.get_running_loop().time() + wait < self._last_attempt

    def _within(self, seconds: float) -> asyncio.Timeout:
        return asyncio.timeout_at(min(asyncio.get_running_loop().time() + seconds, self._end))
