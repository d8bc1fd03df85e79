"""The runs of this process: which are going or waiting, how they are stopped, how they end.

Knows neither works nor views. An end is kept in the inbox, or owed to it while it cannot be written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from bot import commands
from bot.events import Ended, Place, Request
from bot.runs.requests import ended_as
from storage.faults import StorageFault
from storage.inbox import UNFINISHED

if TYPE_CHECKING:
    from storage.inbox import Inbox

State = Literal["running", "answered", "done", "failed", "stopped"]


@dataclass(slots=True)
class Live:
    """A run being worked on in this process. `ending`: the work is done, its view is being finished.

    `answered` has how it ended for whoever waits for its answer, `end` once nothing of it goes on any more: between
    these a run is `quiet`. `shown`: it has put something on the screen. `reworded` is what it reads like by now, if
    its writer has changed that since it came.
    """

    request: Request
    seq: int
    answered: asyncio.Future[Ended]
    end: asyncio.Future[Ended]
    task: asyncio.Task[Ended] | None = None
    stopping: bool = False
    ending: bool = False
    shown: bool = False
    reworded: str | None = None
    noticed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once something of it can be seen, or it is over."""

    @property
    def quiet(self) -> bool:
        """Whether nobody waits for it: its answer is whole."""
        return self.answered.done()


class LiveRuns:
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._runs: dict[str, Live] = {}
        self._unwritten: dict[str, State] = {}
        self._writing = asyncio.Lock()
        self._refused = False

    def expect(self, request: Request, seq: int) -> Live:
        """Note the run before it begins, so that it can be waited for and stopped."""
        if request.id not in self._runs:
            loop = asyncio.get_running_loop()
            self._runs[request.id] = Live(request, seq, loop.create_future(), loop.create_future())
        return self._runs[request.id]

    def all(self) -> Iterable[Live]:
        return list(self._runs.values())

    def get(self, run: str) -> Live | None:
        return self._runs.get(run)

    def numbered(self, seq: int | None) -> Live | None:
        """The run that was received as number `seq`."""
        for one in self._runs.values():
            if one.seq == seq:
                return one
        return None

    def of(self, space: str, run: str) -> Live | None:
        """The run, if it is of this space."""
        one = self._runs.get(run)
        return one if one is not None and one.request.place.space == space else None

    async def stop(self, place: Place, author: str = "") -> int:
        """Stop what runs or waits in this place, library jobs only where nothing else does; how many.

        At a channel's root also what `author` has begun elsewhere in the channel: in threads, in private.
        """

        # Where a platform has its private answers in no channel of their own, a person's are at "@" and their id.
        alone = replace(place, channel=f"@{author}")

        def meant(request: Request) -> bool:
            channel = replace(request.place, thread="")
            theirs = author != "" and request.author.id == author and channel in (place, alone)
            return (request.place == place or theirs) and request.verb != "stop"

        here = [one for one in self.all() if meant(one.request) and not (one.quiet or one.request.parent)]
        answers = [one for one in here if not commands.verb(one.request.work, one.request.verb).background]
        return sum([await self.stop_one(one) for one in answers or here])

    async def stop_where(self, meant: Callable[[Request], bool]) -> int:
        """Stop every run whose request is meant; how many."""
        return sum([await self.stop_one(one) for one in self.all() if meant(one.request)])

    async def stop_one(self, one: Live) -> bool:
        """Whether it was going and is not being stopped already."""
        if one.stopping or one.ending:
            return False
        one.stopping = True
        with suppress(StorageFault):  # then it is written once it has ended
            # Before the task dies, so that a crash in between does not bring the run back.
            await self.keep(one.request.id, "stopped")
        if one.task is not None:
            one.task.cancel()
        return True

    async def give_up(self, space: str, run: str) -> bool:
        """Stop a run of an earlier process that none has taken up; whether there was one. Raises StorageFault."""
        row = await self._inbox.get(run)
        if row is None or row.space != space or row.state not in UNFINISHED:
            return False
        await self.keep(run, "stopped")
        return True

    async def keep(self, run: str, state: State) -> None:
        """Write down how the run is; what comes while one commit is made shares the next.

        Raises StorageFault. An end is then owed, and written with the next state that can be.
        """
        self._unwritten[run] = state
        async with self._writing:
            try:
                if run in self._unwritten:  # nobody who went before took it along
                    await self._write()
            finally:
                if self._unwritten.get(run) in ("running", "answered"):
                    del self._unwritten[run]

    async def keep_owed(self) -> None:
        """Write down ends that a full or locked database refused earlier."""
        if self._refused:
            async with self._writing:
                await self._write()

    async def _write(self) -> None:
        states, self._unwritten = self._unwritten, {}
        try:
            if states:
                await self._inbox.set_states(states)
            self._refused = False
        except BaseException:
            self._unwritten = {**states, **self._unwritten}
            self._refused = True
            raise

    def over(self, run: str, status: Ended) -> None:
        """The run is no longer of this process: whoever waits for its end is told."""
        if (one := self._runs.pop(run, None)) is not None:
            one.noticed.set()
            for waiting in (one.answered, one.end):
                if not waiting.done():
                    waiting.set_result(status)

    async def ended(self, run: str) -> Ended:
        """Wait for the answer of a run to be whole, also one of an earlier process: its status."""
        if (one := self._runs.get(run)) is not None:
            return await asyncio.shield(one.answered)
        row = await self._inbox.get(run)
        return ended_as(row.state) if row is not None else "failed"
