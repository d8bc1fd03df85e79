"""When the next run of a line may begin, where its answer may come from another process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from bot.events import Request
from bot.runs import shared
from bot.runs.shared import SharedRuns
from storage.db import Database
from storage.inbox import Inbox, NewRequest
from storage.lease import Lease
from storage.unshown import Unshown
from tests.fakes.postgres import created

RUN = "run"


@dataclass
class Line:
    runs: SharedRuns
    unshown: Unshown

    async def moves_on(self, seconds: float) -> bool:
        """Whether the run lets the next one begin within so many seconds."""
        waiting = asyncio.create_task(self.runs.shown(RUN))
        done, _ = await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()
        return bool(done)


@pytest_asyncio.fixture
async def line(template: tuple[str, str]) -> AsyncIterator[Line]:
    """With a run that another process has answered."""
    server = created(*template)
    lease = Lease(server)
    await lease.take()
    database = await Database.open(server, lease=lease)
    inbox = Inbox(database)
    await inbox.receive([NewRequest(RUN, "slack", "T", "C", "t", "U", "rules", "ask", True, "{}")])
    await inbox.set_states({RUN: "answered"})

    async def start(_: Request) -> None:
        raise AssertionError("nothing is started here")

    async def executed(_: str) -> bool:
        return False

    yield Line(SharedRuns(inbox, database, lease, start, executed), Unshown(database))
    await database.close()
    await lease.release()


async def test_a_line_waits_for_an_answer_that_is_owed(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await line.moves_on(30)
    await line.unshown.keep("T", RUN, "", status="done", events="[]")
    assert not await line.moves_on(1.5)
    await line.unshown.shown("T", RUN, "")
    assert await line.moves_on(30)
    # A later change of a stage takes no turn.
    await line.unshown.keep("T", RUN, "scene", events="[]")
    assert await line.moves_on(30)
    # A place where Slack takes nothing any more holds its line for a while, not forever.
    await line.unshown.keep("T", RUN, "", status="done", events="[]")
    monkeypatch.setattr(shared, "SHOWN_S", 0.1)
    assert await line.moves_on(30)
