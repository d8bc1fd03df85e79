"""Turns for a platform's requests within a limit: the most urgent goes first, then the one that has waited longest."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from heapq import heappop, heappush
from typing import Final

from bot.adapters.writer import urgency

SOONEST_S: Final = 0.001
"""The least delay until the limit is checked again."""


class Turns(ABC):
    """The requests that wait for a limit. Callers set their urgency in `bot.adapters.writer.urgency`."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        self._alarm: asyncio.TimerHandle | None = None

    @abstractmethod
    def _free_in(self, urgent: int) -> float:
        """Seconds until a request of this urgency may be made; 0 or less if it may be made now."""

    @abstractmethod
    def _take(self) -> None:
        """Count a request that is made now."""

    @abstractmethod
    def _give_back(self) -> None:
        """Count one request less, because its turn had come but was not used."""

    async def turn(self) -> None:
        """Wait until a request may be made."""
        mine = urgency.get()
        if not self._waiting and self._free_in(mine) <= 0:
            self._take()
            return
        waiter = asyncio.get_running_loop().create_future()
        self._count += 1
        heappush(self._waiting, (mine, self._count, waiter))
        self._set_alarm()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._give_back()
                self._set_alarm()
            raise

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._waiting:
            wait_s = max(self._free_in(self._waiting[0][0]), SOONEST_S)
            self._alarm = asyncio.get_running_loop().call_later(wait_s, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        while self._waiting and (self._waiting[0][2].done() or self._free_in(self._waiting[0][0]) <= 0):
            *_, waiter = heappop(self._waiting)
            if not waiter.done():
                self._take()
                waiter.set_result(None)
        self._set_alarm()
