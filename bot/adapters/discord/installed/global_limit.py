"""Keeps a process below what Discord lets a bot ask in a second, all channels together; first words go first.

Knows no message: whoever writes one says in `urgency` how much somebody waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from typing import Any

from bot.adapters.pen import urgency

REQUESTS = 45
"""In any second; Discord allows 50 (its documentation, "Rate Limits", "Global Rate Limit").

Interactions do not count: their responses and follow-ups go through another client, and not through here.
"""
WINDOW_S = 1.0

Request = Callable[..., Coroutine[Any, Any, Any]]


class GlobalLimit:
    """So many requests in any second, the most urgent first, then the one that waits longest."""

    def __init__(self, requests: int = REQUESTS, window_s: float = WINDOW_S) -> None:
        self._requests = requests
        self._window_s = window_s
        self._begun: deque[float] = deque(maxlen=requests)
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        self._alarm: asyncio.TimerHandle | None = None

    async def turn(self) -> None:
        """Wait until a request may begin."""
        if not self._waiting and self._free_in() <= 0:
            self._begin()
            return
        waiter = asyncio.get_running_loop().create_future()
        self._count += 1
        heappush(self._waiting, (urgency.get(), self._count, waiter))
        self._set_alarm()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._begun.pop()  # its turn had come, and is not taken
            raise

    def limiting(self, request: Request) -> Request:
        """The same request, in its turn."""

        async def limited(*given: Any, **more: Any) -> Any:
            await self.turn()
            return await request(*given, **more)

        return limited

    def _free_in(self) -> float:
        """Seconds until another request may begin."""
        if len(self._begun) < self._requests:
            return 0.0
        return self._begun[0] + self._window_s - asyncio.get_running_loop().time()

    def _begin(self) -> None:
        self._begun.append(asyncio.get_running_loop().time())

    def _set_alarm(self) -> None:
        if self._alarm is None and self._waiting:
            self._alarm = asyncio.get_running_loop().call_later(max(self._free_in(), 0.0), self._ring)

    def _ring(self) -> None:
        self._alarm = None
        while self._waiting and self._free_in() <= 0:
            *_, waiter = heappop(self._waiting)
            if not waiter.done():
                self._begin()
                waiter.set_result(None)
        self._set_alarm()
