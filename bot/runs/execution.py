"""What the engine runs: one execution of a run, from the stored request to its end.

If a process ends before its run does, the run is executed once more. Knows neither how requests arrive nor which
platforms exist.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from bot import metrics, tracing
from bot.access import MODELS, needs
from bot.commands import KINDS, ROWS
from bot.events import (
    Answered,
    Changed,
    Ended,
    Failed,
    Hush,
    Notice,
    Place,
    Request,
    Shown,
    Speak,
    Speaking,
    Stage,
    Status,
    Text,
    Unquoted,
    UserError,
)
from bot.faults import failure
from bot.runs.budget_notes import tell_admins
from bot.runs.durable_run import Begin, DurableRun
from bot.runs.forms import offer_correction, offer_form
from bot.runs.live import LiveRun, LiveRuns
from bot.runs.narration import Narration, StreamedSpeech
from bot.runs.requests import (
    AcknowledgementGate,
    PastRequests,
    child_id,
    request_from_json,
    withdrawn,
)
from bot.runs.showing import InOrder, Showings, note, show_again
from bot.runs.withdrawals import Withdrawals
from bot.settings import BUDGETS
from bot.view import VIEW_S, Closing, View, Waiting
from bot.waiting import wait_at_most
from bot.words import words
from bot.work import Work
from storage.faults import StorageFault
from storage.patience import patient_in_a_run
from storage.unshown import QUOTED, WITHDRAWN, UnshownRow

if TYPE_CHECKING:
    from bot.platforms import Platform
    from bot.resources import Resources

ENDED = ("done", "failed", "stopped")
NOTICED_S = 5.0
"""How many seconds a run's first message waits for that of the run before it in the line."""
SEEN_S = 20.0
"""The same if another process posts that message, which may take as long as a platform that hangs."""
LOOK_S = 0.25

_log = logging.getLogger(__name__)


class Execution:
    """Executes the runs of this process; the engine calls `body` for each."""

    def __init__(
        self,
        resources: Resources,
        works: Mapping[str, Work],
        platforms: Mapping[str, Platform],
        begin: Begin,
        *,
        live: LiveRuns,
        gate: AcknowledgementGate,
        past: PastRequests,
    ) -> None:
        """For `begin` see DurableRun."""
        self._resources = resources
        self._inbox = resources.records.inbox
        self._works = works
        self._platforms = platforms
        self._begin = begin
        self._live = live
        self._gate = gate
        self._past = past
        self.narration = Narration(platforms, resources.records.outbox)
        self.showings = Showings(resources.records.unshown)
        self.withdrawals = Withdrawals(resources.records, platforms, self.showings, self._view)
        self.leaving = False
        """Whether the process is closing: a run that has not begun yet then begins at the next start."""

    async def body(self, run_id: str) -> str:
        """Execute a run once and return its final state. Raises CancelledError if it should continue later."""
        if self.leaving:
            raise asyncio.CancelledError
        patient_in_a_run()
        live = self._live.by_id.get(run_id)
        if live is None:  # its end was stored before a crash, or it is another process's
            if (row := await self._inbox.get(run_id)) is None:
                return "failed"
            request = request_from_json(row.payload)
            if request.place.platform not in self._platforms:  # a process that serves its platform will do it
                raise asyncio.CancelledError
            if row.state in ENDED:
                await self._gate.passed()
                if row.state == "stopped" and not (withdrawn(request) or self.showings.has(run_id)):
                    # Unlike other ends, this one was stored before it was shown.
                    if (view := self._view(request)) is not None:
                        await self.showings.show(
                            request, partial(view.flush, "stopped"), (), status="stopped"
                        )
                    await self.narration.hush(request)
                return row.state
            live = self._live.take_up(request, row)
        await self._gate.passed()
        request = live.request
        view = self._view(request)
        if view is None:
            await self.end(live, "failed")
            return "failed"
        if self._live.shared:
            view = await self._in_order(request, view)
        with self._resources.tracing.run(request, live.since, resumed=live.resumed) as traced:
            live.task = asyncio.create_task(self._show(live, view))
            try:
                if live.stopping:
                    live.task.cancel()
                status = await live.task
            except asyncio.CancelledError:
                if not live.stopping:  # the process is closing: the run stays unfinished
                    live.task.cancel()
                    if isinstance(view, InOrder):
                        view.drop()
                    raise
                status = "stopped"
            await self.end(live, status, view)
            traced.outcome = status
        return status

    async def end(self, live: LiveRun, status: Ended, view: View | None = None) -> None:
        """Show the rest of a run, store how it ended, and always let the next one start."""
        run, live.ending, stored = live.request.id, True, False
        if live.answered.done() or (live.request.parent and not live.shown):
            view = None  # everything has been shown
        if status == "stopped":
            await self.narration.hush(live.request)
        try:
            # In this order: after a crash before the end is stored the run is shown again, after a later crash it is
            # not.
            if view is not None:
                await self.showings.show(
                    live.request, partial(view.flush, status), live.events, status=status
                )
            await self._gate.passed()
            if live.reworded is not None:  # only now: the work itself has stored the first wording
                with suppress(StorageFault):
                    await self._past.reword(live.request.place.space, run, live.reworded)
            try:
                await self._live.keep(run, status)
                stored = True
            except StorageFault as fault:
                _log.warning("run %s has ended as %s, which could not be kept: %s", run, status, fault)
            if view is not None and isinstance(view, Closing):
                await wait_at_most(view.close(status), VIEW_S, f"the view of run {run} was not closed")
            if stored:
                if live.request.files or run in self._resources.incoming.brought:
                    await self._resources.incoming.clear(run)
                kind = KINDS.get(live.request.work)  # None for a work of an earlier release
                if kind is not None and kind.tidy is not None:
                    with suppress(StorageFault):  # tried again after the next run, and at the next start
                        await kind.tidy(self._resources)
        finally:
            self._live.over(run, status)

    async def give_up(self, live: LiveRun, *, often: bool) -> None:
        """End a run that will not be started again, and say so in its place. `often`: it was interrupted repeatedly."""
        request = live.request
        view = self._view(request)
        if view is not None and not (live.answered.done() or request.parent):
            failed = Failed(
                words(request.locale)("app.given_up" if often else "app.broke_off", run=request.id)
            )
            live.events.append(failed)
            await wait_at_most(view.show(failed), VIEW_S, f"run {request.id} could not be told")
        await self.end(live, "failed", view)

    async def show_waiting(self, request: Request, line: str, seq: int) -> None:
        """Show how many runs come before this one in its line, once their messages are visible."""
        patient_in_a_run()  # wait longer for the database than an event does: a posted message needs it
        with suppress(StorageFault):
            ahead = await self._inbox.ahead(line, seq)
            ends = time.monotonic() + SEEN_S
            while ahead and (unseen := await self._inbox.unseen(line, seq)) and time.monotonic() < ends:
                await asyncio.sleep(LOOK_S)  # another process is showing them
                ahead = await self._inbox.ahead(line, seq)
            if not ahead or unseen or request.parent or (view := self._view(request)) is None:
                return
            status = Status(words(request.locale)("app.in_line", n=ahead + 1))
            if not isinstance(view, Waiting):
                await view.show(status)
                return
            await view.show_waiting(status, VIEW_S)
            row = await self._inbox.get(request.id)
            if row is not None and row.state != "received":
                await view.unless_shown(VIEW_S)

    async def take_up(self, process: str = "") -> list[UnshownRow]:
        """Show the ends of runs that earlier processes, or `process`, have not shown yet.

        Returns the rows of runs that they had begun to forget.
        """
        unshown, forgetting = self._resources.records.unshown, list[UnshownRow]()
        for row in await unshown.all(abandoned=process, platforms=self._platforms):
            stored = await self._inbox.get(row.run_id)
            if stored is None:
                continue
            view: View | None = None
            if row.stage or stored.state not in ("received", "running"):  # otherwise its replay shows it
                try:
                    request = request_from_json(row.request or stored.payload)
                    view = self._view(request)
                except (KeyError, TypeError, ValueError):  # written by another release
                    _log.exception("run %s cannot be read", row.run_id)
            if view is None:
                await unshown.forget(row.space, row.run_id, row.stage)
            elif row.status == row.stage == WITHDRAWN:
                forgetting.append(row)
            elif row.status == WITHDRAWN:
                self.withdrawals.take_back(request, row.stage)
            else:
                if self._live.shared and not row.stage:
                    view = await self._in_order(request, view)
                self.showings.take_up(request, row.stage, partial(show_again, view, row))
        return forgetting

    def _view(self, request: Request) -> View | None:
        """The run's view; None if it cannot be made, as for some requests of an earlier release."""
        try:
            return self._platforms[request.place.platform].views(
                request.id, request, self._resources.records.outbox
            )
        except Exception:
            _log.exception("run %s has no view", request.id)
            return None

    async def _in_order(self, request: Request, view: View) -> View:
        """The view; held back where another process owes the screen an earlier answer of the run's line."""
        if not await self._live.overtakes(request):
            return view
        return InOrder(view, self._live.overtakes_none(request))

    async def _show(self, live: LiveRun, view: View) -> Ended:
        """Do the work and show its events. The only place that catches every exception."""
        request = live.request
        status: Ended = "done"
        speech: StreamedSpeech | None = None
        no_words_yet = not (live.resumed or request.parent)
        try:
            # Otherwise it was interrupted after its answer, and has left its line.
            if not live.answered.done():
                if self._live.order.others(live):
                    await self._wait_in_line(live, view)
                await self._live.keep(request.id, "running")
            row = ROWS[request.work, request.verb]
            platform = self._platforms[request.place.platform]
            alone = platform.for_one is None or (request.origin != "" and platform.for_one(request.origin))
            run = DurableRun(
                request, self._begin, self._new_thread, self._origin, alone=alone, hides=platform.hides
            )
            lacks_text = row.lacks(request.text) and not request.parent
            async with aclosing(
                offer_form(run) if lacks_text else self._works[request.work].run(run)
            ) as events:
                async for event in events:
                    if speech is not None and isinstance(event, Text):
                        speech.pieces.put_nowait(event.text)
                    match event:
                        case Answered():
                            await self._show_budget_use(live, view)
                            await self._finish_answer(live, status, view)
                        case Changed() | Hush() | Unquoted():
                            await self._revise(request, event)
                        case Speaking():
                            if speech is not None:
                                speech.end()
                            speech = await self.narration.along(request, event)
                        case Speak() if speech is not None and speech.key == event.key:
                            speech.end()
                            speech = None
                        case Speak():
                            await self.narration.speak(request, event)
                        case _ if not live.answered.done():
                            status = "failed" if isinstance(event, Failed) else status
                            # A child run shows nothing before it opens a stage.
                            live.shown = live.shown or not request.parent or isinstance(event, Stage)
                            if live.shown:
                                note(live.events, event)
                                await view.show(event)
                                if isinstance(event, Text) and no_words_yet:
                                    no_words_yet = False
                                    waited = datetime.now(UTC) - live.since
                                    metrics.FIRST_WORDS.observe(request.work, seconds=waited.total_seconds())
                                live.noticed.set()
            await self._show_budget_use(live, view)
        except Exception as error:
            status = "failed"
            tracing.failed(error)
            sentence = failure(request, error)
            if live.answered.done() or request.parent:
                _log.warning("run %s, which nobody waits for, has failed", request.id)
            else:
                endings: list[Shown] = [sentence]
                if isinstance(error, UserError) and request.window:
                    endings += offer_correction(request)
                try:
                    for ending in endings:
                        note(live.events, ending)
                        await view.show(ending)
                except OSError:  # the reader may have gone
                    pass
                except Exception:  # the view itself failed; the run still ends
                    _log.exception("run %s could not be told that it has failed", request.id)
        finally:
            if speech is not None:
                speech.end()
        return status

    async def _wait_in_line(self, live: LiveRun, view: View) -> None:
        """Wait until it is the run's turn, and show its place in the line meanwhile."""
        order, visible = self._live.order, not live.request.parent
        if visible and (before := order.before(live)) is not None:
            # New requests start sooner than those from before a restart, so keep messages in the line's order.
            with suppress(TimeoutError):
                async with asyncio.timeout(NOTICED_S):  # wait_for of 3.11 may swallow a cancellation
                    await before.noticed.wait()
        while ahead := order.ahead(live):
            if visible:
                await view.show(Status(words(live.request.locale)("app.in_line", n=ahead + 1)))
                live.noticed.set()
            await order.moved(live)

    async def _show_budget_use(self, live: LiveRun, view: View) -> None:
        """Show that most of a budget is used, next to an answer that somebody waits for."""
        request, budgets = live.request, self._resources.budgets
        if live.answered.done() or request.parent:
            return
        if not await self._resources.settings.of_space(request.place.space, BUDGETS):
            return
        if MODELS not in needs(ROWS[request.work, request.verb], request):
            return
        for key, values in await budgets.words(request):
            notice = Notice(words(request.locale)(key, **values))
            note(live.events, notice)
            await view.show(notice)
        platform = self._platforms[request.place.platform]
        await tell_admins(self._resources, platform, self._begin, request)

    def _origin(self, place: Place) -> str:
        """See durable_run.Origin."""
        platform = self._platforms.get(place.platform)
        return platform.origin(place) if platform is not None and platform.origin is not None else ""

    def _new_thread(self, request: Request, key: str, title: str) -> tuple[Place, str]:
        """See durable_run.NewThread."""
        new_thread = self._platforms[request.place.platform].new_thread
        thread = new_thread(request, child_id(request, key), title) if new_thread is not None else None
        if thread is None:
            raise UserError("app.no_thread")
        return thread

    async def _finish_answer(self, live: LiveRun, status: Ended, view: View) -> None:
        """Store that the answer is complete and let the next run start; this one continues in the background."""
        if live.answered.done():
            return
        run = live.request.id
        if live.shown or not live.request.parent:
            live.ending = True  # the answer is complete: it is too late to stop it
            await self.showings.show(live.request, partial(view.flush, status), live.events, status=status)
            live.ending = False
        with suppress(StorageFault):  # after a crash the answer is then shown again, in the same messages
            await self._live.keep(run, "answered")
        if isinstance(view, Closing) and (live.shown or not live.request.parent):
            await wait_at_most(view.close(status), VIEW_S, f"the view of run {run} was not closed")
        self._live.order.leave(live)
        live.answered.set_result(status)

    async def _revise(self, request: Request, event: Changed | Hush | Unquoted) -> None:
        """Change, hush or take back what an earlier run of this space has shown, if its platform is served here."""
        earlier = await self._past.request(request.place.space, event.run)
        if earlier is None or earlier.place.platform not in self._platforms:
            return
        match event:
            case Changed():
                if (view := self._view(earlier)) is not None:
                    change = partial(view.change, event)
                    await self.showings.show(earlier, change, (event,), stage=event.stage)
            case Hush():
                await self.narration.hush(earlier, event.stage)
            case Unquoted():
                if (bare := await self.withdrawals.keep(earlier, QUOTED)) is not None:
                    self.withdrawals.take_back(bare, QUOTED)
