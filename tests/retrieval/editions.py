"""Helpers of the tests of editions: books in several editions, a library for them, and jobs that wait."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from bot.config import load
from bot.events import Event
from bot.resources import Resources
from bot.retrieval.intake import Item
from bot.works.library.intake_job import IntakeJob
from storage.db import new_id
from tests.fakes import migrated
from tests.fakes.embedder import Letters
from tests.fakes.run import MemoryRun

T = TypeVar("T")

ONE, OTHER = "openai:one", "openai:other"
PLACES = ("tower", "harbour", "mill", "orchard", "quarry", "chapel", "bridge", "market")


def write(file: Path, edition: int, sections: int = 8) -> Path:
    """Write a book whose sections differ between editions only in the number."""
    bodies = (
        f"## The {PLACES[n % 8]} {n}\n\nIn year {edition} the {PLACES[n % 8]} has {n + 3} lamps and a keeper.\n"
        for n in range(sections)
    )
    file.write_text(f"# {file.stem.title()}\n\n" + "\n".join(bodies), encoding="utf-8")
    return file


@asynccontextmanager
async def opened(folder: Path, letters: Letters, model: str = ONE) -> AsyncIterator[Resources]:
    """The resources over `folder`; the model of that name is its embedder (one of `letters`)."""
    (folder / "config.toml").write_text(f'[embedding]\nmodel = "{model}"\n', encoding="utf-8")
    resources = await Resources.open(
        load(folder / "config.toml", migrated.folder(folder / "data"), environ={})
    )
    resources.embedding.load = letters.load
    gc.freeze()  # each job ends with a collection, which need not look at all that has been imported
    try:
        yield resources
    finally:
        await resources.close()


class Job(MemoryRun):
    """A separate run that waits before the step `at` until `go` is set."""

    def __init__(self, at: str = "", space: str = "local") -> None:
        super().__init__(space)
        self.request = replace(self.request, id=new_id(), work="library", verb="add")
        self._at = at
        self.there, self.go = asyncio.Event(), asyncio.Event()

    async def reached(self, job: asyncio.Task[T]) -> None:
        """Wait until the job is waiting."""
        arrived = asyncio.ensure_future(self.there.wait())
        await asyncio.wait({arrived, job}, return_when=asyncio.FIRST_COMPLETED)
        assert arrived.done(), job.result()

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        if self._at and name.startswith(self._at):
            self.there.set()
            await self.go.wait()
        return await super().step(name, call, of)


async def take(
    resources: Resources, run: MemoryRun, items: Sequence[Item], shelf: str = "rules"
) -> list[Event]:
    """Run a whole job, and return its events."""
    job = IntakeJob(resources.intake, resources.jobs, run, shelf)
    sizes = [1] * len(items)
    return [event async for event in job.events(list(items), sizes, [], replace=True)]


async def add(resources: Resources, *files: Path, run: MemoryRun | None = None) -> list[str]:
    """Put editions on the shelf; returns the ids on the shelf afterwards."""
    await take(resources, run or Job(), [Item(file.name, str(file)) for file in files])
    return await there(resources)


async def reindex(resources: Resources, run: MemoryRun) -> list[Event]:
    """Reindex the shelf."""
    rows = await resources.library.rows("local", "rules")
    items = [Item(row.source, str(resources.intake.original(row.id, row.source)), row.id) for row in rows]
    return await take(resources, run, items)


async def there(resources: Resources, space: str = "local") -> list[str]:
    return [row.id for row in await resources.records.documents.list(space, "rules")]


def originals(resources: Resources) -> set[str]:
    return {file.stem for file in (resources.config.data_dir / "originals").iterdir()}
