"""What only the Messages API has: its requests, cache marks, stop reasons, refusals and events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from bot.budget import prompt_tokens
from bot.llm.base import Message, Prompt, ToolResult
from bot.llm.completion import ToolCall, Usage
from bot.llm.deadlines import Timeouts
from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.model_service import Turn
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES, Wire
from tests.llm.desk import KEY, PROMPT, QUICK, SEARCH, WITH_TOOLS, Desk, Open, asked, both, events

SCHEMA = {
    "type": "object",
    "properties": {"feet": {"type": "integer"}},
    "required": ["feet"],
    "additionalProperties": False,
}
EPHEMERAL = {"type": "ephemeral"}


@pytest.fixture
def wire() -> Wire:
    return WIRES["messages"]


def marks(body: Mapping[str, Any]) -> list[str]:
    """The places in a request that are marked for the cache."""
    places = [f"tools.{at}" for at, tool in enumerate(body.get("tools", [])) if "cache_control" in tool]
    places += ["system" for block in body.get("system", []) if "cache_control" in block]
    places += [
        f"messages.{at}.{block['type']}"
        for at, message in enumerate(body["messages"])
        for block in message["content"]
        if "cache_control" in block
    ]
    return places


# Requests.


async def test_a_request_has_only_fields_that_the_service_knows(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask(replace(WITH_TOOLS, temperature=0.3, effort="low", schema=SCHEMA))
    assert at.service.requests[0] == {
        "model": "small",
        "max_tokens": 50,
        "stream": True,
        "system": [{"type": "text", "text": "Answer from the book."}],
        "tools": [{"name": "search", "description": SEARCH.description, "input_schema": SEARCH.parameters}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How far does a fireball reach?"}]}
        ],
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    }


async def test_the_key_is_sent_as_a_bearer_token_and_the_environment_is_not_read(
    desk: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "ANTHROPIC_API_KEY": "sk-else",
        "ANTHROPIC_AUTH_TOKEN": "sk-else",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_CUSTOM_HEADERS": "x-api-key: sk-else\nAuthorization: Bearer sk-else",
    }.items():
        monkeypatch.setenv(name, value)
    at = await desk(Reply("one"), key=KEY)
    await at.ask()
    assert at.service.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert at.service.headers[0]["anthropic-version"]
    at = await desk(Reply("one"))
    await at.ask()
    sent = at.service.headers[0]
    assert "Authorization" not in sent
    assert "x-api-key" not in sent


async def test_an_address_may_end_in_v1(desk: Open) -> None:
    from bot.llm.anthropic_messages import AnthropicMessages

    at = await desk(Reply("one"))
    provider = AnthropicMessages(f"{at.service.base_url}/v1/")
    pieces = [piece async for piece in provider.stream("small", PROMPT)]
    await provider.close()
    assert pieces[0] == "one "


async def test_empty_messages_are_not_sent(desk: Open) -> None:
    at = await desk(Reply("one"))
    turns = (
        Message("user", "Hi"),
        Message("assistant", " \n"),
        *asked(ToolCall("a", "search", "{}"), text="\n"),
    )
    failed = Message("user", " ", results=(ToolResult("a", "", failed=True),))
    await at.ask(replace(WITH_TOOLS, system=" ", messages=(*turns[:-1], failed)))
    sent = at.service.requests[0]
    assert "system" not in sent
    assert [[block["type"] for block in message["content"]] for message in sent["messages"]] == [
        ["text"],
        ["tool_use"],
        ["tool_result"],
    ]
    assert sent["messages"][-1]["content"][0]["is_error"] is True


# The cache.


async def test_only_the_last_four_cache_marks_are_sent(desk: Open) -> None:
    at = await desk(Reply("one"), Reply("two"), Reply("three"))
    turn, answer = Message("user", "Hi", cache=True), Message("assistant", "Yes?", cache=True)
    await at.ask(replace(WITH_TOOLS, cache=True, messages=(turn, answer, replace(turn, cache=False))))
    assert marks(at.service.requests[0]) == ["system", "messages.0.text", "messages.1.text"]
    await at.ask(replace(WITH_TOOLS, cache=True, messages=(turn, answer, turn, answer, turn)), step="2")
    assert marks(at.service.requests[1]) == [f"messages.{at}.text" for at in (1, 2, 3, 4)]
    await at.ask(replace(WITH_TOOLS, cache=True, system=""), step="3")
    assert marks(at.service.requests[2]) == ["tools.0"]


async def test_tool_results_are_marked_and_thoughts_never_are(desk: Open) -> None:
    at = await desk(Reply(reasoning=["hm"], calls=[("search", "{}")]), Reply("one"))
    _, completion = await at.ask(WITH_TOOLS)
    turn, answer = asked(*completion.calls, raw=completion.raw)
    thought = json.dumps(json.loads(completion.raw)[:1])
    history = (*PROMPT.messages, Message("assistant", raw=thought, cache=True), Message("user", "Go on."))
    turns = (*history, replace(turn, cache=True), replace(answer, cache=True))
    await at.ask(replace(WITH_TOOLS, messages=turns), step="2")
    assert marks(at.service.requests[1]) == ["messages.3.tool_use", "messages.4.tool_result"]


@both
async def test_a_cached_prefix_is_written_then_read_and_both_are_billed_separately(
    desk: Open, whole: bool
) -> None:
    at = await desk(Reply("one", times=3), cache_least=8)
    book = Message("user", "The book says a lot.", cache=True)
    prompt = Prompt("Answer from the book.", (book, Message("user", "How far?")), cache=True)
    usages = [(await at.ask(prompt, whole=whole, step=step))[1].usage for step in ("1", "2")]
    assert usages == [Usage(2, 1, 0, 9), Usage(2, 1, 9, 0)]
    longer = replace(prompt, messages=(*prompt.messages, replace(book, text="Much more.")))
    assert (await at.ask(longer, whole=whole, step="3"))[1].usage == Usage(0, 1, 9, 4)


async def test_a_prefix_too_short_to_cache_causes_no_warning(desk: Open) -> None:
    at = await desk(Reply("one", times=2), cache_least=8)
    prompt = replace(PROMPT, cache=True)
    for step in ("1", "2"):
        assert (await at.ask(prompt, step=step))[1].usage == Usage(10, 1)


async def test_tokens_are_counted_by_the_service(desk: Open) -> None:
    at = await desk(Reply("one", times=2), key=KEY, refuses=("effort",))
    prompt = replace(WITH_TOOLS, effort="low", schema=SCHEMA, cache=True)
    assert await at.provider.count("small", prompt) is None  # one try, and nothing learnt from it
    await at.ask(prompt)
    assert await at.provider.count("small", prompt) == at.service.input_tokens
    assert await at.provider.count("large", prompt) is None
    assert await at.provider.count("small", replace(prompt, messages=())) is None


# How an answer ends.


@both
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool"),
        ("refusal", "refusal"),
    ],
)
async def test_each_stop_reason_has_our_name(desk: Open, reason: str, finish: str, whole: bool) -> None:
    at = await desk(Reply("one two", finish=reason))
    assert (await at.ask(whole=whole))[1].finish == finish
    assert await at.paid() == ("settled", 10, 2, 0, 0)


@both
async def test_an_unknown_end_counts_as_a_cut_off_answer(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one two", finish="something_new"))
    assert (await at.fail(whole=whole)).fault == "cut"
    assert await at.paid() == ("failed", 10, 2, 0, 0)


@both
@pytest.mark.parametrize("usage", ["none", "zero"])
async def test_missing_usage_is_estimated(desk: Open, usage: str, whole: bool) -> None:
    at = await desk(Reply("one two", reasoning=["hmhm"], usage=usage))
    assert (await at.ask(whole=whole))[1].usage == Usage(prompt_tokens(PROMPT), 3, estimated=True)


# What a model or a service does not take.


@pytest.mark.parametrize("lacks", [("effort",), ("format",), ("effort", "format"), ("output_config",)])
async def test_a_refused_effort_or_schema_is_left_out_from_then_on(
    desk: Open, lacks: tuple[str, ...]
) -> None:
    at = await desk(Reply("{}", times=2), refuses=lacks)
    prompt = replace(PROMPT, effort="high", schema=SCHEMA)
    await at.ask(prompt)
    first = at.service.calls
    await at.ask(prompt, step="2")
    assert (first, at.service.calls) == (2 if len(lacks) == 1 else 3, first + 1)
    sent = at.service.requests[-1]
    taken = {"effort", "format"} - set(lacks) if lacks != ("output_config",) else set()
    assert set(sent.get("output_config", {})) == taken
    assert (json.dumps(SCHEMA) in sent["system"][0]["text"]) is ("format" not in taken)


async def test_a_wrong_schema_is_an_error_and_changes_no_later_request(desk: Open) -> None:
    at = await desk(Reply("one"))
    for step, wrong in (("1", SCHEMA | {"additionalProperties": True}), ("2", SCHEMA | {"minProperties": 1})):
        assert (await at.fail(replace(PROMPT, schema=wrong), step=step)).fault == "bad_request"
    await at.ask(replace(PROMPT, schema=SCHEMA), step="3")
    assert "format" in at.service.requests[-1]["output_config"]


@pytest.mark.parametrize(
    ("status", "kind", "fault", "calls"),
    [
        (400, "invalid_request_error", "bad_request", 1),
        (401, "authentication_error", "auth", 1),
        (402, "billing_error", "quota", 1),
        (403, "permission_error", "permission", 1),
        (404, "not_found_error", "not_found", 1),
        (413, "request_too_large", "context", 1),
        (429, "rate_limit_error", "rate_limit", 3),
        (500, "api_error", "server", 3),
        (504, "timeout_error", "timeout", 3),
        (529, "overloaded_error", "server", 3),
    ],
)
async def test_an_error_means_the_same_as_a_status_and_as_an_event(
    desk: Open, status: int, kind: str, fault: str, calls: int
) -> None:
    error = {"type": kind, "message": "no"}
    at = await desk(Reply(status=status, error=error, times=9))
    assert ((await at.fail()).fault, at.service.calls) == (fault, calls)
    at = await desk(Reply(fault="error", at=0, error=error, times=9))
    assert ((await at.fail(step="event")).fault, at.service.calls) == (fault, calls)


async def test_a_prompt_over_the_window_is_a_context_error(desk: Open) -> None:
    at = await desk(context=9)
    assert (await at.fail()).fault == "context"


async def test_a_long_answer_may_be_requested_unstreamed(desk: Open) -> None:
    # With just these limits, which are its own defaults, the SDK would refuse before it asks.
    at = await desk(Reply("one"), timeouts=Timeouts(connect=5, first=600, idle=45, total=600))
    assert (await at.ask(replace(PROMPT, max_tokens=64_000), whole=True))[1].text == "one "


async def test_a_whole_answer_may_take_longer_than_a_pause_in_a_stream(desk: Open) -> None:
    at = await desk(Reply("one", delay_s=0.6), timeouts=Timeouts(connect=2, first=0.3, idle=0.3, total=8))
    assert (await at.ask(whole=True))[1].text == "one "
    assert at.service.calls == 1


# Streams in the raw.


class _Slow(MessagesService):
    """Sends only pings for longer than a stream may be silent, and never hangs up."""

    async def _stream(self, request: web.Request, turn: Turn) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for at, frame in enumerate(self.frames(turn)):
            for _ in range(8 if at == 2 else 0):
                await response.write(b'event: ping\ndata: {"type": "ping"}\n\n')
                await asyncio.sleep(QUICK.idle / 4)
            await response.write(frame.text().encode())
        await self.freed.wait()
        return response


async def test_pings_keep_a_silent_stream_open(desk: Open, wire: Wire) -> None:
    opened = await desk()
    async with _Slow([Reply("one")]) as service:
        at = Desk(wire, service, opened.ledger, None, QUICK)
        assert (await at.ask())[1].text == "one "
        assert service.calls == 1
        await at.provider.close()


async def test_the_last_event_is_the_end(desk: Open, wire: Wire) -> None:
    opened = await desk()
    async with _Slow([Reply("one")]) as service:
        at = Desk(wire, service, opened.ledger, None, Timeouts())
        async with asyncio.timeout(2.5):  # less than what is granted to a usage that lags behind
            await at.ask()
        await asyncio.wait_for(service.closed.wait(), 5)
        await at.provider.close()


async def test_unknown_blocks_and_events_are_skipped(desk: Open) -> None:
    news = {"type": "text", "text": "", "citations": None}
    quote = {"type": "char_location", "cited_text": "150 feet"}
    at = await desk(
        events(
            "event: ping\n\n: a comment\r\n\r\n",
            {"type": "message_start", "message": {"usage": {"input_tokens": 4, "output_tokens": 1}}},
            {"type": "weather", "rain": True},
            [1, 2],
            {"type": "content_block_start", "index": 0, "content_block": {"type": "web_search_tool_result"}},
            {"type": "content_block_start", "index": 1, "content_block": news},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "150 "}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "mood_delta", "mood": 3}},
            {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "lost"}},
            {"type": "content_block_delta", "index": 1, "delta": {"citation": quote}},
            {"type": "content_block_start", "index": 2, "content_block": "no block"},
            {
                "type": "content_block_start",
                "index": 3,
                "content_block": {"type": "tool_use", "id": "a", "name": "search", "input": {}},
            },
            {"type": "content_block_stop", "index": 3},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use"},
                "usage": {"input_tokens": 6, "cache_read_input_tokens": None, "output_tokens": 2},
            },
            {"type": "message_delta", "usage": {"cache_read_input_tokens": 5, "output_tokens": 3}},
            {"type": "message_stop"},
        )
    )
    texts, completion = await at.ask(WITH_TOOLS)
    assert (texts, completion.finish, completion.calls) == (
        ["150 "],
        "tool",
        (ToolCall("a", "search", "{}"),),
    )
    assert completion.usage == Usage(6, 3, 5, 0)
    cited = {"type": "text", "text": "150 ", "citations": [quote]}
    assert [block for block in json.loads(completion.raw) if block["type"] == "text"] == [cited]


async def test_an_error_event_is_recognised_by_its_data_alone(desk: Open) -> None:
    error = {"type": "error", "error": {"type": "authentication_error", "message": "no"}}
    at = await desk(events(error))
    assert (await at.fail()).fault == "auth"


async def test_an_answer_that_is_no_message_is_an_error(desk: Open) -> None:
    headers = {"Content-Type": "application/json"}
    for body in ('{"type": "weather"}', "[1]", '"text"', "null"):
        at = await desk(Reply(body=body, headers=headers, times=9))
        assert (await at.fail(whole=True, step=body)).fault == "server"
