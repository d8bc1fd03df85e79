"""The bot has prefixes cached for five minutes or an hour, depending on how far apart a conversation's calls
are.
"""

from __future__ import annotations

from decimal import Decimal

from bot.events import Place
from bot.llm.base import Message, Prompt
from bot.llm.cache_times import REMEMBERED, CacheTimes
from storage.ledger import LedgerRow
from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.reply import Reply
from tests.llm.table import Set, Table

BOOK = "word " * 20_000
SONNET = ("a:claude-sonnet-5-5",)
CATALOGUE = {"models": ("small", "claude-haiku-5-5", "claude-sonnet-5-5")}


async def played(at: Table, gap_s: float, turns: int = 20) -> list[LedgerRow]:
    """Turns this many seconds apart, over one long beginning."""
    for n in range(turns):
        turn = Message("user", f"turn {n}")
        prompt = Prompt(BOOK, (turn,), max_tokens=300, cache=True)
        await at.models.ask(at.run, "writer", f"turn-{n}", prompt, chain=SONNET)
        at.now += gap_s
    return await at.rows()


def dollars(rows: list[LedgerRow]) -> Decimal:
    return sum((row.cost_usd or Decimal(0) for row in rows), Decimal(0))


async def test_twenty_turns_seven_minutes_apart_write_the_cache_once(table: Set) -> None:
    at = await table(lambda body: Reply("It rains."), wires=("messages",), **CATALOGUE)
    (service,) = at.services
    assert isinstance(service, MessagesService)
    service.clock = lambda: at.now
    rows = await played(at, 7 * 60)
    assert [row.cache_write_tokens >= 20_000 for row in rows] == [True] + [False] * 19
    assert dollars(rows) <= Decimal("0.17")
    costs = at.models.cache_times.costs(at.run.request.place)
    assert costs is not None
    assert (costs.gaps, round(costs.five_minutes, 2), round(costs.hour, 2)) == (8, 1.25, 0.1)


async def test_fast_turns_use_the_five_minute_cache_from_the_second_one_on(table: Set) -> None:
    at = await table(lambda body: Reply("It rains."), wires=("messages",), **CATALOGUE)
    (service,) = at.services
    assert isinstance(service, MessagesService)
    service.clock = lambda: at.now
    await played(at, 60, turns=3)
    ttls = [sent["system"][0]["cache_control"].get("ttl", "5m") for sent in at.services[0].requests]
    assert ttls == ["1h", "5m", "5m"]


def test_the_cheaper_lifetime_for_the_last_gaps_is_chosen() -> None:
    now = 0.0
    times = CacheTimes(lambda: now)

    def after(*gaps: float, role: str = "writer", place: str = "a") -> bool:
        nonlocal now
        at = Place("terminal", "local", "chat", place)
        chosen = times.hour(role, "a:b", at)
        for gap in gaps:
            now += gap
            chosen = times.hour(role, "a:b", at)
        return chosen

    assert after(), "people take minutes"
    assert not after(role="council"), "its calls are seconds apart"
    assert not after(30, 60, 30)
    assert after(400), "one more miss would cost more than all that is written for an hour"
    assert after(5, 5, 5), "rounds of tools do not hide the turns"
    assert not after(*[7_200] * 8), "nothing is read after two hours"
    assert not after(30, 30)
    assert after(place="b"), "another conversation has its own rhythm"
    assert after(400, role="council", place="a")
    for n in range(REMEMBERED + 1):
        after(place=str(n))
    assert after(place="a"), "forgotten, so like new"


async def test_a_service_with_five_minutes_only_gets_no_other_lifetime(table: Set) -> None:
    at = await table(lambda body: Reply("It rains."), wires=("messages",), refuses=("ttl",), **CATALOGUE)
    rows = await played(at, 60, turns=2)
    assert [row.state for row in rows] == ["settled"] * 2
    assert [sent["system"][0]["cache_control"] for sent in at.services[0].requests[-2:]] == [
        {"type": "ephemeral"}
    ] * 2
