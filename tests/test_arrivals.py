"""How a request arrives: first stored, then acknowledged, then started; none is lost or done twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import pytest

from bot.app import App
from bot.events import Author, Event, File, Request, Text, UserError
from bot.runs.requests import GATE_S, AcknowledgementGate, Arrivals, composed, event_id
from bot.work import Run
from storage.db import Database
from storage.inbox import Inbox
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder, asked, open_scripted


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


@asynccontextmanager
async def running(data: Path, recorder: Recorder) -> AsyncIterator[App]:
    app = await open_scripted(data, {"hello": hello}, recorder)
    try:
        await app.start()
        yield app
    finally:
        await app.close()


def kept(data: Path) -> list[str]:
    """The ids of all requests, read as another process would."""
    with closing(sqlite3.connect(data / "sutradhar.db")) as connection:
        return [id for (id,) in connection.execute("SELECT id FROM inbox ORDER BY seq")]


async def test_a_request_is_stored_before_it_is_acknowledged_and_started_afterwards(tmp_path: Path) -> None:
    recorder = Recorder()
    seen: list[object] = []

    async def acknowledge() -> None:
        seen.append((kept(tmp_path), list(recorder.events)))

    async with running(tmp_path, recorder) as app:
        assert await (await app.perform(asked("one", "hello"), acknowledge)).wait() == "done"
        again = await app.perform(asked("one", "hello"), acknowledge)
        assert not again.fresh
    assert seen == [(["one"], [])]
    assert recorder.events["one"] == [Text("hello")]


async def test_a_run_continues_even_if_its_acknowledgement_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        raise RuntimeError("Unknown interaction")

    async with running(tmp_path, recorder := Recorder()) as app:
        assert await (await app.perform(asked("one", "hello"), fails)).wait() == "done"
    assert recorder.events["one"] == [Text("hello")]
    assert "run one was not acknowledged" in caplog.text


async def test_a_request_is_done_even_if_its_sender_is_cut_off(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        begun.set()
        await go_on.wait()

    async with running(tmp_path, recorder := Recorder()) as app:
        asking = asyncio.create_task(app.perform(asked("one", "hello"), slow))
        await begun.wait()
        asking.cancel()
        await asyncio.wait({asking})
        go_on.set()
        assert await app.ended("one") == "done"
    assert recorder.events["one"] == [Text("hello")]


async def test_a_request_edited_before_it_starts_is_done_as_edited(tmp_path: Path) -> None:
    async with running(tmp_path, recorder := Recorder()) as app:

        async def edited() -> None:
            assert await app.reword("local", "one", "hello")

        assert await (await app.perform(asked("one", "helo"), edited)).wait() == "done"
    assert recorder.events["one"] == [Text("hello")]


async def test_a_hundred_at_once_are_acknowledged_and_shown_once_each(tmp_path: Path) -> None:
    acknowledged: list[int] = []

    def acknowledge(n: int) -> AcknowledgeN:
        return AcknowledgeN(acknowledged, n)

    async with running(tmp_path, recorder := Recorder()) as app:
        requests = [asked(f"r{n:03}", "hello", thread=str(n % 7)) for n in range(100)]
        tickets = await asyncio.gather(
            *(app.perform(request, acknowledge(n)) for n, request in enumerate([*requests, *requests]))
        )
        assert {await ticket.wait() for ticket in tickets} == {"done"}
    assert sum(ticket.fresh for ticket in tickets) == 100
    assert len(acknowledged) == 100
    assert kept(tmp_path) == [request.id for request in requests]
    assert all(events[-1] == Text("hello") for events in recorder.events.values())


class AcknowledgeN:
    """Notes which request it acknowledged."""

    def __init__(self, acknowledged: list[int], n: int) -> None:
        self._acknowledged = acknowledged
        self._n = n

    async def __call__(self) -> None:
        self._acknowledged.append(self._n)


async def test_requests_that_wait_for_a_commit_share_the_next_one_in_order(tmp_path: Path) -> None:
    database = await Database.open(migrated.database(tmp_path / "a.db"))
    batches: list[int] = []

    class Counting(Inbox):
        async def receive(self, rows):  # type: ignore[no-untyped-def]
            batches.append(len(rows))
            return await super().receive(rows)

    arrived: list[str] = []
    arrivals = Arrivals(Counting(database), lambda request, seq, since: arrived.append(request.id))
    ids = [f"r{n}" for n in range(20)]
    numbers = await asyncio.gather(*(arrivals.receive(asked(id, "hello")) for id in ids))
    assert await arrivals.receive(asked("r3", "hello")) is None
    await database.close()
    assert batches == [1, 19, 1]
    assert arrived == ids
    assert numbers == sorted(number for number in numbers if number is not None)


async def test_a_request_that_cannot_be_stored_does_not_affect_the_others(tmp_path: Path) -> None:
    database = await Database.open(migrated.database(tmp_path / "a.db"))
    arrivals = Arrivals(Inbox(database), lambda request, seq, since: None)
    broken: Request = asked("broken", "half a letter: \ud800")
    got = await asyncio.gather(
        *(arrivals.receive(request) for request in (asked("a", "hello"), broken, asked("b", "hello"))),
        return_exceptions=True,
    )
    await database.close()
    assert [isinstance(one, int) for one in got] == [True, False, True]
    assert isinstance(got[1], UnicodeEncodeError)


@pytest.mark.parametrize(("work", "verb"), [("library", "add"), ("library", "remove"), ("prompts", "reset")])
async def test_an_admins_only_request_is_refused_before_anything_is_stored(
    tmp_path: Path, work: str, verb: str
) -> None:
    request = replace(asked("one", "hello", work=work, verb=verb), author=Author("g", "Guest"))
    async with running(tmp_path, Recorder()) as app:
        with pytest.raises(UserError) as refused:
            await app.perform(request)
        assert await (await app.perform(asked("two", "hello"))).wait() == "done"
    assert (refused.value.key, refused.value.values) == ("app.admins", {"verb": f"{work} {verb}"})
    assert kept(tmp_path) == ["two"]


def test_an_event_has_one_id_in_its_space_and_platform() -> None:
    id = event_id("discord", "1", "23")
    assert id == event_id("discord", "1", "23")
    assert len(id) == 32
    assert int(id, 16) >= 0
    others = [("discord", "12", "3"), ("slack", "1", "23"), ("discord", "1", "24"), ("discord1", "", "23")]
    assert id not in {event_id(*other) for other in others}


async def test_a_request_without_acknowledgement_lets_waiting_ones_go_first(tmp_path: Path) -> None:
    recorder, standing, answered = Recorder(), asyncio.Event(), asyncio.Event()

    async def slowly() -> None:
        standing.set()
        await answered.wait()

    async with running(tmp_path, recorder) as app:
        first = asyncio.create_task(app.perform(asked("one", "hello"), slowly))
        await standing.wait()
        loop = asyncio.get_running_loop()
        before = loop.time()
        second = await app.perform(asked("two", "hello"))
        assert loop.time() - before >= GATE_S * 0.9  # but not for ever
        answered.set()
        assert await second.wait() == await (await first).wait() == "done"


async def test_nothing_starts_before_all_arrivals_are_acknowledged() -> None:
    gate, order = AcknowledgementGate(), list[str]()

    async def begin() -> None:
        await gate.passed()
        order.append("begun")

    async with asyncio.TaskGroup() as tasks:
        with gate.closed():
            with gate.closed():
                tasks.create_task(begin())
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            order.append("acknowledged")
    assert order == ["acknowledged", "begun"]


def test_names_are_normalised_for_composed_accents_but_paths_are_kept() -> None:
    apart, whole = normalize("NFD", "ação"), normalize("NFC", "ação")
    request = asked("one", apart)
    request = replace(request, options={"shelf": apart, "file": apart, "k": 3}, files=(File(apart, "", 1),))
    same = composed(request)
    assert (same.text, same.options, same.files[0].name) == (
        whole,
        {"shelf": whole, "file": apart, "k": 3},
        whole,
    )
