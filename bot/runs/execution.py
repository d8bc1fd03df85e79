"""What the engine runs: one execution of a run, from the stored request to its end.

A run may have several, each cut off by the end of its process but the last. Knows neither how requests come
in nor which platforms there are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from bot import tracing
from bot.command_line import typed
from bot.commands import KINDS, verb
from bot.events import (
    Answered,
    Changed,
    Choice,
    Choices,
    Ended,
    Event,
    Failed,
    Place,
    Request,
    Run,
    Sorry,
    Speak,
    Stage,
    Status,
    Text,
    View,
    Work,
)
from bot.faults import failure
from bot.patience import wait_a_while
from bot.runs.engine import Begin, DurableRun
from bot.runs.live import Live, LiveRuns
from bot.runs.requests import child_id, ended_as, line_of, ordered, request_from_json
from bot.words import words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.house import House
    from bot.platforms import Platform
    from bot.runs.arrivals import Doorway
    from bot.runs.order import Order
    from bot.runs.past import Past

ENDED = ("done", "failed", "stopped")
VIEW_S = 30.0
"""How long a view may take to bring the rest to the screen before the next run goes all the same."""

NOTICED_S = 5.0
"""How long a run's message waits for that of the run before it in the line."""

_log = logging.getLogger(__name__)


class Execution:
    """Of all runs of this process; the engine calls `body` for each."""

    def __init__(
        self,
        house: House,
        works: Mapping[str, Work],
        platforms: Mapping[str, Platform],
        begin: Begin,
        *,
        live: LiveRuns,
        order: Order,
        door: Doorway,
        past: Past,
    ) -> None:
        """`begin`: see DurableRun."""
        self._house = house
        self._inbox = house.records.inbox
        self._works = works
        self._platforms = platforms
        self._begin = begin
        self._live = live
        self._order = order
        self._door = door
        self._past = past
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By the run whose message is changed: the next change compares with what the one before it left."""
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
        if request.place.platform not in self._platforms:  # it waits for a process that is on its platform
            raise asyncio.CancelledError
        live = self._live.expect(request, row.seq)
        await self._door.clear()
        view = self._view(request)
        if row.state in ENDED:
            if row.state == "stopped" and view is not None:  # kept before it was shown, unlike other ends
                await wait_a_while(view.flush("stopped"), VIEW_S, f"run {run_id} was not shown to its end")
            self._leave(live, ended_as(row.state))
            return row.state
        if view is None:
            await self.end(live, "failed")
            return "failed"
        if row.state == "answered" and not live.quiet:
            live.answered.set_result("done")
        with self._house.tracing.run(request, row.created_at, resumed=row.state != "received") as traced:
            live.task = asyncio.create_task(self._show(live, view))
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
        if one.quiet or (one.request.parent and not one.shown):
            view = None  # all has been shown, or there was nothing to show
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
        view = self._view(request)
        if view is not None and not (one.quiet or request.parent):
            sentence = words(request.locale)("app.given_up", run=request.id)
            await wait_a_while(view.show(Failed(sentence)), VIEW_S, f"run {request.id} could not be told")
        await self.end(one, "failed", view)

    def _view(self, request: Request) -> View | None:
        """None for a request that an earlier release wrote, perhaps; it must not hold up its line."""
        try:
            return self._platforms[request.place.platform].views(
                request.id, request, self._house.records.outbox
            )
        except Exception:
            _log.exception("run %s has no view", request.id)
            return None

    async def _show(self, one: Live, view: View) -> Ended:
        """Work on the request and show what happens. The one place that catches everything."""
        request = one.request
        status: Ended = "done"
        try:
            if not one.quiet:  # else it was cut off after its answer, and is past its line
                if ordered(request):
                    say, line = words(request.locale), line_of(request)
                    before = self._live.numbered(self._order.before(line, one.seq))
                    if before is not None and not request.parent:
                        # What comes anew begins sooner than what a restart takes up: messages in the line's order.
                        with suppress(TimeoutError):
                            async with asyncio.timeout(
                                NOTICED_S
                            ):  # wait_for of 3.11 may swallow a cancellation
                                await before.noticed.wait()
                    while ahead := self._order.ahead(line, one.seq):
                        if not request.parent:
                            await view.show(Status(say("app.in_line", n=ahead + 1)))
                            one.noticed.set()
                        await self._order.moved(line, one.seq)
                    await self._order.turn(line, one.seq)
                await self._live.keep(request.id, "running")
            row, run = verb(request.work, request.verb), DurableRun(request, self._begin, self._apart)
            lacks = row.lacks(request.text) and not request.parent
            async with aclosing(asking(run) if lacks else self._works[request.work].run(run)) as events:
                async for event in events:
                    match event:
                        case Answered():
                            await self._answered(one, status, view)
                        case Changed():
                            await self._change(request, event)
                        case Speak():
                            await self._speak(request, event)
                        case _ if not one.quiet:
                            status = "failed" if isinstance(event, Failed) else status
                            # What another run has begun shows nothing before it opens a stage.
                            one.shown = one.shown or not request.parent or isinstance(event, Stage)
                            if one.shown:
                                await view.show(event)
                                one.noticed.set()
        except Exception as error:
            status = "failed"
            tracing.failed(error)
            sentence = failure(request, error)
            if one.quiet or request.parent:
                _log.warning("run %s, which nobody waits for, has failed", request.id)
            else:
                with suppress(OSError):  # nobody may be there to read it
                    await view.show(sentence)
        return status

    def _apart(self, request: Request, key: str, title: str) -> tuple[Place, str]:
        """See engine.Apart."""
        apart = self._platforms[request.place.platform].apart
        found = apart(request, child_id(request, key), title) if apart is not None else None
        if found is None:
            raise Sorry("app.no_thread")
        return found

    async def _answered(self, one: Live, status: Ended, view: View) -> None:
        """What has been shown is all of the answer: let the next one go, and go on."""
        if one.quiet:
            return
        run = one.request.id
        if one.shown or not one.request.parent:
            await wait_a_while(view.flush(status), VIEW_S, f"run {run} was not shown to its end")
        with suppress(StorageFault):  # a crash then shows the answer once more, in its messages
            await self._live.keep(run, "answered")
        if one.shown or not one.request.parent:
            await wait_a_while(view.close(status), VIEW_S, f"the view of run {run} was not closed")
        self._order.leave(line_of(one.request), one.seq)
        one.answered.set_result(status)

    async def _change(self, request: Request, changed: Changed) -> None:
        """Show other contents of an earlier run's stage, if this space has such a run and it is shown here."""
        earlier = await self._past.request(request.place.space, changed.run)
        if earlier is None or earlier.place.platform not in self._platforms:
            return
        if (view := self._view(earlier)) is not None:
            async with self._changing.setdefault(changed.run, asyncio.Lock()):
                await wait_a_while(view.change(changed), VIEW_S, f"run {changed.run} was not changed in time")

    async def _speak(self, request: Request, words_aloud: Speak) -> None:
        """Say it once: rather not at all than twice, if a crash comes in between."""
        speak = self._platforms[request.place.platform].speak
        if speak is None:
            return
        claimed = await self._house.records.outbox.claim(
            request.place.space, request.id, f"speak:{words_aloud.key}"
        )
        if claimed.fresh:
            await wait_a_while(speak(request, words_aloud), VIEW_S, f"run {request.id} could not be heard")

    def _leave(self, one: Live, status: Ended) -> None:
        self._order.leave(line_of(one.request), one.seq)
        self._live.over(one.request.id, status)


async def asking(run: Run) -> AsyncGenerator[Event, None]:
    """What a verb answers that lacks the text which its form asks for: a button that opens it."""
    request, say = run.request, words(run.request.locale)
    row = verb(request.work, request.verb)
    assert row.argument is not None, "it lacks it"
    yield Stage("form", "")
    yield Text(say("commands.form", verb=row.path, example=row.example))
    label = say(row.argument.summary)
    asks = label[:1].upper() + label[1:]
    way = Choice(say("commands.form_open"), typed(row, request.options), asks, form=True)
    yield Choices(say("commands.form_or"), (way,))
