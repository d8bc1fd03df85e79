"""An app in which people add courses and see the answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.app import App
from bot.config import load
from bot.events import Author, Citation, Event, File, OptionValue, Place, Request, Text
from bot.platforms import Platform
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder
from tests.works.course.files import COURSES

BOSS = Author("boss", "Boss", admin=True)


class Desk:
    def __init__(self, app: App, recorder: Recorder, folder: Path) -> None:
        self.app = app
        self.recorder = recorder
        self.folder = folder
        self._runs = 0

    def file(self, name: str, text: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    async def ask(
        self,
        work: str,
        verb: str,
        text: str = "",
        *,
        space: str = "local",
        thread: str = "t",
        files: tuple[File, ...] = (),
        **options: OptionValue,
    ) -> list[Event]:
        """Ask, and return what is shown."""
        self._runs += 1
        id = f"{self._runs * 0x1A2B3C4D:032x}"
        place = Place("terminal", space, "c", thread)
        await self.app.perform(Request(id, place, BOSS, work, verb, options, text, files))
        await self.app.ended(id)
        return self.recorder.events[id]

    async def said(self, work: str, verb: str, text: str = "", **options: OptionValue) -> str:
        return words_of(await self.ask(work, verb, text, **options))  # type: ignore[arg-type]

    async def add(self, *paths: str, verb: str = "add", **options: OptionValue) -> str:
        return words_of(await self.ask("course", verb, "", paths=list(paths), **options))  # type: ignore[arg-type]

    async def titles(self, space: str = "local") -> list[str]:
        return [outline.title for outline in await self.app.resources.outlines.of_shelf(space, " courses")]


def words_of(events: list[Event]) -> str:
    said = ""
    for event in events:
        said += (
            event.text
            if isinstance(event, Text)
            else f"\n{getattr(event, 'title', '') or getattr(event, 'text', '')}\n"
        )
    return re.sub(r"\n+", "\n", said).strip()


def cited(events: list[Event]) -> list[Citation]:
    return [event for event in events if isinstance(event, Citation)]


@asynccontextmanager
async def opened(folder: Path, settings: str = "") -> AsyncIterator[Desk]:
    """An app without vectors, unless the settings say otherwise."""
    file = folder / "config.toml"
    usual = "" if "[embedding]" in settings else '[embedding]\nmodel = "none"\n'
    await asyncio.to_thread(file.write_text, usual + settings, encoding="utf-8")
    data = migrated.folder(folder / "data") if not (folder / "data").exists() else folder / "data"
    app = await App.open(load(file, data, environ={}))
    recorder = Recorder()
    app.attach(Platform("terminal", recorder.view))
    app.attach(Platform("watch", recorder.view))
    try:
        for request in await app.start():
            await app.ended(request.id)
        yield Desk(app, recorder, folder)
    finally:
        await app.close()


def course(name: str) -> str:
    return str(COURSES / name)
