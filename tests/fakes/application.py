"""An application in memory with the interface of bot.app.App, whose works are the test's own.

It behaves like App: a received id is not run twice, ordered runs of a place run one after another, stop cancels running
and waiting runs, UserError becomes Failed. Only its outbox survives it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bot.adapters.terminal.view import Claims
from bot.commands import ROWS, plain_verb
from bot.config import Config, SpeechConfig
from bot.events import (
    Answered,
    Changed,
    Ended,
    Event,
    Failed,
    Hush,
    Place,
    Request,
    Speak,
    Speaking,
    Stage,
    Unquoted,
    UserError,
)
from bot.kind import Typed
from bot.llm.local_servers import LocalServer
from bot.platforms import Platform
from bot.speech.clips import Clips, Post
from bot.speech.speech import Speech
from bot.view import Closing, View
from bot.words import words
from tests.fakes.engine import FakeEngine

if TYPE_CHECKING:
    from bot.budget import Budget
    from bot.settings import Settings
    from storage.settings import SettingRow

Play = Callable[[Request], AsyncGenerator[Event, None]]


async def nothing(request: Request) -> AsyncGenerator[Event, None]:
    """A work that only begins a stage."""
    yield Stage("nothing", "")


@dataclass(frozen=True)
class Row:
    fresh: bool
    shown: str | None = None


class FakeOutbox:
    """An outbox in which stages claimed before are not fresh, as after a crash."""

    def __init__(self) -> None:
        self.claimed: set[tuple[str, str, str]] = set()
        self.sent_stages: list[tuple[str, str]] = []
        self.shown: dict[tuple[str, str, str], str | None] = {}

    async def claim(self, space: str, run: str, stage: str) -> Row:
        fresh = (space, run, stage) not in self.claimed
        self.claimed.add((space, run, stage))
        return Row(fresh)

    async def get(self, space: str, run: str, stage: str) -> Row | None:
        key = (space, run, stage)
        return Row(False, self.shown.get(key)) if key in self.claimed else None

    async def mark_sent(
        self, space: str, run: str, stage: str, message_id: str, shown: str | None = None
    ) -> None:
        if (space, run, stage) not in self.claimed:
            raise LookupError("sent without a claim")
        self.sent_stages.append((run, stage))
        self.shown[space, run, stage] = shown


@dataclass
class FakeTicket:
    run: str
    task: asyncio.Task[str]

    async def wait(self) -> str:
        return await asyncio.shield(self.task)


@dataclass
class Everywhere:
    """Settings with a single value: whether everything is narrated."""

    narrates: bool

    async def narrated(self, request: Request) -> bool:
        return self.narrates

    async def nearest(self, place: Place, person: str, name: str) -> list[SettingRow]:
        return []

    async def nearest_under(self, place: Place, person: str, prefix: str) -> dict[str, SettingRow]:
        return {}


@dataclass
class FakeApp:
    play: Play
    unfinished: list[Request] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    outbox: FakeOutbox = field(default_factory=FakeOutbox)
    requests: list[Request] = field(default_factory=list)
    closed: bool = False
    narrates: bool = False
    language: str = ""
    """The language that the person has set."""
    behind: list[asyncio.Task[None]] = field(default_factory=list)
    server: LocalServer | None = None
    answers: str = "some:model"
    looked: asyncio.Event | None = None
    """Set when the look for a server on this machine may end."""

    def __post_init__(self) -> None:
        self._views: Callable[[str, Request, Claims], View] | None = None
        self._tickets: dict[str, FakeTicket] = {}
        self._lines: dict[Place, asyncio.Lock] = {}

    def attach(self, platform: Platform) -> None:
        assert platform.name in ("terminal", "watch")
        self._views = cast("Callable[[str, Request, Claims], View]", platform.views)
        self._speak, self._narrates = platform.speak, platform.narrates

    async def answering(self, place: Place, person: str) -> tuple[str, str]:
        return self.answers, "some:vectors"

    async def local_server(self, space: str = "") -> LocalServer | None:
        if self.looked is not None:
            await self.looked.wait()
        return self.server

    def clips(self, post: Post, *, suffix: str = "mp3") -> Clips:
        """Clips with a voice that plays a tone; `narrated` decides what is narrated."""
        nowhere = Config(Path(), Path(), speech=SpeechConfig(voices=("fake",)))
        return Clips(
            Speech(nowhere, {"fake": FakeEngine()}),
            cast("Settings", Everywhere(narrates=self.narrates)),
            cast("Budget", None),  # nothing is paid
            nowhere,
            self._ended,
            post,
            exists=self._stands,
            suffix=suffix,
        )

    async def _stands(self, request: Request) -> bool:
        return True

    async def _ended(self, run: str) -> Ended:
        return cast("Ended", await self._tickets[run].wait())

    async def start(self) -> list[Request]:
        if self._views is None:
            raise RuntimeError("attach before start")
        for request in self.unfinished:
            await self.perform(request)
        return self.unfinished

    async def perform(self, request: Request) -> FakeTicket:
        if request.id not in self._tickets:
            self.requests.append(request)
            self._tickets[request.id] = FakeTicket(request.id, asyncio.create_task(self._run(request)))
        return self._tickets[request.id]

    async def locale(self, place: Place, person: str, otherwise: str) -> str:
        return self.language or otherwise

    async def plain(self, place: Place, author: str, text: str) -> tuple[str, str]:
        return plain_verb("rules")

    async def stop(self, place: Place) -> int:
        live = [
            self._tickets[request.id]
            for request in self.requests
            if request.place == place and not self._tickets[request.id].task.done()
        ]
        for ticket in live:
            ticket.task.cancel()
        return len(live)

    async def stop_run(self, space: str, run: str) -> int:
        ticket = self._tickets.get(run)
        return int(ticket is not None and ticket.task.cancel())

    async def idle(self) -> None:
        """Wait for the background tasks, which a test adds to `behind`."""
        await asyncio.gather(*self.behind)

    async def complete(self, kind: str, typed: Typed) -> list[str]:
        return [name for name in self.names.get(kind, []) if name.lower().startswith(typed.prefix.lower())]

    async def close(self) -> None:
        self.closed = True

    async def _run(self, request: Request) -> str:
        assert self._views is not None
        view = self._views(request.id, request, self.outbox)
        status: Ended = "done"
        line = self._lines.setdefault(request.place, asyncio.Lock())
        try:
            if ROWS[request.work, request.verb].ordered:
                async with line:
                    status = await self._show(request, view)
            else:
                status = await self._show(request, view)
        except asyncio.CancelledError:
            status = "stopped"
        await view.flush(status)
        if isinstance(view, Closing):
            await view.close(status)
        return status

    async def _show(self, request: Request, view: View) -> Ended:
        status: Ended = "done"
        try:
            async with aclosing(self.play(request)) as events:
                async for event in events:
                    status = "failed" if isinstance(event, Failed) else status
                    if isinstance(event, Speak):
                        narrates = self._narrates is None or await self._narrates(request)
                        if self._speak is not None and narrates:
                            await self._speak(request, event)
                    elif not isinstance(event, Speaking | Hush | Unquoted):
                        assert not isinstance(event, Changed | Answered), "only the real application can"
                        await view.show(event)
        except UserError as error:
            await view.show(Failed(words(request.locale)(error.key, **error.values)))
            status = "failed"
        return status
