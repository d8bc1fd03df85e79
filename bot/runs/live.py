"""The runs of this process that are going or waiting: in which order, how they are stopped, and how they end.

Knows neither works nor views. The order goes by the inbox's numbers, so it outlives a restart. An end is stored in the
inbox, and written again while the database refuses it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable
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
class LiveRun:
    """A run of this process. `ending`: the work is done, its view is being finished.

    `answered` is set when its answer is whole, `end` when its background part is over, too: between these a run is
    `quiet`. `shown`: it has shown something. `reworded` is the request's present text, where a person has edited it.
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
    """Set once something of it is shown, or it is over."""

    @property
    def quiet(self) -> bool:
        """Whether its answer is whole."""
        return self.answered.done()


class LiveRuns:
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._runs: dict[str, LiveRun] = {}
        self._unwritten: dict[str, State] = {}
        self._writing = asyncio.Lock()
        self._refused = False

    def expect(self, request: Request, seq: int) -> LiveRun:
        """Register the run before it begins, so that it can be awaited and stopped."""
        if request.id not in self._runs:
            loop = asyncio.get_running_loop()
            self._runs[request.id] = LiveRun(request, seq, loop.create_future(), loop.create_future())
        return self._runs[request.id]

    def all(self) -> Iterable[LiveRun]:
        return list(self._runs.values())

    def get(self, run: str) -> LiveRun | None:
        return self._runs.get(run)

    def numbered(self, seq: int | None) -> LiveRun | None:
        """The run that was received as number `seq`."""
        for live in self._runs.values():
            if live.seq == seq:
                return live
        return None

    def of(self, space: str, run: str) -> LiveRun | None:
        """The run, if it is of this space."""
        live = self._runs.get(run)
        return live if live is not None and live.request.place.space == space else None

    async def stop(self, place: Place, author: str = "") -> int:
        """Stop the runs that go on or wait in this place, library jobs only where there is nothing else; how many.

        At a channel's root also what `author` has begun elsewhere in the channel: in threads, in private.
        """

        # On a platform whose private answers have no channel, a person's are in the channel "@" and their id.
        alone = replace(place, channel=f"@{author}")

        def meant(request: Request) -> bool:
            channel = replace(request.place, thread="")
            theirs = author != "" and request.author.id == author and channel in (place, alone)
            return (request.place == place or theirs) and request.verb != "stop"

        live_runs = [
            live for live in self.all() if meant(live.request) and not (live.quiet or live.request.parent)
        ]
        answers = [
            live for live in live_runs if not commands.verb(live.request.work, live.request.verb).background
        ]
        return sum([await self.stop_one(live) for live in answers or live_runs])

    async def stop_where(self, matches: Callable[[Request], bool]) -> int:
        """Stop every run whose request `matches` accepts; how many."""
        return sum([await self.stop_one(live) for live in self.all() if matches(live.request)])

    async def stop_one(self, live: LiveRun) -> bool:
        """Stop the run; False where it is ending or being stopped already."""
        if live.stopping or live.ending:
            return False
        live.stopping = True
        with suppress(StorageFault):  # then it is written at its end
            # Before the task is cancelled, so that a crash in between does not continue the run.
            await self.keep(live.request.id, "stopped")
        if live.task is not None:
            live.task.cancel()
        return True

    async def give_up(self, space: str, run: str) -> bool:
        """Stop an earlier process's run that no process continues; whether there was one. Raises StorageFault."""
        row = await self._inbox.get(run)
        if row is None or row.space != space or row.state not in UNFINISHED:
            return False
        await self.keep(run, "stopped")
        return True

    async def keep(self, run: str, state: State) -> None:
        """Store a run's state. States that come during one commit share the next.

        Raises StorageFault. An end is then written together with the next state that can be written.
        """
        self._unwritten[run] = state
        async with self._writing:
            try:
                if run in self._unwritten:  # no earlier batch has contained it
                    await self._write()
            finally:
                if self._unwritten.get(run) in ("running", "answered"):
                    del self._unwritten[run]

    async def keep_owed(self) -> None:
        """Write the ends that a full or locked database refused earlier."""
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
        """Remove a run that has ended, and resolve what awaits its end."""
        if (live := self._runs.pop(run, None)) is not None:
            live.noticed.set()
            for waiting in (live.answered, live.end):
                if not waiting.done():
                    waiting.set_result(status)

    async def ended(self, run: str) -> Ended:
        """Wait until a run's answer is whole and return how it ended, also one of an earlier process."""
        if (live := self._runs.get(run)) is not None:
            return await asyncio.shield(live.answered)
        row = await self._inbox.get(run)
        return ended_as(row.state) if row is not None else "failed"


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
