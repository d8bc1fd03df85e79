"""The ledger refuses a call that might cost more than a cap leaves, however many are made at the same time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from storage.db import Database
from storage.ledger import Allowance, Caps, Ledger, OverCap, UsedSoFar

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


async def test_a_cap_in_tokens_applies_to_unpriced_models_and_not_to_free_ones(db: Database) -> None:
    ledger = Ledger(db)
    most = Caps(Decimal(9), None, EARLIER, run_tokens=250, space_tokens=350)
    first = await reserve(ledger, None, most)
    await reserve(ledger, None, most)
    with pytest.raises(OverCap) as caught:
        await reserve(ledger, "0.1", most)
    assert (caught.value.kind, int(caught.value.spent), int(caught.value.cap)) == ("run_tokens", 200, 250)
    await reserve(ledger, "0", most)
    await ledger.settle("local", first, input_tokens=1, output_tokens=1, cost_usd=None)
    await reserve(ledger, None, most)
    await reserve(ledger, None, most, run="another")
    with pytest.raises(OverCap) as caught:
        await reserve(ledger, None, most, run="another")
    assert (caught.value.kind, caught.value.spent) == ("space_tokens", Decimal(302))
    await reserve(ledger, None, most, run="another", space="elsewhere")


async def test_a_killed_call_is_settled_with_its_usage_so_far(db: Database) -> None:
    ledger = Ledger(db)

    async def begun(run: str, **of_prompt: Any) -> str:
        return await ledger.reserve("local", run, "answer", "me", "p:m", 900, Decimal(1), **of_prompt)

    prompt = {"input_tokens": 80, "cache_write_tokens": 20, "input_usd": Decimal("0.25")}
    unanswered, answered, settled = [await begun(run, **prompt) for run in ("one", "two", "three")]
    earlier = await begun("of an earlier release")
    await settle(ledger, settled, "0.75")
    used = (90, 40, 10, 0, Decimal("0.5"))
    calls = [UsedSoFar("local", entry, *used) for entry in (answered, settled, "gone")]
    await ledger.progress([*calls, UsedSoFar("elsewhere", unanswered, *used)])
    before = await ledger.totals("local", EARLIER)
    assert (before.reserved_calls, before.reserved_usd, before.input_tokens) == (3, Decimal(3), 1)

    assert [await ledger.settle_killed() for _ in range(2)] == [2, 0]
    rows = [row for run in ("one", "two", "three") for row in await ledger.entries("local", run)]
    tokens = [
        (row.state, row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)
        for row in rows
    ]
    assert tokens == [("stopped", 80, 0, 0, 20), ("stopped", 90, 40, 10, 0), ("settled", 1, 1, 0, 0)]
    assert [row.cost_usd for row in rows] == [Decimal("0.25"), Decimal("0.5"), Decimal("0.75")]
    after = await ledger.totals("local", EARLIER)
    assert (after.reserved_calls, after.reserved_usd, after.cost_usd) == (1, Decimal(1), Decimal("1.5"))
    await settle(ledger, earlier, "0")


async def test_all_runs_of_a_space_share_its_cap_for_a_period(db: Database) -> None:
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


async def test_unpriced_models_count_as_nothing_and_free_ones_are_never_refused(
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
async def test_simultaneous_calls_cannot_exceed_a_cap_together(db: Database, which: Caps) -> None:
    ledger = Ledger(db)
    tried = await asyncio.gather(*(reserve(ledger, "1", which) for _ in range(8)), return_exceptions=True)
    assert [type(outcome) for outcome in tried].count(OverCap) == 5
    assert (await ledger.totals("local", EARLIER)).reserved_usd == 3


@pytest.mark.parametrize("whose", ["person", "channel", "space"])
@pytest.mark.parametrize("unit", ["usd", "tokens"])
async def test_a_hundred_simultaneous_calls_stay_within_an_allowance(
    db: Database, whose: Any, unit: str
) -> None:
    """Each call is for a separate run, and may use 100 tokens and 0.1 dollars."""
    ledger = Ledger(db)
    of = {"person": "me", "channel": "hall", "space": ""}[whose]
    if unit == "usd":
        allowance = Allowance(whose, of, "day", EARLIER, usd=Decimal("2.5"))
    else:
        allowance = Allowance(whose, of, "day", EARLIER, tokens=2_500)
    most = Caps(None, None, EARLIER, allowances=(allowance,))

    async def begun(n: int, space: str = "local") -> bool:
        cost = Decimal("0.1") if unit == "usd" else None
        try:
            await ledger.reserve(space, f"run{n}", "s", "me", "p:m", 100, cost, caps=most, channel="hall")
        except OverCap as over:
            return over.allowance != allowance
        return True

    assert sum(await asyncio.gather(*map(begun, range(100)))) == 25
    usd, tokens = await ledger.used("local", allowance)
    assert (usd, tokens) == ((Decimal("2.5") if unit == "usd" else Decimal(0)), 2_500)
    assert await begun(100, "elsewhere"), "another space has its own"
    if whose == "space":
        return
    other = replace(allowance, of="another")
    await ledger.reserve(
        "local", "run", "s", "me", "p:m", 100, None, caps=replace(most, allowances=(other,)), channel="hall"
    )
    later = replace(allowance, since=datetime.now(UTC) + timedelta(seconds=1))
    await ledger.reserve("local", "run", "s", "me", "p:m", 100, None, caps=replace(most, allowances=(later,)))


async def test_sums_by_day_person_model_and_channel_stay_in_their_space(db: Database) -> None:
    ledger = Ledger(db)
    for author, channel, space in (
        ("ana", "a", "one"),
        ("ana", "a", "one"),
        ("bia", "b", "one"),
        ("ana", "a", "two"),
    ):
        entry = await ledger.reserve(space, "run", "s", author, "p:m", 9, Decimal(1), channel=channel)
        await ledger.settle(space, entry, input_tokens=4, output_tokens=5, cost_usd=Decimal("0.5"))
    groups = await ledger.groups("one", EARLIER)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert [(g.day, g.author_id, g.model, g.channel, g.totals.calls, g.totals.cost_usd) for g in groups] == [
        (today, "ana", "p:m", "a", 2, Decimal(1)),
        (today, "bia", "p:m", "b", 1, Decimal("0.5")),
    ]
    assert [g.author_id for g in await ledger.groups("one", EARLIER, author_id="bia")] == ["bia"]
