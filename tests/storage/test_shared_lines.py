"""When the next run of a line may begin if another process still owes an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from bot.events import Author, Place, Request
from bot.runs import shared
from bot.runs.requests import row_of
from bot.runs.shared import SharedRuns
from storage.db import Database
from storage.inbox import Inbox
from storage.lease import Lease
from storage.tables import unshown
from storage.unshown import Unshown
from tests.fakes.postgres import created

RUN, NEXT = "run", "next"


@dataclass
class Line:
    runs: SharedRuns
    inbox: Inbox
    unshown: Unshown
    database: Database
    first: Request
    next: Request

    async def given_to(self, process: str) -> None:
        """Make that process owe the answers."""
        await self.database.run(unshown.update().values(process=process))

    async def moves_on(self, seconds: float) -> bool:
        """Whether the run lets the next one start within this many seconds."""
        waiting = asyncio.create_task(self.runs.ended(RUN))
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()
        return bool(done)


@pytest_asyncio.fixture
async def line(template: tuple[str, str]) -> AsyncIterator[Line]:
    """A line with a run that another process has answered."""
    server = created(*template)
    lease = Lease(server)
    await lease.take()
    database = await Database.open(server, lease=lease)
    inbox = Inbox(database)
    first, second = (
        Request(run, Place("slack", "T", "C", "t"), Author("U", "U"), "rules", "ask", text="Who?")
        for run in (RUN, NEXT)
    )
    await inbox.receive([row_of(first), row_of(second)])
    await inbox.set_states({RUN: "answered"})

    async def start(_: Request) -> None:
        raise AssertionError("nothing is started here")

    async def executed(_: str) -> bool:
        return False

    runs = SharedRuns(inbox, database, lease, start, executed)
    yield Line(runs, inbox, Unshown(database), database, first, second)
    await database.close()
    await lease.release()


async def test_a_line_continues_while_an_answer_is_owed_but_does_not_overtake_it(
    line: Line,
) -> None:
    assert await line.moves_on(30)
    await line.unshown.keep("T", RUN, "", status="done", events="[]")
    assert await line.moves_on(30)
    assert not await line.runs.overtakes(line.next), "what this process owes, its own writer keeps in order"
    await line.given_to("another process")
    assert await line.runs.overtakes(line.next)
    assert not await line.runs.overtakes(line.first)
    waiting = asyncio.create_task(line.runs.overtakes_none(line.next))
    done, _ = await asyncio.wait({waiting}, timeout=1.5)
    assert not done
    await line.unshown.forget("T", RUN, "")
    await asyncio.wait_for(waiting, 30)
    # A later change of a stage does not wait for a turn.
    await line.unshown.keep("T", RUN, "scene", events="[]")
    await line.given_to("another process")
    assert not await line.runs.overtakes(line.next)


async def test_messages_wait_for_an_unreachable_place_but_not_forever(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "ORDER_S", 0.1)
    await line.unshown.keep("T", RUN, "", status="done", events="[]")
    await line.given_to("another process")
    await asyncio.wait_for(line.runs.overtakes_none(line.next), 30)


async def test_earlier_requests_that_have_not_begun_are_known(line: Line) -> None:
    assert await line.runs.earlier(NEXT) == []
    await line.inbox.set_states({RUN: "received"})
    assert await line.runs.earlier(NEXT) == [RUN]
    assert await line.runs.earlier(RUN) == []
