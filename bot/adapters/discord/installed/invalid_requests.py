"""Counts the requests that Discord holds against us: 10,000 in ten minutes ban the address.

Its documentation, "Rate Limits", "Invalid Request Limit": answers 401, 403 and 429 count, but for a 429 of
the scope "shared". Knows no request's purpose; watches the session that discord.py sends all of them on.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Final

import aiohttp

LIMIT: Final = 10_000
WINDOW_S: Final = 600.0
SHARES: Final = (0.9, 0.5, 0.1)
"""At which parts of the limit the log says so, each once per window."""

_log = logging.getLogger(__name__)


class InvalidRequests:
    """A sliding window over the last ten minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque()
        self._said: dict[float, float] = {}

    def trace(self) -> aiohttp.TraceConfig:
        """For the session whose answers are to be counted."""
        config = aiohttp.TraceConfig()
        config.on_request_end.append(self._answered)
        return config

    @property
    def count(self) -> int:
        """How many there were in the last ten minutes."""
        now = self._clock()
        while self._times and self._times[0] <= now - WINDOW_S:
            self._times.popleft()
        return len(self._times)

    def note(self, status: int, scope: str = "") -> None:
        """An answer came with this status, and this `X-RateLimit-Scope`."""
        if status not in (401, 403, 429) or scope == "shared":
            return
        now = self._clock()
        self._times.append(now)
        count = self.count
        share = next((share for share in SHARES if count >= share * LIMIT), None)
        if share is None or now - self._said.get(share, -WINDOW_S) < WINDOW_S:
            return
        self._said[share] = now
        _log.warning(
            "Discord refused %d requests in the last ten minutes (the last one with %d); at %d it bans this"
            " machine's address for a while. `python -m bot doctor` looks at token and permissions.",
            count,
            status,
            LIMIT,
        )

    async def _answered(
        self, session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestEndParams
    ) -> None:
        self.note(params.response.status, params.response.headers.get("X-RateLimit-Scope", ""))
