"""The file storage is gone, refuses, is slow, or loses its connection at each call: nothing is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import App
from bot.config import load
from bot.config.settings import EmbeddingConfig, StorageConfig
from bot.platforms import Platform
from bot.retrieval.cleanup import AWAY_S
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder
from tests.fakes.weak_store import CutOnce, Fault, WeakStore, emptied, gone, refuses
from tests.works.test_incoming import TOWN, Attachments, adds, said

KEYS = b"# Keys\n\nA key is a thing of iron.\n"
UNREACHED = "I could not read or write the stored files"


@pytest.fixture
def weak() -> Iterator[type[WeakStore]]:
    yield emptied()
    emptied()


@asynccontextmanager
async def running(data: Path, recorder: Recorder, attachments: Attachments) -> AsyncIterator[App]:
    storage = StorageConfig(files="weak://bucket")
    settings = load(data=migrated.folder(data), environ={})
    app = await App.open(replace(settings, embedding=EmbeddingConfig("none"), storage=storage))
    app.attach(Platform("discord", recorder.view, attachments.fetch))
    try:
        await app.start()
        app.resources.files._pauses_s = (0.0, 0.0, 0.0)  # type: ignore[attr-defined]
        yield app
    finally:
        await app.close()


async def sources(app: App) -> list[str]:
    return sorted(row.source for row in await app.resources.records.documents.list("guild"))


def brought() -> tuple[Attachments, tuple[object, ...]]:
    attachments = Attachments(one=TOWN, two=KEYS)
    return attachments, (attachments.file("town.md", "one"), attachments.file("keys.md", "two"))


async def do(app: App, id: str, verb: str, *files: object, **more: object) -> str:
    request = replace(adds(id, *files, verb=verb), **more)  # type: ignore[arg-type]
    return str(await (await app.perform(request)).wait())


async def test_a_connection_lost_at_each_call_does_not_matter(tmp_path: Path, weak: type[WeakStore]) -> None:
    attachments, files = brought()
    async with running(tmp_path, recorder := Recorder(), attachments) as app:
        for id, verb, more in (
            ("r1", "add", {}),
            ("r2", "reindex", {}),
            ("r3", "remove", {"text": "town.md"}),
        ):
            weak.fault = CutOnce()
            assert await do(app, id, verb, *(files if verb == "add" else ()), **more) == "done", said(
                recorder, id
            )
        assert await sources(app) == ["keys.md"]
    assert [key for key in weak.store if "incoming" in key] == []
    assert list((tmp_path / "passing").iterdir()) == []


@pytest.mark.parametrize("fault", [gone, refuses])
async def test_a_missing_or_refusing_storage_is_reported_and_nothing_is_lost(
    fault: Fault, tmp_path: Path, weak: type[WeakStore]
) -> None:
    attachments, files = brought()
    async with running(tmp_path, recorder := Recorder(), attachments) as app:
        weak.fault = fault
        assert await do(app, "r1", "add", *files) == "failed"
        assert UNREACHED in said(recorder, "r1")
        assert await sources(app) == []
        weak.fault = None
        assert await do(app, "r2", "add", *files) == "done"
        weak.fault = fault
        assert await do(app, "r3", "reindex") == "failed"
        assert UNREACHED in said(recorder, "r3")
        weak.fault = None
        assert await sources(app) == ["keys.md", "town.md"]
        assert await do(app, "r4", "reindex") == "done", said(recorder, "r4")


async def test_removed_files_are_deleted_once_the_storage_is_back(
    tmp_path: Path, weak: type[WeakStore]
) -> None:
    attachments, files = brought()
    async with running(tmp_path, recorder := Recorder(), attachments) as app:
        assert await do(app, "r1", "add", *files) == "done"
        weak.fault = gone
        assert await do(app, "r2", "remove", text="town.md") == "done", said(recorder, "r2")
        assert await sources(app) == ["keys.md"]
        assert len([key for key in weak.store if "originals" in key]) == 2
    weak.fault = None
    async with running(tmp_path, Recorder(), attachments) as app:
        assert await sources(app) == ["keys.md"]
        async with asyncio.timeout(60):
            while len([key for key in weak.store if "originals" in key]) > 1:  # noqa: ASYNC110 - in the background
                await asyncio.sleep(0.02)


async def test_a_run_interrupted_by_a_restart_meanwhile_continues(
    tmp_path: Path, weak: type[WeakStore]
) -> None:
    attachments, files = brought()
    met = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hangs(operation: str) -> None:
        loop.call_soon_threadsafe(met.set)
        time.sleep(0.2)
        raise ConnectionResetError(operation)

    async with running(tmp_path, Recorder(), attachments) as app:
        app.resources.files._pauses_s = (3600.0,)  # type: ignore[attr-defined]
        weak.fault = hangs
        await app.perform(adds("r1", *files))  # type: ignore[arg-type]
        async with asyncio.timeout(60):
            await met.wait()
    weak.fault = None
    async with running(tmp_path, recorder := Recorder(), attachments) as app:
        assert await app.ended("r1") == "done", said(recorder, "r1")
        assert await sources(app) == ["keys.md", "town.md"]
    assert [key for key in weak.store if "incoming" in key] == []


async def test_a_slow_storage_delays_nobody(tmp_path: Path, weak: type[WeakStore]) -> None:
    attachments, files = brought()
    async with running(tmp_path, Recorder(), attachments) as app:
        weak.fault = lambda operation: time.sleep(0.3)
        adding = asyncio.create_task(do(app, "r1", "add", *files))
        longest = 0.0
        while not adding.done():
            began = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - began)
        assert await adding == "done"
        assert weak.calls.count("put") == 4
    assert longest < 0.3 * weak.calls.count("put"), "the loop was never held for all of them"


@pytest.mark.slow
async def test_a_storage_that_hangs_blocks_neither_a_stop_nor_the_next_question(
    tmp_path: Path, weak: type[WeakStore]
) -> None:
    """Both wait for at most half a minute, not for all retries."""
    attachments, files = brought()
    held, met = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def hangs(operation: str) -> None:
        if weak.calls.count("put") > 2:  # both attachments are there, and the first book is under way
            loop.call_soon_threadsafe(met.set)
            held.wait(120)

    async with running(tmp_path, recorder := Recorder(), attachments) as app:
        weak.fault = hangs
        ticket = await app.perform(adds("r1", *files))  # type: ignore[arg-type]
        async with asyncio.timeout(60):
            await met.wait()
        began = time.monotonic()
        assert await app.stop_run("guild", "r1")
        assert await ticket.wait() == "stopped"
        assert await do(app, "r2", "list") == "done", said(recorder, "r2")
        assert time.monotonic() - began < 2 * AWAY_S + 10
        assert await sources(app) == []
    held.set()
