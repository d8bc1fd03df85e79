"""Who has come and has not been acknowledged yet: what takes longer begins once nobody waits at the door.

A platform waits three seconds for its acknowledgement, and starting a run takes as long as ten of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PATIENCE_S = 1.0
"""How long a run lets others go first."""


class Doorway:
    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._waiting = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Somebody stands at the door meanwhile."""
        self._waiting += 1
        self._empty.clear()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._empty.set()

    async def clear(self) -> None:
        """Wait until nobody does, but not for ever: people may keep coming."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience_s):
                await self._empty.wait()
