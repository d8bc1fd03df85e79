"""The runs of all processes that share a database, as one of them knows them: from the inbox and from messages of the
others.

The engine keeps the lines. The process that executes a run also stops it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from bot.events import Ended, Place, Request
from bot.runs.live import LiveRun, LiveRuns
from bot.runs.requests import ended_as, line_name, line_of, readable
from bot.view import ORDER_S
from bot.waiting import Background, wait_at_most
from storage.faults import StorageFault
from storage.inbox import UNFINISHED
from storage.processes import tell
from storage.unshown import Unshown

if TYPE_CHECKING:
    from storage.db import Database
    from storage.inbox import Inbox
    from storage.lease import Lease

LOOK_S = 0.5
"""Seconds between two looks at a run of another process, to learn of its end."""

ENDS_S = 60.0
"""How many seconds a run that another process has stopped may take to show its last words."""

STOP, REWORD = "stop", "reword"
"""The topics of the messages about runs between processes."""


class SharedRuns(LiveRuns):
    """The runs of this process, and those of the others as the inbox has them."""

    shared = True

    def __init__(
        self,
        inbox: Inbox,
        database: Database,
        lease: Lease,
        start: Callable[[Request], Awaitable[None]],
        executed: Callable[[str], Awaitable[bool]],
    ) -> None:
        """`start` starts a run that no process has begun; `executed` says whether a process executes a run or will do
        so.
        """
        super().__init__(inbox)
        self._database = database
        self._unshown = Unshown(database)
        self._start = start
        self._is_executed = executed
        self._begun: dict[str, asyncio.Event] = {}
        self._message_tasks = Background()
        lease.hear(STOP, self._on_stop, self._check_all)
        lease.hear(REWORD, self._on_reword)

    def expect(
        self, request: Request, seq: int, since: datetime, *, resumed: bool = False, answered: bool = False
    ) -> LiveRun:
        if (begun := self._begun.pop(request.id, None)) is not None:
            begun.set()
        return super().expect(request, seq, since, resumed=resumed, answered=answered)

    async def going(self, space: str = "") -> list[Request]:
        rows = await self._inbox.unfinished(space)
        return [
            request
            for row in rows
            if row.state != "answered" and (request := readable(row.payload)) is not None
        ]

    async def called(self, place: Place) -> Request | None:
        return next((going for going in await self.going(place.space) if line_of(going) == place), None)

    async def stop_where(self, matches: Callable[[Request], bool]) -> int:
        requests = [
            request
            for row in await self._inbox.unfinished()
            if (request := readable(row.payload)) is not None
        ]
        return sum([await self.stop_run(request) for request in requests if matches(request)])

    async def stop_run(self, request: Request) -> bool:
        if (live := self.by_id.get(request.id)) is not None:
            return await self.stop_one(live)
        row = await self._inbox.get(request.id)
        if row is None or row.state not in UNFINISHED:
            return False
        await self.keep(request.id, "stopped")
        await tell(self._database, STOP, request.id)
        await self._start(request)  # a run that has not begun only reports that it was stopped
        return True

    async def reworded(self, run: str) -> None:
        """Tell the process that executes the run that its request has new words."""
        await tell(self._database, REWORD, run)

    async def ended(self, run: str) -> Ended:
        while True:
            begun = self._begun.setdefault(run, asyncio.Event())
            if (live := self.by_id.get(run)) is not None:
                self._begun.pop(run, None)
                return await asyncio.shield(live.answered)
            row = await self._inbox.get(run)
            if row is None or row.state not in ("received", "running"):
                self._begun.pop(run, None)
                if row is not None and row.state == "stopped":  # which is stored first
                    await wait_at_most(self.over_everywhere(run), ENDS_S, f"run {run} has not ended")
                return ended_as(row.state) if row is not None else "failed"
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await begun.wait()

    async def earlier(self, run: str) -> list[str]:
        """The runs before this one in its line that no process has begun, in order."""
        row = await self._inbox.get(run)
        return await self._inbox.received_before(row.line, row.seq) if row is not None else []

    async def overtakes(self, request: Request) -> bool:
        if not (line := line_name(request)):
            return False
        try:
            return await self._unshown.owed_before(line, request.id)
        except StorageFault:  # better out of order than not at all
            return False

    async def overtakes_none(self, request: Request) -> None:
        ends = time.monotonic() + ORDER_S
        while await self.overtakes(request) and time.monotonic() < ends:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(LOOK_S)

    async def over_everywhere(self, run: str) -> None:
        """Wait until no process executes the run."""
        while await self._is_executed(run):  # noqa: ASYNC110 - no event tells of another process
            await asyncio.sleep(LOOK_S)

    def _on_stop(self, run: str) -> None:
        if (live := self.by_id.get(run)) is not None:
            self._message_tasks.start(self.stop_one(live))

    def _on_reword(self, run: str) -> None:
        if (live := self.by_id.get(run)) is not None:
            self._message_tasks.start(self._read_words(live))

    def _check_all(self) -> None:
        """Check the state of the runs, because messages may have been missed while the connection was broken."""
        for live in self.all():
            self._message_tasks.start(self._check(live))

    async def _check(self, live: LiveRun) -> None:
        row = await self._inbox.get(live.request.id)
        if row is not None and row.state == "stopped":
            await self.stop_one(live)
        elif (
            row is not None
            and (request := readable(row.payload)) is not None
            and request.text != live.request.text
        ):
            live.reworded = request.text

    async def _read_words(self, live: LiveRun) -> None:
        row = await self._inbox.get(live.request.id)
        if row is not None and (request := readable(row.payload)) is not None:
            live.reworded = request.text
