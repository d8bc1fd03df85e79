"""Requests on their way into the inbox: whoever comes while one commit is made shares the next.

A commit takes hardly longer for a hundred requests than for one, and a platform waits three seconds.
Who has not been acknowledged yet stands at the door: what takes longer begins once nobody waits there, for starting a
run takes as long as ten acknowledgements. Knows no platform.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bot.runs.requests import row_of
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.events import Request
    from storage.inbox import Inbox

MOST = 250
"""Requests of one commit, well below the number of values that any SQLite takes in one statement."""

PATIENCE_S = 1.0
"""How long a run lets others go first."""


class Arrivals:
    def __init__(self, inbox: Inbox, arrived: Callable[[Request, int], None]) -> None:
        """`arrived` is called for each fresh request with its number, in the order of the numbers."""
        self._inbox = inbox
        self._arrived = arrived
        self._turn = asyncio.Lock()
        self._waiting: list[tuple[Request, asyncio.Future[int | None]]] = []

    async def receive(self, request: Request) -> int | None:
        """Keep the request: its number, or None when it was kept before. Raises StorageFault."""
        kept: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, kept))
        async with self._turn:
            if not kept.done():  # nobody who went before took it along
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await self._keep(batch)
        return await kept

    async def _keep(self, batch: Sequence[tuple[Request, asyncio.Future[int | None]]]) -> None:
        try:
            numbers = await self._inbox.receive([row_of(request) for request, _ in batch])
        except StorageFault as fault:
            for _, kept in batch:
                kept.set_exception(fault)
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:  # one that cannot be written must not take the others along
                for one in batch:
                    await self._keep([one])
        else:
            for request, kept in batch:
                seq = numbers.pop(request.id, None)
                if seq is not None:
                    self._arrived(request, seq)
                kept.set_result(seq)


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
