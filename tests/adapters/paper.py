"""For tests of the writer and the composer: a clock that tests advance, and a place in memory for messages.

It knows no platform: its message ids are not numbers, and it never looks inside a page.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic

from bot.adapters.home import Amend
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import AnyPage, Gone, MessageRef, MessageStyle, Page, PlaceClosed, Refused, Surface
from bot.events import Elsewhere, Link

TURNS = 60
"""How often everybody else may run before the clock moves on."""


class Clock:
    """A clock that the test advances. `busy`: whether a thread is at work, which the event loop cannot see."""

    def __init__(self, busy: Callable[[], bool] = lambda: False) -> None:
        self.now = 1000.0
        self._busy = busy
        self._waiting: dict[asyncio.Event, float] = {}

    def time(self) -> float:
        return self.now

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        woken = asyncio.Event()
        self._waiting[woken] = self.now + seconds
        tasks = [asyncio.create_task(one.wait()) for one in (event, woken)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting.pop(woken, None)
            for task in tasks:
                task.cancel()

    async def settle(self) -> None:
        turns = 0
        while turns < TURNS:
            await asyncio.sleep(0)
            turns = 0 if self._busy() else turns + 1

    async def advance(self, seconds: float) -> None:
        """Let time pass, and wake the waiting tasks in order."""
        end = self.now + seconds
        await self.settle()
        while due := [at for at in self._waiting.values() if at <= end]:
            self.now = max(self.now, min(due))
            for event, at in list(self._waiting.items()):
                if at <= self.now:
                    event.set()
            await self.settle()
        self.now = end
        await self.settle()

    async def until(self, holds: Callable[[], bool], step_s: float) -> None:
        """Let time pass, step by step, until the condition holds."""
        async with asyncio.timeout(60):
            while not holds():
                await self.advance(step_s)


@dataclass
class Written(Generic[AnyPage]):
    """A message; `states` holds (time, text) of its post and of each edit."""

    id: str
    mark: MessageRef
    states: list[tuple[float, str]]
    style: MessageStyle
    page: AnyPage
    files: list[str]
    deleted: bool = False

    @property
    def text(self) -> str:
        return self.states[-1][1]

    @property
    def edits(self) -> list[tuple[float, str]]:
        return self.states[1:]


@dataclass(eq=False)
class Paper(Generic[AnyPage]):
    """A surface in memory. `faults` are raised by the next calls, before (or `after`) they do anything."""

    read: Callable[[AnyPage, MessageStyle], str]
    key: str = "paper"
    messages: list[Written[AnyPage]] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    after: list[BaseException] = field(default_factory=list)
    keeps: list[Exception] = field(default_factory=list)
    """Raised by the next deletions."""
    refuses: Callable[[MessageStyle], Exception | None] = lambda _: None
    _written: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, holds: Callable[[], bool], seconds: float = 10) -> None:
        """Wait until the condition holds; it is checked after each write."""
        async with asyncio.timeout(seconds):
            while not holds():
                self._written.clear()
                await self._written.wait()

    renamed: bool = False
    """Whether a message there is to be another's, as one under another name."""

    def renames(self, message: str, page: AnyPage) -> bool:
        return self.renamed

    async def post(self, page: AnyPage, mark: MessageRef, style: MessageStyle) -> str:
        self._fail(style)
        known = [message for message in self.messages if message.mark == mark and not message.deleted]
        if not known:
            id, state = f"1718.{len(self.messages):04}", (time.monotonic(), self.read(page, style))
            written = Written(id, mark, [state], style, page, _files(page))
            self.messages.append(written)
            known = [written]
        self._written.set()
        if self.after:
            raise self.after.pop(0)
        return known[0].id

    async def edit(
        self, message: str, page: AnyPage, mark: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> None:
        self._fail(style)
        written = self._at(message)
        if written.deleted:
            raise Gone
        if written.style is MessageStyle.LAYOUT and style is not MessageStyle.LAYOUT:
            raise Refused("a layout stays one")
        written.states.append((time.monotonic(), self.read(page, style)))
        written.style, written.page = style, page
        if files:
            written.files = _files(page)
        self._written.set()
        if self.after:
            raise self.after.pop(0)

    async def find(self, mark: MessageRef, since: datetime, known: Collection[str]) -> str | None:
        return next(
            (message.id for message in self.messages if message.mark == mark and message.id not in known),
            None,
        )

    async def delete(self, message: str) -> None:
        if self.keeps:
            raise self.keeps.pop(0)
        self._at(message).deleted = True

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages if not message.deleted]

    @property
    def edits(self) -> list[float]:
        return sorted(at for message in self.messages for at, _ in message.edits)

    def _at(self, message: str) -> Written[AnyPage]:
        return next(one for one in self.messages if one.id == message)

    def _fail(self, style: MessageStyle) -> None:
        if self.faults:
            raise self.faults.pop(0)
        if (fault := self.refuses(style)) is not None:
            raise fault


def _files(page: Page) -> list[str]:
    return [name for name, _ in page.files]


class PaperHome(Generic[AnyPage]):
    """A home in memory; when a surface closes, the next of `surfaces` is used."""

    def __init__(self, *surfaces: Surface[AnyPage], why: str = "", hint: str = "") -> None:
        self._left = list(surfaces[1:])
        self._why = why
        self.lost: list[Surface[AnyPage]] = []
        self.surface: Surface[AnyPage] = surfaces[0]
        self.style = MessageStyle.LAYOUT
        self.messages: set[str] = set()
        self.response = None
        self.hint = hint
        self.over = False
        self.no_files = ""
        self.private = self.ephemeral = self.further = False
        self.share = "page.share"
        self.opened = asyncio.Event()
        self.opened.set()
        self.tell: Callable[[str], None] = lambda _: None

    async def open(self) -> None:
        await self.opened.wait()

    def recall(self, message: str) -> None:
        self.messages.add(message)

    async def move(self, surface: Surface[AnyPage], shut: PlaceClosed) -> bool:
        if surface is self.surface:
            if not self._left:
                return False
            self.lost.append(surface)
            self.surface = self._left.pop(0)
            self.tell(self._why)
        return True

    async def line(self, elsewhere: Elsewhere) -> str:
        return elsewhere.title

    async def link(self, link: Link) -> str:
        return f"→ {link.title}"

    async def overflow(
        self, sheets: Sequence[StageContent], context: PageContext, amend: Amend[AnyPage]
    ) -> None: ...

    async def end_messages(self, messages: Sequence[str], note: str) -> None: ...

    def ending(self) -> None: ...

    async def ended(self) -> None: ...
