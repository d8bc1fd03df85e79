"""What happens to a channel's messages happens in the order in which the platform tells of it.

The storage is asked about each before it is kept, and it answers those that come together, as after a lost
connection, in any order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class Turns:
    """One line per channel, for as long as somebody stands in it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def of(self, channel: Hashable) -> asyncio.Lock:
        """Whoever enters it first goes first."""
        return self._locks.setdefault(channel, asyncio.Lock())

    async def after(self, channel: Hashable) -> None:
        """Wait until those who have come by now are through."""
        async with self.of(channel):
            pass
