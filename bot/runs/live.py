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
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from bot import commands, metrics
from bot.events import Ended, Event, Place, Request
from bot.runs.requests import ended_as, line_of
from storage.faults import StorageFault
from storage.inbox import UNFINISHED
from storage.patience import patiently

if TYPE_CHECKING:
    from storage.inbox import Inbox, InboxRow

State = Literal["running", "answered", "done", "failed", "stopped"]


@dataclass(slots=True, eq=False)
class LiveRun:
    """A run of this process. `ending`: the work is done, its view is being finished.

    `line` is the line that it waits in, None where it waits for nobody. `since` is when it was asked for, `resumed`
    whether an earlier process has begun it. `answered` is set when its answer is whole,
    `end` when its background part is over, too: between these a run is `quiet`. `shown`: it has shown something.
    `reworded` is the request's present text, where a person has edited it.
    """

    request: Request
    seq: int
    line: Hashable
    since: datetime
    resumed: bool
    answered: asyncio.Future[Ended]
    end: asyncio.Future[Ended]
    task: asyncio.Task[Ended] | None = None
    stopping: bool = False
    ending: bool = False
    shown: bool = False
    reworded: str | None = None
    events: list[Event] = field(default_factory=list)
    """What its view was shown."""
    noticed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once something of it is shown, or it is over."""

    @property
    def quiet(self) -> bool:
        """Whether its answer is whole."""
        return self.answered.done()


class LiveRuns:
    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self.order = Order()
        self._runs: dict[str, LiveRun] = {}
        self._unwritten: dict[str, State] = {}
        self._writing = asyncio.Lock()
        self._refused = False

    def expect(self, request: Request, seq: int, since: datetime, *, resumed: bool = False) -> LiveRun:
        """Register the run before it begins, so that it can be awaited and stopped."""
        if request.id not in self._runs:
            answered, end = asyncio.Future[Ended](), asyncio.Future[Ended]()
            self._runs[request.id] = LiveRun(request, seq, line_of(request), since, resumed, answered, end)
        return self._runs[request.id]

    def take_up(self, request: Request, row: InboxRow) -> LiveRun:
        """Register an unfinished run of an earlier process: in its line, or past it where it has answered."""
        live = self.expect(request, row.seq, row.created_at, resumed=row.state != "received")
        if row.state == "answered":
            live.answered.set_result("done")
        else:
            self.order.enter(live)
        return live

    def arrived(self, request: Request, seq: int, since: datetime) -> None:
        """Register the run and let it join its line."""
        self.order.enter(self.expect(request, seq, since))

    def all(self) -> Iterable[LiveRun]:
        return list(self._runs.values())

    def counts(self) -> tuple[int, int]:
        """How many runs go on, background parts included, and how many wait in a line."""
        live = self._runs.values()
        waiting = sum(not one.quiet and self.order.called(one.line) not in (None, one) for one in live)
        return len(live) - waiting, waiting

    def get(self, run: str) -> LiveRun | None:
        return self._runs.get(run)

    def of(self, space: str, run: str) -> LiveRun | None:
        """The run, if it is of this space."""
        live = self._runs.get(run)
        return live if live is not None and live.request.place.space == space else None

    async def going(self, space: str = "") -> list[Request]:
        """The requests of the space, or of all, that wait or go on and are not answered yet."""
        requests = (live.request for live in self._runs.values() if not live.quiet)
        return [request for request in requests if space in ("", request.place.space)]

    async def called(self, place: Place) -> Request | None:
        """The request whose turn it is in this place."""
        called = self.order.called(place)
        return called.request if called is not None else None

    async def turns(self, request: Request) -> int:
        """How many other turns of the request's author wait or go on in its place."""
        whose = (request.place, request.author.id)
        return sum(
            (other.place, other.author.id) == whose
            and commands.verb(other.work, other.verb).turn
            and other.id != request.id
            for other in await self.going(request.place.space)
        )

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

        requests = [each for each in await self.going(place.space) if meant(each) and not each.parent]
        answers = [each for each in requests if not commands.verb(each.work, each.verb).background]
        return sum([await self.stop_run(each) for each in answers or requests])

    async def stop_where(self, matches: Callable[[Request], bool]) -> int:
        """Stop every run whose request `matches` accepts; how many."""
        return sum([await self.stop_one(live) for live in self.all() if matches(live.request)])

    async def stop_run(self, request: Request) -> bool:
        """Stop the run of the request; False where it has ended, is ending or is being stopped already."""
        live = self._runs.get(request.id)
        return live is not None and await self.stop_one(live)

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

    async def reworded(self, run: str) -> None:
        """Tell the other processes that a run of theirs has new words: there is none."""

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
                await patiently(partial(self._inbox.set_states, states))
            self._refused = False
        except BaseException:
            self._unwritten = {**states, **self._unwritten}
            self._refused = True
            raise

    def over(self, run: str, status: Ended) -> None:
        """Remove a run that has ended, also from its line, and resolve what awaits its end."""
        if (live := self._runs.pop(run, None)) is not None:
            metrics.RUNS.add(live.request.work, status)
            self.order.leave(live)
            live.noticed.set()
            for waiting in (live.answered, live.end):
                if not waiting.done():
                    waiting.set_result(status)

    async def over_everywhere(self, run: str) -> None:
        """Wait until the run goes on in no other process: there is none."""

    async def ended(self, run: str) -> Ended:
        """Wait until a run's answer is whole and return how it ended, also one of an earlier process."""
        if (live := self._runs.get(run)) is not None:
            return await asyncio.shield(live.answered)
        row = await self._inbox.get(run)
        return ended_as(row.state) if row is not None else "failed"

    async def earlier(self, run: str) -> list[str]:
        """The runs before this one in its line that no process has begun: there is no other process."""
        return []

    async def overtakes(self, request: Request) -> bool:
        """Whether another process owes the screen an earlier answer of the run's line: there is none."""
        return False

    async def overtakes_none(self, request: Request) -> None:
        """Wait until the run overtakes none, for a limited time."""

    async def shown(self, run: str) -> None:
        """Wait until the next run of the line may begin."""
        await self.ended(run)


class Order:
    """First in, first out in each line, by the number that each run got when it was received."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, list[LiveRun]] = {}
        self._called: dict[Hashable, LiveRun] = {}
        """Whose turn it is in each line; lower numbers may come behind it, after a restart."""
        self._moved: dict[Hashable, asyncio.Event] = {}

    def enter(self, live: LiveRun) -> None:
        """Join the line of this run, if it has one; again does nothing."""
        if live.line is not None and live not in (line := self._lines.setdefault(live.line, [])):
            insort(line, live, key=attrgetter("seq"))
            self._called.setdefault(live.line, live)

    def ahead(self, live: LiveRun) -> int:
        """How many go before this run, the one whose turn it is included; 0 when it is its turn."""
        if (called := self._called.get(live.line)) in (None, live):
            return 0
        line = self._lines[live.line]
        return sum(other.seq < live.seq or other is called for other in line if other is not live)

    def called(self, line: Hashable) -> LiveRun | None:
        """The run whose turn it is."""
        return self._called.get(line)

    def before(self, live: LiveRun) -> LiveRun | None:
        """The run right before this one in its line."""
        line = self._lines.get(live.line, [])
        at = bisect_left(line, live.seq, key=attrgetter("seq"))
        return line[at - 1] if at else None

    async def moved(self, live: LiveRun) -> None:
        """Wait until a run has left the line of this one; return at once where it is its turn."""
        if self.ahead(live):
            await self._moved.setdefault(live.line, asyncio.Event()).wait()

    def leave(self, live: LiveRun) -> None:
        """Leave the line; does nothing where the run is in none."""
        line = self._lines.get(live.line, [])
        if live not in line:
            return
        line.remove(live)
        if not line:
            del self._lines[live.line], self._called[live.line]
        elif self._called[live.line] is live:
            self._called[live.line] = line[0]
        if (moved := self._moved.pop(live.line, None)) is not None:
            moved.set()
