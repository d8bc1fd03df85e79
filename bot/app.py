"""The application: `App.open` connects all parts, and `App.perform` receives every request.

Knows no platform: adapters bring a factory of views, keyed by the platform's name.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from bot import commands
from bot.access import Access
from bot.channel_rules import ChannelRules
from bot.events import Ended, Place, Request
from bot.faults import in_words
from bot.kind import Runs, Service, Typed
from bot.outsiders import Outsiders
from bot.plain_text import PlainText
from bot.platforms import LogView, Platform
from bot.retention import KeptDays
from bot.runs.dispatcher import Dispatcher
from bot.runs.engine import Engine
from bot.runs.execution import Execution
from bot.runs.live import LiveRuns
from bot.runs.processes import Processes
from bot.runs.recovery import Recovery
from bot.runs.requests import WATCH, AcknowledgementGate, PastRequests
from bot.runs.revisions import Revisions
from bot.runs.shared import SharedRuns
from bot.settings import MODEL
from bot.space_file import configured
from bot.vector_store import settle, store_name, why_alone
from bot.waiting import Background
from bot.work import Work
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.accounts import Accounts
    from bot.config import Config
    from bot.llm.local_servers import LocalServer
    from bot.resources import Resources
    from bot.speech.clips import Clips, Post, Unpost
    from bot.words import Words

BUSY_TIMEOUT_S = 10.0
"""How many seconds to wait for a database that another program has locked before the person gets a message."""
LEAVE_S = 5.0
"""How many seconds `close` waits for views and for a database that hangs; anything not shown or stored by then is
handled at the next start.
"""


class App:
    """One per process. `open`, `attach` each platform's views, `start`, then `perform`."""

    def __init__(
        self,
        resources: Resources,
        engine_url: str,
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        works: Callable[[Resources, Runs], Mapping[str, Work]] = commands.make_works,
    ) -> None:
        self.resources = resources
        """The storage, the library and the models. Adapters read `records`, `settings`, `prompts` and `library`, and
        call this class for the rest.
        """
        self.config = resources.config
        self.records = resources.records
        self.settings = resources.settings
        self.channel_rules = ChannelRules(resources.settings, resources.records.sessions)
        self.outsiders = Outsiders(resources.settings)
        self.access = Access(resources.settings, resources.platforms)
        self.plain_text = PlainText(resources, self.channel_rules)
        self.prompts = resources.prompts
        self.library = resources.library
        self.files = resources.files
        self.failing_models: Mapping[str, str] = resources.models.failing
        """The providers whose last call failed, with the fault."""
        self.started = False
        """Whether the engine is launched."""
        self._clips: list[Clips] = []
        background = self._background = Background()
        self.platforms = resources.platforms
        """The attached platforms by their names."""
        self.platforms[WATCH] = Platform(WATCH, LogView)
        inbox, database, lease = self.records.inbox, self.records.database, resources.lease
        self.sure = lease.confirmed if lease is not None else None
        """Returns once this process certainly still owns its runs: if it was frozen or disconnected, other processes
        that share the database may have taken them over.
        """
        gate, past = AcknowledgementGate(), PastRequests(inbox, self.records.sessions)
        if lease is None:
            live = LiveRuns(inbox)
        else:
            live = SharedRuns(
                inbox, database, lease, lambda request: self.dispatcher.start_stopped(request), self._executed
            )
        self.runs, self._past = live, past
        self.works = works(resources, self)
        execution = self._execution = Execution(
            resources,
            self.works,
            self.platforms,
            lambda child, key: self.dispatcher.begin(child, key),
            live=live,
            gate=gate,
            past=past,
        )
        engine = self._engine = Engine(
            engine_url,
            execution.body,
            busy_timeout_s=busy_timeout_s,
            lease=lease,
            earlier=live.earlier,
            answered=live.ended,
        )
        processes = self.processes = (
            Processes(lease, database, inbox, engine, self.platforms) if lease is not None else None
        )
        rules = self.outsiders, self.channel_rules, self.access
        self.dispatcher: Dispatcher = Dispatcher(
            resources, self, self.works, *rules, live, gate, execution, engine, processes, background
        )
        self.perform = self.dispatcher.perform
        """Stores a request, acknowledges it, then starts it; raises UserError."""
        self._revisions = Revisions(resources, past, live, execution, engine, self.dispatcher, processes)
        self._recovery = Recovery(
            resources, past, live, execution, engine, self._revisions, processes, self._clips, background
        )
        self._kept_days = KeptDays(
            database,
            self.config.storage.keep_days,
            engine.forget,
            grace_days=self.config.storage.grace_days,
            delete_documents=resources.intake.remove,
        )
        self._services: list[Service] = [
            kind.service(resources, self, self.works.get(kind.name))
            for kind in commands.KINDS.values()
            if kind.service is not None
        ]

    @classmethod
    async def open(cls, config: Config, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> App:
        """Open the storage and create the works; takes the data folder's lock. Nothing runs before `start`.

        `busy_timeout_s` limits the wait for another program that has locked a database. Raises UserError when the
        folder is in use, cannot be written, or was made by a newer release.
        """
        from bot.blas import calculate_in_one_thread
        from bot.heap import share_heap
        from bot.resources import Resources

        share_heap()
        calculate_in_one_thread()
        resources = await Resources.open(config, busy_timeout_s=busy_timeout_s)
        if config.spaces:
            try:
                resources.settings.configured = await asyncio.to_thread(configured, resources)
            except BaseException:
                await resources.close()
                raise
        return cls(resources, resources.engine_url, busy_timeout_s=busy_timeout_s)

    @property
    def accounts(self) -> Accounts:
        from bot.accounts import Accounts

        return Accounts.of(self.resources)

    def clips(
        self,
        post: Post,
        *,
        suffix: str = "mp3",
        key: str = "",
        again: bool = True,
        unpost: Unpost | None = None,
    ) -> Clips:
        """Narration for a platform without voice channels: audio files with this suffix, posted by `post`.

        If `key` names where they are stored, other processes can drop them, and with `again` they are also made after
        a crash: see Clips.
        """
        from bot.speech.clips import Clips

        resources = self.resources
        clips = Clips(
            resources.speech,
            resources.settings,
            resources.models.budget,
            self.config,
            self.ended,
            post,
            exists=self._past.stands,
            suffix=suffix,
            readings=self.records.readings if key else None,
            key=key,
            again=again,
            database=self.records.database,
            unpost=unpost,
        )
        self._clips.append(clips)
        return clips

    async def locale(self, place: Place, person: str, otherwise: str) -> str:
        """The locale set for the person in this place; `otherwise` if none is set or it cannot be read."""
        with suppress(StorageFault):
            return await self.settings.locale(place, person, otherwise)
        return otherwise

    async def answering(self, place: Place, person: str) -> tuple[str, str]:
        """The name of the model that answers the person there ("" for none), and of the embedding model."""
        return await self.settings.answerer(place, person), self.config.embedding.model

    async def overview(self, space: str, say: Words, name: Callable[[str], str]) -> AsyncGenerator[str, None]:
        """What each kind of work reports about a space; `name` escapes a person's name for the page."""
        for kind in commands.KINDS.values():
            if kind.overview is not None:
                async for line in kind.overview(self.resources, space, say, name):
                    yield line

    async def local_server(self, space: str = "") -> LocalServer | None:
        """A model server on this machine to offer; None if a key or a model is set, or if no server is found."""
        if self.config.roles_from not in ("none", "demo"):
            return None
        if space and await self.settings.store.get(space, f"{MODEL}answerer") is not None:
            return None
        from bot.llm.local_servers import local_servers

        return next(iter(await local_servers(self.config.providers)), None)

    def attach(self, platform: Platform) -> None:
        """Serve this platform. Call it before `start`, so that interrupted runs have a view."""
        self.platforms[platform.name] = platform

    def origin(self, place: Place) -> str | None:
        """The origin of a request to which no message belongs; None if the platform has none."""
        platform = self.platforms.get(place.platform)
        return platform.origin(place) if platform is not None and platform.origin is not None else None

    async def adults(self, place: Place) -> bool | None:
        """Whether the platform admits only adults to the place; None if it cannot tell."""
        platform = self.platforms.get(place.platform)
        return await platform.adults(place) if platform is not None and platform.adults is not None else None

    def load(self) -> None:
        """Begin to load in the background what `start` needs."""
        self._engine.load()

    async def start(self) -> list[Request]:
        """Launch the engine. Returns the requests that now run by themselves: interrupted ones, and those of the works'
        services. Raises UserError.
        """
        processes = self.processes
        database, vectors = self.resources.records.database, self.resources.vectors
        with in_words():
            if processes is not None:
                await processes.join(
                    await why_alone(self.config, database, vectors), store_name(self.config, vectors)
                )
            await settle(database, self.resources.records.documents, vectors)
            await self.resources.tracing.start()
            unfinished = await self._recovery.take_up()
            alone = await processes.agree() if processes is not None else []
            whole = [name for name, platform in self.platforms.items() if platform.part is None]
            await self._engine.launch(whole, patient=(WATCH,))
            if processes is not None:
                await processes.move_waiting(alone)
            self.started = True
            await self._recovery.resume(unfinished)
            await self._engine.purge()
            self.resources.missing_vectors.start(self._has_jobs)
            self._kept_days.start()
            started = [await service.start(unfinished) for service in self._services]
        return unfinished + [request for requests in started for request in requests]

    async def _has_jobs(self, space: str) -> bool:
        return bool(await self.resources.jobs.runs(space, commands.JOBS))

    async def _executed(self, run: str) -> bool:
        """Whether a process executes the run or will do so."""
        return await self._engine.status(run) == "running"

    async def plain(self, place: Place, author: str, text: str) -> tuple[str, str]:
        """The work and verb for a person's plain text in this place."""
        return await self.plain_text.verb(place, author, text)

    async def idle(self) -> None:
        """Wait until all runs have ended, including their background parts and the runs that they have begun."""
        while ends := [live.end for live in self.runs.all()]:
            await asyncio.wait(ends)

    async def stop(self, place: Place, author: str = "") -> int:
        """Stop the running and waiting runs in this place; library jobs only if there are no others. Returns how many.

        At a channel's root this includes what `author` has begun elsewhere in the channel: in threads or in private.
        """
        return await self.runs.stop(place, author)

    async def settled(self, place: Place, work: str, verbs: Collection[str]) -> None:
        """Wait for the answer of the current run in this place, if it is of one of these verbs."""
        live = await self.runs.called(place)
        if live is not None and live.work == work and live.verb in verbs:
            await self.runs.ended(live.id)

    async def stop_run(self, space: str, run: str) -> int:
        """Stop one run; returns 0 if it has ended or belongs to another space."""
        if not self.started:  # nothing runs here, but an earlier process's run would continue at a start
            return int(await self.runs.give_up(space, run))
        if (live := self.runs.of(space, run)) is not None:
            return int(await self.runs.stop_one(live))
        with in_words():
            request = await self._past.request(space, run)
            return int(request is not None and await self.runs.stop_run(request))

    async def going(self, space: str) -> list[Request]:
        """The requests of the space that wait or run in any process and are not answered yet."""
        return await self.runs.going(space)

    async def goes_on(self, space: str, run: str) -> bool:
        """Whether the run is running or waiting, here or in another process."""
        return any(request.id == run for request in await self.runs.going(space))

    async def ended(self, run_id: str) -> Ended:
        """Wait until a run's answer is complete, also if it was continued at the start; returns how it ended."""
        return await self.runs.ended(run_id)

    async def request_of(self, space: str, run: str) -> Request | None:
        """The request of a run, to repeat it; None if this space has no run of that id."""
        with in_words():
            return await self._past.request(space, run)

    async def forget(self, space: str, *runs: str) -> bool:
        """Stop runs whose author has deleted the request, and erase their words and answers; the ids stay.

        Returns whether this space had such runs.
        """
        return await self._revisions.forget(space, *runs)

    async def forget_steps(self, space: str, *runs: str) -> None:
        """Delete the stored steps of these runs, except those still running; requests and answers stay."""
        await self._revisions.forget_steps(space, *runs)

    async def reword(self, space: str, run: str, text: str, edit: str = "") -> bool:
        """Store the new words of a request that a person has edited: see Revisions.reword. Returns whether this space
        has the run.
        """
        return await self._revisions.reword(space, run, text, edit)

    async def complete(self, kind: str, typed: Typed) -> list[str]:
        """Names of this kind (`Option.completes`) that begin with what was typed; [] for an unknown kind.

        Names of a person's own things are those of the `author` in `typed`; names of a story are those of its `place`.
        """
        for work in commands.KINDS.values():
            if kind in work.completes:
                return await work.completes[kind](self.resources, typed)
        return []

    async def close(self) -> None:
        """Close all parts in order. Unfinished runs continue at the next start."""
        self.records.database.hurry(LEAVE_S)
        self._execution.leaving = True
        await self._kept_days.close()
        for clips in self._clips:
            await clips.close()
        for service in self._services:
            await service.close()
        self.plain_text.close()
        await self.dispatcher.close(LEAVE_S)
        if self.processes is not None:
            self.processes.close()
        # Reports that are not finished by now are repeated at the next start.
        tasks = [*self._background.tasks, *(live.task for live in self.runs.all() if live.task is not None)]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=LEAVE_S)
        if ending := [live.end for live in self.runs.all() if live.ending]:
            await asyncio.wait(ending, timeout=LEAVE_S)
        await self._execution.showings.close()
        if self.started:
            await self._engine.close()
        with suppress(StorageFault):
            if self.runs.owes:
                await self.runs.keep_owed()
        await self.resources.close()
