"""The running and waiting runs of this process: their order, how they are stopped, and how they end.

Knows neither works nor views. The order follows the inbox's numbers, so it survives a restart. An end is stored in the
inbox; if the database refuses it, it is written again later.
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
    """A run of this process. `ending`: the work is done, and its view is being completed.

    `line` is the line in which it waits, None if it does not wait for other runs. `since` is when it was requested,
    `resumed` whether an earlier process has begun it. `answered` is set when its answer is complete, `end` when its
    background part has ended, too. `shown`: it has shown something. `reworded` is the current text of the request if a
    person has edited it.
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
    """The events that its view has been shown."""
    noticed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the run has shown something or has ended."""


class LiveRuns:
    """The runs that this process executes, where no other process executes any."""

    shared = False
    """Whether other processes execute runs, too; then the engine keeps the lines."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self.order = Order()
        self.by_id: dict[str, LiveRun] = {}
        self._unwritten: dict[str, State] = {}
        self._writing = asyncio.Lock()
        self.owes = False
        """Whether the database has refused to store an end."""

    def expect(
        self, request: Request, seq: int, since: datetime, *, resumed: bool = False, answered: bool = False
    ) -> LiveRun:
        """Register the run before it begins, so that it can be awaited and stopped. It joins its line, unless it has
        answered.
        """
        if request.id not in self.by_id:
            line = None if self.shared else line_of(request)
            ends = asyncio.Future[Ended](), asyncio.Future[Ended]()
            self.by_id[request.id] = LiveRun(request, seq, line, since, resumed, *ends)
        live = self.by_id[request.id]
        if answered:
            live.answered.set_result("done")
        else:
            self.order.enter(live)
        return live

    def take_up(self, request: Request, row: InboxRow) -> LiveRun:
        """Register an unfinished run of an earlier process."""
        resumed, answered = row.state != "received", row.state == "answered"
        return self.expect(request, row.seq, row.created_at, resumed=resumed, answered=answered)

    def all(self) -> Iterable[LiveRun]:
        return list(self.by_id.values())

    def counts(self) -> tuple[int, int]:
        """How many runs are in progress, including their background parts, and how many wait in a line."""
        live = self.by_id.values()
        waiting = sum(
            not live_run.answered.done() and self.order.called(live_run.line) not in (None, live_run)
            for live_run in live
        )
        return len(live) - waiting, waiting

    def of(self, space: str, run: str) -> LiveRun | None:
        """The run, if it belongs to this space."""
        live = self.by_id.get(run)
        return live if live is not None and live.request.place.space == space else None

    def any_in(self, space: str) -> bool:
        """Whether this process executes a run of the space."""
        return any(live.request.place.space == space for live in self.by_id.values())

    async def going(self, space: str = "") -> list[Request]:
        """The requests of the space, or of all spaces, that wait or run and are not answered yet."""
        requests = (live.request for live in self.by_id.values() if not live.answered.done())
        return [request for request in requests if space in ("", request.place.space)]

    async def called(self, place: Place) -> Request | None:
        """The request whose turn it is in this place."""
        called = self.order.called(place)
        return called.request if called is not None else None

    async def turns(self, request: Request) -> int:
        """How many other turns of the request's author wait or run in its place."""
        whose = (request.place, request.author.id)
        return sum(
            (other.place, other.author.id) == whose
            and commands.ROWS[other.work, other.verb].turn
            and other.id != request.id
            for other in await self.going(request.place.space)
        )

    async def stop(self, place: Place, author: str = "") -> int:
        """Stop the running and waiting runs in this place; library jobs only if there are no others. Returns how many.

        At a channel's root this includes what `author` has begun elsewhere in the channel: in threads or in private.
        """

        # If a platform's private answers have no channel, a person's answers are in the channel "@" and their id.
        private_channel = replace(place, channel=f"@{author}")

        def matches(request: Request) -> bool:
            channel = replace(request.place, thread="")
            by_author = author != "" and request.author.id == author and channel in (place, private_channel)
            return (request.place == place or by_author) and request.verb != "stop"

        requests = [
            request for request in await self.going(place.space) if matches(request) and not request.parent
        ]
        answers = [
            request for request in requests if not commands.ROWS[request.work, request.verb].background
        ]
        return sum([await self.stop_run(request) for request in answers or requests])

    async def stop_where(self, matches: Callable[[Request], bool]) -> int:
        """Stop every run whose request `matches` accepts; returns how many."""
        return sum([await self.stop_one(live) for live in self.all() if matches(live.request)])

    async def stop_run(self, request: Request) -> bool:
        """Stop the run of the request; False if it has ended, is ending or is already being stopped."""
        live = self.by_id.get(request.id)
        return live is not None and await self.stop_one(live)

    async def stop_one(self, live: LiveRun) -> bool:
        """Stop the run; False if it is ending or already being stopped."""
        if live.stopping or live.ending:
            return False
        live.stopping = True
        with suppress(StorageFault):  # then it is written when the run ends
            # Stored before the task is cancelled, so that after a crash in between the run does not continue.
            await self.keep(live.request.id, "stopped")
        if live.task is not None:
            live.task.cancel()
        return True

    async def reworded(self, run: str) -> None:
        """Tell other processes that one of their runs has new words; here there are no other processes."""

    async def give_up(self, space: str, run: str) -> bool:
        """Stop an earlier process's run that no process continues. Returns whether there was one."""
        row = await self._inbox.get(run)
        if row is None or row.space != space or row.state not in UNFINISHED:
            return False
        await self.keep(run, "stopped")
        return True

    async def keep(self, run: str, state: State) -> None:
        """Store a run's state. States that arrive during a commit share the next one.

        Raises StorageFault; an end is then written together with the next state.
        """
        self._unwritten[run] = state
        async with self._writing:
            try:
                if run in self._unwritten:  # no earlier batch contained it
                    await self._write()
            finally:
                if self._unwritten.get(run) in ("running", "answered"):
                    del self._unwritten[run]

    async def keep_owed(self) -> None:
        """Store the ends that a full or locked database refused earlier."""
        async with self._writing:
            await self._write()

    async def _write(self) -> None:
        states, self._unwritten = self._unwritten, {}
        try:
            if states:
                await patiently(partial(self._inbox.set_states, states))
            self.owes = False
        except BaseException:
            self._unwritten = {**states, **self._unwritten}
            self.owes = True
            raise

    def over(self, run: str, status: Ended) -> None:
        """Remove a run that has ended, also from its line, and resolve the futures for its end."""
        if (live := self.by_id.pop(run, None)) is not None:
            metrics.RUNS.add(live.request.work, status)
            self.order.leave(live)
            live.noticed.set()
            for waiting in (live.answered, live.end):
                if not waiting.done():
                    waiting.set_result(status)

    async def over_everywhere(self, run: str) -> None:
        """Wait until no other process executes the run; here there are no other processes."""

    async def ended(self, run: str) -> Ended:
        """Wait until a run's answer is complete and return how it ended, also for a run of an earlier process."""
        if (live := self.by_id.get(run)) is not None:
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


class Order:
    """The lines of waiting runs, each first in, first out, by the number that a run got when it was received."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, list[LiveRun]] = {}
        self._called: dict[Hashable, LiveRun] = {}
        """Whose turn it is in each line. After a restart, runs with lower numbers may come after it."""
        self._moved: dict[Hashable, asyncio.Event] = {}

    def enter(self, live: LiveRun) -> None:
        """Join the line of this run, if it has one. Calling it again has no effect."""
        if live.line is not None and live not in (line := self._lines.setdefault(live.line, [])):
            insort(line, live, key=attrgetter("seq"))
            self._called.setdefault(live.line, live)

    def others(self, live: LiveRun) -> bool:
        """Whether other runs are in the line of this run."""
        return len(self._lines.get(live.line, ())) > 1

    def ahead(self, live: LiveRun) -> int:
        """How many runs come before this one, including the one whose turn it is; 0 if it is this run's turn."""
        if (called := self._called.get(live.line)) in (None, live):
            return 0
        line = self._lines[live.line]
        return sum(other.seq < live.seq or other is called for other in line if other is not live)

    def called(self, line: Hashable) -> LiveRun | None:
        """The run whose turn it is in this line."""
        return self._called.get(line)

    def before(self, live: LiveRun) -> LiveRun | None:
        """The run right before this one in its line."""
        line = self._lines.get(live.line, [])
        at = bisect_left(line, live.seq, key=attrgetter("seq"))
        return line[at - 1] if at else None

    async def moved(self, live: LiveRun) -> None:
        """Wait until any run has left this run's line; return at once if it is this run's turn."""
        if self.ahead(live):
            await self._moved.setdefault(live.line, asyncio.Event()).wait()

    def leave(self, live: LiveRun) -> None:
        """Leave the line; has no effect if the run is in none."""
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
