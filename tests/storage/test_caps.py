"""A call is refused where it might cost more than a cap leaves, however many are asked for at once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from storage.db import Database
from storage.ledger import Caps, Ledger, OverCap

EARLIER = datetime.now(UTC) - timedelta(days=30)


def caps(run: str | None = None, space: str | None = None, since: datetime = EARLIER) -> Caps:
    return Caps(Decimal(run) if run else None, Decimal(space) if space else None, since)


async def reserve(
    ledger: Ledger, usd: str | None, caps: Caps | None, *, run: str = "run", space: str = "local"
) -> str:
    estimate = None if usd is None else Decimal(usd)
    return await ledger.reserve(space, run, "answer", "me", "p:m", 100, estimate, caps=caps)


async def settle(ledger: Ledger, entry: str, usd: str) -> None:
    await ledger.settle("local", entry, input_tokens=1, output_tokens=1, cost_usd=Decimal(usd))


async def test_a_run_may_cost_its_cap_and_no_nano_dollar_more(db: Database) -> None:
    ledger, most = Ledger(db), caps(run="1")
    first = await reserve(ledger, "0.6", most)
    await reserve(ledger, "0.4", most)
    with pytest.raises(OverCap) as caught:
        await reserve(ledger, "0.000000001", most)
    assert (caught.value.kind, caught.value.spent, caught.value.cap) == ("run", Decimal(1), Decimal(1))
    assert len(await ledger.entries("local", "run")) == 2
    # What it cost in the end counts, no longer what it might have cost.
    await settle(ledger, first, "0.1")
    await reserve(ledger, "0.5", most)
    await reserve(ledger, "1", most, run="another")
    with pytest.raises(OverCap):
        await reserve(ledger, "0.01", most)


async def test_all_runs_of_a_space_share_its_cap_since_a_day(db: Database) -> None:
    ledger, most = Ledger(db), caps(run="9", space="1")
    await settle(ledger, await reserve(ledger, "0.2", most, run="one"), "0.7")
    with pytest.raises(OverCap) as caught:
        await reserve(ledger, "0.4", most, run="two")
    assert (caught.value.kind, caught.value.spent, caught.value.cap) == ("space", Decimal("0.7"), Decimal(1))
    assert await ledger.entries("local", "two") == []
    await reserve(ledger, "0.3", most, run="two")
    await reserve(ledger, "1", most, space="elsewhere", run="two")
    from_now_on = caps(space="1", since=datetime.now(UTC) + timedelta(seconds=1))
    await reserve(ledger, "1", from_now_on, run="three")


async def test_what_has_no_known_price_counts_as_nothing_and_what_is_free_is_never_refused(
    db: Database,
) -> None:
    ledger, most = Ledger(db), caps(run="1", space="1")
    for _ in range(3):
        await reserve(ledger, None, most)
    await settle(ledger, await reserve(ledger, "1", most), "1.5")
    with pytest.raises(OverCap):
        await reserve(ledger, None, most)
    await reserve(ledger, "0", most)
    await reserve(ledger, "7", caps())
    await reserve(ledger, "7", None)
    assert [row.estimate_usd for row in await ledger.entries("local", "run")][-3:] == [0, 7, 7]


@pytest.mark.parametrize("which", [caps(run="3"), caps(space="3")], ids=["run", "space"])
async def test_calls_asked_for_at_once_do_not_slip_under_a_cap_together(db: Database, which: Caps) -> None:
    ledger = Ledger(db)
    tried = await asyncio.gather(*(reserve(ledger, "1", which) for _ in range(8)), return_exceptions=True)
    assert [type(outcome) for outcome in tried].count(OverCap) == 5
    assert (await ledger.totals("local", EARLIER)).reserved_usd == 3
