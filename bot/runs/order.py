"""Who goes next: ordered runs of one place go strictly one after another.

Knows only keys and sequence numbers; the inbox gives the numbers, so the order outlives a restart.
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
        """Join the line; entering twice is once."""
        if (key, seq) in self._turns:
            return
        insort(self._lines[key], seq)
        self._turns[key, seq] = asyncio.Event()
        self._call_next(key)

    async def turn(self, key: Hashable, seq: int) -> None:
        """Wait until everybody who entered with a smaller number has left."""
        await self._turns[key, seq].wait()

    def ahead(self, key: Hashable, seq: int) -> int:
        """How many go before, the one whose turn it is included; 0 when it is this one's turn."""
        if (called := self._called.get(key)) in (None, seq):
            return 0
        return sum(one < seq or one == called for one in self._lines[key] if one != seq)

    def called(self, key: Hashable) -> int | None:
        """Whose turn it is."""
        return self._called.get(key)

    def before(self, key: Hashable, seq: int) -> int | None:
        """Who stands right before this one."""
        line = self._lines.get(key, [])
        at = bisect_left(line, seq)
        return line[at - 1] if at else None

    async def moved(self, key: Hashable, seq: int) -> None:
        """Wait until somebody has left the line; at once for one who is not in it."""
        if (key, seq) in self._turns:
            await self._moved.setdefault(key, asyncio.Event()).wait()

    def leave(self, key: Hashable, seq: int) -> None:
        """Go; leaving twice, or without having entered, is nothing."""
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
