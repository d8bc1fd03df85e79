"""kill -9 during fifty calls: each is settled with the tokens received so far, and the cap holds."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from bot.budget import most_usage
from bot.config import ProviderConfig
from bot.llm.completion import Usage
from bot.llm.prices import cost
from storage.db import Database
from storage.ledger import Ledger, LedgerRow
from tests.fakes import migrated
from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.reply import Reply
from tests.forked import Piped
from tests.kill.instants import ALL
from tests.kill.process import ROOT
from tests.kill.spender import AT_ONCE, MODEL, PROMPT, RUN, SPACE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE_S = 240
"""For fifty clients in one process, on a machine with much else to do."""

SETTINGS = ProviderConfig("a", "anthropic")


async def price(usage: Usage) -> Decimal:
    dollars = await cost(SETTINGS, MODEL.partition(":")[2], usage)
    assert dollars is not None
    return dollars


class Spender:
    """The process, and the number of times that it printed each line."""

    def __init__(self, process: Piped) -> None:
        self._process = process
        self.lines: dict[str, int] = {}

    async def until(self, line: str, times: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.lines.get(line, 0) < times:
                said = (await self._process.stdout.readline()).decode().strip()
                assert said, f"it ended after {self.lines}"
                self.lines[said] = self.lines.get(said, 0) + 1


@asynccontextmanager
async def spender(folder: Path, service: MessagesService, cap: Decimal) -> AsyncIterator[Spender]:
    """A spender, killed at the end of the block."""
    database = migrated.database(folder / "sutradhar.db")
    process = await Piped.start(
        "tests.kill.spender", (database, service.base_url, str(cap)), os.environ, ROOT, folder / "log"
    )
    try:
        yield Spender(process)
    finally:
        process.kill()
        await process.stdout.read()
        await process.wait()


async def entries(database: str, *, settle: bool = False) -> list[LedgerRow]:
    db = await Database.open(database)
    if settle:
        await Ledger(db).settle_killed()
    found = await Ledger(db).entries(SPACE, RUN)
    await db.close()
    return found


def usage_of(row: LedgerRow) -> Usage:
    return Usage(row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)


def spent(rows: list[LedgerRow]) -> Decimal:
    """The spending as the caps count it."""
    dollars = [row.estimate_usd if row.state == "reserved" else row.cost_usd for row in rows]
    return sum((amount for amount in dollars if amount is not None), Decimal(0))


async def test_fifty_killed_answers_cost_their_received_tokens(tmp_path: Path) -> None:
    database = migrated.database(tmp_path / "sutradhar.db")
    # With more pieces, a busy machine would have no time to record the usage.
    endless = Reply("so", endless=True, delay_s=0.1)
    estimate = await price(most_usage(PROMPT))
    async with MessagesService(lambda body: endless, models=(MODEL.partition(":")[2],)) as service:
        async with spender(tmp_path, service, estimate * AT_ONCE) as spending:
            await spending.until("word", AT_ONCE * 8)
            until = time.monotonic() + PATIENCE_S
            while not all(row.output_tokens for row in (await entries(database))):
                assert time.monotonic() < until
                await spending.until("word", spending.lines["word"] + AT_ONCE)
        sent = service.output_tokens
    killed = await entries(database)
    assert [row.state for row in killed] == ["reserved"] * AT_ONCE
    assert spent(killed) <= estimate * AT_ONCE
    rows = await entries(database, settle=True)
    assert [row.state for row in rows] == ["stopped"] * AT_ONCE
    for row in rows:
        assert row.input_tokens > 0
        assert 0 < row.output_tokens < PROMPT.max_tokens
        assert row.cost_usd == await price(usage_of(row)) < estimate
    assert sum(row.output_tokens for row in rows) <= sent, "tokens that never arrived are not paid"


async def test_fifty_callers_killed_again_and_again_never_pass_the_cap(tmp_path: Path) -> None:
    """Killed twice; four times in `make test-kill`."""
    database = migrated.database(tmp_path / "sutradhar.db")
    chance = random.Random(37)
    estimate = await price(most_usage(PROMPT))
    cap = estimate * 20
    short = Reply("It rains again.", delay_s=0.01)
    async with MessagesService(lambda body: short, models=(MODEL.partition(":")[2],)) as service:
        for strike in range(4 if ALL else 2):
            async with spender(tmp_path, service, cap) as spending:
                await spending.until("budget.run" if strike == 0 else "word", 1)
                if spending.lines.get("over"):
                    break
                await spending.until("word", spending.lines.get("word", 0) + chance.randrange(1, 60))
            assert spent(await entries(database)) <= cap
        async with spender(tmp_path, service, cap) as spending:
            await spending.until("over", 1)
        assert service.calls >= 20
    rows = await entries(database)
    assert {row.state for row in rows} <= {"settled", "stopped"}, "killed processes have no reservations left"
    assert cap - estimate < spent(rows) <= cap, "other processes used the reservations of the killed ones"
    for row in rows:
        assert row.cost_usd == await price(usage_of(row))
    assert len(rows) >= service.calls
