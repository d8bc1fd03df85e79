"""How a run ends: shown completely, then recorded, then closed, even if its view fails."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.events import Event, Failed, Request, Text
from bot.platforms import Platform
from bot.runs.engine import RECOVERIES
from bot.runs.requests import row_of
from bot.view import VIEW_S, View
from bot.waiting import wait_at_most
from bot.words import words
from bot.work import Run
from storage.outbox import Outbox
from tests.fakes.moody import Moody, hello, running
from tests.fakes.scripted_app import Recorder, asked, open_scripted


async def test_a_run_is_shown_completely_then_recorded_then_closed(tmp_path: Path) -> None:
    async with running(moody := Moody(tmp_path)) as app:
        assert await (await app.perform(asked("one", "hello"))).wait() == "done"
    assert moody.seen == [("flush", "done", "running"), ("close", "done", "done")]


async def test_a_stopped_run_is_recorded_before_it_ends(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        begun.set()
        await asyncio.Event().wait()

    async with running(moody := Moody(tmp_path), slow=slow) as app:
        ticket = await app.perform(asked("one", "slow"))
        await begun.wait()
        assert await app.stop(asked("x", "").place) == 1
        assert await ticket.wait() == "stopped"
    assert moody.seen == [("flush", "stopped", "stopped"), ("close", "stopped", "stopped")]


@pytest.mark.parametrize("broken", ["flush", "close"])
async def test_a_failing_view_loses_neither_the_end_nor_the_next_run(
    tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    moody = Moody(tmp_path)
    moody.broken = broken
    async with running(moody) as app:
        first, second = [await app.perform(asked(id, "hello")) for id in ("one", "two")]
        assert [await first.wait(), await second.wait()] == ["done", "done"]
    assert moody.state("one") == "done"
    assert moody.seen[1][0] == "close"
    assert "the platform is gone" in caplog.text


async def test_a_view_that_can_show_nothing_ends_its_run_and_blocks_nobody(tmp_path: Path) -> None:
    moody = Moody(tmp_path)
    moody.broken = "show"
    async with running(moody) as app:
        first, second = [await app.perform(asked(id, "hello")) for id in ("one", "two")]
        async with asyncio.timeout(60):
            assert [await first.wait(), await second.wait()] == ["failed", "done"]


async def test_the_next_run_waits_until_the_one_before_is_shown(tmp_path: Path) -> None:
    moody = Moody(tmp_path)
    moody.go_on.clear()
    async with running(moody) as app:
        first, second = [await app.perform(asked(id, "hello")) for id in ("one", "two")]
        await moody.flushing.wait()
        assert moody.state("one") == "running"
        assert await app.stop_run("local", "one") == 0
        assert [what for what, _, _ in moody.seen] == ["flush"]
        moody.go_on.set()
        assert [await first.wait(), await second.wait()] == ["done", "done"]


async def test_unshown_answers_are_shown_at_the_next_start(
    tmp_path: Path,
) -> None:
    moody = Moody(tmp_path)
    moody.go_on.clear()
    app = await open_scripted(tmp_path, {"hello": hello}, Recorder())
    app.attach(Platform("terminal", moody.view))
    await app.start()
    await app.perform(asked("one", "hello"))
    await moody.flushing.wait()
    await app.close()
    assert moody.state("one") == "running"
    async with running(again := Moody(tmp_path)) as app:
        assert await app.ended("one") == "done"
    assert [what for what, _, _ in again.seen] == ["flush", "close"]


async def test_no_wait_is_endless(caplog: pytest.LogCaptureFixture) -> None:
    stubborn = asyncio.Event()

    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stubborn.set()
            await asyncio.Event().wait()

    assert not await wait_at_most(hangs(), 0.05, "the view of run one")
    assert "the view of run one: not in time" in caplog.text
    await stubborn.wait()
    assert VIEW_S == 30


def attempts(data: Path, run: str) -> int:
    """How often the engine has started the run."""
    with closing(sqlite3.connect(data / "engine.db")) as connection:
        query = "SELECT recovery_attempts FROM workflow_status WHERE workflow_uuid = ?"
        return int(connection.execute(query, (run,)).fetchone()[0])


async def test_a_run_waits_for_a_process_that_is_on_its_platform(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        await gate.wait()

    recorder = Recorder()
    request = asked("one", "slow")
    request = replace(request, place=replace(request.place, platform="discord"))
    app = await open_scripted(tmp_path, {"slow": slow}, recorder)
    app.attach(Platform("discord", recorder.view))
    await app.start()
    await app.perform(request)
    await recorder.until("one", Text("begun"))
    await app.close()
    async with running(moody := Moody(tmp_path)) as app:  # in the terminal only
        assert await (await app.perform(asked("two", "hello"))).wait() == "done"
        async with asyncio.timeout(60):
            while attempts(tmp_path, "one") < 2:  # noqa: ASYNC110 (the condition is in a file)
                await asyncio.sleep(0.02)
    assert moody.state("one") == "running"
    gate.set()
    app = await open_scripted(tmp_path, {"slow": slow}, again := Recorder())
    app.attach(Platform("discord", again.view))
    await app.start()
    async with asyncio.timeout(60):
        assert await app.ended("one") == "done"
    await app.close()
    assert again.events["one"] == [Text("begun")]


async def test_a_run_that_cannot_be_shown_does_not_block_the_next_one(tmp_path: Path) -> None:
    def views(run: str, request: Request, outbox: Outbox) -> View:
        if run == "one":
            raise ValueError("not an origin")
        return Moody(tmp_path).view(run, request, outbox)

    app = await open_scripted(tmp_path, {"hello": hello}, Recorder())
    app.attach(Platform("terminal", views))
    await app.start()
    first, second = [await app.perform(asked(id, "hello")) for id in ("one", "two")]
    assert [await first.wait(), await second.wait()] == ["failed", "done"]
    await app.close()


async def test_an_unreadable_request_does_not_keep_others_from_starting(
    tmp_path: Path,
) -> None:
    moody = Moody(tmp_path)
    app = await open_scripted(tmp_path, {"hello": hello}, Recorder())
    app.attach(Platform("terminal", moody.view))
    odd = row_of(asked("odd", "hello"))
    gone = row_of(asked("gone", "hello"))
    gone = replace(gone, payload=gone.payload.replace('"ask"', '"a verb of an earlier release"'))
    await app.resources.records.inbox.receive(
        [replace(odd, payload="{}"), gone, row_of(asked("two", "hello"))]
    )
    assert [one.id for one in await app.start()] == ["two"]
    assert await app.ended("two") == "done"
    assert [moody.state(one) for one in ("odd", "gone")] == ["failed", "failed"]
    await app.close()


async def test_files_of_a_run_that_waits_for_another_platform_are_kept(tmp_path: Path) -> None:
    app = await open_scripted(tmp_path, {}, Recorder())
    there = asked("waits", "x")
    there = replace(there, place=replace(there.place, platform="discord"))
    await app.resources.records.inbox.receive([row_of(there)])
    for run in ("waits", "ended"):
        (tmp_path / "incoming" / run).mkdir(parents=True)
    assert await app.start() == []
    assert [path.name for path in (tmp_path / "incoming").iterdir()] == ["waits"]
    await app.close()


@pytest.mark.parametrize(
    ("became", "sentence"),
    [
        (f"recovery_attempts = {RECOVERIES + 2}", "app.given_up"),
        ("status = 'ERROR'", "app.broke_off"),
    ],
)
async def test_a_run_that_is_not_restarted_says_why_in_its_place(
    tmp_path: Path, became: str, sentence: str
) -> None:
    begun = asyncio.Event()

    async def endless(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("half")
        begun.set()
        await asyncio.Event().wait()

    app = await open_scripted(tmp_path, {"question": endless}, Recorder())
    await app.start()
    await app.perform(asked("one", "question"))
    await begun.wait()
    await app.close()
    with closing(sqlite3.connect(tmp_path / "engine.db")) as connection:
        connection.execute(f"UPDATE workflow_status SET {became}")
        connection.commit()
    begun.clear()
    recorder = Recorder()
    app = await open_scripted(tmp_path, {"question": endless, "next": hello}, recorder)
    (taken_up,) = await app.start()
    assert await app.ended(taken_up.id) == "failed"
    assert recorder.events["one"] == [Failed(words("en")(sentence, run="one"))]
    assert (recorder.statuses, begun.is_set()) == ({"one": "failed"}, False)
    assert await (await app.perform(asked("two", "next"))).wait() == "done"
    await app.close()
