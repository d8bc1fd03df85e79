"""The application: `App.open` wires everything by hand, `App.perform` takes every request in.

Knows no platform: adapters bring a factory of views, keyed by the platform's name.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from bot import commands
from bot.events import Ended, Place, Request, Sorry, Work
from bot.faults import in_words
from bot.holding import held
from bot.kind import Runs, Service, Typed
from bot.patience import wait_a_while
from bot.platforms import Logged, Platform
from bot.runs.arrivals import Arrivals, Doorway
from bot.runs.engine import Engine
from bot.runs.execution import VIEW_S, Execution
from bot.runs.live import LiveRuns
from bot.runs.order import Order
from bot.runs.past import Past
from bot.runs.requests import WATCH, child_id, line_of, ordered, request_from_json
from storage.faults import StorageFault
from storage.inbox import Inbox

if TYPE_CHECKING:
    from bot.accounts import Accounts
    from bot.config import Config
    from bot.house import House
    from bot.prompts import Wording
    from bot.words import Words

Acknowledge = Callable[[], Awaitable[object]]
BUSY_TIMEOUT_S = 10.0
"""How long a database that another program holds is waited for, before a person is told."""
ACKNOWLEDGE_S = 10.0
"""How long an acknowledgement may take before the run begins without it; platforms wait three seconds."""
LEAVE_S = 5.0
"""How long leaving waits for views; what is not on the screen by then is shown at the next start."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Ticket:
    """What the adapter gets for a request. `fresh` is False for one that was received before."""

    run: str
    fresh: bool
    _ended: Callable[[str], Awaitable[Ended]]

    async def wait(self) -> Ended:
        """Wait for the run's answer to be whole: how it ended."""
        return await self._ended(self.run)


class App:
    """One per process. `open`, `attach` each platform's views, `start`, then `perform`."""

    def __init__(
        self,
        house: House,
        engine_url: str,
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        works: Callable[[House, Runs], Mapping[str, Work]] = commands.made,
    ) -> None:
        self.house = house
        """The storage, the library and the models: what has an edge reads `records`, and asks here for the rest."""
        self.config = house.config
        self.records = house.records
        self.library = house.library
        self._inbox: Inbox = house.records.inbox
        self._started = False
        self._order = Order()
        self._arrivals = Arrivals(self._inbox, self._arrived)
        self._door = Doorway()
        self._begun: set[asyncio.Task[Ticket]] = set()
        self._telling: set[asyncio.Task[None]] = set()
        self._guard: asyncio.Task[None] | None = None
        self._platforms: dict[str, Platform] = {WATCH: Platform(WATCH, Logged)}
        self._live = LiveRuns(self._inbox)
        self._past = Past(self._inbox, house.records.sessions, house.withdrawals)
        self.works = works(house, self)
        self._execution = Execution(
            house,
            self.works,
            self._platforms,
            self._begin,
            live=self._live,
            order=self._order,
            door=self._door,
            past=self._past,
        )
        self._engine = Engine(engine_url, self._execution.body, busy_timeout_s=busy_timeout_s)
        self._services: list[Service] = [
            kind.service(house, self) for kind in commands.KINDS.values() if kind.service is not None
        ]

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
    def accounts(self) -> Accounts:
        from bot.accounts import Accounts

        return Accounts(self.house.ledger, self.records.feedback, self.config.budget)

    async def free_chat(self, place: Place) -> bool:
        """Whether plain messages in a thread of the bot's there are for the bot. Raises StorageFault."""
        return await self.house.settings.free_chat(place)

    async def wording(self, space: str, prompt: str) -> Wording:
        """Today's text of a prompt in this space. Raises Sorry for an unknown one."""
        return await self.house.prompts.wording(space, prompt)

    async def overview(self, space: str, say: Words, name: Callable[[str], str]) -> AsyncGenerator[str, None]:
        """What each kind of work has to say of a space; `name` makes somebody's name harmless there."""
        for kind in commands.KINDS.values():
            if kind.overview is not None:
                async for line in kind.overview(self.house, space, say, name):
                    yield line

    def attach(self, platform: Platform) -> None:
        """Show runs of this platform; before `start`, so that cut-off runs have a view."""
        self._platforms[platform.name] = platform
        if platform.fetch is not None:
            self.house.incoming.attach(platform.name, platform.fetch)
        if platform.earlier is not None:
            self.house.earlier.attach(platform.name, platform.earlier)

    @property
    def platforms(self) -> Collection[str]:
        """Those that are attached."""
        return self._platforms.keys()

    def origin(self, place: Place) -> str | None:
        """The origin of a request in a place where nobody has written; None where its platform has none."""
        platform = self._platforms.get(place.platform)
        return platform.origin(place) if platform is not None and platform.origin is not None else None

    def load(self) -> None:
        """Begin to load what `start` needs, which may take its time meanwhile."""
        self._engine.load()

    async def start(self) -> list[Request]:
        """Launch the engine; returns what goes on by itself: cut-off runs, what works do unasked. Raises Sorry."""
        with in_words():
            return await self._start()

    async def _start(self) -> list[Request]:
        await self.house.alone()
        self._guard = asyncio.create_task(self._leave_if_lost())
        await self.house.tracing.start()
        unfinished = []
        rows = await self._inbox.unfinished()
        for row in rows:
            if row.platform not in self._platforms:
                continue
            try:
                request = request_from_json(row.payload)
                if row.state == "answered":  # it is past its line, and nobody waits for it
                    self._live.expect(request, row.seq).answered.set_result("done")
                else:
                    self._arrived(request, row.seq)
            except (KeyError, TypeError, ValueError, Sorry):  # one that only an earlier release understood
                _log.exception("run %s cannot be read", row.id)
                await self._inbox.set_states({row.id: "failed"})
            else:
                unfinished.append(request)
        await self._engine.launch()
        self._started = True
        try:
            await self.house.intake.clear(grace=timedelta())
        except StorageFault as fault:  # tried again at the next start, and after the next job
            _log.warning("what is left of removed books could not be cleared away: %s", fault)
        # Also what runs of other platforms have fetched, which wait for a process that is on theirs.
        await self.house.incoming.keep_only({row.id for row in rows})
        for request in unfinished:
            match await self._engine.status(request.id):
                case None:
                    await self._engine.start(request.id)
                case "running":  # the engine takes it up by itself
                    pass
                case ended:
                    _log.error("run %s cannot be taken up again: %s", request.id, ended)
                    # Beside the start, which nobody's platform may hold up.
                    telling = asyncio.create_task(self._execution.give_up(self._live.expect(request, 0)))
                    self._telling.add(telling)
                    telling.add_done_callback(self._telling.discard)
        await self._engine.purge()
        self.house.missing_vectors.start(self._has_jobs)
        begun = [await service.start(unfinished) for service in self._services]
        return unfinished + [request for requests in begun for request in requests]

    async def _has_jobs(self, space: str) -> bool:
        return bool(await self.house.jobs.runs(space, commands.JOBS))

    async def _leave_if_lost(self) -> None:
        """The database's next process has taken up our runs: leave them to it, as if we were told to."""
        if self.house.server_lock is not None:
            await self.house.server_lock.lost()
            _log.error("another process works on the database now: leaving")
            signal.raise_signal(signal.SIGTERM)

    async def perform(self, request: Request, acknowledge: Acknowledge | None = None) -> Ticket:
        """Persist the request, acknowledge it, then start it. One that came before is not done twice.

        `acknowledge` is awaited for a fresh request only; the run goes on whether or not it succeeds. Raises
        Sorry when the request is not allowed or could not be persisted: then nothing was begun.
        """
        verb = commands.verb(request.work, request.verb)
        # Nobody's to type: its work may offer it, and a run's child that a crash cut off is waited for.
        if verb.inner and not (request.answers or request.parent):
            raise Sorry("commands.unknown_verb_only", name=verb.path)
        if verb.admin and not request.author.admin:
            raise Sorry("app.admins", verb=verb.path)
        # A task of its own: whoever asked may be cut off half-way, and a run that is kept but never started
        # would hold up its line.
        begun = asyncio.create_task(self._perform(request, acknowledge))
        self._begun.add(begun)
        begun.add_done_callback(self._begun.discard)
        return await asyncio.shield(begun)

    async def _perform(self, request: Request, acknowledge: Acknowledge | None) -> Ticket:
        with in_words():
            await self._live.keep_owed()
            request = replace(request, locale=await self.house.settings.locale(request))
            with self._door.waiting() if acknowledge is not None else nullcontext():
                seq = await self._arrivals.receive(request)
                if seq is not None and acknowledge is not None:
                    late = f"run {request.id} was not acknowledged"
                    await wait_a_while(acknowledge(), ACKNOWLEDGE_S, late)
            if seq is not None:
                await self._start_run(request, seq)
        return Ticket(request.id, seq is not None, self._live.ended)

    async def _start_run(self, request: Request, seq: int) -> None:
        """Have the engine begin with a request that is kept. Raises StorageFault."""
        try:
            row = commands.verb(request.work, request.verb)
            if (row.plain or row.holds) and request.text.strip():
                # Before the run, which may wait: plain text that comes meanwhile goes where this went.
                await held(self.records.sessions, request, request.text, over=row.holds)
            await self._door.clear()
            await self._engine.start(request.id)
        except StorageFault:  # it must neither hold up its line nor begin at the next start
            await self._execution.end(self._live.expect(request, seq), "failed")
            raise

    async def _begin(self, child: Request, key: str) -> str:
        """Have a run's child done, as durably as if a person had asked for it; again the same does nothing."""
        child = replace(child, id=child_id(replace(child, id=child.parent), key))
        with in_words():
            if (seq := await self._arrivals.receive(child)) is not None:
                await self._start_run(child, seq)
        return child.id

    def _arrived(self, request: Request, seq: int) -> None:
        """Take note of a request in the order of its number, before another one is received."""
        self._live.expect(request, seq)
        if ordered(request):
            self._order.enter(line_of(request), seq)

    async def plain(self, place: Place, author: str, text: str) -> tuple[str, str]:
        """The work and verb that a person's plain text goes to in this place: its session's, else rules."""
        here = (place.space, place.platform, place.channel, place.thread)
        with in_words():
            session = await self.records.sessions.active(*here)
            work, verb = commands.plain_verb(session.work if session else commands.DEFAULT_WORK)
            kind = commands.KINDS[work]
            meant = await kind.plain(self.house, place, author, text) if kind.plain is not None else ""
        return work, meant or verb

    async def stop(self, place: Place, author: str = "") -> int:
        """Stop what runs or waits in this place, library jobs only where nothing else does; how many.

        At a channel's root also what `author` has begun elsewhere in the channel: in threads, in private.
        """
        return await self._live.stop(place, author)

    async def settled(self, place: Place, work: str, verbs: Collection[str]) -> None:
        """Wait for the end of the run that goes on in this place, if it is one of these verbs; for none behind it."""
        going = self._live.numbered(self._order.called(place))
        if going is not None and going.request.work == work and going.request.verb in verbs:
            await asyncio.shield(going.answered)

    async def stop_run(self, space: str, run: str) -> int:
        """Stop one run; 0 when it is over, or of another space."""
        if not self._started:  # then nothing runs, but what an earlier process left would go on at a start
            return int(await self._live.give_up(space, run))
        one = self._live.of(space, run)
        return int(one is not None and await self._live.stop_one(one))

    async def stop_where(self, meant: Callable[[Request], bool]) -> int:
        """Stop every run whose request is meant, as when a platform shuts us out of a space; how many."""
        return await self._live.stop_where(meant)

    def live(self, space: str, run: str) -> bool:
        """Whether the run is going or waiting in this process."""
        one = self._live.of(space, run)
        return one is not None and not one.quiet

    async def ended(self, run_id: str) -> Ended:
        """Wait for the answer of a run to be whole, also one that was taken up at the start: its status."""
        return await self._live.ended(run_id)

    async def past(self, space: str, run: str) -> Request | None:
        """The request of a run, to ask it again; None where this space has none of that id."""
        with in_words():
            return await self._past.request(space, run)

    async def forget(self, space: str, *runs: str) -> bool:
        """A person took back what they asked: stop it, and keep neither the words nor the answer, only the ids.

        Whether this space had such runs.
        """
        with in_words():
            had = [run for run in runs if await self._forgotten(space, run)]
            if had:
                await self._engine.scrub()
                await self.records.database.scrub()
        return bool(had)

    async def _forgotten(self, space: str, run: str) -> bool:
        if (request := await self._past.request(space, run)) is None:
            return False
        await self._past.withdraw(request)
        if (one := self._live.of(space, run)) is not None:
            await self._live.stop_one(one)
            # Until it has ended it remembers what was shown, and keeps what its buttons offer.
            await asyncio.wait({one.end}, timeout=2 * VIEW_S)
            await self._past.withdraw(request)
        await self._engine.forget(run)
        for child in await self._inbox.children(space, run):  # what it has begun holds words of it, too
            await self._forgotten(space, child.id)
        return True

    async def forget_steps(self, space: str, *runs: str) -> None:
        """Keep nothing of what these runs went through, but of those that go on; requests and answers stay."""
        with in_words():
            for run in runs:
                if await self._past.request(space, run) is not None and self._live.of(space, run) is None:
                    await self._engine.forget(run)
            await self._engine.scrub()

    async def reword(self, space: str, run: str, text: str, edit: str = "") -> bool:
        """A person changed what they wrote: it is kept so, the answer stays. Whether this space had such a run.

        `edit` tells edits of one message apart, "" for no edit of a message. One that comes again does nothing, and
        what its work does about it is a run of its own.
        """
        with in_words():
            if (request := await self._past.request(space, run)) is None:
                return False
            kind, key = commands.KINDS.get(request.work), f"edit/{edit}"
            follows = kind.reworded if kind is not None and edit and text else ""
            if follows and await self._inbox.get(child_id(request, key)) is not None:
                return True
            if (one := self._live.of(space, run)) is not None:
                one.reworded = text
            if not await self._past.reword(space, run, text):
                return False
            if follows:
                more = replace(request, verb=follows, text=text, options={}, files=(), line="")
                await self._begin(replace(more, parent=run, answers=run), key)
            return True

    async def complete(
        self, space: str, kind: str, prefix: str, shelf: str | None = None, author: str = ""
    ) -> list[str]:
        """Names of this kind (what a verb of the table `completes`) that begin like `prefix`; [] of an unknown kind.

        A person's own are `author`'s.
        """
        typed = Typed(space, prefix, shelf, author)
        for one in commands.KINDS.values():
            if kind in one.completes:
                return await one.completes[kind](self.house, typed)
        return []

    async def close(self) -> None:
        """Leave in order. Runs that are still going are taken up at the next start."""
        self._execution.leaving = True
        for service in self._services:
            await service.close()
        if self._begun:
            await asyncio.wait(set(self._begun))
        # Who has not been told by now is at the next start.
        tasks = [*self._telling, *(one.task for one in self._live.all() if one.task is not None)]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if ending := [one.end for one in self._live.all() if one.ending]:
            await asyncio.wait(ending, timeout=LEAVE_S)
        if self._started:
            await self._engine.close()
        with suppress(StorageFault):
            await self._live.keep_owed()
        if self._guard is not None:
            self._guard.cancel()
        await self.house.close()
