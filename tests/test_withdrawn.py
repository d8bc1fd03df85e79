"""A request that a person deletes or edits is stopped, forgotten, or stored as it reads now."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import App
from bot.events import Author, Event, Request, Text
from bot.platforms import Platform
from bot.runs.requests import PastRequests
from bot.work import Run
from tests.fakes.moody import Moody, hello, running
from tests.fakes.scripted_app import Recorder, asked, open_scripted


async def test_a_deleted_request_is_stopped_and_forgotten(tmp_path: Path) -> None:
    begun = asyncio.Event()
    recorder = Recorder()
    app = await open_scripted(tmp_path, {}, recorder)
    sessions = app.resources.records.sessions
    session = await sessions.open("local", "terminal", "terminal", "t", "rules")

    async def asking(run: Run) -> AsyncGenerator[Event, None]:
        try:
            yield Text("half")
            begun.set()
            await asyncio.Event().wait()
        finally:
            await sessions.add_exchange("local", session.id, run.id, "a secret", "half")

    await app.close()
    app = await open_scripted(tmp_path, {"a secret": asking}, recorder)
    await app.start()
    sessions = app.resources.records.sessions
    try:
        ticket = await app.perform(asked("one", "a secret"))
        await begun.wait()
        await app.resources.records.offers.keep("local", "one", "choice", ["a secret, too"])
        assert not await app.forget("elsewhere", "one")
        assert await app.forget("local", "one")
        assert await ticket.wait() == "stopped"
        assert await sessions.last_exchanges("local", session.id, 9) == []
        assert await app.resources.records.offers.all("local", "one", "choice") == []
        past = await app.request_of("local", "one")
        assert past is not None
        assert past.text == ""
        assert not await app.forget("local", "never asked")
    finally:
        await app.close()
    with closing(sqlite3.connect(tmp_path / "sutradhar.db")) as connection:
        assert "a secret" not in str(connection.execute("SELECT * FROM inbox").fetchall())


async def test_a_withdrawal_leaves_other_peoples_similar_requests(tmp_path: Path) -> None:
    words = ["open", "open the door", "open", "open!", "What is behind it?", "Ask: What is behind it?"]
    bo = Author("b", "B")
    async with running(Moody(tmp_path), **dict.fromkeys(words, hello)) as app:
        requests = [asked(str(n), text) for n, text in enumerate(words)]
        for n, first in ((1, "0"), (2, "0"), (5, "4")):
            requests[n] = replace(requests[n], answers=first, author=bo)
        requests[3] = replace(requests[3], answers="0")
        for request in requests:
            await (await app.perform(request)).wait()
        assert await app.forget("local", "0")
        assert await app.forget("local", "4")
        left = [await app.request_of("local", str(n)) for n in range(6)]
        assert [request.text for request in left if request is not None] == ["", words[1], "", "", "", ""]


async def test_a_withdrawn_request_offers_no_buttons_at_its_end(tmp_path: Path) -> None:
    moody, begun = Moody(tmp_path), asyncio.Event()

    async def endless(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("half")
        begun.set()
        await asyncio.Event().wait()

    async with running(moody, secret=endless) as app:
        moody.go_on.clear()
        await app.perform(asked("one", "secret"))
        await begun.wait()
        forgetting = asyncio.create_task(app.forget("local", "one"))
        await moody.flushing.wait()
        await app.resources.records.offers.keep("local", "one", "choice", ["a secret, too"])
        moody.go_on.set()
        assert await forgetting
        assert await app.resources.records.offers.all("local", "one", "choice") == []


async def test_a_request_withdrawn_before_it_starts_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    acknowledging, acknowledged = asyncio.Event(), asyncio.Event()

    async def asking(run: Run) -> AsyncGenerator[Event, None]:
        begun.append(run.id)
        yield Text("half")

    async def acknowledge() -> None:
        acknowledging.set()
        await acknowledged.wait()

    async with running(Moody(tmp_path), secret=asking) as app:
        performing = asyncio.create_task(app.perform(asked("one", "secret"), acknowledge))
        await acknowledging.wait()
        live = app.runs.by_id.get("one")
        assert live is not None
        withdraw = PastRequests.withdraw

        async def slowly(past: PastRequests, request: Request) -> None:
            await withdraw(past, request)
            acknowledged.set()
            await asyncio.wait({live.end}, timeout=10)

        monkeypatch.setattr(PastRequests, "withdraw", slowly)
        assert await app.forget("local", "one")
        assert await (await performing).wait() == "stopped"
    assert begun == []


async def test_the_engine_keeps_nothing_of_a_withdrawn_request(tmp_path: Path) -> None:
    async def asking(run: Run) -> AsyncGenerator[Event, None]:
        async def said() -> str:
            return "a secret"

        yield Text(await run.step("said", said, str))

    async with running(Moody(tmp_path), question=asking) as app:
        for run in ("one", "two"):
            await (await app.perform(asked(run, "question"))).wait()
        assert await app.forget("local", "one")
    with closing(sqlite3.connect(tmp_path / "engine.db")) as connection:
        kept = connection.execute(
            "SELECT workflow_uuid FROM operation_outputs WHERE output LIKE '%a secret%'"
        )
        assert kept.fetchall() == [("two",)]


async def test_remains_of_a_withdrawn_request_are_deleted_at_the_next_start_after_a_crash(
    tmp_path: Path,
) -> None:
    """The remains are the request's steps, and another person's request that repeats its words."""
    secret, hushing = "a secret of the tower", asyncio.Event()

    async def asking(run: Run) -> AsyncGenerator[Event, None]:
        async def said() -> str:
            return secret

        yield Text(await run.step("said", said, str))

    async def hush(request: Request, stage: str) -> None:
        hushing.set()
        await asyncio.Event().wait()

    async def take_back(request: Request, stays: object) -> None:
        taken_back.append(request.id)

    def kept() -> str:
        found = ""
        for name, table in (("engine", "operation_outputs"), ("sutradhar", "inbox")):
            with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection:
                found += str(connection.execute(f"SELECT * FROM {table}").fetchall())
        return found

    taken_back: list[str] = []
    platform = Platform("terminal", Moody(tmp_path).view, take_back=take_back, without_words=str, hush=hush)
    for crashes in (True, False):
        app = await open_scripted(tmp_path, {secret: asking}, Recorder())
        app.attach(platform if crashes else replace(platform, hush=None))
        await app.start()
        try:
            if crashes:
                bo = replace(asked("two", secret), answers="one", author=Author("b", "B"), origin="here")
                for request in (replace(asked("one", secret), origin="here"), bo):
                    await (await app.perform(request)).wait()
                forgetting = asyncio.create_task(app.forget("local", "one"))
                await hushing.wait()
                forgetting.cancel()
                await asyncio.wait({forgetting})
                assert secret in kept()
            else:
                async with asyncio.timeout(60):
                    while await app.records.unshown.all():  # noqa: ASYNC110 - a database tells nobody
                        await asyncio.sleep(0.02)
        finally:
            await app.close()
    assert secret not in kept()
    assert sorted(taken_back) == ["one", "two"]


async def test_a_question_edited_while_it_is_answered_is_stored_as_edited(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    apps: list[App] = []

    async def asking(run: Run) -> AsyncGenerator[Event, None]:
        begun.set()
        await go_on.wait()
        sessions = apps[0].resources.records.sessions
        session = await sessions.open("local", "terminal", "terminal", "t", "rules")
        await sessions.add_exchange("local", session.id, run.id, run.request.text, "hello")
        yield Text("hello")

    async with running(Moody(tmp_path), hullo=asking) as app:
        apps.append(app)
        ticket = await app.perform(asked("one", "hullo"))
        await begun.wait()
        assert await app.reword("local", "one", "hello")
        go_on.set()
        assert await ticket.wait() == "done"
        session = await app.resources.records.sessions.active("local", "terminal", "terminal", "t")
        assert session is not None
        (exchange,) = await app.resources.records.sessions.last_exchanges("local", session.id, 9)
        assert exchange.question == "hello"


async def test_an_edited_message_is_stored_as_edited(tmp_path: Path) -> None:
    async with running(Moody(tmp_path)) as app:
        await (await app.perform(asked("one", "hello"))).wait()
        sessions = app.resources.records.sessions
        session = await sessions.open("local", "terminal", "terminal", "t", "rules")
        await sessions.add_exchange("local", session.id, "one", "hello", "hello")
        assert not await app.reword("elsewhere", "one", "good day")
        assert await app.reword("local", "one", "good day")
        (exchange,) = await sessions.last_exchanges("local", session.id, 9)
        assert (exchange.question, exchange.answer) == ("good day", "hello")
        past = await app.request_of("local", "one")
        assert past is not None
        assert past.text == "good day"
        assert await app.request_of("elsewhere", "one") is None
        assert await app.request_of("local", "two") is None
