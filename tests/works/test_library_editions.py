"""Jobs that replace books in the whole application: stopped, cut off or failed, and what they leave."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import App
from bot.config import load
from bot.events import Author, OptionValue, Place, Request
from bot.platforms import Platform
from bot.runs.requests import line_of
from storage.document_rows import NewDocument
from tests.fakes import migrated
from tests.fakes.embedder import Letters
from tests.fakes.scripted_app import Recorder
from tests.retrieval.editions import ONE, originals, there, write
from tests.storage.books import book

ALL = os.environ.get("SUTRADHAR_KILLS") == "all"
# With all of them, only `make test-kill` runs this module.
pytestmark = [pytest.mark.slow] if ALL else []


@asynccontextmanager
async def running(folder: Path, letters: Letters, seen: Recorder) -> AsyncIterator[App]:
    (folder / "config.toml").write_text(f'[embedding]\nmodel = "{ONE}"\n[roles]\n', encoding="utf-8")
    app = await App.open(load(folder / "config.toml", migrated.folder(folder / "data"), environ={}))
    app.resources.embedding.load = letters.load
    app.attach(Platform("terminal", seen.view))
    await app.start()
    gc.freeze()
    try:
        yield app
    finally:
        leaving = asyncio.create_task(app.close())
        await asyncio.wait({leaving}, timeout=0.2)
        letters.go()  # the exit waits for its threads
        await leaving


def request(id: str, verb: str, *files: Path) -> Request:
    options: dict[str, OptionValue] = {"shelf": "rules"}
    if verb == "add":
        options |= {"replace": True, "paths": [str(file) for file in files]}
    place = Place("terminal", "local", "channel", "thread")
    return Request(id, place, Author("ana", "Ana", admin=True), "library", verb, options)


async def done(app: App, *of: Request) -> list[str]:
    return [await (await app.perform(one)).wait() for one in of]


async def held(letters: Letters) -> None:
    assert await asyncio.to_thread(letters.held.wait, 60)
    letters.held.clear()


@pytest.mark.parametrize("verb", ["reindex", "add"] if ALL else ["reindex"])
async def test_a_job_that_is_stopped_leaves_the_old_book_and_nothing_of_the_new_one(
    tmp_path: Path, verb: str
) -> None:
    letters, file = Letters(ONE), write(tmp_path / "north.md", 1)
    async with running(tmp_path, letters, Recorder()) as app:
        assert await done(app, request("first", "add", file)) == ["done"]
        old = await there(app.resources)
        write(file, 2)
        letters.hold()
        ticket = await app.perform(request("second", verb, file))
        await held(letters)
        assert len(originals(app.resources)) == 2
        assert await app.stop_run("local", "second") == 1
        letters.go()
        assert await ticket.wait() == "stopped"
        assert await there(app.resources) == old
        assert originals(app.resources) == set(old)
        assert await app.resources.records.documents.unseen("local", "rules") == set()
        assert await app.resources.vectors.count("local", "rules", ONE) == 8
        assert [job.state for job in await app.resources.jobs.list("local")] == ["stopped", "done"]


def test_jobs_of_a_shelf_run_in_order_however_its_name_is_spelt() -> None:
    one, other = request("one", "add"), request("other", "reindex")
    assert line_of(one) == line_of(replace(other, options={"shelf": " rules "}))
    assert line_of(one) != line_of(replace(other, options={}))


async def test_an_interrupted_job_continues_with_what_it_had_built(tmp_path: Path) -> None:
    letters, seen, file = Letters(ONE), Recorder(), write(tmp_path / "north.md", 1)
    async with running(tmp_path, letters, seen) as app:
        assert await done(app, request("first", "add", file)) == ["done"]
        old = await there(app.resources)
        write(file, 2)
        letters.hold()
        await app.perform(request("second", "add", file))
        await held(letters)
        (built,) = await app.resources.records.documents.unseen("local", "rules")
    file.unlink()  # it has been read
    async with running(tmp_path, letters, seen) as app:
        assert await app.ended("second") == "done"
        assert await there(app.resources) == [built]
        assert await app.resources.records.documents.unseen("local", "rules") == set(old)
    async with running(tmp_path, letters, seen) as app:
        assert await there(app.resources) == [built]
        assert originals(app.resources) == {built}, "nobody reads the old one any more after a start"
        assert await app.resources.vectors.count("local", "rules", ONE) == 8
        assert await app.resources.records.documents.unseen("local", "rules") == set()


async def test_books_of_a_run_that_never_returns_are_deleted_at_the_next_start(tmp_path: Path) -> None:
    letters, orphan = Letters(ONE), book()
    async with running(tmp_path, letters, Recorder()) as app:
        await kept(app, orphan)
        assert await app.resources.records.documents.get("local", orphan.id) is not None
    async with running(tmp_path, letters, Recorder()) as app:
        assert await app.resources.records.documents.get("local", orphan.id) is None
        assert await app.resources.records.documents.leftovers() == []


async def kept(app: App, orphan: NewDocument) -> None:
    await app.resources.records.documents.add(orphan, built_by="a run of another life")


async def test_a_file_that_cannot_be_read_leaves_its_old_edition_beside_the_new_ones_of_others(
    tmp_path: Path,
) -> None:
    letters, seen = Letters(ONE), Recorder()
    files = [write(tmp_path / name, 1) for name in ("north.md", "south.md")]
    async with running(tmp_path, letters, seen) as app:
        assert await done(app, request("first", "add", *files)) == ["done"]
        north, south = await there(app.resources)
        files[0].write_bytes(b"\x00\x01\x02\x03" * 100)
        write(files[1], 2)
        assert await done(app, request("second", "add", *files)) == ["failed"]
        now = await there(app.resources)
        assert north in now
        assert south not in now
        assert len(now) == 2
