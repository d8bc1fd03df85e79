"""A platform whose views fail or wait on demand."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from bot.app import App
from bot.events import Changed, Ended, Event, Request, Shown, Text
from bot.platforms import Platform
from bot.view import View
from bot.work import Run
from storage.outbox import Outbox
from tests.fakes.scripted_app import Recorder, Script, open_scripted


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


class Moody:
    """A view whose end fails or waits on demand for the run "one"; other runs are shown normally."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.seen: list[tuple[str, str, str]] = []
        self.flushing = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.broken = ""

    def view(self, run: str, request: Request, outbox: Outbox) -> View:
        return _MoodyView(self, run)

    def state(self, run: str) -> str:
        with closing(sqlite3.connect(self.data / "sutradhar.db")) as connection:
            ((state,),) = connection.execute("SELECT state FROM inbox WHERE id = ?", (run,))
            return str(state)


class _MoodyView:
    def __init__(self, moody: Moody, run: str) -> None:
        self._moody = moody
        self._run = run

    async def show(self, event: Shown) -> None:
        if self._run == "one" and self._moody.broken == "show":
            raise UnicodeEncodeError("ascii", "✓", 0, 1, "as a pipe that is not UTF-8")

    async def change(self, changed: Changed) -> None:
        pass

    async def flush(self, status: Ended) -> None:
        await self._do("flush", status)

    async def close(self, status: Ended) -> None:
        await self._do("close", status)

    async def _do(self, what: str, status: Ended) -> None:
        moody = self._moody
        moody.seen.append((what, status, moody.state(self._run)))
        if self._run != "one":
            return
        if what == "flush":
            moody.flushing.set()
            await moody.go_on.wait()
        if what == moody.broken:
            raise RuntimeError("the platform is gone")


@asynccontextmanager
async def running(moody: Moody, **scripts: Script) -> AsyncIterator[App]:
    app = await open_scripted(moody.data, {"hello": hello, **scripts}, Recorder())
    app.attach(Platform("terminal", moody.view))
    try:
        await app.start()
        yield app
    finally:
        await app.close()
