"""How a run ends: all of it on the screen, then written down, then closed; whatever its view does."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import App
from bot.events import Author, Changed, Ended, Event, Failed, Request, Shown, Text
from bot.platforms import Platform
from bot.runs.engine import RECOVERIES
from bot.runs.requests import PastRequests, row_of
from bot.view import VIEW_S, View
from bot.waiting import wait_at_most
from bot.words import words
from bot.work import Run
from storage.outbox import Outbox
from tests.fakes.scripted_app import Recorder, Script, asked, open_scripted


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


class Moody:
    """A view of run "one" whose end does what the test says; other runs are shown well."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.seen: list[tuple[str, str, str]] = []
        self.flushing = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.broken = ""

    def view(self, run: str, request: Request, outbox: Outbox) -> View:
        return _MoodyView(self, run)

    def state(self, run: str) -> str:
        with closing(sqlite3.connect(self.data / "sutradhar.db")) as connection:
            ((state,),) = connection.execute("SELECT state FROM inbox WHERE id = ?", (run,))
            return str(state)


class _MoodyView:
    def __init__(self, moody: Moody, run: str) -> None:
        self._moody = moody
        self._run = run

    async def show(self, event: Shown) -> None:
        if self._run == "one" and self._moody.broken == "show":
            raise UnicodeEncodeError("ascii", "✓", 0, 1, "as a pipe that is not UTF-8")

    async def change(self, changed: Changed) -> None:
        pass

    async def flush(self, status: Ended) -> None:
        await self._do("flush", status)

    async def close(self, status: Ended) -> None:
        await self._do("close", status)

    async def _do(self, what: str, status: Ended) -> None:
        moody = self._moody
        moody.seen.append((what, status, moody.state(self._run)))
        if self._run != "one":
            return
        if what == "flush":
            moody.flushing.set()
            await moody.go_on.wait()
        if what == moody.broken:
            raise RuntimeError("the platform is gone")


@asynccontextmanager
async def running(moody: Moody, **scripts: Script) -> AsyncIterator[App]:
    app = await open_scripted(moody.data, {"hello": hello, **scripts}, Recorder())
    app.attach(Platform("terminal", moody.view))
    try:
        await app.start()
        yield app
    finally:
        await app.close()


async def test_a_run_is_shown_to_its_end_then_written_down_then_closed(tmp_path: Path) -> None:
    async with running(moody := Moody(tmp_path)) as app:
        assert await (await app.perform(asked("one", "hello"))).wait() == "done"
    assert moody.seen == [("flush", "done", "running"), ("close", "done", "done")]


async def test_a_stopped_run_is_written_down_before_it_dies(tmp_path: Path) -> None:
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
async def test_a_view_that_fails_loses_neither_the_end_nor_the_next_run(
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


async def test_a_view_that_can_show_nothing_ends_its_run_and_hangs_nobody(tmp_path: Path) -> None:
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


async def test_what_is_not_on_the_screen_when_the_process_leaves_is_shown_at_the_next_start(
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


async def test_nobody_is_waited_for_for_ever(caplog: pytest.LogCaptureFixture) -> None:
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
    """How often the engine has taken the run up."""
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


async def test_a_run_that_cannot_be_shown_lets_the_next_one_go(tmp_path: Path) -> None:
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


async def test_what_a_person_takes_back_is_stopped_and_forgotten(tmp_path: Path) -> None:
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


async def test_a_few_letters_in_common_take_back_no_request_of_somebody_else(tmp_path: Path) -> None:
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


async def test_what_is_taken_back_is_not_offered_by_the_end_of_its_view(tmp_path: Path) -> None:
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


async def test_what_is_taken_back_before_it_begins_does_not_begin(
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
        live = app.runs.get("one")
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


async def test_the_engine_keeps_nothing_of_what_is_taken_back(tmp_path: Path) -> None:
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


async def test_what_a_crash_leaves_of_what_is_taken_back_goes_at_the_next_start(tmp_path: Path) -> None:
    """The steps of the request, and somebody else's request with its words."""
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


async def test_what_is_changed_while_it_is_answered_is_remembered_as_it_reads_now(tmp_path: Path) -> None:
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


async def test_a_request_that_cannot_be_read_any_more_does_not_keep_the_others_from_starting(
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


async def test_files_of_a_run_that_waits_for_another_platform_stay(tmp_path: Path) -> None:
    app = await open_scripted(tmp_path, {}, Recorder())
    there = asked("waits", "x")
    there = replace(there, place=replace(there.place, platform="discord"))
    await app.resources.records.inbox.receive([row_of(there)])
    for run in ("waits", "ended"):
        (tmp_path / "incoming" / run).mkdir(parents=True)
    assert await app.start() == []
    assert [path.name for path in (tmp_path / "incoming").iterdir()] == ["waits"]
    await app.close()


async def test_what_a_person_changes_is_kept_as_it_reads_now(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("became", "sentence"),
    [
        (f"recovery_attempts = {RECOVERIES + 2}", "app.given_up"),
        ("status = 'ERROR'", "app.broke_off"),
    ],
)
async def test_a_run_that_is_not_started_again_says_why_where_it_was_asked(
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
