"""The status of an agent session in Slack: after a run, the thread waits for people again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.adapters.slack.installed.clients import Client
from bot.adapters.slack.shown import stream
from bot.adapters.slack.text.page import Page
from bot.adapters.surface import MessageRef, MessageStyle
from bot.adapters.writer import Rank, urgency
from tests.adapters.slack.desk import Desk, Known

pytestmark = pytest.mark.asyncio(loop_scope="module")

STATUS = "agents.sessions.setStatus"
GROWING = Page("It is", growing=True, plain="It is")


async def test_a_stream_that_ends_late_does_not_restart_the_session(bench: Desk) -> None:
    """The workspace's rate limit may delay the end until long after the run."""
    root = await bench.root()
    request = bench.request(root)
    home = bench.home(request)
    await home.open()
    mark = MessageRef(request.id, "answer")
    message = await home.surface.post(GROWING, mark, MessageStyle.LAYOUT)
    await home.ended()
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "active")
    await home.surface.edit(message, Page("It is Ana."), mark, MessageStyle.LAYOUT, files=False, reset=False)
    session = bench.fake.session(root)
    assert session is not None
    assert not root.thread[0].streaming
    assert session.status == "active"


async def test_a_run_that_ended_before_there_was_room_is_not_shown_as_working(bench: Desk) -> None:
    bench.fake.fail(STATUS, status=429)
    root = await bench.root()
    home = bench.home(bench.request(root))
    await home.open()
    await bench.fake.until(lambda: STATUS in [call.method for call in bench.fake.calls])
    await home.ended()
    await bench.fake.until(lambda: bench.fake.session(root))
    session = bench.fake.session(root)
    assert session is not None
    assert (session.past, session.title) == (["active"], "Who?")


async def test_the_end_of_a_run_is_shown_in_a_crowded_workspace(bench: Desk) -> None:
    """Progress is dropped where there is no room; if the end were dropped too, the stop button would stay for ever."""
    asked: list[int] = []
    passing: list[int] = []

    class Hearing(Known):
        async def client(self, team: str, enterprise: str = "") -> Client:
            there = await super().client(team, enterprise)

            async def status(**told: Any) -> None:
                asked.append(urgency.get())

            async def line(**told: Any) -> None:
                passing.append(urgency.get())

            there.agents_sessions_setStatus = status  # type: ignore[method-assign, assignment]
            there.assistant_threads_setStatus = line  # type: ignore[method-assign, assignment]
            return there

    usual, bench.workspaces = bench.workspaces, Hearing(bench.fake)
    home = bench.home(bench.request(await bench.root()))
    await home.open()
    await bench.fake.until(lambda: len(asked) == 1)
    await home.ended()
    await bench.fake.until(lambda: len(asked) == 2)
    await bench.workspaces.session.close()
    bench.workspaces = usual
    assert passing == [Rank.PASSING]
    assert asked[0] == Rank.PASSING
    assert asked[1] < Rank.PASSING


async def test_a_call_that_arrives_late_does_not_bring_the_stop_button_back(
    bench: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slack does not answer the call that says the run is working, but executes it after the run has ended."""
    monkeypatch.setattr(stream, "LATE_S", 0.05)
    bench.fake.fail(STATUS, status=503, times=2)  # the client's own retry, too
    root = await bench.root()
    home = bench.home(bench.request(root))
    await home.open()
    await bench.fake.until(lambda: [call.method for call in bench.fake.calls].count(STATUS) >= 2)
    await home.ended()
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "active")
    session = bench.fake.session(root)
    assert session is not None
    session.become("processing")
    await bench.fake.until(lambda: session.past[-1] == "active")


async def test_a_run_counts_as_shown_only_once_its_stop_button_is_gone(bench: Desk) -> None:
    """Otherwise the button would stay if the process died meanwhile."""
    root = await bench.root()
    home = bench.home(bench.request(root))
    await home.open()
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "processing")
    bench.fake.fail(STATUS, status=503, times=99)
    ended = asyncio.create_task(home.ended())
    done, _ = await asyncio.wait({ended}, timeout=1.5)
    assert not done
    bench.fake.faults.waiting.clear()
    await ended
    session = bench.fake.session(root)
    assert session is not None
    assert session.status == "active"
