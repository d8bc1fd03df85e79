"""What a run still owes to the screen when it ends is stored, and shown by this process or the next one."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from bot.app import App
from bot.events import (
    Answered,
    Attachment,
    Changed,
    Choice,
    Choices,
    Citation,
    Elsewhere,
    Ended,
    Event,
    Failed,
    Link,
    Notice,
    Picture,
    Place,
    Request,
    Shown,
    Speaker,
    Spoiler,
    Stage,
    Status,
    Text,
)
from bot.platforms import Platform
from bot.runs.requests import row_of
from bot.runs.showing import events_from_json, events_to_json
from bot.view import View
from bot.work import Run
from storage.outbox import Outbox
from tests.fakes.scripted_app import Recorder, Script, asked, open_scripted


class Screen:
    """What people see of each run. While it is down, nothing reaches it."""

    def __init__(self) -> None:
        self.up = asyncio.Event()
        self.up.set()
        self.texts: dict[str, str] = {}
        self.ends: list[tuple[str, str]] = []
        self.flushing = asyncio.Event()

    def view(self, run: str, request: Request, outbox: Outbox) -> View:
        return _ScreenView(self, run, outbox, request.place.space)


class _ScreenView:
    def __init__(self, screen: Screen, run: str, outbox: Outbox, space: str) -> None:
        self._screen, self._run, self._outbox, self._space = screen, run, outbox, space
        self._text = ""

    async def show(self, event: Shown) -> None:
        if isinstance(event, Stage) and self._screen.up.is_set():  # its message is posted, and grows
            await self._outbox.claim(self._space, self._run, event.key)
            await self._outbox.mark_sent(self._space, self._run, event.key, f"message of {self._run}")
        if isinstance(event, Text | Failed):
            self._text += event.text

    async def change(self, changed: Changed) -> None:
        await self._screen.up.wait()
        self._screen.texts[changed.run] = "".join(
            event.text for event in changed.contents if isinstance(event, Text)
        )

    async def flush(self, status: Ended) -> None:
        self._screen.flushing.set()
        await self._screen.up.wait()
        self._screen.texts[self._run] = self._text
        self._screen.ends.append((self._run, status))


@asynccontextmanager
async def running(data: Path, screen: Screen, **scripts: Script) -> AsyncIterator[App]:
    app = await open_scripted(data, scripts, Recorder())
    app.attach(Platform("terminal", screen.view, without_words=lambda origin: "no words"))
    app._execution.showings.late_s = 0.05
    try:
        await app.start()
        yield app
    finally:
        await app.close()


def rows(data: Path, query: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(data / "sutradhar.db")) as connection:
        return connection.execute(query).fetchall()


async def until_shown(app: App) -> None:
    async with asyncio.timeout(30):
        while await app.records.unshown.all():  # noqa: ASYNC110 - a database tells nobody
            await asyncio.sleep(0.01)


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "")
    yield Text("hel")
    yield Text("lo")


async def must_not_run(run: Run) -> AsyncGenerator[Event, None]:
    assert not run.id, "the work of a run that has ended runs again"
    yield Text("")


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_line_continues_while_the_platform_is_down_and_everything_is_shown_in_the_end(
    tmp_path: Path, restarts: bool
) -> None:
    async def breaks(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("half. ")
        raise ValueError

    async def told(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("an answer")
        yield Answered()
        await asyncio.Event().wait()

    scripts: dict[str, Script] = {"hello": hello, "breaks": breaks, "told": told}
    screen = Screen()
    screen.up.clear()
    async with running(tmp_path, screen, **scripts) as app:
        tickets = [await app.perform(asked(text, text)) for text in scripts]
        assert [await ticket.wait() for ticket in tickets] == ["done", "failed", "done"]
        assert rows(tmp_path, "SELECT id, state FROM inbox ORDER BY seq") == [
            ("hello", "done"),
            ("breaks", "failed"),
            ("told", "answered"),
        ]
        assert await app.stop(asked("x", "").place) == 0, "what has ended cannot be stopped"
        assert screen.texts == {}
        if not restarts:
            screen.up.set()
            await until_shown(app)
    if restarts:
        again = {"hello": must_not_run, "breaks": must_not_run, "told": told}
        screen = Screen()
        async with running(tmp_path, screen, **again) as app:
            await until_shown(app)
    assert screen.ends == [("hello", "done"), ("breaks", "failed"), ("told", "done")]
    assert screen.texts["hello"] == "hello"
    assert screen.texts["breaks"].startswith("half. Something went wrong")
    assert screen.texts["told"] == "an answer"
    assert rows(tmp_path, "SELECT * FROM unshown") == []


async def test_an_answer_waits_for_another_processs_answer_while_its_run_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, free = Screen(), asyncio.Event()

    async def overtakes(request: Request) -> bool:
        return request.id == "hello"

    async def overtakes_none(request: Request) -> None:
        await free.wait()

    async with running(tmp_path, screen, hello=hello) as app:
        monkeypatch.setattr(app.runs, "shared", True)
        monkeypatch.setattr(app.runs, "overtakes", overtakes)
        monkeypatch.setattr(app.runs, "overtakes_none", overtakes_none)
        ticket = await app.perform(asked("hello", "hello"))
        assert await ticket.wait() == "done"
        assert rows(tmp_path, "SELECT id, state FROM inbox") == [("hello", "done")]
        assert await app.records.outbox.stages("local", "hello") == [], "not even its stage is opened"
        assert screen.texts == {}
        free.set()
        await until_shown(app)
        assert screen.texts == {"hello": "hello"}


async def test_a_replayed_answer_is_not_shown_again_from_storage(tmp_path: Path) -> None:
    app = await open_scripted(tmp_path, {"hello": hello}, Recorder())
    await app.records.inbox.receive([row_of(asked("one", "hello"))])
    stale = events_to_json([Text("of before")])
    await app.records.unshown.keep("local", "one", "", status="done", events=stale)
    await app.close()  # a crash between the two
    async with running(tmp_path, screen := Screen(), hello=hello) as app:
        assert await app.ended("one") == "done"
        await until_shown(app)
    assert screen.texts == {"one": "hello"}
    assert screen.ends == [("one", "done")]


async def test_a_stop_that_could_not_be_shown_is_shown_later(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("half")
        begun.set()
        await asyncio.Event().wait()

    screen = Screen()
    async with running(tmp_path, screen, endless=endless) as app:
        ticket = await app.perform(asked("one", "endless"))
        await begun.wait()
        screen.up.clear()
        await app.stop(asked("x", "").place)
        assert await ticket.wait() == "stopped"
    screen = Screen()
    async with running(tmp_path, screen, endless=must_not_run) as app:
        await until_shown(app)
    assert (screen.ends, screen.texts) == ([("one", "stopped")], {"one": "half"})


async def test_a_change_of_an_earlier_message_is_shown_later_and_the_last_one_stays(tmp_path: Path) -> None:
    def changing(text: str) -> Script:
        async def change(run: Run) -> AsyncGenerator[Event, None]:
            yield Changed("one", "answer", "", (Text(text), Notice("!")))

        return change

    screen = Screen()
    async with running(tmp_path, screen, hello=hello, a=changing("a"), b=changing("b")) as app:
        await (await app.perform(asked("one", "hello"))).wait()
        screen.up.clear()
        for text in ("a", "b"):
            assert await (await app.perform(asked(text, text))).wait() == "done"
    assert screen.texts["one"] == "hello"
    screen = Screen()
    async with running(tmp_path, screen) as app:
        await until_shown(app)
    assert screen.texts["one"] == "b"


async def test_a_run_that_changes_an_earlier_message_ends_even_if_that_is_withdrawn(tmp_path: Path) -> None:
    async def change(run: Run) -> AsyncGenerator[Event, None]:
        yield Changed("one", "answer", "", (Text("new"),))
        yield Text("changed")

    async with running(tmp_path, screen := Screen(), hello=hello, change=change) as app:
        await (await app.perform(asked("one", "hello"))).wait()
        screen.up.clear()
        app._execution.showings.late_s = 60
        ticket = await app.perform(asked("two", "change"))
        async with asyncio.timeout(30):
            while not app._execution.showings.has("one"):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
        assert await app.forget("local", "one")
        screen.up.set()
        assert await ticket.wait() == "done"
    assert screen.texts == {"one": "hello", "two": "changed"}


async def test_an_answer_withdrawn_while_owed_is_not_shown_and_its_message_is_finished(
    tmp_path: Path,
) -> None:
    screen = Screen()
    up_at_first, request = asyncio.Event(), asked("one", "hello")
    request = replace(request, origin="hello is in it, too")

    async def secret(run: Run) -> AsyncGenerator[Event, None]:
        async for event in hello(run):
            yield event
        screen.up.clear()
        up_at_first.set()

    async with running(tmp_path, screen, hello=secret) as app:
        await (await app.perform(request)).wait()
        assert await app.forget("local", "one")
        assert await app.records.outbox.cut_off("local", "one") == ["message of one"]
        assert rows(tmp_path, "SELECT * FROM unshown WHERE events || request LIKE '%hel%'") == []
        assert len(rows(tmp_path, "SELECT * FROM unshown")) == 1
    screen = Screen()
    async with running(tmp_path, screen, hello=must_not_run) as app:
        await until_shown(app)
    assert (screen.ends, screen.texts) == ([("one", "stopped")], {"one": ""})


async def test_deleting_twice_does_not_interrupt_the_withdrawal(tmp_path: Path) -> None:
    screen = Screen()

    async def secret(run: Run) -> AsyncGenerator[Event, None]:
        async for event in hello(run):
            yield event
        screen.up.clear()

    async with running(tmp_path, screen, hello=secret) as app:
        await (await app.perform(replace(asked("one", "hello"), origin="here"))).wait()
        for _ in range(2):
            assert await app.forget("local", "one")
        screen.up.set()
        await until_shown(app)
        assert screen.ends[-1] == ("one", "stopped")


async def test_a_platform_that_is_down_does_not_delay_withdrawals_elsewhere(tmp_path: Path) -> None:
    down, taken_back = asyncio.Event(), asyncio.Event()

    async def never(request: Request, stays: Collection[str] | None) -> None:
        await down.wait()

    async def at_once(request: Request, stays: Collection[str] | None) -> None:
        taken_back.set()

    screen = Screen()
    async with running(tmp_path, screen, hello=hello) as app:
        for name, take_back in (("down", never), ("up", at_once)):
            app.attach(Platform(name, screen.view, without_words=lambda origin: origin, take_back=take_back))
        for n in range(6):
            request = asked(str(n), "hello")
            place = replace(request.place, platform="up" if n == 5 else "down", thread=str(n))
            await (await app.perform(replace(request, place=place, origin="there"))).wait()
        for n in range(6):
            assert await app.forget("local", str(n))
        await asyncio.wait_for(taken_back.wait(), 10)


async def test_a_run_that_was_withdrawn_before_a_crash_needs_no_view(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    async def endless(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("half")
        begun.set()
        await asyncio.Event().wait()

    def views(run: str, request: Request, outbox: Outbox) -> View:
        if not request.origin:
            raise ValueError("not an origin")
        return Screen().view(run, request, outbox)

    async with running(tmp_path, Screen(), endless=endless) as app:
        app.attach(Platform("terminal", views))
        request = replace(asked("one", "endless"), origin="here")
        await app.perform(request)
        await begun.wait()
        await app._past.withdraw(request)  # and the process ends
    async with running(tmp_path, Screen()) as app:
        app.attach(Platform("terminal", views))
        async with asyncio.timeout(30):
            while await app._engine.status("one") == "running":  # noqa: ASYNC110 - the engine tells nobody
                await asyncio.sleep(0.02)
    assert "Traceback" not in caplog.text
    assert "no view" not in caplog.text


def test_events_are_stored_unchanged() -> None:
    events: list[Event] = [
        Stage("key", "Title", Speaker("Ana", own=True), ("1",), Choice("a", "b", asks="c")),
        Text("one and the same"),
        Spoiler("what is to come"),
        Status("at work", 1, 2),
        Citation(1, "book", "heading", "quote", 3),
        Choices("which?", (Choice("a", "b"),), votes=True, taken=0),
        Picture("map.png", b"\x89PNG\x00\xff", "a map"),
        Attachment("a.bin", "application/octet-stream", bytes(range(256))),
        Elsewhere(Place("discord", "s", "c", "t"), "there", archived=True),
        Link("run", "title"),
        Notice("a notice"),
        Failed("no"),
    ]
    assert {type(event) for event in events} == set(get_args(Shown))
    assert events_from_json(events_to_json(events)) == events
    assert events_from_json(events_to_json([Text("a"), Text("b")])) == [Text("ab")]
    contents = (Text("a"), Notice("b"), Picture("p", b"\xff", "p"), Choices("", (Choice("a", "b"),)))
    changed = Changed("run", "stage", "title", contents, in_place=True, speaker=Speaker("Bia"))
    assert events_from_json(events_to_json([changed])) == [changed]
