"""Spending caps: a call that could take a run or a space over a cap is not made."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bot.budget import Budget, dollars
from bot.config import BudgetConfig
from bot.events import Author, Place, Request, UserError
from bot.llm.base import Message
from bot.llm.completion import Usage
from bot.words import words
from storage.db import Database
from storage.ledger import Ledger
from tests.fakes import migrated
from tests.fakes.reply import Gate, Reply
from tests.fakes.run import MemoryRun
from tests.llm.desk import PROMPT
from tests.llm.table import Set, Table, good

PRICED, UNPRICED = ("a:claude-haiku-5-5",), ("a:small",)


def run_of(id: str, space: str = "local") -> MemoryRun:
    run = MemoryRun()
    run.request = Request(id, Place("terminal", space, "chat", "main"), Author("ana", "Ana"), "rules", "ask")
    return run


async def ask(at: Table, run: MemoryRun, step: str, chain: tuple[str, ...] = PRICED) -> str:
    """The model that answered, or the key of the error's sentence."""
    try:
        return (await at.models.ask(run, "council", step, PROMPT, chain=chain)).model
    except UserError as error:
        return error.key


async def estimate_of(at: Table) -> float:
    """The highest estimated cost of one call, in dollars."""
    await ask(at, run_of("before"), "one")
    (row,) = await at.ledger.entries("local", "before")
    assert row.estimate_usd is not None
    return float(row.estimate_usd)


async def test_a_run_does_not_make_a_call_that_could_exceed_its_cap(table: Set) -> None:
    at = await table(lambda body: good(), wires=("messages",))
    at.change(budget=BudgetConfig(run_usd=await estimate_of(at)))
    run = run_of("run")
    before = at.calls
    assert [await ask(at, run, step) for step in ("one", "two")] == [PRICED[0], "budget.run"]
    assert at.calls == [before[0] + 1]
    assert [row.step for row in await at.ledger.entries("local", "run")] == ["one"]
    assert await ask(at, run_of("another"), "one") == PRICED[0]


async def test_a_cap_covers_all_runs_of_its_space_and_no_other_space(table: Set) -> None:
    at = await table(lambda body: good(), wires=("messages",))
    most = await estimate_of(at)
    at.change(budget=BudgetConfig(space_usd=most))
    assert await ask(at, run_of("run"), "one") == "budget.space"
    assert await ask(at, run_of("run", "other"), "one") == PRICED[0]
    at.change(budget=BudgetConfig(space_usd=3 * most))
    assert await ask(at, run_of("run"), "one") == PRICED[0]


async def test_free_and_unpriced_models_are_not_capped_in_dollars(table: Set) -> None:
    at = await table(lambda body: good(), wires=("messages",))
    at.change(budget=BudgetConfig(run_usd=0.0, space_usd=0.0))
    run = run_of("run")
    assert await ask(at, run, "one") == "budget.run"
    assert await ask(at, run, "two", UNPRICED) == UNPRICED[0]


async def test_a_cap_in_tokens_holds_for_a_model_without_a_price(table: Set) -> None:
    at = await table(lambda body: good(), wires=("messages",))
    await ask(at, run_of("before"), "one", UNPRICED)
    (row,) = await at.ledger.entries("local", "before")
    used = row.input_tokens + row.output_tokens
    run = run_of("run")
    at.change(budget=BudgetConfig(run_tokens=row.estimate_tokens))
    assert [await ask(at, run, step, UNPRICED) for step in ("one", "two")] == [*UNPRICED, "budget.run_tokens"]
    at.change(budget=BudgetConfig(space_tokens=row.estimate_tokens + 2 * used - 1))
    assert await ask(at, run_of("another"), "one", UNPRICED) == "budget.space_tokens"
    at.change(budget=BudgetConfig(space_tokens=row.estimate_tokens + 2 * used))
    assert await ask(at, run_of("another"), "one", UNPRICED) == UNPRICED[0]
    for locale in ("en", "pt-BR"):
        assert "{" not in words(locale)("budget.space_tokens", cap="1200", spent="900", days=30)


async def test_the_estimate_includes_cache_writes(table: Set) -> None:
    """A budget of the estimate is enough: writing to the cache costs up to twice as much as reading."""
    book = "word " * 3_000
    wordy = Reply("so " * PROMPT.max_tokens)
    at = await table([wordy] * 4, wires=("messages",))
    for n, (role, share) in enumerate((("answerer", "2"), ("council", "1.25"))):
        run = run_of(f"run-{n}")
        messages = (Message("user", f"{n} {book}", cache=True), Message("user", "Well?"))
        await at.models.ask(run, role, "one", replace(PROMPT, messages=messages), chain=PRICED)
        (row,) = await at.ledger.entries("local", run.request.id)
        assert row.cache_write_tokens > 2_900
        assert row.estimate_usd is not None
        assert row.cost_usd is not None
        # Of haiku, in dollars per million: input 0.1.
        assert row.cost_usd > row.cache_write_tokens * Decimal("0.0000001") * Decimal(share)
        assert row.cost_usd <= row.estimate_usd


async def test_a_repeated_call_needs_its_room_under_the_cap_again(table: Set) -> None:
    """An answer that breaks off while the model thinks is billed and requested again."""
    thought = Reply("so", reasoning=["hm"] * 3, fault="truncate", at=0)
    at = await table([good(), thought, good(), thought, good()], wires=("messages",))
    most = await estimate_of(at)
    at.change(budget=BudgetConfig(run_usd=1.5 * most))
    assert await ask(at, run_of("tight"), "one") == "budget.run"
    assert at.calls == [2]
    (row,) = await at.ledger.entries("local", "tight")
    assert row.cost_usd is not None
    assert (row.state, 0 < row.cost_usd <= Decimal(str(1.5 * most))) == ("failed", True)
    at.services[0].script = [thought, good()]
    at.change(budget=BudgetConfig(run_usd=2.5 * most))
    assert await ask(at, run_of("roomy"), "one") == PRICED[0]
    (row,) = await at.ledger.entries("local", "roomy")
    assert row.estimate_usd is not None
    assert abs(float(row.estimate_usd) - 2 * most) < 1e-9


async def test_the_ledger_shows_the_usage_of_a_running_call(table: Set) -> None:
    """A killed process is billed by it."""
    held = Gate()
    at = await table([Reply("one two three", gates={2: held})], wires=("messages",))
    run = run_of("run")
    stream = at.models.stream(run, "council", "one", PROMPT, chain=PRICED)
    assert await anext(stream) == "one "
    (row,) = await at.ledger.entries("local", "run")
    assert (row.state, row.output_tokens) == ("reserved", 0)
    assert row.input_tokens > 0
    assert await anext(stream) == "two "
    await at.models.budget.note()
    (noted,) = await at.ledger.entries("local", "run")
    assert (noted.state, noted.output_tokens) == ("reserved", 2)
    assert row.cost_usd is not None
    assert noted.cost_usd is not None
    assert noted.cost_usd > 0
    held.set()
    await stream.aclose()
    (settled,) = await at.ledger.entries("local", "run")
    assert (settled.state, settled.output_tokens) == ("stopped", 2)


async def test_no_other_model_stands_in_after_a_cap_has_refused_a_call(table: Set) -> None:
    at = await table([good()], [good()], wires=("messages", "chat"))
    at.change(budget=BudgetConfig(run_usd=0.0))
    assert await ask(at, run_of("run"), "one", (*PRICED, "b:small")) == "budget.run"
    assert at.calls == [0, 0]


async def test_a_running_call_counts_with_its_maximum_cost(table: Set) -> None:
    at = await table([Reply("one two three", times=2)], wires=("messages",))
    at.change(budget=BudgetConfig(run_usd=1.5 * await estimate_of(at)))
    run = run_of("run")
    stream = at.models.stream(run, "council", "one", PROMPT, chain=PRICED)
    assert await anext(stream)
    assert await ask(at, run, "two") == "budget.run"
    await stream.aclose()


class Slow(Ledger):
    """After it has stored an entry, it waits before it reports that."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.kept, self.gate = asyncio.Event(), asyncio.Event()

    async def reserve(self, *args: Any, **more: Any) -> str:
        entry = await super().reserve(*args, **more)
        self.kept.set()
        await self.gate.wait()
        return entry


async def test_a_call_cancelled_before_it_began_counts_towards_no_cap(tmp_path: Path) -> None:
    db = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    slow = Slow(db)

    async def price(usage: Usage) -> Decimal:
        return Decimal(usage.output_tokens)

    budget, request = Budget(slow, BudgetConfig(run_usd=1_000.0)), run_of("run").request

    async def ask_for_it() -> None:
        async with budget.spending(request, "one", "a:b", Usage(100, PROMPT.max_tokens), price):
            raise AssertionError("it should not have been asked")

    asking = asyncio.create_task(ask_for_it())
    await slow.kept.wait()
    asking.cancel()
    slow.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    (row,) = await slow.entries("local", "run")
    await db.close()
    assert (row.state, row.estimate_usd) == ("stopped", Decimal(PROMPT.max_tokens))
    assert row.cost_usd == 0


async def test_the_sentence_names_the_cap_and_what_is_used_up(table: Set) -> None:
    at = await table([good()], wires=("messages",))
    at.change(budget=BudgetConfig(run_usd=0.0, space_days=7))
    with pytest.raises(UserError) as caught:
        await at.models.ask(at.run, "council", "one", PROMPT, chain=PRICED)
    assert "above $0.00, and $0.00 are already spent" in words("en")(caught.value.key, **caught.value.values)
    assert "{" not in words("pt-BR")("budget.space", **caught.value.values)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("0", "0.00"), ("5", "5.00"), ("0.1", "0.10"), ("0.0416", "0.0416"), ("12.349", "12.35")],
)
def test_dollars_are_read_as_cents_or_finer_where_they_are_few(amount: str, shown: str) -> None:
    assert dollars(Decimal(amount)) == shown


async def test_the_usage_of_many_running_calls_is_noted_in_one_database_call(tmp_path: Path) -> None:
    """Separate calls for each price would delay all notes on a busy event loop."""
    db = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    ledger, priced = Ledger(db), asyncio.Barrier(5)
    budget, noting = Budget(ledger, BudgetConfig(), note_s=3_600), False

    async def price(usage: Usage) -> Decimal:
        if noting:
            await priced.wait()
        return Decimal("0.01")

    request = run_of("run").request
    async with AsyncExitStack() as calls:
        for n in range(5):
            step = budget.spending(request, f"step-{n}", PRICED[0], Usage(10, 100), price)
            (await calls.enter_async_context(step)).usage = Usage(10, 7)
        noting = True
        async with asyncio.timeout(60):
            await budget.note()
        noting = False
        rows = await ledger.entries("local", "run")
        assert [(row.state, row.output_tokens) for row in rows] == [("reserved", 7)] * 5
    await db.close()
