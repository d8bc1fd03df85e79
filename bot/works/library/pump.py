"""What a step has to tell while it runs, brought out of it: the newest, when there is time for it.

Knows neither runs nor events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from typing import Generic, TypeVar

News = TypeVar("News")
Value = TypeVar("Value")

PAUSE_S = 0.25
"""Between two pieces of news; what comes faster can't be read, and would be sent for nothing."""


class Pump(Generic[News, Value]):
    """One step. `put` from within it, in the loop's thread; once `news` has ended, `value` is what it returned."""

    value: Value

    def __init__(self, pause_s: float = PAUSE_S) -> None:
        self._pause_s = pause_s
        self._newest: list[News] = []
        self._stir = asyncio.Event()

    def put(self, news: News) -> None:
        """It takes the place of what nobody has heard yet."""
        self._newest[:] = [news]
        self._stir.set()

    async def news(self, step: Awaitable[Value]) -> AsyncGenerator[News, None]:
        """Run the step; raises what it raises. Left early, it is cancelled and waited for."""
        task = asyncio.ensure_future(step)
        task.add_done_callback(lambda _: self._stir.set())
        try:
            while True:
                await self._stir.wait()
                self._stir.clear()
                if task.done():
                    break
                yield self._newest.pop()
                await asyncio.wait({task}, timeout=self._pause_s)
            self.value = task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # looked at, also where nobody waits for it any more
