"""One suite for each wire: a provider between a loopback service and the ledger, with whole and streamed
answers.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace

import pytest

from bot.llm.base import Message, Prompt, ToolResult
from bot.llm.completion import Completion, Usage
from tests.fakes.reply import Reply
from tests.llm.desk import PROMPT, WITH_TOOLS, Open, both

SCHEMA = {
    "type": "object",
    "properties": {"feet": {"type": "integer"}, "where": {"type": "string"}},
    "required": ["feet", "where"],
    "additionalProperties": False,
}


@both
async def test_an_answer_is_billed_as_the_service_counted(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one two três", cached=4, cache_writes=2))
    texts, completion = await at.ask(whole=whole)
    assert "".join(texts) == completion.text == "one two três "
    assert len(texts) == (1 if whole else 3)
    assert (completion.finish, completion.model, completion.calls) == ("end", "here:small", ())
    service = at.service
    assert (service.cache_read_tokens, service.cache_write_tokens) == (4, 2)
    assert completion.usage == Usage(service.input_tokens, 3, 4, 2)
    assert service.input_tokens == 4 + 6 - 4 - 2
    assert await at.paid() == ("settled", service.input_tokens, 3, 4, 2)
    assert bool(service.requests[0].get("stream")) is not whole


async def test_words_are_passed_on_while_the_next_ones_are_awaited(desk: Open) -> None:
    gate = asyncio.Event()
    at = await desk(Reply("one two", gates={1: gate}))
    async with aclosing(at.pieces()) as pieces, asyncio.timeout(60):
        assert await anext(pieces) == "one "
        gate.set()
        assert await anext(pieces) == "two "
        assert isinstance(await anext(pieces), Completion)


@both
async def test_many_questions_are_answered_at_once(desk: Open, whole: bool) -> None:
    gates = [asyncio.Event() for _ in range(8)]
    at = await desk(*(Reply(f"answer {n} and more", gates={1: gate}) for n, gate in enumerate(gates)))
    asked = [asyncio.create_task(at.ask(whole=whole, step=str(n))) for n in range(len(gates))]
    for gate in reversed(gates):
        gate.set()
    found = {(await task)[1].text for task in asked}
    assert found == {f"answer {n} and more " for n in range(len(gates))}
    rows = await at.ledger.entries("local", "run-1")
    assert {(row.state, row.output_tokens) for row in rows} == {("settled", 4)}


async def test_a_replay_pays_nothing(desk: Open) -> None:
    at = await desk(Reply("one"))
    first = await at.ask()
    at.run = at.run.replay()
    assert await at.ask() == first
    assert at.service.calls == 1
    await at.row()


async def test_a_conversation_is_sent_as_it_was(desk: Open) -> None:
    at = await desk(Reply("one"))
    turns = (Message("user", "Hi there"), Message("assistant", "Hello"), Message("user", "How far?"))
    await at.ask(Prompt("", turns, temperature=0.3, effort="low"))
    sent = json.dumps(at.service.requests[-1])
    assert [sent.index(turn.text) for turn in turns] == sorted(sent.index(turn.text) for turn in turns)
    assert at.service.input_tokens == 5


@both
async def test_a_schema_is_sent_and_its_json_is_read(desk: Open, whole: bool) -> None:
    answer = '{"feet": 150, "where": "straight ahead"}'
    at = await desk(Reply(pieces=[answer[:9], answer[9:]]))
    _, completion = await at.ask(replace(PROMPT, schema=SCHEMA), whole=whole)
    assert json.loads(completion.text) == {"feet": 150, "where": "straight ahead"}
    assert json.dumps(SCHEMA) in json.dumps(at.service.requests[0])


@both
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "rebuilt"])
async def test_a_tool_is_asked_for_and_its_result_handed_back(desk: Open, whole: bool, raw: bool) -> None:
    asks = Reply(
        "Let me look.",
        calls=[("search", ['{"query": ', '"fireball"}']), ("search", '{"query": "range"}')],
        reasoning=["hm"],
    )
    at = await desk(asks, Reply("150 feet."))
    texts, asked = await at.ask(WITH_TOOLS, whole=whole)
    assert (asked.finish, "".join(texts)) == ("tool", "Let me look. ")
    assert [(call.name, json.loads(call.arguments)) for call in asked.calls] == [
        ("search", {"query": "fireball"}),
        ("search", {"query": "range"}),
    ]
    assert [call.id for call in asked.calls] == at.service.issued
    results = tuple(
        ToolResult(call.id, text, failed)
        for call, text, failed in zip(
            asked.calls, ("Fireball, 150 feet", "no such page"), (False, True), strict=True
        )
    )
    turns = (
        *PROMPT.messages,
        Message("assistant", asked.text, calls=asked.calls, raw=asked.raw if raw else ""),
        Message("user", "Be brief.", results=results),
    )
    texts, completion = await at.ask(replace(WITH_TOOLS, messages=turns), whole=whole, step="second")
    assert ("".join(texts), completion.finish, completion.calls) == ("150 feet. ", "end", ())
    assert "Fireball, 150 feet" in json.dumps(at.service.requests[-1])
    first, second = await at.ledger.entries("local", "run-1")
    assert first.output_tokens == 3 + 3 + 1
    assert first.input_tokens + second.input_tokens == at.service.input_tokens
    assert first.output_tokens + second.output_tokens == at.service.output_tokens


async def test_malformed_arguments_are_passed_on_and_can_be_reported_to_the_model(desk: Open) -> None:
    at = await desk(Reply(calls=[("search", '{"query": "fire')]), Reply("So be it."))
    _, asked = await at.ask(WITH_TOOLS)
    (call,) = asked.calls
    assert (asked.finish, call.arguments) == ("tool", '{"query": "fire')
    turns = (
        *PROMPT.messages,
        Message("assistant", calls=asked.calls, raw=asked.raw),
        Message("user", results=(ToolResult(call.id, "The arguments are no JSON.", failed=True),)),
    )
    assert (await at.ask(replace(WITH_TOOLS, messages=turns), step="second"))[1].text == "So be it. "


async def test_a_tool_call_may_have_no_arguments(desk: Open) -> None:
    at = await desk(Reply(calls=[("search", "{}")]))
    _, asked = await at.ask(WITH_TOOLS)
    assert json.loads(asked.calls[0].arguments or "{}") == {}


@both
async def test_cache_marks_are_accepted(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one", cached=3), Reply("two"))
    message = replace(PROMPT.messages[0], cache=True)
    marked = replace(WITH_TOOLS, cache=True, messages=(message, Message("assistant", "So?"), message))
    _, completion = await at.ask(marked, whole=whole)
    assert completion.usage.cache_read_tokens == at.service.cache_read_tokens
    assert completion.usage.cache_write_tokens == at.service.cache_write_tokens
    assert completion.usage.input_tokens == at.service.input_tokens


async def test_counting_tokens_is_free_and_exact_or_not_possible(desk: Open) -> None:
    at = await desk(Reply("one"))
    counted = await at.provider.count("small", WITH_TOOLS)
    assert (at.service.input_tokens, at.service.calls) == (0, 0)
    await at.ask(WITH_TOOLS)
    assert counted in (None, at.service.input_tokens)
    await at.service.__aexit__()
    assert await at.provider.count("small", WITH_TOOLS) is None


@both
@pytest.mark.parametrize("finish", ["end", "length", "refusal"])
async def test_each_service_reports_how_its_answer_ended(desk: Open, finish: str, whole: bool) -> None:
    at = await desk(Reply("one two", finish=finish))
    _, completion = await at.ask(whole=whole)
    assert (completion.finish, completion.text) == (finish, "one two ")
    assert await at.paid() == ("settled", at.service.input_tokens, 2, 0, 0)


@both
async def test_a_refusal_is_not_an_error(desk: Open, whole: bool) -> None:
    at = await desk(Reply("", finish="refusal"))
    texts, completion = await at.ask(whole=whole)
    assert (texts, completion.text, completion.finish) == ([], "", "refusal")
    assert (await at.paid())[0] == "settled"


@both
async def test_thoughts_are_billed_and_not_shown(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one", reasoning=["hm", "hm"]))
    _, completion = await at.ask(whole=whole)
    assert completion.text == "one "
    assert completion.usage.output_tokens == at.service.output_tokens == 3


@both
async def test_an_empty_answer_is_an_error_of_its_own_and_billed(desk: Open, whole: bool) -> None:
    at = await desk(Reply("", reasoning=["hm"], finish="length"))
    assert (await at.fail(whole=whole)).fault == "empty"
    assert await at.paid() == ("failed", at.service.input_tokens, 1, 0, 0)


async def test_reading_capabilities_makes_no_request(desk: Open) -> None:
    at = await desk()
    assert at.provider.capabilities("small").tools
    assert not at.provider.capabilities("small").demo
    assert at.service.calls == 0
