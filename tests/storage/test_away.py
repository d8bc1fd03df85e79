"""The database server is away for a moment: calls wait for it, and nothing is lost or done twice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from bot.app import App
from bot.config import load
from bot.events import Event, Status, Text
from bot.llm.completion import Completion
from bot.runs.engine import wait_for_answer
from bot.runs.engine_database import keep_quiet, server_engine
from bot.work import Run
from storage import patience
from storage.db import Database
from storage.faults import StorageFault
from storage.inbox import Inbox, NewRequest
from storage.lease import Lease
from storage.patience import patient_in_a_run, patient_with_an_event, patiently
from tests.fakes.proxy import Proxy
from tests.fakes.scripted_app import Recorder, Script, asked, open_scripted


@pytest.fixture
def proxy(server: str) -> Iterator[Proxy]:
    url = make_url(server)
    socket = f"{url.query['host']}/.s.PGSQL.5432"
    with Proxy(partial(asyncio.open_unix_connection, socket)) as proxy:
        proxy.database = url.database  # type: ignore[attr-defined]
        yield proxy


@pytest.fixture
async def db(proxy: Proxy) -> AsyncIterator[Database]:
    name = proxy.database  # type: ignore[attr-defined]
    database = await Database.open(f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/{name}")
    yield database
    await database.close()


def request(id: str) -> NewRequest:
    return NewRequest(id, "slack", "s", "c", "t", "a", "rules", "ask", True, "{}")


async def test_a_lost_connection_is_distinguished_from_a_violated_constraint(
    db: Database, proxy: Proxy
) -> None:
    with pytest.raises(StorageFault) as wrong:
        await db.execute(text("SELECT 1 / 0"))
    assert not wrong.value.away
    proxy.loses = b"SELECT 5"
    with pytest.raises(StorageFault) as broken:
        async with db.write() as connection:
            await connection.execute(text("SELECT 5"))
    assert broken.value.away


async def test_a_query_whose_answer_is_lost_is_repeated(db: Database, proxy: Proxy) -> None:
    patient_in_a_run()
    proxy.loses = b"SELECT 7"
    assert (await db.execute(text("SELECT 7"))).scalar_one() == 7


async def test_calls_wait_for_a_server_that_restarts(db: Database, proxy: Proxy) -> None:
    proxy.there = False
    proxy.cut()
    with pytest.raises(StorageFault):
        async with db.write():
            pass
    patient_in_a_run()
    asking = asyncio.create_task(Inbox(db).receive([request("one")]))
    await asyncio.sleep(0.5)
    assert not asking.done()
    proxy.there = True
    assert len(await asking) == 1


async def test_an_event_waits_no_longer_than_its_platform_does(
    db: Database, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "EVENT_S", 0.6)
    proxy.there = False
    proxy.cut()
    patient_with_an_event()
    async with asyncio.timeout(30):
        for _ in range(20):  # in all, not each
            with pytest.raises(StorageFault):
                await Inbox(db).get("one")


async def test_a_request_whose_storing_was_not_confirmed_is_stored_once_and_starts(
    db: Database, proxy: Proxy
) -> None:
    inbox = Inbox(db)
    await inbox.receive([request("before")])
    proxy.loses = b"INSERT INTO inbox"
    kept = await inbox.receive([request("one")])
    assert kept.keys() == {"one"}, "it is not taken for one that was delivered twice"
    assert not proxy.loses, "it was lost"
    assert [row.id for row in await inbox.unfinished()] == ["before", "one"]
    assert await inbox.receive([request("one")]) == {}
    proxy.loses = b"INSERT INTO inbox"
    assert (await inbox.receive([request("two"), request("three")])).keys() == {"two", "three"}


async def test_other_errors_are_not_retried() -> None:
    calls = 0

    async def full() -> None:
        nonlocal calls
        calls += 1
        raise StorageFault("full")

    patient_in_a_run()
    with pytest.raises(StorageFault):
        await patiently(full)
    assert calls == 1


async def test_a_lease_that_is_not_renewed_is_not_confirmed(proxy: Proxy) -> None:
    url = f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/{proxy.database}"  # type: ignore[attr-defined]
    lease = Lease(url, beat_s=0.05, grace_s=0.5)

    async def gone(process: str) -> None:
        pass

    await lease.take()
    keeping = asyncio.create_task(lease.keep(gone))
    await lease.confirmed()
    proxy.hold()
    await asyncio.sleep(0.8)
    confirming = asyncio.create_task(lease.confirmed())
    await asyncio.sleep(0.3)
    assert not confirming.done()
    proxy.release()
    async with asyncio.timeout(30):
        await confirming
    keeping.cancel()
    await asyncio.wait({keeping})
    await lease.release()


@asynccontextmanager
async def running(proxy: Proxy, folder: Path, script: Script, recorder: Recorder) -> AsyncIterator[App]:
    file = folder / "config.toml"
    url = f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/{proxy.database}"  # type: ignore[attr-defined]
    file.write_text(f'[storage]\nurl = "{url}"\n[embedding]\nmodel = "none"\n', encoding="utf-8")
    settings = load(file, folder / "data", environ={})
    app = await open_scripted(folder, {"hello": script}, recorder, settings)
    try:
        await app.start()
        yield app
        async with asyncio.timeout(60):
            while await app._engine.going():  # noqa: ASYNC110 - the engine tries to keep an end again and again
                await asyncio.sleep(0.1)
    finally:
        await app.close()


async def away(proxy: Proxy, seconds: float) -> None:
    proxy.there = False
    proxy.cut()
    await asyncio.sleep(seconds)
    proxy.there = True


async def test_a_run_continues_once_the_server_is_back(proxy: Proxy, tmp_path: Path) -> None:
    going: list[asyncio.Task[None]] = []

    async def hello(run: Run) -> AsyncGenerator[Event, None]:
        async def found() -> str:
            if not going:
                going.append(asyncio.create_task(away(proxy, 1.0)))
                await asyncio.sleep(0.1)
            async with app.records.database.write() as connection:
                return str(await connection.scalar(text("SELECT 'found'")))

        async def said() -> AsyncGenerator[str | Completion, None]:
            going.append(asyncio.create_task(away(proxy, 1.0)))
            await asyncio.sleep(0.1)
            await app.records.inbox.get("one")
            yield "said"

        yield Text(await run.step("found", found, str))
        await going[0]
        async for piece in run.stream("said", said):
            yield Text(str(piece))

    async with running(proxy, tmp_path, hello, recorder := Recorder()) as app:
        assert await (await app.perform(asked("one", "hello"))).wait() == "done"
    assert recorder.events["one"] == [Text("found"), Text("said")]


async def test_the_engine_waits_for_a_server_whose_socket_is_missing(tmp_path: Path) -> None:
    engine = server_engine(f"postgresql+psycopg://postgres@/x?host={tmp_path}", Lease("postgresql:///x"))
    with pytest.raises(OperationalError) as missing:
        await asyncio.to_thread(engine.connect)
    assert "No such file" in str(missing.value)
    assert missing.value.connection_invalidated, "what the engine tries again"


def test_one_log_line_says_that_the_database_is_away(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("dbos")
    lost = psycopg.OperationalError("server closed the connection\nunexpectedly")
    monkeypatch.setattr(log, "filters", [])  # without what other tests have logged a moment ago
    keep_quiet()
    caplog.set_level(logging.DEBUG)
    for n in range(3):
        log.error("Exception encountered in asynchronous workflow:", exc_info=lost)
        log.warning(f"Notification listener error: {lost} {n}")
    log.error("Exception encountered in asynchronous workflow:", exc_info=ValueError("another"))
    log.warning("Key k not found")
    warned = [record for record in caplog.records if record.levelno > logging.DEBUG]
    assert [record.getMessage() for record in warned] == [
        "the database is away; runs wait for it: server closed the connection",
        "Exception encountered in asynchronous workflow:",
        "Key k not found",
    ]
    assert [record.exc_info is not None for record in warned] == [False, True, False]
    assert sum(record.exc_info is not None for record in caplog.records) == 4, "with tracebacks at DEBUG"


async def test_an_acknowledged_request_starts_once_the_server_is_back(proxy: Proxy, tmp_path: Path) -> None:
    async def hello(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("hello")

    cutting: list[asyncio.Task[None]] = []

    async def acknowledged() -> None:
        cutting.append(asyncio.create_task(away(proxy, 2.5)))
        await asyncio.sleep(0)

    async with running(proxy, tmp_path, hello, recorder := Recorder()) as app:
        ticket = await app.perform(asked("one", "hello"), acknowledged)
        await cutting[0]
        async with asyncio.timeout(60):
            assert await ticket.wait() == "done"
    assert recorder.events["one"] == [Text("hello")]


async def test_a_stop_that_was_sent_while_the_connection_was_lost_takes_effect(
    proxy: Proxy, tmp_path: Path
) -> None:
    begun = asyncio.Event()

    async def hello(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("hello")
        begun.set()
        await asyncio.Event().wait()

    async with running(proxy, tmp_path, hello, Recorder()) as app:
        ticket = await app.perform(asked("one", "hello"))
        await begun.wait()
        await app.records.inbox.set_states(
            {"one": "stopped"}
        )  # by another process, whose notice did not come
        proxy.cut()
        async with asyncio.timeout(60):
            assert await ticket.wait() == "stopped"


async def test_a_waiting_run_says_so_after_the_message_that_another_process_shows(
    proxy: Proxy, tmp_path: Path
) -> None:
    go_on = asyncio.Event()

    async def hello(run: Run) -> AsyncGenerator[Event, None]:
        await go_on.wait()
        yield Text("hello")

    async with running(proxy, tmp_path, hello, recorder := Recorder()) as app:
        first = await app.perform(asked("one", "hello"))
        second = await app.perform(asked("two", "hello"))
        await asyncio.sleep(1.0)
        assert "two" not in recorder.events
        space = asked("one", "hello").place.space
        await app.records.outbox.claim(space, "one", "first")
        await app.records.outbox.mark_sent(space, "one", "first", "message 1")
        async with asyncio.timeout(30):
            while "two" not in recorder.events:  # noqa: ASYNC110 - the recorder sets no event
                await asyncio.sleep(0.05)
        assert [type(event) for event in recorder.events["two"]] == [Status]
        go_on.set()
        assert [await first.wait(), await second.wait()] == ["done", "done"]


async def test_the_next_run_in_line_does_not_start_because_the_server_is_away() -> None:
    faults = [StorageFault("other", away=True)]

    async def answered(run: str) -> None:
        async def looked() -> None:
            if faults:
                raise faults.pop()

        await patiently(looked)

    await wait_for_answer(answered, "one")
    assert not faults
