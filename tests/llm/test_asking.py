"""A council's calls: whole answers of models that are called by name, within a time limit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from bot.config import ProviderConfig, RolesConfig
from bot.events import UserError
from bot.llm.base import Capabilities, ModelError
from bot.llm.completion import Usage
from bot.llm.deadlines import Deadlines, Timeouts
from tests.fakes.reply import Reply
from tests.llm.desk import PROMPT, Open
from tests.llm.table import Set, Table, busy, good


async def whole(at: Table, step: str, chain: tuple[str, ...] | None = None, **more: Any) -> str:
    """Ask, and return the model that answered."""
    return (await at.models.ask(at.run, "council", step, PROMPT, chain=chain, **more)).model


async def test_a_named_model_is_called_whatever_the_role_says(table: Set) -> None:
    at = await table([good()], [good()])
    assert await whole(at, "answer-1", ("b:small",)) == "b:small"
    assert at.calls == [0, 1]
    (row,) = await at.rows()
    assert (row.step, row.model, row.state) == ("answer-1", "b:small", "settled")


async def test_a_whole_answer_is_not_a_step_by_itself(table: Set) -> None:
    at = await table([good()])
    await whole(at, "answer-1", ("a:small",))
    assert at.run.kept == {}


async def test_without_a_name_the_models_of_the_role_are_called(table: Set) -> None:
    at = await table([good()])
    at.change(roles=RolesConfig(answerer=("a:small",)))
    assert (await at.models.ask(at.run, "researcher", "research-one", PROMPT)).model == "a:small"
    with pytest.raises(UserError, match=r"config\.role_empty"):
        await at.models.ask(at.run, "council", "answer-1", PROMPT)


async def test_in_an_explicit_chain_a_weaker_model_may_stand_in(table: Set) -> None:
    at = await table([busy()], [good(), good()])
    providers = at.config.providers
    at.change(providers={**providers, "b": replace(providers["b"], cites=False)})
    assert await whole(at, "one", ("a:small", "b:small")) == "b:small"
    stream = at.models.stream(at.run, "chair", "two", PROMPT, chain=("b:small",))
    assert [piece async for piece in stream]
    assert [row.step for row in await at.rows()] == ["one", "one-2", "two"]


async def test_a_provider_that_is_no_longer_in_the_config_is_skipped(table: Set) -> None:
    at = await table([good()])
    assert await whole(at, "one", ("gone:x", "a:small")) == "a:small"
    with pytest.raises(UserError, match=r"config\.role_provider"):
        await whole(at, "two", ("gone:x",))


async def test_a_model_over_its_time_limit_is_stopped_and_billed_for_what_it_sent(table: Set) -> None:
    gate = asyncio.Event()
    at = await table([Reply("one two three", gates={2: gate})], [good()])
    with pytest.raises(ModelError) as caught:
        await whole(at, "answer-1", ("a:small", "b:small"), within=3.0)
    assert (caught.value.fault, caught.value.model, at.calls) == ("timeout", "a:small", [1, 0])
    async with asyncio.timeout(60):
        await at.services[0].closed.wait()
    (row,) = await at.rows()
    assert (row.state, row.output_tokens > 0) == ("stopped", True)


IMPATIENT = Timeouts(connect=5, first=0.1, idle=0.1, total=0.1)


async def test_a_minimum_timeout_lengthens_the_allowed_silence(desk: Open) -> None:
    thought = asyncio.Event()
    at = await desk(Reply("one two", gates={0: thought}), timeouts=IMPATIENT)
    asking = asyncio.create_task(at.ask(replace(PROMPT, min_timeout=60.0)))
    await at.service.asked.wait()
    asyncio.get_running_loop().call_later(3 * IMPATIENT.total, thought.set)
    _, completion = await asking
    assert completion.text.split() == ["one", "two"]


async def test_a_model_that_was_silent_too_long_is_not_called_again(desk: Open) -> None:
    at = await desk(Reply(fault="half_open", times=2), timeouts=IMPATIENT)
    assert (await at.fail(replace(PROMPT, min_timeout=0.3))).fault == "timeout"
    assert at.service.calls <= 1  # on a busy machine it may be over before its request arrives


async def test_a_minimum_timeout_only_lengthens_timeouts() -> None:
    usual = Timeouts(connect=10, first=120, idle=45, total=600)
    for least, limits in (
        (None, usual),
        (1, usual),
        (180, Timeouts(connect=10, first=180, idle=180, total=600)),
        (3_600, Timeouts(connect=10, first=3_600, idle=3_600, total=3_600)),
    ):
        assert Deadlines(usual, least).limits == limits


async def test_capabilities_and_prices_of_any_model_are_found_by_its_name(table: Set) -> None:
    at = await table([good()], wires=("messages",))
    less = replace(at.config.providers["a"], json_schema=False)
    at.change(providers={"a": less, "demo": ProviderConfig("demo", "demo")})
    assert at.models.capabilities_of("council", "a:small") == Capabilities(json_schema=False)
    assert at.models.capabilities_of("council", "demo:smollm2").demo
    used = Usage(1_000, 1_000)
    assert await at.models.price("council", "a:claude-haiku-5-5", used) == Decimal("0.0006")
    assert await at.models.price("council", "a:small", used) is None
    assert await at.models.price("council", "demo:smollm2", used) == 0
    with pytest.raises(UserError, match=r"config\.role_provider"):
        at.models.capabilities_of("council", "gone:x")


async def test_the_usage_that_a_service_reports_is_in_the_ledger(table: Set) -> None:
    at = await table([replace(good(), cost=0.0125), replace(good(), cost=-1.0), replace(good(), cost=0.0)])
    for step in ("told", "nonsense", "free"):
        await whole(at, step, ("a:claude-haiku-5-5",))
    told, nonsense, free = await at.rows()
    assert (told.cost_usd, free.cost_usd) == (Decimal("0.0125"), Decimal(0))
    # An impossible cost is ignored: the table's price counts, or none.
    assert nonsense.cost_usd != Decimal(-1)
