"""Work that continues after the answer: quiet ends, runs that runs start, changed messages, speech."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from bot import commands
from bot.app import App
from bot.events import Answered, Changed, Event, Place, Request, Speak, Stage, Status, Text, UserError
from bot.verb import Verb
from bot.view import View
from bot.work import Run
from storage.faults import StorageFault
from storage.outbox import Outbox
from tests.fakes.scripted_app import RecordedView, Recorder, Script, asked, open_scripted

LATER = Verb("rules", "later", inner=True)


@pytest.fixture(autouse=True)
def an_inner_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast("dict[Any, Any]", commands.ROWS), (LATER.work, LATER.name), LATER)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@asynccontextmanager
async def running(data: Path, recorder: Recorder, **scripts: Script) -> AsyncIterator[App]:
    app = await open_scripted(data, scripts, recorder)
    try:
        await app.start()
        yield app
    finally:
        await app.close()


class Bell:
    """Runs that count their work and wait until they are released."""

    def __init__(self) -> None:
        self.rung: list[str] = []
        self.go = asyncio.Event()
        self.heard = asyncio.Condition()

    async def ring(self, what: str) -> str:
        async with self.heard:
            self.rung.append(what)
            self.heard.notify_all()
        return what

    async def until(self, *rung: str) -> None:
        async with asyncio.timeout(60), self.heard:
            await self.heard.wait_for(lambda: set(rung) <= set(self.rung))


def quietly(bell: Bell) -> Script:
    async def script(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("answer", "Answer")
        yield Text(await run.step("said", lambda: bell.ring("said"), str))
        yield Answered()
        yield Text("nobody sees this")
        await bell.go.wait()
        await run.step("after", lambda: bell.ring("after"), str)

    return script


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


async def test_after_its_answer_a_run_blocks_nobody_and_cannot_be_stopped(
    tmp_path: Path, recorder: Recorder
) -> None:
    bell = Bell()
    async with running(tmp_path, recorder, quiet=quietly(bell), hello=hello) as app:
        first = await app.perform(asked("one", "quiet"))
        assert await first.wait() == "done"
        assert recorder.flushed["one"] == recorder.statuses["one"] == "done"
        assert bell.rung == ["said"]
        second = await app.perform(asked("two", "hello"))
        assert await second.wait() == "done"
        assert not any(isinstance(event, Status) for event in recorder.events["two"]), "nobody is ahead of it"
        assert await app.stop(asked("x", "").place) == 0
        live = app.runs.of("local", "one")
        assert live is not None
        assert live.answered.done()
        bell.go.set()
        await bell.until("said", "after")
    assert recorder.events["one"] == [Stage("answer", "Answer"), Text("said")]


async def test_work_that_a_crash_interrupts_after_the_answer_continues_without_showing_it_again(
    tmp_path: Path, recorder: Recorder
) -> None:
    bell, again = Bell(), Recorder()
    async with running(tmp_path, recorder, quiet=quietly(bell)) as app:
        await (await app.perform(asked("one", "quiet"))).wait()
    bell.go.set()
    async with running(tmp_path, again, quiet=quietly(bell), hello=hello) as app:
        await bell.until("said", "after")
        assert await (await app.perform(asked("one", "quiet"))).wait() == "done"
        assert await (await app.perform(asked("two", "hello"))).wait() == "done"
    assert again.events.get("one", []) == []
    assert "one" not in again.flushed


async def test_an_error_after_the_answer_is_not_shown(
    tmp_path: Path, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    ended = asyncio.Event()

    async def script(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("whole")
        yield Answered()
        try:
            raise ZeroDivisionError("later")
        finally:
            ended.set()

    async with running(tmp_path, recorder, broken=script) as app:
        assert await (await app.perform(asked("one", "broken"))).wait() == "done"
        await ended.wait()
    assert recorder.events["one"] == [Text("whole")]
    assert "ZeroDivisionError" in caplog.text


def begetting(bell: Bell, *, line: str = "") -> dict[str, Script]:
    async def parent(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("hello")
        for key in ("a", "b"):
            options = {"key": key}
            await run.begin(key, "later", text="child", options=options, line=line, for_all=key == "b")
        yield Answered()
        await bell.go.wait()

    async def child(run: Run) -> AsyncGenerator[Event, None]:
        yield Status("at work")
        key = str(run.request.options["key"])
        await run.step("begun", lambda: bell.ring(f"begun {key}"), str)
        await bell.go.wait()
        await run.step("done", lambda: bell.ring(f"done {key}"), str)
        if key == "b":
            yield Stage("late", "Later")
            yield Text("after all")

    return {"parent": parent, "child": child, "hello": hello}


async def test_a_run_starts_others_that_nobody_waits_for(tmp_path: Path, recorder: Recorder) -> None:
    bell = Bell()
    async with running(tmp_path, recorder, **begetting(bell)) as app:
        private = replace(asked("one", "parent"), origin="for Ana alone")
        assert await (await app.perform(private)).wait() == "done"
        await bell.until("begun a", "begun b")
        assert await (await app.perform(asked("two", "hello"))).wait() == "done"
        assert await app.stop(asked("x", "").place) == 0
        bell.go.set()
        await bell.until("begun a", "begun b", "done a", "done b")
        children = [row.id for row in await app.resources.records.inbox.children("local", "one")]
        assert {await app.ended(child) for child in children} == {"done"}
        begun = [await app.request_of("local", child) for child in children]
        assert [(request.author.id, request.origin) for request in begun if request is not None] == [
            (private.author.id, "for Ana alone"),
            ("", f"nobody in {private.place.thread}"),
        ]
    assert [recorder.events[child] for child in children] == [[], [Stage("late", "Later"), Text("after all")]]
    assert set(recorder.flushed) == {"one", "two", children[1]}, "a run that shows nothing leaves no message"


async def test_runs_of_one_line_go_one_after_another(tmp_path: Path, recorder: Recorder) -> None:
    bell = Bell()
    async with running(tmp_path, recorder, **begetting(bell, line="branch 1")) as app:
        await (await app.perform(asked("one", "parent"))).wait()
        await bell.until("begun a")
        await asyncio.sleep(0.05)
        assert bell.rung == ["begun a"], "the second one waits for the first"
        bell.go.set()
        await bell.until("begun a", "done a", "begun b", "done b")
    assert bell.rung == ["begun a", "done a", "begun b", "done b"]
    assert not any(isinstance(event, Status) for events in recorder.events.values() for event in events)


async def test_child_runs_start_once_and_continue_after_a_crash(tmp_path: Path, recorder: Recorder) -> None:
    bell, again = Bell(), Recorder()
    async with running(tmp_path, recorder, **begetting(bell, line="branch 1")) as app:
        await (await app.perform(asked("one", "parent"))).wait()
        await bell.until("begun a")
    bell.go.set()
    async with running(tmp_path, again, **begetting(bell, line="branch 1")):
        await bell.until("begun a", "done a", "begun b", "done b")
    # A count that was not stored yet is repeated.
    assert [what for what in bell.rung if what != "begun a"] == ["done a", "begun b", "done b"]


async def test_deleting_a_question_also_withdraws_the_runs_that_it_started(
    tmp_path: Path, recorder: Recorder
) -> None:
    bell = Bell()
    async with running(tmp_path, recorder, **begetting(bell)) as app:
        await (await app.perform(asked("one", "parent"))).wait()
        await bell.until("begun a", "begun b")
        children = await app.resources.records.inbox.children("local", "one")
        assert len(children) == 2
        assert all("child" in row.payload for row in children)
        assert await app.forget("local", "one")
        kept = [await app.resources.records.inbox.get(row.id) for row in children]
        assert [row.state for row in kept if row is not None] == ["stopped"] * 2
        assert not any('"child"' in row.payload for row in kept if row is not None)
        bell.go.set()
    assert sorted(bell.rung) == ["begun a", "begun b"]


async def test_a_run_changes_an_earlier_message_in_its_own_space_only(
    tmp_path: Path, recorder: Recorder
) -> None:
    changed = Changed("one", "answer", "Answer", (Text("Or not."),))

    async def shown(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("answer", "Answer")
        yield Text("It may.")

    async def changing(run: Run) -> AsyncGenerator[Event, None]:
        yield changed
        yield Text("changed")

    async with running(tmp_path, recorder, shown=shown, changing=changing) as app:
        await (await app.perform(asked("one", "shown"))).wait()
        await (await app.perform(asked("far", "changing", space="elsewhere"))).wait()
        assert recorder.changes == []
        await (await app.perform(asked("two", "changing"))).wait()
    assert recorder.changes == [changed]


class Held(Recorder):
    """A view whose first change waits until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    def view(self, run: str, request: Request, outbox: Outbox) -> View:
        return HeldView(self, run)


class HeldView(RecordedView):
    def __init__(self, held: Held, run: str) -> None:
        super().__init__(held, run)
        self._held = held

    async def change(self, changed: Changed) -> None:
        if not self._held.begun.is_set():
            self._held.begun.set()
            await self._held.go.wait()
        await super().change(changed)


async def test_two_changes_of_one_message_happen_in_order(tmp_path: Path) -> None:
    held, about_to = Held(), Text("about to")

    async def shown(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("answer", "Answer")

    async def changing(run: Run) -> AsyncGenerator[Event, None]:
        yield about_to
        yield Changed("one", "answer", run.request.id, ())

    async with running(tmp_path, held, shown=shown, changing=changing) as app:
        await (await app.perform(asked("one", "shown"))).wait()
        two = await app.perform(asked("two", "changing"))
        await held.begun.wait()
        three = await app.perform(asked("three", "changing", thread="elsewhere"))
        await held.until("three", about_to)
        await app.resources.records.inbox.get(
            "three"
        )  # as long as it takes to find the request whose message it is
        held.go.set()
        await asyncio.gather(two.wait(), three.wait())
    assert [changed.title for changed in held.changes] == ["two", "three"]


async def test_nothing_is_spoken_twice_after_a_crash(tmp_path: Path, recorder: Recorder) -> None:
    bell, again = Bell(), Recorder()
    words = Speak("It may.", "verdict", "chair")

    async def script(run: Run) -> AsyncGenerator[Event, None]:
        yield words
        await bell.ring("spoken")
        await bell.go.wait()
        yield replace(words, key="second")

    async with running(tmp_path, recorder, speaks=script) as app:
        await app.perform(asked("one", "speaks"))
        await bell.until("spoken")
    bell.go.set()
    async with running(tmp_path, again, speaks=script) as app:
        assert await app.ended("one") == "done"
    assert recorder.spoken == [words]
    assert again.spoken == [replace(words, key="second")]


async def test_plain_text_continues_in_the_works_thread_even_while_it_waits(
    tmp_path: Path, recorder: Recorder
) -> None:
    bell = Bell()

    async def waiting(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("…")
        await bell.go.wait()

    place = Place("terminal", "local", "terminal", "t")
    async with running(tmp_path, recorder, waiting=waiting) as app:
        assert await app.plain(place, "ana", "hello") == ("rules", "ask")
        ticket = await app.perform(asked("one", "waiting"))
        session = await app.resources.records.sessions.active("local", "terminal", "terminal", "t")
        assert session is not None
        assert (session.work, session.title) == ("rules", "waiting")
        bell.go.set()
        await ticket.wait()


async def test_a_platform_decides_where_an_answer_to_nobody_goes(tmp_path: Path, recorder: Recorder) -> None:
    async with running(tmp_path, recorder, hello=hello) as app:
        place = Place("terminal", "local", "terminal", "attic")
        origin = app.origin(place)
        assert origin == "nobody in attic"
        assert app.origin(replace(place, platform="nowhere")) is None
        request = replace(asked("one", "hello"), place=place, origin=origin)
        assert await (await app.perform(request)).wait() == "done"


async def test_a_question_whose_conversation_could_not_be_opened_blocks_nobody(
    tmp_path: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise StorageFault("full")

    async with running(tmp_path, recorder, hello=hello) as app:
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr("bot.runs.dispatcher.session_for", full)
            with pytest.raises(UserError, match=r"storage\.full"):
                await app.perform(asked("one", "hello"))
        assert await app.ended("one") == "failed"
        async with asyncio.timeout(60):
            assert await (await app.perform(asked("two", "hello"))).wait() == "done"
    assert "one" not in recorder.statuses
