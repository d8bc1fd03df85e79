"""Library jobs show their progress, and people who may can stop them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.app import App
from bot.config import load
from bot.events import Author, Event, OptionValue, Place, Request, Status
from bot.kind import Typed
from bot.platforms import Platform
from bot.readers.document import Progress
from bot.resources import Resources
from bot.retrieval.intake import Intake, IntakeResult, Item, Shape
from bot.words import words
from bot.works.library import intake_job
from bot.works.library.intake_job import IntakeJob
from bot.works.library.jobs import short
from storage.jobs import Jobs
from tests.fakes import migrated
from tests.fakes.run import MemoryRun
from tests.fakes.scripted_app import Recorder

ANA, BIA = Author("ana", "Ana"), Author("bia", "Bia")
BOSS = Author("boss", "Boss", admin=True)
MB = 1_000_000


class Pages(Intake):
    """Reads nothing, page by page. `told` is called after each."""

    def __init__(self, pages: int, told: Callable[[int], Awaitable[None]]) -> None:
        self._pages = pages
        self._told = told

    async def take(
        self,
        space: str,
        shelf: str,
        item: Item,
        key: str,
        *,
        replace: bool,
        run: str = "",
        progress: Progress | None = None,
        shape: Shape | None = None,
    ) -> IntakeResult:
        assert progress is not None
        for page in range(1, self._pages + 1):
            progress(page, self._pages)
            await self._told(page)
        return IntakeResult(item.name, known=True)

    async def clear(self, grace: timedelta = timedelta()) -> None:
        return

    async def release_memory(self) -> None:
        return

    async def swap(self, *arguments: Any, **named: Any) -> Any:
        return []


class Notes(Jobs):
    """Records progress."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, int, int, int | None]] = []

    async def create(self, *arguments: object) -> bool:
        return True

    async def progress(
        self, space: str, id: str, phase: str, done: int, total: int, *, files_done: int | None = None
    ) -> None:
        self.notes.append((phase, done, total, files_done))

    async def finish(self, *arguments: object) -> None:
        return


def reading(run: MemoryRun, intake: Intake, names: list[str], jobs: Notes) -> AsyncGenerator[Event, None]:
    run.request = replace(run.request, work="library", verb="add")
    items = [Item(name, f"/{name}") for name in names]
    return IntakeJob(intake, jobs, run, "rules").events(items, [MB] * len(items), [], replace=False)


async def shown(events: AsyncGenerator[Event, None], until: asyncio.Event | None = None) -> list[Event]:
    found = []
    async with aclosing(events):
        async for event in events:
            found.append(event)
            if until is not None and isinstance(event, Status) and "page" in event.text:
                until.set()
    return found


async def test_the_current_page_is_shown_while_the_step_runs_and_not_in_a_replay() -> None:
    seen, jobs, run = asyncio.Event(), Notes(), MemoryRun()

    async def wait(page: int) -> None:
        if page == 34:  # the step continues only once somebody has seen this
            await seen.wait()

    intake = Pages(400, wait)
    events = await shown(reading(run, intake, ["rules.pdf"], jobs), seen)
    assert Status("Reading rules.pdf: page 34 of 400", 34, 400) in events
    assert ("reading", 34 * MB // 400, MB, 0) in jobs.notes
    again = await shown(reading(run.replay(), intake, ["rules.pdf"], jobs))
    assert again == [event for event in events if not (isinstance(event, Status) and "page" in event.text)]


async def test_with_several_files_the_progress_bar_is_for_all_of_them() -> None:
    seen = asyncio.Event()

    async def wait(page: int) -> None:
        await seen.wait()

    names = ["a.epub", "rules.pdf"]
    intake, jobs = Pages(1, wait), Notes()
    events = await shown(reading(MemoryRun(steps={"read:rules:0": []}), intake, names, jobs), seen)
    assert Status("Reading rules.pdf: page 1 of 1", 1, 2) in events
    assert jobs.notes[-1] == ("reading", 2 * MB, 2 * MB, 2)


async def test_a_stopped_job_leaves_no_step_behind() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(page: int) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(shown(reading(MemoryRun(), Pages(9, wait), ["rules.pdf"], Notes())))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_a_large_file_is_a_step_of_its_own_and_small_ones_share() -> None:
    steps = intake_job._batches
    assert steps([20 * MB] * 16) == [(n, n + 1) for n in range(16)]
    assert steps([10_000] * 40) == [(0, 16), (16, 32), (32, 40)]
    assert steps([400_000, 400_000, 400_000, 20 * MB, 10]) == [(0, 2), (2, 3), (3, 4), (4, 5)]


class Held(Intake):
    """Adds files, but hangs at one named "endless…", and after it has replaced "old.md"."""

    async def take(
        self,
        space: str,
        shelf: str,
        item: Item,
        key: str,
        *,
        replace: bool,
        run: str = "",
        progress: Progress | None = None,
        shape: Shape | None = None,
    ) -> IntakeResult:
        if item.name.startswith("endless"):
            await asyncio.Event().wait()
        taken = await super().take(
            space, shelf, item, key, replace=replace, run=run, progress=progress, shape=shape
        )
        if replace and item.name == "old.md":
            await asyncio.Event().wait()
        return taken


class Desk:
    """People who ask for library jobs, each in a separate place, and see the answers."""

    def __init__(self, app: App, recorder: Recorder, folder: Path) -> None:
        self.app = app
        self.recorder = recorder
        self.folder = folder
        self._runs = 0

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        # More than half of what one step reads, so that each file is one.
        path.write_text(f"# A\n\n{text}" + " " * 600_000, encoding="utf-8")
        return path

    async def ask(
        self, author: Author, verb: str, text: str = "", space: str = "local", **options: OptionValue
    ) -> str:
        self._runs += 1
        id = f"{self._runs * 0x1A2B3C4D:032x}"
        place = Place("terminal", space, "c", id)
        await self.app.perform(Request(id, place, author, "library", verb, options, text))
        return id

    async def told(self, author: Author, verb: str, text: str = "", **where: Any) -> str:
        """Run a verb that ends at once, and return everything it says."""
        id = await self.ask(author, verb, text, **where)
        await self.app.ended(id)
        words_of = [getattr(event, "text", "") for event in self.recorder.events[id]]
        return "\n".join(text for text in words_of if text)

    async def add(self, author: Author, *files: Path, shelf: str = "rules", replace: bool = False) -> str:
        """Ask as an admin; the author's later requests have their own rights."""
        paths = [str(file) for file in files]
        admin = Author(author.id, author.name, admin=True)
        return await self.ask(admin, "add", paths=paths, shelf=shelf, replace=replace)

    async def reading(self, run: str, name: str) -> None:
        async with asyncio.timeout(60), self.recorder.shown:
            await self.recorder.shown.wait_for(
                lambda: any(
                    isinstance(event, Status) and event.text == f"Reading {name}"
                    for event in self.recorder.events.get(run, [])
                )
            )


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Desk]:
    file = folder / "config.toml"
    file.write_text('[embedding]\nmodel = "none"\n', encoding="utf-8")
    resources = await Resources.open(load(file, migrated.folder(folder / "data"), environ={}))
    taking = resources.intake
    held = Held(
        resources.config,
        resources.records.documents,
        taking._passages,
        resources.vectors,
        resources.embedding,
        taking._damage,
        resources.files,
    )
    app, recorder = App(replace(resources, intake=held), resources.engine_url), Recorder()
    app.attach(Platform("terminal", recorder.view))
    try:
        await app.start()
        yield Desk(app, recorder, folder)
    finally:
        await app.close()


async def sources(desk: Desk) -> list[str]:
    return sorted(book.source for book in await desk.app.resources.library.books("local"))


async def test_cancelling_keeps_added_files_and_the_old_book(
    tmp_path: Path,
) -> None:
    say = words("en")
    async with opened(tmp_path) as desk:
        book = desk.file("old.md", "Candles burn four hours.")
        assert await desk.app.ended(await desk.add(BOSS, book)) == "done"
        (old,) = await desk.app.resources.library.books("local")
        book = desk.file("old.md", "Candles burn nine hours.")
        job = await desk.add(BOSS, desk.file("east.md", "East."), book, replace=True)
        await desk.reading(job, "old.md")
        stopped = say("library.cancelled", job=short(job), shelf="rules", done=1, total=2)
        assert await desk.told(BOSS, "cancel") == f"{stopped} {say('library.cancelled_replace')}"
        assert await desk.app.ended(job) == "stopped"
        assert {book.source: book.id for book in await desk.app.resources.library.books("local")}[
            "old.md"
        ] == old.id
        assert await sources(desk) == ["east.md", "old.md"]
        assert await desk.told(BOSS, "cancel") == say("library.no_job_running")
        assert await desk.told(BOSS, "cancel", short(job)) == say("library.job_over", job=short(job))


async def test_only_the_asker_and_admins_may_stop_a_job(tmp_path: Path) -> None:
    say = words("en")
    async with opened(tmp_path) as desk:
        job = await desk.add(ANA, desk.file("endless.md", "A."))
        await desk.reading(job, "endless.md")
        not_theirs = say("library.not_your_job", job=short(job))
        assert await desk.told(BIA, "cancel") == not_theirs
        assert await desk.told(BIA, "cancel", short(job)) == not_theirs
        assert desk.app.runs.of("local", job)
        assert "is stopped" in await desk.told(ANA, "cancel", f"`{short(job).upper()}`")
        assert await desk.app.ended(job) == "stopped"


async def test_jobs_of_another_space_are_not_visible(tmp_path: Path) -> None:
    say = words("en")
    async with opened(tmp_path) as desk:
        job = await desk.add(BOSS, desk.file("endless.md", "A."))
        await desk.reading(job, "endless.md")
        assert await desk.told(BOSS, "cancel", space="other") == say("library.no_job_running")
        unknown = await desk.told(BOSS, "cancel", short(job), space="other")
        assert unknown == say("library.no_such_job", job=short(job))
        assert await desk.told(BOSS, "jobs", space="other") == say("library.no_jobs")
        assert desk.app.runs.of("local", job)


async def test_a_waiting_job_is_listed_and_can_be_cancelled(tmp_path: Path) -> None:
    say = words("en")
    async with opened(tmp_path) as desk:
        first = await desk.add(BOSS, desk.file("endless.md", "A."))
        await desk.reading(first, "endless.md")
        second = await desk.add(BOSS, desk.file("b.md", "B."))
        third = await desk.add(BOSS, desk.file("c.md", "C."))
        table = await desk.told(BOSS, "jobs")
        assert f"| {short(second)} | add | rules | waiting |" in table
        assert f"| {short(first)} | add | rules | running" in table
        # A single character is a mistake, even if a job's code ends with it.
        for wrong in (short(first)[-1], "ffffff"):
            assert await desk.told(BOSS, "cancel", wrong) == say("library.no_such_job", job=wrong)
        waiting = say("library.cancelled_waiting", job=short(second))
        assert await desk.told(BOSS, "cancel", short(second)) == waiting
        assert "is stopped" in await desk.told(BOSS, "cancel")  # the only one that runs
        assert await desk.app.ended(first) == "stopped"
        assert await desk.app.ended(third) == "done"
        assert await sources(desk) == ["c.md"]


async def test_with_several_jobs_one_has_to_be_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        here = await desk.add(BOSS, desk.file("endless.md", "A."))
        there = await desk.add(BOSS, desk.file("endless2.md", "B."), shelf="other")
        await desk.reading(here, "endless.md")
        await desk.reading(there, "endless2.md")
        answer = await desk.told(BOSS, "cancel")
        assert short(here) in answer
        assert short(there) in answer
        assert desk.app.runs.of("local", here)
        assert desk.app.runs.of("local", there)
        assert await desk.app.complete("job", Typed("local", short(there)[:5])) == [short(there)]


async def test_a_job_of_an_earlier_process_can_be_stopped_before_it_is_resumed(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        job = await desk.add(BOSS, desk.file("endless.md", "A."))
        await desk.reading(job, "endless.md")
    resources = await Resources.open(
        load(tmp_path / "config.toml", migrated.folder(tmp_path / "data"), environ={})
    )
    app = App(resources, resources.engine_url)
    assert [job.state for job in await resources.jobs.list("local")] == ["running"]
    assert await app.stop_run("other", job) == 0
    assert await app.stop_run("local", job) == 1
    assert [job.state for job in await resources.jobs.list("local")] == ["stopped"]
    await app.close()
    async with opened(tmp_path) as desk:
        assert not desk.app.runs.of("local", job)


async def test_the_table_shows_phase_percentage_files_age_and_errors(tmp_path: Path) -> None:
    resources = await Resources.open(load(data=migrated.folder(tmp_path), environ={}))
    jobs, now = resources.jobs, datetime.now(UTC)
    await jobs.create("local", "run-1a2b3c", "rules", "add", 12)
    await jobs.progress("local", "run-1a2b3c", "reading", 34, 100, files_done=3)
    for job in ("sp|lls:run-4d5e6f", "run-7a8b9c"):
        await jobs.create("local", job, job.partition(":")[0], "reindex", 2)
        await jobs.progress("local", job, "reading", 2, 2, files_done=2)
        await jobs.add_error("local", job, "x.pdf", "library.file_locked", '{"name": "x.pdf"}')
        await jobs.finish("local", job, "failed")
    from bot.works.library.jobs import _table

    rows = [
        replace(job, created_at=now - timedelta(minutes=125), updated_at=now - timedelta(minutes=120))
        for job in await jobs.list("local")
    ]
    table = _table(rows, [], lambda job: timedelta(minutes=4), words("en")).split("\n")
    assert "| 1a2b3c | add | rules | running · reading 34 % · 4 min left | 3/12 | 2 h ago |" in table
    assert r"| 4d5e6f | reindex | sp\|lls | done, with errors | 1/2 | 2 h ago, took 5 min |" in table
    assert table[-2:] == ["", "- x.pdf: this file has a password. Save a copy without one and add that."]
    assert "| 1a2b3c | adição | rules | em andamento · leitura 34 % | 3/12 | há 2 h |" in _table(
        rows, [], lambda job: None, words("pt-BR")
    )
    await resources.close()
