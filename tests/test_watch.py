"""Files in watched folders are added when they are new or changed, at the start and while the bot runs."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.app import App
from bot.config import load
from bot.events import Author, Place, Request, Text, UserError
from bot.platforms import LogView, Platform
from bot.resources import Resources
from bot.runs.requests import ONLY, WATCH
from bot.works.library.watch import Stamp, Watch, folder_stamps
from storage.documents import Documents
from storage.inbox import Inbox
from storage.outbox import Outbox
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder

BAD = {"bad.pdf": "library.file_damaged", "left.md": "library.file_missing"}
PAST = 1_700_000_000
"""When a file was written that nobody is writing any more."""


def write(folder: Path, name: str, text: str, at: float = PAST) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Walking\n\n{text}\n", encoding="utf-8")
    os.utime(path, (at, at))
    return path


@dataclass
class Row:
    source: str
    size: int
    created_at: datetime


@dataclass
class Library:
    """Has the added files as they were then; jobs end when the test says so."""

    folder: Path
    space: str = "local"
    rows: list[Row] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    refuses: bool = False
    unread: dict[str, str] | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def list(self, space: str, shelf: str | None = None) -> Sequence[Row]:
        assert (space, shelf) == (self.space, self.folder.name)
        return self.rows

    async def perform(self, request: Request) -> None:
        if self.refuses:
            raise UserError("storage.full")
        self.asked.append(request)
        self.running.add(request.id)
        self.begun.set()

    def end(self) -> Sequence[str]:
        """End all jobs, and return what they added, each once."""
        names = [str(name) for one in self.asked for name in _only(one)]
        for name in names:
            size = (self.folder / name).stat().st_size
            self.rows = [row for row in self.rows if row.source != name]
            self.rows.append(Row(name, size, datetime.now(UTC)))
        self.asked.clear()
        self.running.clear()
        return names

    async def refused(self, space: str, run: str) -> dict[str, str] | None:
        assert space == self.space
        return self.unread

    async def going(self, space: str, run: str) -> bool:
        return space == self.space and run in self.running


def _only(request: Request) -> Sequence[str]:
    due = request.options[ONLY]
    assert isinstance(due, list)
    return due


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "rulebooks"
    folder.mkdir()
    return folder


@pytest.fixture
def library(folder: Path) -> Library:
    return Library(folder)


def watching(library: Library, more: Sequence[Path] = (), **others: object) -> Watch:
    documents: Documents = library  # type: ignore[assignment]
    return Watch(
        [library.folder, *more],
        library.space,
        documents,
        library.perform,
        library.going,
        library.refused,
        **others,  # type: ignore[arg-type]
    )


def test_all_kinds_are_found_except_hidden_and_empty_files_and_links(folder: Path) -> None:
    outside = write(folder.parent, "outside.md", "Not in here.")
    for name in ("a.md", "b.PDF", "deep/er/c.epub", "d.docx", "e.htm"):
        write(folder, name, "A.")
    for name in (".hidden.md", ".git/x.md", "notes.pages", "book.pdf.part"):
        write(folder, name, "A.")
    (folder / "empty.md").touch()
    (folder / "link.md").symlink_to(outside)
    (folder / "round").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("A.")
    assert sorted(folder_stamps(folder)) == ["a.md", "b.PDF", "d.docx", "deep/er/c.epub", "e.htm"]


async def test_only_new_and_changed_files_are_added(library: Library) -> None:
    watch = watching(library)
    write(library.folder, "a.md", "Four hours.")
    write(library.folder, "deep/b.md", "Nine hours.")
    (request,) = await watch.round()
    assert request.place == Place(WATCH, "local", "library", str(library.folder))
    assert request.options["shelf"] == "rulebooks"
    assert library.end() == ["a.md", "deep/b.md"]
    assert await watch.round() == []
    write(library.folder, "a.md", "Five hours.", PAST + 60)
    write(library.folder, "c.md", "New.")
    assert len(await watch.round()) == 1
    assert library.end() == ["a.md", "c.md"]
    assert await watch.round() == []


async def test_a_start_finds_only_what_has_changed_since_the_last(library: Library) -> None:
    for name in ("same.md", "longer.md", "later.md", "new.md"):
        write(library.folder, name, "Four hours.")
    size = (library.folder / "same.md").stat().st_size
    then = datetime.fromtimestamp(PAST + 60, UTC)
    library.rows = [Row("same.md", size, then), Row("longer.md", size - 1, then), Row("later.md", size, then)]
    library.rows.append(Row("gone.md", size, then))
    os.utime(library.folder / "later.md", (PAST + 120, PAST + 120))
    await watching(library).round()
    assert library.end() == ["later.md", "longer.md", "new.md"]


@pytest.mark.parametrize("ahead", [0.0, 3_600.0], ids=["now", "by a clock that is ahead"])
async def test_a_file_that_is_being_written_waits_for_a_quiet_round(library: Library, ahead: float) -> None:
    watch = watching(library)
    path = write(library.folder, "a.md", "Four", time.time() + ahead)
    assert await watch.round() == []
    path.write_text("Four hours.", encoding="utf-8")
    os.utime(path, (time.time() + ahead, time.time() + ahead))
    assert await watch.round() == []
    assert len(await watch.round()) == 1
    assert library.end() == ["a.md"]


async def test_one_job_runs_at_a_time_and_later_files_are_next(library: Library) -> None:
    watch = watching(library)
    write(library.folder, "a.md", "Four hours.")
    assert len(await watch.round()) == 1
    write(library.folder, "b.md", "Nine hours.")
    assert await watch.round() == []
    library.end()
    assert len(await watch.round()) == 1
    assert library.end() == ["b.md"]


async def test_an_earlier_processs_job_counts_as_the_folders_job(library: Library) -> None:
    left = Request(
        "left",
        Place(WATCH, "local", "library", str(library.folder)),
        Author("watch", "watch"),
        "library",
        "add",
    )
    library.running.add("left")
    write(library.folder, "a.md", "Four hours.")
    watch = watching(library)
    assert await watch.start([left]) == []
    library.running.clear()
    assert len(await watch.round()) == 1
    await watch.close()


async def test_refused_and_removed_files_are_not_added_again_until_they_change(
    library: Library,
) -> None:
    watch = watching(library)
    write(library.folder, "bad.pdf", "No PDF.")
    await watch.round()
    library.end()
    library.rows.clear()
    assert await watch.round() == []
    write(library.folder, "bad.pdf", "A PDF.", PAST + 60)
    assert len(await watch.round()) == 1


async def test_a_job_that_could_not_start_is_retried_and_logged_once(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    watch = watching(library)
    write(library.folder, "a.md", "Four hours.")
    library.refuses = True
    for _ in range(3):
        assert await watch.round() == []
    assert len(caplog.messages) == 1
    library.refuses = False
    assert len(await watch.round()) == 1
    assert library.end() == ["a.md"]
    assert len(caplog.messages) == 2


async def test_files_that_a_job_left_are_retried_after_growing_pauses_but_bad_ones_are_not(
    library: Library,
) -> None:
    watch = watching(library)
    for name in ("bad.pdf", "in.md", "left.md"):
        write(library.folder, name, "Four hours.")
    (request,) = await watch.round()
    size = (library.folder / "in.md").stat().st_size
    library.rows, library.unread = [Row("in.md", size, datetime.now(UTC))], BAD
    rounds = []
    for _ in range(9):
        library.asked.clear()
        library.running.clear()
        rounds.append(0)
        while not await watch.round():
            rounds[-1] += 1
        (request,) = library.asked
        assert _only(request) == ["left.md"]
    assert rounds == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    library.end()
    assert await watch.round() == []
    # One that somebody has stopped is not begun again.
    write(library.folder, "left.md", "Nine hours.", PAST + 60)
    library.unread = None
    assert len(await watch.round()) == 1
    library.asked.clear()
    library.running.clear()
    assert await watch.round() == []


@pytest.mark.parametrize("how", ["removed", "a link", "a file", "unmounted"])
async def test_a_missing_folder_removes_nothing_and_is_seen_when_it_is_back(
    library: Library, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    watch, folder = watching(library), library.folder
    write(folder, "a.md", "Four hours.")
    await watch.round()
    library.end()
    away = folder.rename(folder.with_name("away"))
    if how == "a link":
        folder.symlink_to(away)
    elif how == "a file":
        folder.write_text("Not a folder.")
    elif how == "unmounted":
        folder.mkdir()
    for _ in range(3):
        assert await watch.round() == []
    assert len(caplog.messages) == 1
    assert "books stay" in caplog.messages[0]
    if how == "unmounted":
        folder.rmdir()
    elif how != "removed":
        folder.unlink()
    away.rename(folder)
    assert await watch.round() == []  # all of it is in the library already
    write(folder, "b.md", "Nine hours.")
    assert len(await watch.round()) == 1
    assert library.end() == ["b.md"]
    assert len(caplog.messages) == 2


async def test_for_equal_names_in_two_folders_the_first_folders_file_is_used(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    other = library.folder.parent / "other" / library.folder.name
    for folder in (library.folder, other):
        write(folder, "a.md", f"Of {folder}.")
    write(other, "b.md", "Nine hours.")
    watch = watching(library, more=[other])
    for _ in range(3):
        await watch.round()
    assert [(one.place.thread, _only(one)) for one in library.asked] == [
        (str(library.folder), ["a.md"]),
        (str(other), ["b.md"]),
    ]
    assert len(caplog.messages) == 1
    assert "a.md" in caplog.messages[0]


async def test_a_deleted_file_starts_no_job(library: Library) -> None:
    watch = watching(library)
    write(library.folder, "a.md", "Four hours.")
    write(library.folder, "b.md", "Nine hours.")
    await watch.round()
    library.end()
    (library.folder / "a.md").unlink()
    assert await watch.round() == []
    assert library.asked == []


async def test_a_file_system_that_hangs_delays_nobody(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    answers, asked = threading.Event(), []

    def stuck(folder: Path) -> dict[str, Stamp]:
        asked.append(folder)
        answers.wait()
        return folder_stamps(folder)

    write(library.folder, "a.md", "Four hours.")
    watch = watching(library, looks=stuck, timeout_s=0.01)
    for _ in range(3):
        assert await watch.round() == []
    assert len(asked) == len(caplog.messages) == 1
    answers.set()
    watch = watching(library, looks=stuck)
    assert len(await watch.round()) == 1


def test_scanning_5000_files_is_cheap(folder: Path) -> None:
    for n in range(5):
        (folder / f"part {n}").mkdir()
        for m in range(100):
            (folder / f"part {n}" / f"book {m}.md").write_bytes(b"x")
    took = []
    for _ in range(5):
        begun = time.process_time()
        assert len(folder_stamps(folder)) == 500
        took.append(time.process_time() - begun)
    # A tenth of them. The aim is 50 ms for all; the rest is for a slow machine.
    assert min(took) < 0.02


# In the application.


@asynccontextmanager
async def running(folder: Path, space: str = "local") -> AsyncIterator[tuple[App, Recorder, list[Request]]]:
    recorder = Recorder()
    file = folder.parent / "config.toml"
    file.write_text(
        f'[library]\nwatch = ["rulebooks"]\nwatch_space = "{space}"\n[embedding]\nmodel = "none"\n',
        encoding="utf-8",
    )
    resources = await Resources.open(load(file, migrated.folder(folder.parent / "data"), environ={}))
    app = App(resources, resources.engine_url)
    app.attach(Platform(WATCH, recorder.view))
    begun = await app.start()
    try:
        yield app, recorder, begun
    finally:
        await app.close()


async def books(app: App, space: str = "local") -> list[tuple[str, str]]:
    return sorted((book.shelf, book.source) for book in await app.resources.library.books(space))


def watch_of(app: App) -> Watch:
    """The watch of the books' folders."""
    return next(
        service for service in app._services if isinstance(service, Watch) and service.work == "library"
    )


async def test_a_changed_file_replaces_its_book_while_the_bot_runs(folder: Path) -> None:
    write(folder, "a.md", "A keeper walks four hours on one candle.")
    write(folder, "same.md", "Nothing changes.")
    async with running(folder) as (app, _, begun):
        for request in begun:
            assert await app.ended(request.id) == "done"
        assert await books(app) == [("rulebooks", "a.md"), ("rulebooks", "same.md")]
        write(folder, "a.md", "A keeper walks nine hours on one candle.", time.time() - 60)
        write(folder, "deep/b.md", "Roll Foot.")
        for request in await watch_of(app).round():
            assert await app.ended(request.id) == "done"
        assert [one for _, one in await books(app)] == ["a.md", "deep/b.md", "same.md"]
        assert [job.files_total for job in await app.resources.jobs.list("local")] == [2, 2]
        sections = await app.resources.library.sections_named("local", "rulebooks", "Walking")
        assert "four hours" not in str(sections)
        assert "nine hours" in str(sections)
    async with running(folder) as (app, _, begun):
        assert begun == []


async def test_a_folder_can_be_watched_for_one_servers_shelves_only(folder: Path) -> None:
    write(folder, "a.md", "A keeper walks four hours on one candle.")
    async with running(folder, space="1234") as (app, recorder, (request,)):
        assert await app.ended(request.id) == "done"
        assert any(isinstance(event, Text) for event in recorder.events[request.id])
        assert await books(app, "1234") == [("rulebooks", "a.md")]
        assert await books(app) == []
        assert await app.resources.jobs.list("local") == []
        # Another space's book of the same name, on a shelf of the same name, is another book.
        theirs = Request(
            "theirs",
            Place(WATCH, "local", "library", "elsewhere"),
            Author("ana", "Ana", admin=True),
            "library",
            "add",
            {"paths": [str(folder / "a.md")], "shelf": "rulebooks"},
        )
        assert await (await app.perform(theirs)).wait() == "done"
        write(folder, "a.md", "A keeper walks nine hours on one candle.", time.time() - 60)
        (request,) = await watch_of(app).round()
        assert await app.ended(request.id) == "done"
        for there, hours in (("1234", "nine"), ("local", "four")):
            assert await books(app, there) == [("rulebooks", "a.md")]
            sections = await app.resources.library.sections_named(there, "rulebooks", "Walking")
            assert {section.text for section in sections} == {f"A keeper walks {hours} hours on one candle."}


async def test_the_log_says_how_a_job_without_an_asker_ended(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "bot.platforms")
    place = Place(WATCH, "local", "library", "/books")
    outbox: Outbox = Inbox  # type: ignore[assignment]
    view = LogView("run", Request("run", place, Author("watch", "watch"), "library", "add"), outbox)
    await view.show(Text("Added 1 file\nto “rulebooks”."))
    assert caplog.messages == ["/books: Added 1 file to “rulebooks”."]


async def test_stopping_the_bot_ends_the_watch(library: Library) -> None:
    watch = watching(library, round_s=0.001)
    await watch.start([])
    write(library.folder, "a.md", "Four hours.")
    async with asyncio.timeout(60):
        await library.begun.wait()
    await watch.close()
    library.end()
    write(library.folder, "b.md", "Nine hours.")
    await asyncio.sleep(0.01)
    assert library.asked == []
