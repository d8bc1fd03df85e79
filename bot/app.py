"""The application: `App.open` wires everything by hand, `App.perform` takes every request in.

Knows no platform: adapters bring a factory of views, keyed by the platform's name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot import commands, watch
from bot.engine import DurableRun, Engine
from bot.events import Ended, Failed, Place, Request, View, Work
from bot.faults import failure, in_words
from bot.order import Order
from bot.requests import ended_as, line_of, ordered, request_from_json, row_of
from storage.faults import StorageFault
from storage.inbox import Inbox
from storage.outbox import Outbox

if TYPE_CHECKING:
    from bot.config import Config
    from bot.house import House

Views = Callable[[str, Request, Outbox], View]
ENDED = ("done", "failed", "stopped")
BUSY_TIMEOUT_S = 10.0
"""How long a database that another program holds is waited for, before a person is told."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Ticket:
    """What the adapter gets for a request. `fresh` is False for one that was received before."""

    run: str
    fresh: bool
    _ended: Callable[[str], Awaitable[Ended]]

    async def wait(self) -> Ended:
        """Wait for the run's end: how it was."""
        return await self._ended(self.run)


@dataclass(slots=True)
class _Live:
    """A run being worked on in this process."""

    request: Request
    seq: int
    task: asyncio.Task[Ended] | None = None
    stopping: bool = False


class App:
    """One per process. `open`, `attach` each platform's views, `start`, then `perform`."""

    def __init__(self, house: House, engine_url: str, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._house = house
        self._inbox: Inbox = house.inbox
        self._works: dict[str, Work] = house.works(self)
        self._engine = Engine(engine_url, self._body, busy_timeout_s=busy_timeout_s)
        self._started = self._leaving = False
        self._order = Order()
        self._arrivals = asyncio.Lock()
        self._views: dict[str, Views] = {}
        self._live: dict[str, _Live] = {}
        self._ends: dict[str, asyncio.Future[Ended]] = {}
        self._unwritten: dict[str, Ended] = {}

    @classmethod
    async def open(cls, config: Config, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> App:
        """Open the storage and wire the works; takes the data folder's lock. Nothing runs before `start`.

        `busy_timeout_s` bounds the wait for another program that holds a database. Raises Sorry when the
        folder is in use, cannot be written, or was made by a newer release.
        """
        from bot.house import House

        house = await House.open(config, busy_timeout_s=busy_timeout_s)
        return cls(house, house.engine_url, busy_timeout_s=busy_timeout_s)

    @property
    def house(self) -> House:
        """The storage, the library and the models, for commands that look at them directly."""
        return self._house

    def attach(self, platform: str, views: Views) -> None:
        """Register how runs of `platform` are shown; before `start`, so that cut-off runs have a view."""
        self._views[platform] = views

    async def start(self) -> list[Request]:
        """Launch the engine; returns what goes on by itself: cut-off runs, watched folders. Raises Sorry."""
        with in_words():
            return await self._start()

    async def _start(self) -> list[Request]:
        unfinished = []
        for row in await self._inbox.unfinished():
            request = request_from_json(row.payload)
            if request.place.platform in self._views:
                self._expect(request, row.seq)
                self._enter(request, row.seq)
                unfinished.append(request)
        await self._engine.launch()
        self._started = True
        await self._clear_library()
        for request in unfinished:
            match await self._engine.status(request.id):
                case None:
                    await self._engine.start(request.id)
                case "running":  # the engine takes it up by itself
                    pass
                case ended:
                    _log.error("run %s cannot be taken up again: %s", request.id, ended)
                    await self._end(request, await self._seq(request.id), "failed")
        await self._engine.purge()
        return unfinished + await self._take_in_watched()

    async def _clear_library(self) -> None:
        try:
            await self._house.intake.clear()
        except StorageFault as fault:  # tried again at the next start, and after the next job
            _log.warning("what is left of removed books could not be cleared away: %s", fault)

    async def _take_in_watched(self) -> list[Request]:
        if "terminal" not in self._views:
            return []
        intake = self._house.intake
        due = await watch.requests(self._house.config.library.watch, self._house.documents, intake.max_bytes)
        for request in due:
            await self.perform(request)
        return due

    async def perform(self, request: Request) -> Ticket:
        """Persist the request, then start it. A request that came before is not done twice.

        Raises Sorry when it could not be persisted: then nothing was begun.
        """
        with in_words():
            await self._write_ends()
            async with self._arrivals:
                fresh = await self._inbox.receive(row_of(request))
                if fresh:
                    seq = await self._seq(request.id)
                    self._expect(request, seq)
                    self._enter(request, seq)
            if fresh:
                try:
                    await self._engine.start(request.id)
                except StorageFault:  # it must neither hold up its line nor begin at the next start
                    await self._end(request, seq, "failed")
                    raise
        return Ticket(request.id, fresh, self.ended)

    async def plain(self, place: Place) -> tuple[str, str]:
        """The work and verb that plain text goes to in this place: its session's, else rules."""
        here = (place.space, place.platform, place.channel, place.thread)
        with in_words():
            session = await self._house.sessions.active(*here)
        return commands.plain_verb(session.work if session else "rules")

    async def stop(self, place: Place) -> int:
        """Stop what runs or waits in this place, library jobs only where nothing else does; how many."""
        here = [
            one for one in self._live.values() if one.request.place == place and one.request.verb != "stop"
        ]
        answers = [one for one in here if not commands.verb(one.request.work, one.request.verb).background]
        stopped = 0
        for one in answers or here:
            if not one.stopping:
                one.stopping = True
                with suppress(StorageFault):  # then it is written once it has ended
                    # Before the task dies, so that a crash in between does not bring the run back.
                    await self._inbox.set_state(one.request.id, "stopped")
                if one.task is not None:
                    one.task.cancel()
                stopped += 1
        return stopped

    async def complete(self, space: str, kind: str, prefix: str, shelf: str | None = None) -> list[str]:
        """Names that begin like `prefix`, see House.complete."""
        return await self._house.complete(space, kind, prefix, shelf)

    async def close(self) -> None:
        """Leave in order. Runs that are still going are taken up at the next start."""
        self._leaving = True
        tasks = [one.task for one in self._live.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._started:
            await self._engine.close()
        with suppress(StorageFault):
            await self._write_ends()
        await self._house.close()

    async def _body(self, run_id: str) -> str:
        """What the engine runs, once per execution of a run: from the stored request to its end."""
        try:
            row = await self._inbox.get(run_id)
        except StorageFault:
            if (known := self._live.get(run_id)) is not None:
                await self._end(known.request, known.seq, "failed")
            raise
        if self._leaving:  # it had not begun, and begins at the next start
            raise asyncio.CancelledError
        if row is None:
            return "failed"
        request = request_from_json(row.payload)
        live = self._expect(request, row.seq)
        if row.state in ENDED:
            self._leave(request, row.seq, ended_as(row.state))
            return row.state
        view = self._views[request.place.platform](run_id, request, self._house.outbox)
        live.task = asyncio.create_task(self._show(request, row.seq, view))
        try:
            if live.stopping:
                live.task.cancel()
            status = await live.task
        except asyncio.CancelledError:
            if not live.stopping:  # the process is leaving: the run stays unfinished
                live.task.cancel()
                raise
            status = "stopped"
        await self._end(request, row.seq, status, view)
        return status

    async def _end(self, request: Request, seq: int, status: Ended, view: View | None = None) -> None:
        """Write down how a run ended, show it and let the next one go; the last of these happens always."""
        self._unwritten[request.id] = status
        try:
            # In this order, so that a run which a crash cuts off here does not end twice.
            await self._write_ends()
            if view is not None:
                await view.close(status)
        except (StorageFault, OSError) as fault:
            _log.warning(
                "run %s has ended as %s, which could not be kept or shown: %s", request.id, status, fault
            )
        finally:
            self._leave(request, seq, status)

    async def _write_ends(self) -> None:
        """Write down how runs ended, also where a full or locked database refused it earlier."""
        for run_id, status in list(self._unwritten.items()):
            await self._inbox.set_state(run_id, status)
            self._unwritten.pop(run_id, None)

    async def _show(self, request: Request, seq: int, view: View) -> Ended:
        """Work on the request and show what happens. The one place that catches everything."""
        status: Ended = "done"
        try:
            if ordered(request):
                await self._order.turn(line_of(request), seq)
            await self._inbox.set_state(request.id, "running")
            async with aclosing(self._works[request.work].run(DurableRun(request))) as events:
                async for event in events:
                    status = "failed" if isinstance(event, Failed) else status
                    await view.show(event)
        except Exception as error:
            status = "failed"
            with suppress(OSError):  # nobody may be there to read it
                await view.show(failure(request, error))
        return status

    def _expect(self, request: Request, seq: int) -> _Live:
        """Note the run before it begins, so that it can be waited for and stopped."""
        self._ends.setdefault(request.id, asyncio.get_running_loop().create_future())
        return self._live.setdefault(request.id, _Live(request, seq))

    async def ended(self, run_id: str) -> Ended:
        """Wait for the end of a run, also one that was taken up at the start: its status."""
        if (end := self._ends.get(run_id)) is not None:
            return await asyncio.shield(end)
        row = await self._inbox.get(run_id)
        return ended_as(row.state) if row is not None else "failed"

    async def _seq(self, run_id: str) -> int:
        row = await self._inbox.get(run_id)
        assert row is not None
        return row.seq

    def _enter(self, request: Request, seq: int) -> None:
        if ordered(request):
            self._order.enter(line_of(request), seq)

    def _leave(self, request: Request, seq: int, status: Ended) -> None:
        self._order.leave(line_of(request), seq)
        self._live.pop(request.id, None)
        if (end := self._ends.pop(request.id, None)) is not None and not end.done():
            end.set_result(status)
