"""The order of runs: ordered runs of one place go strictly one after another.

Knows only keys and sequence numbers; the numbers are the inbox's, so the order outlives a restart.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections.abc import Hashable


class Order:
    """First in, first out per key, by the sequence number each run got when it was received."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, list[int]] = {}
        self._called: dict[Hashable, int] = {}
        """Whose turn it is in each line; lower numbers may come behind it, after a restart."""
        self._moved: dict[Hashable, asyncio.Event] = {}

    def enter(self, key: Hashable, seq: int) -> None:
        """Join the line of this key; again does nothing."""
        line = self._lines.setdefault(key, [])
        if seq not in line:
            insort(line, seq)
            self._called.setdefault(key, seq)

    def ahead(self, key: Hashable, seq: int) -> int:
        """How many go before this number, the one whose turn it is included; 0 when it is its turn."""
        if (called := self._called.get(key)) in (None, seq):
            return 0
        return sum(number < seq or number == called for number in self._lines[key] if number != seq)

    def called(self, key: Hashable) -> int | None:
        """The number whose turn it is."""
        return self._called.get(key)

    def before(self, key: Hashable, seq: int) -> int | None:
        """The number right before this one in the line."""
        line = self._lines.get(key, [])
        at = bisect_left(line, seq)
        return line[at - 1] if at else None

    async def moved(self, key: Hashable, seq: int) -> None:
        """Wait until a number has left the line; return at once where it is the turn of `seq`."""
        if self.ahead(key, seq):
            await self._moved.setdefault(key, asyncio.Event()).wait()

    def leave(self, key: Hashable, seq: int) -> None:
        """Leave the line; does nothing where `seq` is not in it."""
        line = self._lines.get(key, [])
        if seq not in line:
            return
        line.remove(seq)
        if not line:
            del self._lines[key], self._called[key]
        elif self._called[key] == seq:
            self._called[key] = line[0]
        if (moved := self._moved.pop(key, None)) is not None:
            moved.set()
