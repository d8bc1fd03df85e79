"""Who spent how much on what: the database groups it by space, on both kinds of database."""

from __future__ import annotations

from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from storage.buttons import Feedback
from storage.db import Database
from storage.inbox import Inbox, NewRequest
from storage.ledger import Ledger

EARLIER = datetime.now(UTC) - timedelta(days=1)
LATER = datetime.now(UTC) + timedelta(days=1)


async def received(db: Database, run: str, space: str, author: str, work: str) -> None:
    row = NewRequest(run, "terminal", space, "c", "t", author, work, "ask", True, f"{run} of {space}")
    await Inbox(db).receive([row])


async def spent(
    db: Database, run: str, space: str, author: str, usd: str | None, *, settled: bool = True
) -> str:
    ledger, cost = Ledger(db), None if usd is None else Decimal(usd)
    entry = await ledger.reserve(space, run, "answer", author, "p:m", 100, cost)
    if settled:
        await ledger.settle(
            space, entry, input_tokens=7, output_tokens=5, cache_write_tokens=2, cost_usd=cost
        )
    return entry


async def test_each_persons_share_of_each_work_adds_up(db: Database) -> None:
    ledger = Ledger(db)
    await received(db, "r1", "one", "ana", "rules")
    await received(db, "r2", "one", "ana", "council")
    await received(db, "r3", "one", "bia", "rules")
    await spent(db, "r1", "one", "ana", "0.000000123")
    await spent(db, "r1", "one", "ana", "1")
    await spent(db, "r2", "one", "ana", None)
    await spent(db, "r2", "one", "ana", "0.5", settled=False)
    await spent(db, "r3", "one", "bia", "2")
    await spent(db, "lost", "one", "bia", "3")
    shares = {(share.author_id, share.work): share for share in await ledger.shares("one", EARLIER)}
    assert set(shares) == {("ana", "rules"), ("ana", "council"), ("bia", "rules"), ("bia", "")}
    rules = shares["ana", "rules"]
    assert astuple(rules.totals) == (2, 14, 10, 0, 4, Decimal("1.000000123"), 0, 0, 0, 0)
    council = shares["ana", "council"].totals
    assert (council.calls, council.cost_usd, council.unpriced) == (2, Decimal(0), 1)
    assert (council.reserved_calls, council.reserved_tokens, council.reserved_usd) == (1, 100, Decimal("0.5"))
    mine = await ledger.shares("one", EARLIER, author_id="ana")
    assert {row.author_id for row in mine} == {"ana"}
    assert await ledger.shares("one", LATER) == []


async def test_shares_do_not_cross_between_spaces(db: Database) -> None:
    """This holds even if a call of this space has the id of another space's run."""
    ledger = Ledger(db)
    await received(db, "r1", "two", "ana", "council")
    await spent(db, "r1", "one", "ana", "1")
    await spent(db, "r1", "two", "ana", "2")
    (share,) = await ledger.shares("one", EARLIER)
    assert (share.work, share.totals.cost_usd) == ("", Decimal(1))


async def test_verdicts_are_counted_since_a_day(db: Database) -> None:
    feedback = Feedback(db)
    await feedback.give("one", "r1", "ana", "up")
    await feedback.give("two", "r1", "ana", "down")
    assert await feedback.count("one", EARLIER) == {"up": 1, "down": 0}
    assert await feedback.count("one", LATER) == {"up": 0, "down": 0}
