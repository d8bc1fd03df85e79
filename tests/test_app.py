"""The app's promises for each request: stored, done once, in order, can be stopped, and never silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import App
from bot.events import Author, Event, Failed, Stage, Status, Text, TransientError, UserError
from bot.llm.base import ModelError
from bot.resources import Resources
from bot.words import words
from bot.work import Run
from storage.faults import StorageFault
from tests.fakes.scripted_app import Recorder, Script, asked, config, open_scripted


def in_line(n: int) -> Status:
    return Status(words("en")("app.in_line", n=n))


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


@asynccontextmanager
async def running(data: Path, recorder: Recorder, **scripts: Script) -> AsyncIterator[App]:
    app = await open_scripted(data, {"hello": hello, **scripts}, recorder)
    try:
        await app.start()
        yield app
    finally:
        await app.close()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


async def test_a_request_is_done_and_shown(tmp_path: Path, recorder: Recorder) -> None:
    async with running(tmp_path, recorder) as app:
        ticket = await app.perform(asked("one", "hello"))
        assert await ticket.wait() == "done"
    assert recorder.events["one"] == [Text("hello")]
    assert recorder.statuses == {"one": "done"}


async def test_a_request_that_arrives_twice_is_done_once(tmp_path: Path, recorder: Recorder) -> None:
    async with running(tmp_path, recorder) as app:
        tickets = [await app.perform(asked("one", "hello")) for _ in range(3)]
        assert [await ticket.wait() for ticket in tickets] == ["done"] * 3
        late = await app.perform(asked("one", "hello"))
        assert await late.wait() == "done"
    assert [ticket.fresh for ticket in [*tickets, late]] == [True, False, False, False]
    assert recorder.events["one"] == [Text("hello")]


async def test_ordered_runs_of_one_place_wait_for_each_other_and_free_ones_do_not(
    tmp_path: Path, recorder: Recorder
) -> None:
    gate = asyncio.Event()

    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        await gate.wait()

    async with running(tmp_path, recorder, slow=slow) as app:
        first = await app.perform(asked("first", "slow"))
        second = await app.perform(asked("second", "hello"))
        await recorder.until("first", Text("begun"))
        await recorder.until("second", in_line(2))
        elsewhere = await app.perform(asked("elsewhere", "hello", thread="other"))
        free = await app.perform(asked("free", "hello", verb="roll"))
        assert await elsewhere.wait() == await free.wait() == "done"
        assert recorder.events.get("second", []) == [in_line(2)]
        gate.set()
        assert [await first.wait(), await second.wait()] == ["done", "done"]


async def test_stop_ends_running_and_waiting_requests_and_starts_no_later_step(
    tmp_path: Path, recorder: Recorder
) -> None:
    started: list[str] = []

    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        await run.step("wait", asyncio.Event().wait, bool)

        async def later() -> int:
            started.append("later")
            return 1

        await run.step("later", later, int)

    async with running(tmp_path, recorder, slow=slow) as app:
        first = await app.perform(asked("first", "slow"))
        second = await app.perform(asked("second", "hello"))
        await recorder.until("first", Text("begun"))
        await recorder.until("second", in_line(2))
        assert await app.stop(first_place := asked("x", "").place) == 2
        assert [await first.wait(), await second.wait()] == ["stopped", "stopped"]
        assert await app.stop(first_place) == 0
        third = await app.perform(asked("third", "hello"))
        assert await third.wait() == "done"
    assert started == []
    assert recorder.events["first"] == [Text("begun")]
    assert recorder.events.get("second", []) == [in_line(2)]


async def test_at_a_channels_root_a_person_also_stops_what_they_began_elsewhere_in_the_channel(
    tmp_path: Path, recorder: Recorder
) -> None:
    async def endless(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        await asyncio.Event().wait()

    async with running(tmp_path, recorder, endless=endless) as app:
        root = asked("x", "", thread="").place
        mine = [asked("a thread", "endless", thread="4711"), asked("private", "endless", thread="private:a")]
        others = asked("another's", "endless", thread="4712")
        others = replace(others, author=Author("b", "B"))
        there = asked("another channel", "endless", thread="4713")
        there = replace(there, place=replace(there.place, channel="another"))
        for one in (*mine, others, there):
            await app.perform(one)
            await recorder.until(one.id, Text("begun"))
        assert await app.stop(root) == 0
        stop = replace(asked("stop", "", work="house", verb="stop"), place=root)
        await (await app.perform(stop)).wait()
        assert recorder.events["stop"][-1] == Text(words("en")("desk.stopped", n=2))
        assert [await app.ended(run.id) for run in mine] == ["stopped", "stopped"]
        assert app.runs.of("local", others.id)
        assert app.runs.of("local", there.id)
        assert await app.stop(replace(root, thread="4714"), "b") == 0


async def test_a_waiting_person_sees_their_place_in_line_as_it_moves(
    tmp_path: Path, recorder: Recorder
) -> None:
    gates = {"first": asyncio.Event(), "second": asyncio.Event()}

    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        await gates[run.id].wait()

    async with running(tmp_path, recorder, slow=slow) as app:
        for id in gates:
            await app.perform(asked(id, "slow"))
        third = await app.perform(asked("third", "hello"))
        await recorder.until("third", in_line(3))
        gates["first"].set()
        await recorder.until("third", in_line(2))
        gates["second"].set()
        assert await third.wait() == "done"
    assert recorder.events["third"] == [in_line(3), in_line(2), Text("hello")]


async def test_one_run_is_stopped_by_its_id_in_its_own_space_only(tmp_path: Path, recorder: Recorder) -> None:
    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        await asyncio.Event().wait()

    async with running(tmp_path, recorder, slow=slow) as app:
        first = await app.perform(asked("first", "slow"))
        second = await app.perform(asked("second", "slow", thread="other"))
        await recorder.until("first", Text("begun"))
        assert app.runs.of("local", "first")
        assert not app.runs.of("elsewhere", "first")
        assert await app.stop_run("elsewhere", "first") == 0
        assert await app.stop_run("local", "first") == 1
        assert await app.stop_run("local", "first") == 0
        assert await first.wait() == "stopped"
        assert not app.runs.of("local", "first")
        assert await app.stop_run("local", "first") == 0
        assert app.runs.of("local", "second")
        assert await app.stop_run("local", "second") == 1
        assert await second.wait() == "stopped"


async def test_the_verb_stop_does_not_wait_in_line(tmp_path: Path, recorder: Recorder) -> None:
    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        await asyncio.Event().wait()

    async with running(tmp_path, recorder, slow=slow) as app:
        first = await app.perform(asked("first", "slow"))
        await recorder.until("first", Text("begun"))
        stop = await app.perform(asked("stop", "", work="house", verb="stop"))
        assert await stop.wait() == "done"
        assert await first.wait() == "stopped"
    assert any("Stopped 1 run" in event.text for event in recorder.events["stop"] if isinstance(event, Text))


async def test_an_error_is_one_sentence_with_the_runs_id_and_the_next_request_works(
    tmp_path: Path, recorder: Recorder
) -> None:
    async def broken(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("s", "S")
        raise RuntimeError("a secret detail")

    async with running(tmp_path, recorder, broken=broken) as app:
        assert await (await app.perform(asked("one", "broken"))).wait() == "failed"
        assert await (await app.perform(asked("two", "hello"))).wait() == "done"
    failed = recorder.events["one"][-1]
    assert isinstance(failed, Failed)
    assert "one" in failed.text
    assert "secret" not in failed.text


async def test_an_error_that_a_person_can_correct_is_said_in_their_language(
    tmp_path: Path, recorder: Recorder
) -> None:
    async def error(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("s", "S")
        raise TransientError("rules.no_books")

    async with running(tmp_path, recorder, error=error) as app:
        assert await (await app.perform(asked("one", "error"))).wait() == "failed"
    assert recorder.events["one"][-1] == Failed(
        "The library is empty. Put a book on a shelf with `/library add`; `/help library add` shows how."
    )


@pytest.mark.parametrize(
    ("error", "retry"),
    [
        (UserError("rules.bad_dice", expression="2x6"), False),
        (UserError("story.no_character", name="Bo"), False),
        (ModelError("context", "openai:m"), False),
        (ModelError("server", "openai:m"), True),
        (TransientError("story.not_your_turn", name="Bo"), True),
        (StorageFault("full"), True),
        (RuntimeError("a fault of ours"), True),
    ],
    ids=str,
)
async def test_a_retry_is_offered_only_if_it_may_end_differently(
    tmp_path: Path, recorder: Recorder, error: Exception, retry: bool
) -> None:
    async def once() -> str:
        raise error

    async def direct(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("s", "S")
        raise error

    async def stepped(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("s", "S")
        await run.step("once", once, str)  # stores a UserError

    async with running(tmp_path, recorder, direct=direct, stepped=stepped) as app:
        for name in ("direct", "stepped"):
            assert await (await app.perform(asked(name, name))).wait() == "failed"
    for name in ("direct", "stepped"):
        failed = recorder.events[name][-1]
        assert isinstance(failed, Failed)
        assert failed.retry is retry


async def test_requests_interrupted_by_an_exit_continue_in_order_at_the_next_start(
    tmp_path: Path, recorder: Recorder
) -> None:
    calls: list[str] = []
    gate = asyncio.Event()

    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        async def paid() -> str:
            calls.append("paid")
            return "kept"

        yield Text(await run.step("paid", paid, str))
        await run.step("wait", gate.wait, bool)
        yield Text("whole")

    async with running(tmp_path, recorder, slow=slow) as app:
        await app.perform(asked("first", "slow"))
        await app.perform(asked("second", "hello"))
        await recorder.until("first", Text("kept"))
    gate.set()
    again = Recorder()
    app = await open_scripted(tmp_path, {"hello": hello, "slow": slow}, again)
    taken_up = await app.start()
    assert [request.id for request in taken_up] == ["first", "second"]
    async with asyncio.timeout(60):
        assert [await app.ended(one.id) for one in taken_up] == ["done", "done"]
    await app.close()
    assert calls == ["paid"]
    assert again.events["first"] == [Text("kept"), Text("whole")]
    assert list(again.statuses) == ["first", "second"]


async def test_requests_received_during_shutdown_are_done_at_the_next_start(
    tmp_path: Path, recorder: Recorder
) -> None:
    async def stepwise(run: Run) -> AsyncGenerator[Event, None]:
        async def one() -> str:
            return "one"

        yield Text(await run.step("one", one, str))

    async with running(tmp_path, recorder, stepwise=stepwise) as app:
        for n in range(4):
            await app.perform(asked(f"r{n}", "stepwise", thread=str(n)))
    app = await open_scripted(tmp_path, {"stepwise": stepwise}, recorder)
    try:
        await app.start()
        assert [await app.ended(f"r{n}") for n in range(4)] == ["done"] * 4
    finally:
        await app.close()


async def test_a_second_process_gets_one_sentence(tmp_path: Path) -> None:
    resources = await Resources.open(config(tmp_path))
    with pytest.raises(UserError) as caught:
        await Resources.open(config(tmp_path))
    assert caught.value.key == "storage.busy"
    await resources.close()
    await (await Resources.open(config(tmp_path))).close()


async def test_stop_in_one_space_does_not_affect_the_same_place_in_another(
    tmp_path: Path, recorder: Recorder
) -> None:
    gate = asyncio.Event()

    async def slow(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("begun")
        await gate.wait()

    async with running(tmp_path, recorder, slow=slow) as app:
        mine = await app.perform(asked("mine", "slow", space="mine"))
        yours = await app.perform(asked("yours", "slow", space="yours"))
        await recorder.until("mine", Text("begun"))
        await recorder.until("yours", Text("begun"))
        assert await app.stop(asked("x", "", space="mine").place) == 1
        assert await mine.wait() == "stopped"
        gate.set()
        assert await yours.wait() == "done"
