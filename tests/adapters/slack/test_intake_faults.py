"""Faults while a request on Slack is stored: the person gets one sentence, and nothing is half done."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
import pytest_asyncio

from bot import commands
from bot.adapters.invocation import Invocation
from bot.adapters.slack.placing import Location
from bot.events import Request, UserError
from bot.runs.dispatcher import Acknowledge, Ticket
from tests.adapters.slack.table import Table
from tests.fakes.slack.delivery import EVENT

pytestmark = pytest.mark.asyncio(loop_scope="module")

NO = "CREATE TRIGGER no BEFORE INSERT ON inbox BEGIN SELECT RAISE(FAIL, 'disk I/O error'); END"


@asynccontextmanager
async def refusing(at: Table) -> AsyncGenerator[None]:
    """The database refuses new requests inside the block."""

    def change(statement: str) -> None:
        with closing(sqlite3.connect(at.app.resources.config.data_dir / "sutradhar.db")) as other:
            other.execute(statement)
            other.commit()

    # In a thread: the bot itself may be writing.
    await asyncio.to_thread(change, NO)
    try:
        yield
    finally:
        await asyncio.to_thread(change, "DROP TRIGGER no")


async def test_a_refusing_database_is_reported_and_no_run_starts(at: Table) -> None:
    async with refusing(at):
        command = await at.slack.command(at.ana, at.channel, "/rules", "ask Who?")
        message = await at.slack.say(at.bia, at.channel, "Who?", mention=True)
        await at.slack.until(lambda: at.whispers(at.ana) and at.whispers(at.bia))
    assert command.acked is not None
    assert all(delivery.acked is not None for delivery in message.sent)
    (whisper,) = at.whispers(at.bia)
    assert [whisper] == at.whispers(at.ana)
    assert whisper.endswith(".")
    assert at.requests == []
    assert not [
        row for row in await at.app.resources.records.inbox.unfinished() if row.channel == at.channel.id
    ]


class Failing:
    """An application that fails after it has accepted a request, acknowledged or not."""

    def __init__(self, at: Table, fault: Exception, *, acknowledged: bool) -> None:
        self.resources = at.app.resources
        self.records = at.app.records
        self.settings = at.app.settings
        self.channel_rules = at.app.channel_rules
        self.failed = asyncio.Event()
        self.failed.set()
        self._fault = fault
        self._acknowledged = acknowledged

    async def perform(self, request: Request, acknowledge: Acknowledge) -> Ticket:
        if self._acknowledged:
            await acknowledge()
        await self.failed.wait()
        raise self._fault


@pytest_asyncio.fixture(loop_scope="module")
async def failing(at: Table) -> AsyncGenerator[Any]:
    """Replace the real application by a failing one."""
    usual = at.bot.intake.app

    def put(fault: Exception, *, acknowledged: bool) -> Failing:
        app = Failing(at, fault, acknowledged=acknowledged)
        at.bot.intake.app = app  # type: ignore[assignment]
        return app

    yield put
    at.bot.intake.app = usual


async def test_an_unexpected_fault_becomes_a_sentence_and_is_logged_with_its_traceback(
    at: Table, failing: Any, caplog: pytest.LogCaptureFixture
) -> None:
    failing(RuntimeError("the secret of the house"), acknowledged=False)
    sent = await at.slack.command(at.ana, at.channel, "/rules", "ask Who?")
    await at.slack.until(lambda: at.whispers(at.ana))
    (whisper,) = at.whispers(at.ana)
    assert sent.acked is not None
    assert "went wrong" in whisper
    assert "secret" not in whisper
    assert "the secret of the house" in caplog.text
    assert sent.payload["response_url"] not in caplog.text


async def test_a_fault_after_the_acknowledgement_names_the_run(at: Table, failing: Any) -> None:
    failing(UserError("storage.full"), acknowledged=True)
    message = await at.slack.say(at.ana, at.channel, "rules ask Who?", mention=True)
    assert all(delivery.acked is not None for delivery in message.sent)
    await at.slack.until(lambda: at.whispers(at.ana))
    (whisper,) = at.whispers(at.ana)
    assert "disk is full" in whisper
    assert "(run " in whisper


async def test_the_acknowledgement_does_not_wait_for_later_work(at: Table, failing: Any) -> None:
    async def ack(**_: Any) -> None:
        pass

    app = failing(UserError("storage.full"), acknowledged=True)
    app.failed.clear()
    async with asyncio.timeout(60):
        here, event = Location(at.ana.id, at.space, at.channel.id), f"action:{at.channel.id}"
        run = await at.bot.intake.perform(here, event, Invocation(commands.ROWS["rules", "roll"], "2d6"), ack)
    app.failed.set()
    await at.slack.until(lambda: at.whispers(at.ana))
    assert f"(run {run[:8]})" in at.whispers(at.ana)[0]


@pytest.mark.parametrize(
    "text", ["half \ud83d a pair", "\x00", "<" * 4000, "a" * 7_999, "/" * 9_000, "<@>", "<!>"]
)
async def test_any_message_is_accepted_or_refused(at: Table, text: str) -> None:
    event = {
        "type": "message",
        "channel": at.channel.id,
        "user": at.ana.id,
        "ts": f"1.{abs(hash(text))}",
        "text": f"{at.team.bot.mention} {text}",
    }
    sent = await at.slack.send_raw(at.team, event)
    assert sent.acked is not None
    assert sent.kind == EVENT
    await at.slack.until(lambda: at.requests or at.whispers(at.ana))
