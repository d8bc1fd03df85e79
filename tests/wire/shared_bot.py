"""A fake, a model and the bot's process that several tests share, one after another, each with its own table.

A process takes seconds to start, a table almost no time. The platform's driver knows what a table is: guilds or
workspaces with new people. If a test leaves something unfinished, the bot is closed and a new one opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tests.fakes import migrated
from tests.wire import council_model
from tests.wire.council_model import CouncilModel, CouncilService
from tests.wire.driver import Driver
from tests.wire.model import Answerer, service, settings
from tests.wire.stock import stock

TABLES = 24
"""For each of which books are put on shelves before the bot starts."""
GRACE_S = 10.0
"""The time for the last test's work to end; a bot that does not finish is replaced, which is slow but harmless."""

Books = dict[str, list[Path]]


class Seated(Driver, Protocol):
    """The methods of a driver that a shared bot uses."""

    process_of: type[Any]
    """A BotProcess."""

    def settings(self) -> str:
        """The part of config.toml that points the bot to this fake."""
        ...

    def environ(self) -> dict[str, str]: ...

    def books(self, folder: Path) -> Books:
        """The books by space; generated files go into the folder."""
        ...

    async def furnish(self, data: Path) -> None:
        """Prepare everything else in the bot's data folder before its first start."""
        ...

    async def begin(self, process: Any) -> None: ...

    async def sit(self) -> None:
        """Wait until the bot is connected, and ignore what happened at other tables."""
        ...

    def states(self) -> list[str]: ...

    def story(self) -> str: ...


AnyDriver = TypeVar("AnyDriver", bound=Seated)


class SharedBot(Generic[AnyDriver]):
    """`drive` makes a table on an open fake. With `council` there are only its models and no books. `prepare`: more
    books, by space, for the first table. With `extract` the extractor reads the scenes of stories.
    """

    def __init__(
        self,
        folder: Path,
        fake: Callable[[], AbstractAsyncContextManager[Any]],
        drive: Callable[[Any, Answerer], AnyDriver],
        toml: str = "",
        *,
        council: bool = False,
        tables: int = TABLES,
        prepare: Callable[[AnyDriver], Books] | None = None,
        extract: bool = False,
    ) -> None:
        self.council = CouncilService() if council else None
        self._folder, self._number = folder, 0
        self._fake, self._drive, self._toml = fake, drive, toml
        self._tables, self._prepare, self._extract = tables, prepare, extract
        self._stack = AsyncExitStack()
        self._free: list[AnyDriver] = []
        self._taken: AnyDriver | None = None

    async def table(self, council: CouncilModel | None = None) -> AnyDriver:
        """A new table, with a model that has not been asked before."""
        if not self._free or not await self._tidy():
            await self.close()
            await self._open()
        driver = self._taken = self._free.pop(0)
        if self.council is not None:
            self.council.council = self.council.script = council or CouncilModel()
        else:
            self._model.script = driver.model
        await driver.sit()
        return driver

    async def close(self) -> None:
        self._free, self._taken = [], None
        await self._stack.aclose()

    async def _open(self) -> None:
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        fake = await self._stack.enter_async_context(self._fake())
        self._model = await self._stack.enter_async_context(service(Answerer()))
        if self.council is not None:
            await self._stack.enter_async_context(self.council)
        drivers = [self._drive(fake, Answerer()) for _ in range(self._tables)]
        config = folder / "config.toml"
        models = settings(self._model.base_url, extract=self._extract)
        if self.council is not None:
            models = council_model.settings(self.council.base_url)
        config.write_text(models + drivers[0].settings() + self._toml, encoding="utf-8")
        migrated.folder(folder / "data")
        if self.council is None:
            books = {space: files for driver in drivers for space, files in driver.books(folder).items()}
            await stock(folder / "data", config, books | (self._prepare(drivers[0]) if self._prepare else {}))
        await drivers[0].furnish(folder / "data")
        process = drivers[0].process_of(folder / "data", config, drivers[0].environ())
        for driver in drivers:
            driver.process = process
        self._stack.push_async_callback(process.kill)
        await drivers[0].begin(process)
        self._free = drivers

    async def _tidy(self) -> bool:
        """Whether the last test has left the bot ready for another test."""
        if self._taken is None:
            return True
        try:
            async with asyncio.timeout(GRACE_S):
                while self._taken.process.alive and "" in self._taken.states():  # noqa: ASYNC110 - see inbox
                    await asyncio.sleep(0.02)
        except TimeoutError:
            return False
        return self._taken.process.alive
