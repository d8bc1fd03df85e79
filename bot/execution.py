"""What the engine runs: one execution of a run, from the stored request to its end.

A run may have several, each cut off by the end of its process but the last. Knows neither how requests come
in nor which platforms there are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from bot import tracing
from bot.commands import KINDS
from bot.engine import DurableRun
from bot.events import Ended, Failed, Request, Status, View, Work
from bot.faults import failure
from bot.live import Live, LiveRuns
from bot.patience import wait_a_while
from bot.requests import ended_as, line_of, ordered, request_from_json
from bot.words import words
from storage.faults import StorageFault
from storage.outbox import Outbox

if TYPE_CHECKING:
    from bot.doorway import Doorway
    from bot.house import House
    from bot.order import Order
    from bot.past import Past

Views = Callable[[str, Request, Outbox], View]
ENDED = ("done", "failed", "stopped")
VIEW_S = 30.0
"""How long a view may take to bring the rest to the screen before the next run goes all the same."""

_log = logging.getLogger(__name__)


class Execution:
    """Of all runs of this process; the engine calls `body` for each."""

    def __init__(
        self,
        house: House,
        works: Mapping[str, Work],
        views: Mapping[str, Views],
        *,
        live: LiveRuns,
        order: Order,
        door: Doorway,
        past: Past,
    ) -> None:
        self._house = house
        self._inbox = house.inbox
        self._works = works
        self._views = views
        self._live = live
        self._order = order
        self._door = door
        self._past = past
        self.leaving = False
        """No run begins any more: it begins at the next start."""

    async def body(self, run_id: str) -> str:
        """Once per execution of a run: its end. Cancelled where the run is to be taken up again."""
        try:
            row = await self._inbox.get(run_id)
        except StorageFault:
            if (known := self._live.get(run_id)) is not None:
                await self.end(known, "failed")
            raise
        if self.leaving:
            raise asyncio.CancelledError
        if row is None:
            return "failed"
        request = request_from_json(row.payload)
        views = self._views.get(request.place.platform)
        if views is None:  # nobody can show it here: it waits for a process that is on its platform
            raise asyncio.CancelledError
        live = self._live.expect(request, row.seq)
        await self._door.clear()
        view = self._view(views, request)
        if row.state in ENDED:
            if row.state == "stopped" and view is not None:  # kept before it was shown, unlike other ends
                await wait_a_while(view.flush("stopped"), VIEW_S, f"run {run_id} was not shown to its end")
            self._leave(live, ended_as(row.state))
            return row.state
        if view is None:
            await self.end(live, "failed")
            return "failed"
        with self._house.tracing.run(request, row.created_at, resumed=row.state == "running") as traced:
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
            await self.end(live, status, view)
            traced.outcome = status
        return status

    async def end(self, one: Live, status: Ended, view: View | None = None) -> None:
        """Show all of a run, write down how it ended and let the next one go; the last of these always."""
        run, one.ending, kept = one.request.id, True, False
        try:
            # In this order: a crash before the end is written shows the run again, one after it does not.
            if view is not None:
                await wait_a_while(view.flush(status), VIEW_S, f"run {run} was not shown to its end")
            await self._door.clear()
            if one.reworded is not None:  # after it has remembered what it was asked at first
                with suppress(StorageFault):
                    await self._past.reword(one.request.place.space, run, one.reworded)
            try:
                await self._live.keep(run, status)
                kept = True
            except StorageFault as fault:
                _log.warning("run %s has ended as %s, which could not be kept: %s", run, status, fault)
            if view is not None:
                await wait_a_while(view.close(status), VIEW_S, f"the view of run {run} was not closed")
            if kept:
                await self._house.incoming.clear(run)
                kind = KINDS.get(one.request.work)  # None for what an earlier release knew
                if kind is not None and kind.tidy is not None:
                    with suppress(StorageFault):  # tried again after the next one, and at the next start
                        await kind.tidy(self._house)
        finally:
            self._leave(one, status)

    async def give_up(self, one: Live) -> None:
        """End a run that is not begun again, and say so where it was asked."""
        request = one.request
        view = self._view(self._views[request.place.platform], request)
        if view is not None:
            sentence = words(request.locale)("app.given_up", run=request.id)
            await wait_a_while(view.show(Failed(sentence)), VIEW_S, f"run {request.id} could not be told")
        await self.end(one, "failed", view)

    def _view(self, views: Views, request: Request) -> View | None:
        """None for a request that an earlier release wrote, perhaps; it must not hold up its line."""
        try:
            return views(request.id, request, self._house.outbox)
        except Exception:
            _log.exception("run %s has no view", request.id)
            return None

    async def _show(self, request: Request, seq: int, view: View) -> Ended:
        """Work on the request and show what happens. The one place that catches everything."""
        status: Ended = "done"
        try:
            if ordered(request):
                await self._turn(request, seq, view)
            await self._live.keep(request.id, "running")
            async with aclosing(self._works[request.work].run(DurableRun(request))) as events:
                async for event in events:
                    status = "failed" if isinstance(event, Failed) else status
                    await view.show(event)
        except Exception as error:
            status = "failed"
            tracing.failed(error)
            with suppress(OSError):  # nobody may be there to read it
                await view.show(failure(request, error))
        return status

    async def _turn(self, request: Request, seq: int, view: View) -> None:
        """Wait for the run's turn, and say how far it is."""
        say, line = words(request.locale), line_of(request)
        while ahead := self._order.ahead(line, seq):
            await view.show(Status(say("app.in_line", n=ahead + 1)))
            await self._order.moved(line, seq)
        await self._order.turn(line, seq)

    def _leave(self, one: Live, status: Ended) -> None:
        self._order.leave(line_of(one.request), one.seq)
        self._live.over(one.request.id, status)
