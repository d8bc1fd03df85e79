"""Writes new requests to the inbox. Requests that arrive during one commit share the next commit.

A commit takes hardly longer for a hundred requests than for one, and a platform waits three seconds for an
acknowledgement. Starting a run takes as long as ten acknowledgements, so runs start while none is pending.
Knows no platform.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from bot.runs.requests import row_of
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.events import Request
    from storage.inbox import Inbox

MOST = 250
"""Requests of one commit, well below the number of values that any SQLite takes in one statement."""

GATE_S = 1.0
"""How long a run waits for pending acknowledgements."""


class Arrivals:
    def __init__(self, inbox: Inbox, arrived: Callable[[Request, int, datetime], object]) -> None:
        """`arrived` is called for each fresh request with its number and moment, in the order of the numbers."""
        self._inbox = inbox
        self._arrived = arrived
        self._turn = asyncio.Lock()
        self._waiting: list[tuple[Request, asyncio.Future[int | None]]] = []

    async def receive(self, request: Request) -> int | None:
        """Store the request. Returns its number, or None when it was stored before. Raises StorageFault."""
        number: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, number))
        async with self._turn:
            if not number.done():  # no earlier batch has contained it
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await self._keep(batch)
        return await number

    async def _keep(self, batch: Sequence[tuple[Request, asyncio.Future[int | None]]]) -> None:
        try:
            rows = [row_of(request) for request, _ in batch]
            numbers = await self._inbox.receive(rows)
        except StorageFault as fault:
            for _, number in batch:
                number.set_exception(fault)
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            else:  # one request that cannot be written must not fail the others
                for entry in batch:
                    await self._keep([entry])
        else:
            for (request, number), row in zip(batch, rows, strict=True):
                seq = numbers.pop(request.id, None)
                if seq is not None:
                    self._arrived(request, seq, row.created_at)
                number.set_result(seq)


class AcknowledgementGate:
    """Closed while a request waits for its acknowledgement."""

    def __init__(self, seconds: float = GATE_S) -> None:
        self._timeout_s = seconds
        self._waiting = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Keep the gate closed meanwhile."""
        self._waiting += 1
        self._empty.clear()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._empty.set()

    async def passed(self) -> None:
        """Wait until it is open, for a limited time: requests may keep arriving."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await self._empty.wait()
