"""Receives requests: checks whether they are allowed, stores and acknowledges them, and starts their runs.

Knows no platform.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import nullcontext
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from bot import commands
from bot.access import MODELS, needs
from bot.commands import UNDER
from bot.conversation import session_for
from bot.events import Ended, OptionValue, Request, UserError
from bot.faults import in_words, worded
from bot.runs.requests import AcknowledgementGate, Arrivals, child_id, composed, line_name, row_of
from bot.settings import ACCESS, BUDGETS
from bot.waiting import Background, wait_at_most
from bot.work import Work
from storage.faults import StorageFault
from storage.inbox import Overtaken
from storage.patience import patient_in_a_run, patient_with_an_event

if TYPE_CHECKING:
    from bot.access import Access
    from bot.channel_rules import ChannelRules
    from bot.kind import Runs, StandsFor
    from bot.outsiders import Outsiders
    from bot.resources import Resources
    from bot.runs.engine import Engine
    from bot.runs.execution import Execution
    from bot.runs.live import LiveRuns
    from bot.runs.processes import Processes
    from bot.verb import Verb
    from storage.sessions import SessionRow

Acknowledge = Callable[[], Awaitable[object]]
ACKNOWLEDGE_S = 10.0
"""How many seconds an acknowledgement may take before the run begins without it; platforms wait three seconds."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Ticket:
    """The adapter's handle of a request's run. `fresh` is False for a request that was received before."""

    run: str
    fresh: bool
    _ended: Callable[[str], Awaitable[Ended]]

    async def wait(self) -> Ended:
        """Wait until the run's answer is complete; returns how it ended."""
        return await self._ended(self.run)


@dataclass
class Dispatcher:
    """Checks, stores and starts requests. `_runs` is for the works.

    `_processes` is None if no others share the database.
    """

    _resources: Resources
    _runs: Runs
    _works: Mapping[str, Work]
    _outsiders: Outsiders
    _channel_rules: ChannelRules
    _access: Access
    _live: LiveRuns
    _gate: AcknowledgementGate
    _execution: Execution
    _engine: Engine
    _processes: Processes | None
    _background: Background

    def __post_init__(self) -> None:
        self._inbox = self._resources.records.inbox
        # A run of several processes begins in the one that takes it up.
        self._arrivals = Arrivals(self._inbox, None if self._live.shared else self._live.expect)
        self._receiving = Background()
        self._pressing: WeakValueDictionary[tuple[str, OptionValue], asyncio.Lock] = WeakValueDictionary()
        """Locks by space and by what a button belongs to."""

    async def perform(self, request: Request, acknowledge: Acknowledge | None = None) -> Ticket:
        """Store the request, acknowledge it, then start it. A request that was received before starts nothing.

        `acknowledge` is awaited for a new request only; the run starts whether or not it succeeds. Raises UserError if
        the request is not allowed or could not be stored; then nothing was started.
        """
        patient_with_an_event()
        verb = commands.ROWS[request.work, request.verb]
        # People cannot type an inner verb; it comes from a choice, from plain text, or as the child of an interrupted
        # run.
        plain = bool(request.options.get(commands.FOLLOW_UP))
        if verb.inner and not (request.answers or request.parent or plain):
            raise UserError("commands.unknown_verb_only", name=verb.path, help="help")
        if verb.admin and not request.author.admin:
            raise UserError("app.admins", verb=verb.path)
        try:
            request = await self.allowed(verb, request)
            if UNDER not in request.options:
                return await self._receive_shielded(verb, request, acknowledge)
            # If two people press at once, one comes first.
            under = (request.place.space, request.options[UNDER])
            async with self._pressing.setdefault(under, asyncio.Lock()):
                known = set[str]()
                while True:
                    meant, seen = await self._check_press(request)
                    try:
                        return await self._receive_shielded(
                            verb, meant, acknowledge, None if seen is None else {*seen, *known}
                        )
                    except Overtaken as overtaken:  # in another process
                        known.update(overtaken.ids)
        except StorageFault as fault:
            raise worded(fault) from fault

    async def allowed(self, verb: Verb, request: Request) -> Request:
        """The request with what the place's settings add to it. Raises UserError if a rule forbids it."""
        if request.author.outside:
            await self._outsiders.check(verb, request)
        settings, space = self._resources.settings, request.place.space
        if not await settings.any_in(space):
            return request
        await self._channel_rules.check(verb, request)
        if await settings.of_space(space, ACCESS, BUDGETS):
            request = await self._access.check(verb, request)
            if MODELS in needs(verb, request):
                await self._resources.budgets.check(request)
        return await self._channel_rules.with_defaults(verb, request)

    async def check(self, request: Request) -> None:
        """Raise UserError if the run of this request would refuse what was typed. Changes nothing."""
        checks = commands.KINDS[request.work].checks
        if checks is not None:
            with in_words():
                await checks(self._resources, request)

    async def begin(self, child: Request, key: str) -> str:
        """Start a run's child, as durably as a person's request. Calling it again with the same key has no effect."""
        child = replace(child, id=child_id(replace(child, id=child.parent), key))
        with in_words():
            if (seq := await self._arrivals.receive(child)) is not None:
                await self._start(child, seq)
        return child.id

    async def start_stopped(self, request: Request) -> None:
        """Start a stopped run that no process has begun, so that its end is shown."""
        assert self._processes is not None
        route = self._processes.route(request.place.platform, request.place.space)
        # In a fresh context, because it is not part of the run that asks for it.
        await asyncio.create_task(self._engine.start(request.id, route), context=Context())

    async def close(self, timeout_s: float) -> None:
        """Wait for the requests that are being stored and started."""
        if self._receiving.tasks:
            await asyncio.wait(self._receiving.tasks, timeout=timeout_s)

    async def _check_press(self, request: Request) -> tuple[Request, Collection[str] | None]:
        """The request that the press of a button means now, and the ids of the runs that are running or waiting.

        The latter is None if no other process shares the database. Raises PressedLate.
        """
        if (pressed := commands.KINDS[request.work].pressed) is None:
            return request, None
        if await self._inbox.get(request.id) is not None:  # delivered again
            return request, None
        unanswered = await self._live.going(request.place.space)
        meant = await pressed(self._works[request.work], request, unanswered)
        return meant, None if self._processes is None else {other.id for other in unanswered}

    async def _receive_shielded(
        self,
        verb: Verb,
        request: Request,
        acknowledge: Acknowledge | None,
        seen: Collection[str] | None = None,
    ) -> Ticket:
        """`_receive` in a task of its own, for the request that replaces this one if the work has `stands_for`."""
        follows: Request | None = None
        if (stands_for := commands.KINDS[verb.work].stands_for) is not None:
            request, follows = await self._resolve(request, stands_for)
        # In a separate task, because the caller may be cancelled: a run that is stored but never started would block
        # its line.
        return await asyncio.shield(self._receiving.start(self._receive(request, acknowledge, follows, seen)))

    async def _resolve(self, request: Request, stands_for: StandsFor) -> tuple[Request, Request | None]:
        """The request that replaces this one, and the one that follows it.

        Raises UserError if the former is not allowed or was received before.
        """
        meant, follows = await stands_for(self._resources, self._runs, request)
        if meant is not request and await self._inbox.get(meant.id) is not None:
            if follows is not None:  # a crash may have come before it
                await self._receive(follows, None)
            raise UserError("edge.sent_before")
        if meant is not request and not meant.parent:  # spoken words are a request like typed ones
            meant = await self.allowed(commands.ROWS[meant.work, meant.verb], meant)
        return meant, follows

    async def _receive(
        self,
        request: Request,
        acknowledge: Acknowledge | None,
        follows: Request | None = None,
        seen: Collection[str] | None = None,
    ) -> Ticket:
        """Store and start the request, and then `follows`, unless it was received before.

        Raises StorageFault, and Overtaken if its place has other runs than those `seen`.
        """
        if self._live.owes:
            await self._live.keep_owed()
        locale = await self._resources.settings.locale(
            request.asked_in or request.place, request.author.id, request.locale
        )
        request = composed(replace(request, locale=locale))
        with self._gate.closed() if acknowledge is not None else nullcontext():
            if seen is None:
                seq = await self._arrivals.receive(request)
            else:
                seq = await self._inbox.receive_behind(row_of(request), seen)
            if seq is not None and acknowledge is not None:
                late = f"run {request.id} was not acknowledged"
                await wait_at_most(acknowledge(), ACKNOWLEDGE_S, late)
        if seq is not None:
            await self._start(request, seq)
        if seq is not None and follows is not None:
            await self._receive(follows, None)
        return Ticket(request.id, seq is not None, self._live.ended)

    async def _start(self, request: Request, seq: int) -> None:
        """Start the run of a stored request; if the database is down and other processes share it, as soon as it is
        back. Raises StorageFault.
        """
        row = commands.ROWS[request.work, request.verb]
        try:
            if (row.plain or row.holds) and request.text.strip():
                # Before the run, which may wait, so that plain text that comes meanwhile belongs to the same session.
                sessions = self._resources.records.sessions
                over = row.holds or partial(self._changes_work, request)
                await session_for(sessions, request, request.text, over=over)
            await self._gate.passed()
            if self._processes is None:
                await self._engine.begin(request.id)
                return
            route = self._processes.route(request.place.platform, request.place.space)
            line = line_name(request)
            # First, because if this process ended before, later runs would start before this one.
            await self._engine.start(request.id, route, line, seq)
            if line:
                self._background.start(self._execution.show_waiting(request, line, seq))
        except StorageFault as fault:
            if self._processes is not None and fault.away:
                _log.warning("run %s could not be started yet: %s", request.id, fault)
                self._background.start(self._start_later(request, seq))
                return
            # The run must neither block its line nor begin at the next start.
            if (live := self._live.by_id.get(request.id)) is not None:
                await self._execution.end(live, "failed")
            raise

    async def _start_later(self, request: Request, seq: int) -> None:
        patient_in_a_run()
        await self._start(request, seq)

    async def _changes_work(self, request: Request, session: SessionRow) -> bool:
        """Whether a question that names its work moves its author's conversation to that work.

        A story keeps its conversation, and so does a quiz that the author has not finished.
        """
        place, author = request.place, request.author.id
        if session.author_id != author:
            return False
        if (kind := commands.KINDS.get(session.work)) is None:  # a work of an earlier release
            return True
        if not commands.ROWS[commands.plain_verb(session.work)].asks:
            return False
        words = request.text.rstrip("? ")
        return kind.plain is None or not await kind.plain(self._resources, place, author, words)
