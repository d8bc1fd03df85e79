"""The order of runs: ordered runs of one place go strictly one after another.

Knows only keys and sequence numbers; the numbers are the inbox's, so the order outlives a restart.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Hashable


class Order:
    """First in, first out per key, by the sequence number each run got when it was received."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, list[int]] = defaultdict(list)
        self._turns: dict[tuple[Hashable, int], asyncio.Event] = {}
        self._called: dict[Hashable, int] = {}
        self._moved: dict[Hashable, asyncio.Event] = {}

    def enter(self, key: Hashable, seq: int) -> None:
        """Join the line of this key; again does nothing."""
        if (key, seq) in self._turns:
            return
        insort(self._lines[key], seq)
        self._turns[key, seq] = asyncio.Event()
        self._call_next(key)

    async def turn(self, key: Hashable, seq: int) -> None:
        """Wait until all smaller numbers have left."""
        await self._turns[key, seq].wait()

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
        """Wait until a number has left the line; return at once where `seq` is not in it."""
        if (key, seq) in self._turns:
            await self._moved.setdefault(key, asyncio.Event()).wait()

    def leave(self, key: Hashable, seq: int) -> None:
        """Leave the line; does nothing where `seq` is not in it."""
        if self._turns.pop((key, seq), None) is None:
            return
        self._lines[key].remove(seq)
        if (moved := self._moved.pop(key, None)) is not None:
            moved.set()
        if self._called.get(key) == seq:
            del self._called[key]
        if self._lines[key]:
            self._call_next(key)
        else:
            del self._lines[key]

    def _call_next(self, key: Hashable) -> None:
        if key not in self._called:
            first = self._lines[key][0]
            self._called[key] = first
            self._turns[key, first].set()
