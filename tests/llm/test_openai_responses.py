"""What only the Responses API has: its ends, errors inside an answer, items that are sent back, its
parameters.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.budget import prompt_tokens, text_tokens
from bot.llm.base import Message, Prompt, Tool, ToolResult
from bot.llm.completion import Completion, ToolCall, Usage
from bot.llm.openai_client import ADDRESS
from bot.llm.openai_responses import Responses
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES, Wire
from tests.llm.desk import KEY, PROMPT, SEARCH, WITH_TOOLS, Desk, Open, both, events

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"feet": {"type": "integer"}},
    "required": ["feet"],
    "additionalProperties": False,
}
ASKS = Reply("Let me look.", calls=[("search", '{"query": "fireball"}')], reasoning=["hm", "so"])


@pytest.fixture
def wire() -> Wire:
    return WIRES["responses"]


def after(asked: Completion, *, raw: bool = True, text: str = "150 feet") -> Prompt:
    """The question, followed by the turn with tool calls and their results."""
    results = tuple(ToolResult(call.id, text) for call in asked.calls)
    turn = Message("assistant", asked.text, calls=asked.calls, raw=asked.raw if raw else "")
    return replace(WITH_TOOLS, messages=(*PROMPT.messages, turn, Message("user", results=results)))


@both
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("completed", "end"),
        ("max_output_tokens", "length"),
        ("content_filter", "refusal"),
        ("max_messages", "length"),
    ],
)
async def test_each_finish_reason_has_our_name(desk: Open, reason: str, finish: str, whole: bool) -> None:
    at = await desk(Reply("one two", finish=reason))
    assert (await at.ask(whole=whole))[1].finish == finish


@both
async def test_an_unknown_end_counts_as_a_cut_off_answer(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one two", finish="something_new"))
    assert (await at.fail(whole=whole)).fault == "cut"


@both
async def test_a_refusal_part_is_shown_as_the_answer(desk: Open, whole: bool) -> None:
    at = await desk(Reply(refusal="I will not.", reasoning=["hm", "hm"]))
    texts, completion = await at.ask(whole=whole)
    assert ("".join(texts), completion.text, completion.finish) == ("I will not.", "I will not.", "refusal")
    assert completion.usage.output_tokens == at.service.output_tokens == 3


@both
async def test_a_refusal_that_is_cut_off_is_still_a_refusal(desk: Open, whole: bool) -> None:
    at = await desk(Reply(refusal="I will", finish="length"))
    assert (await at.ask(whole=whole))[1].finish == "refusal"


FAULTS = [
    ("rate_limit_exceeded", "rate_limit", 3),
    ("server_error", "server", 3),
    ("vector_store_timeout", "server", 3),
    ("context_length_exceeded", "context", 1),
    ("insufficient_quota", "quota", 1),
    ("invalid_prompt", "bad_request", 1),
]


@both
@pytest.mark.parametrize(("code", "fault", "calls"), FAULTS)
async def test_an_answer_that_fails_is_billed(
    desk: Open, code: str, fault: str, calls: int, whole: bool
) -> None:
    error = {"code": code, "message": "It went wrong."}
    at = await desk(Reply("", finish="failed", error=error, reasoning=["hm"], times=9))
    failed = await at.fail(whole=whole)
    assert (failed.fault, at.service.calls) == (fault, calls)
    assert await at.paid() == ("failed", at.service.input_tokens, calls, 0, 0)


async def test_an_answer_that_fails_after_its_first_text_counts_as_cut_off(desk: Open) -> None:
    at = await desk(Reply("one two", finish="failed", error={"code": "server_error", "message": "boom"}))
    failed = await at.fail()
    assert (failed.fault, failed.detail, at.service.calls) == ("cut", "500 boom", 1)
    assert await at.paid() == ("failed", at.service.input_tokens, 2, 0, 0)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("code", "fault", "calls"), FAULTS)
async def test_an_error_event_is_an_error_and_retried_if_that_may_help(
    desk: Open, code: str, fault: str, calls: int, nested: bool
) -> None:
    error = {"code": code, "message": "It went wrong.", "type": "any"}
    at = await desk(Reply("one", fault="error", at=0, error=error, times=9), nested=nested)
    assert (await at.fail()).fault == fault
    assert at.service.calls == calls


@both
@pytest.mark.parametrize(
    "error",
    [
        {"code": "bio_policy", "message": "no"},
        {"code": "misalignment_policy_violation", "message": "no"},
        {"code": "invalid_prompt", "message": "Your prompt was flagged as violating our usage policy."},
    ],
    ids=lambda error: error["code"],
)
async def test_a_policy_violation_is_a_refusal_and_not_an_error(
    desk: Open, error: dict[str, Any], whole: bool
) -> None:
    at = await desk(Reply("", finish="failed", error=error))
    assert (await at.ask(whole=whole))[1].finish == "refusal"
    assert (await at.paid())[0] == "settled"


@both
async def test_an_error_with_status_200_is_a_server_error(desk: Open, whole: bool) -> None:
    body = json.dumps({"error": {"message": "upstream is gone", "code": 502}})
    at = await desk(Reply(body=body, headers={"Content-Type": "application/json"}, times=9))
    failed = await at.fail(whole=whole)
    assert (failed.fault, at.service.calls) == ("server", 3)


async def test_the_detail_of_an_error_inside_hides_the_key(desk: Open) -> None:
    error = {"code": "server_error", "message": f"bad key {KEY}"}
    at = await desk(Reply("", finish="failed", error=error, times=9), key=KEY)
    failed = await at.fail()
    assert KEY not in f"{failed!r} {failed.detail}"
    assert (failed.__cause__, failed.__context__) == (None, None)


async def test_unknown_stream_events_are_skipped(desk: Open) -> None:
    said = {"type": "response.output_text.delta", "delta": "one"}
    done = {"type": "response.completed", "response": {"usage": None, "output": "?"}}
    odd: list[Any] = [{"type": "keepalive"}, {"type": "response.new.delta", "delta": 3}, [1], 'data: "x"\n\n']
    at = await desk(events(*odd, said, {"type": "response.output_item.done", "item": None}, done))
    texts, completion = await at.ask()
    assert (texts, completion.finish, completion.usage.estimated) == (["one"], "end", True)


async def test_text_that_was_not_streamed_is_read_from_the_last_event(desk: Open) -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "one two"}]}
    at = await desk(events({"type": "response.completed", "response": {"output": [message]}}))
    texts, completion = await at.ask()
    assert (texts, completion.text, completion.finish) == (["one two"], "one two", "end")


@both
async def test_missing_usage_is_estimated_and_marked(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one two", usage="none"), Reply("one two", usage="zero"))
    for step in ("first", "second"):
        _, completion = await at.ask(whole=whole, step=step)
        assert completion.usage == Usage(prompt_tokens(PROMPT), text_tokens("one two "), estimated=True)


@both
async def test_the_arguments_of_a_call_are_estimated_too(desk: Open, whole: bool) -> None:
    arguments = '{"query": "fireball"}'
    at = await desk(Reply(calls=[("search", arguments)], usage="none"))
    _, completion = await at.ask(WITH_TOOLS, whole=whole)
    assert completion.usage.output_tokens == text_tokens(arguments)


async def test_a_summary_of_thoughts_is_counted_and_not_shown(desk: Open) -> None:
    thought = "Fire burns. " * 10
    at = await desk(Reply("one", reasoning=[thought], usage="none"), aloud=True)
    texts, completion = await at.ask()
    assert "".join(texts) == "one "
    assert completion.usage.output_tokens == text_tokens(f"one {thought}")


@both
async def test_a_turn_goes_back_as_it_came_with_its_reasoning(desk: Open, whole: bool) -> None:
    at = await desk(ASKS, Reply("150 feet."))
    _, asked = await at.ask(WITH_TOOLS, whole=whole)
    assert at.service.requests[0]["include"] == ["reasoning.encrypted_content"]
    assert at.service.requests[0]["store"] is False
    items = json.loads(asked.raw)
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call"]
    assert items[0]["encrypted_content"]
    await at.ask(after(asked), whole=whole, step="second")
    sent = at.service.requests[-1]["input"]
    assert sent[1:4] == items
    assert sent[4] == {"type": "function_call_output", "call_id": asked.calls[0].id, "output": "150 feet"}
    assert len(sent) == 5


async def test_an_answer_without_calls_keeps_no_items(desk: Open) -> None:
    at = await desk(Reply("one", reasoning=["hm"]))
    _, completion = await at.ask()
    assert completion.raw == ""
    assert "include" not in at.service.requests[0]


@pytest.mark.parametrize(
    "raw",
    [
        "no JSON",
        "{}",
        '[{"type": "text", "text": "of another wire"}, {"type": "tool_use", "id": "call_1"}]',
        '[{"type": "reasoning", "id": "rs_1", "summary": []}, {"type": "message"}]',
    ],
)
async def test_turns_of_other_providers_are_rebuilt_as_items(desk: Open, raw: str) -> None:
    at = await desk(Reply("150 feet."))
    asked = Completion("Let me look.", "tool", "m", calls=(ToolCall("call_1", "search", "{}"),), raw=raw)
    await at.ask(after(asked))
    assert at.service.requests[0]["input"][1:3] == [
        {"role": "assistant", "content": "Let me look."},
        {"type": "function_call", "call_id": "call_1", "name": "search", "arguments": "{}"},
    ]


async def test_reasoning_that_another_model_encrypted_is_left_out(desk: Open) -> None:
    at = await desk(ASKS, Reply("150 feet.", times=2), models=("small", "other"))
    _, asked = await at.ask(WITH_TOOLS)
    for _ in range(2):
        pieces = [piece async for piece in at.provider.stream("other", after(asked))]
        assert pieces[:2] == ["150 ", "feet. "]
    kinds = [[item.get("type") for item in request["input"]] for request in at.service.requests[1:]]
    assert ["reasoning" in sent for sent in kinds] == [True, False, False]


async def test_reasoning_refused_in_one_conversation_is_still_sent_in_another(desk: Open) -> None:
    at = await desk(ASKS, Reply("150 feet."), ASKS, Reply("150 feet."), models=("small", "other"))
    _, asked = await at.ask(WITH_TOOLS)
    assert [piece async for piece in at.provider.stream("other", after(asked))]
    *_, mine = [piece async for piece in at.provider.stream("other", WITH_TOOLS)]
    assert isinstance(mine, Completion)
    assert [piece async for piece in at.provider.stream("other", after(mine))]
    assert "reasoning" in [item.get("type") for item in at.service.requests[-1]["input"]]


async def test_encryption_is_not_requested_again_from_a_model_that_does_not_reason(desk: Open) -> None:
    at = await desk(replace(ASKS, reasoning=[]), Reply("150 feet."), reasons=False)
    _, asked = await at.ask(WITH_TOOLS)
    await at.ask(after(asked), step="second")
    assert ["include" in request for request in at.service.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("param", "said"),
    [
        ("include", "Not taken."),
        ("include[0]", "Invalid value."),
        (None, "Encrypted content is not supported with this model."),
    ],
)
async def test_a_refusal_of_encryption_is_recognised_in_other_words_too(
    desk: Open, param: str | None, said: str
) -> None:
    error = {"message": said, "type": "invalid_request_error", "param": param, "code": None}
    at = await desk(Reply(status=400, error=error), Reply("one"))
    await at.ask(WITH_TOOLS)
    assert ["include" in request for request in at.service.requests] == [True, False]


async def test_reasoning_that_is_not_encrypted_does_not_go_back(desk: Open) -> None:
    at = await desk(ASKS, Reply("150 feet."), refuses=("include",))
    _, asked = await at.ask(WITH_TOOLS)
    await at.ask(after(asked), step="second")
    assert "reasoning" not in {item.get("type") for item in at.service.requests[-1]["input"]}


@both
async def test_an_answer_that_is_cut_off_calls_no_tool(desk: Open, whole: bool) -> None:
    at = await desk(Reply(calls=[("search", "{}"), ("search", '{"query": "fi')], finish="length"))
    _, completion = await at.ask(WITH_TOOLS, whole=whole)
    assert (completion.finish, completion.calls, completion.raw) == ("length", (), "")
    at = await desk(Reply(calls=[("search", '{"query": "fi')], finish="length"))
    assert (await at.fail(WITH_TOOLS, whole=whole)).fault == "empty"


@pytest.mark.parametrize("id", ["x" * 65, "call|fc_1", ""])
async def test_a_tool_call_id_of_another_service_is_adapted(desk: Open, id: str) -> None:
    at = await desk(Reply("150 feet."))
    await at.ask(after(Completion("", "tool", "m", calls=(ToolCall(id, "search", "{}"),))))
    (call, result) = at.service.requests[0]["input"][1:]
    assert call["call_id"] == result["call_id"] != id


async def test_an_overlong_id_of_the_service_itself_is_shortened(desk: Open) -> None:
    long = "call_" + "x" * 100
    item = {"type": "function_call", "call_id": long, "name": "search", "arguments": "{}", "id": "fc_1"}
    asked = Completion("", "tool", "m", calls=(ToolCall(long, "search", "{}"),), raw=json.dumps([item]))
    at = await desk(Reply("150 feet."))
    await at.ask(after(asked))
    assert len(at.service.requests[0]["input"][1]["call_id"]) <= 64


OPEN = {"type": "object", "properties": {"query": {"type": "string"}, "page": {"type": "integer"}}}
LISTED = {
    "type": "object",
    "properties": {"terms": {"type": "array", "items": {"type": "string"}}},
    "required": ["terms"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("parameters", "strict"),
    [
        (SEARCH.parameters, True),
        (LISTED, True),
        (OPEN, False),
        (OPEN | {"required": ["query"], "additionalProperties": False}, False),
        (OPEN | {"required": ["query", "page"]}, False),
        (LISTED | {"properties": {"terms": {"type": "array", "uniqueItems": True, "items": OPEN}}}, False),
        (LISTED | {"properties": {"terms": {"type": "array", "items": OPEN}}}, False),
        (LISTED | {"properties": {"terms": {"anyOf": [OPEN, {"type": "null"}]}}}, False),
        ({"type": "object", "properties": {}}, False),
    ],
)
async def test_strict_arguments_are_requested_if_the_schema_allows_it(
    desk: Open, parameters: dict[str, Any], strict: bool
) -> None:
    at = await desk(Reply("one"))
    await at.ask(replace(PROMPT, tools=(Tool("search", "Finds.", parameters),)))
    (tool,) = at.service.requests[0]["tools"]
    assert tool["strict"] is strict


async def test_a_token_limit_below_the_services_minimum_is_raised(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask(replace(PROMPT, max_tokens=5))
    assert at.service.requests[0]["max_output_tokens"] == 16


@pytest.mark.parametrize(
    ("service", "parameter", "prompt"),
    [
        ({}, "temperature", replace(PROMPT, temperature=0.3)),
        ({"reasons": False}, "reasoning", replace(PROMPT, effort="low")),
        ({"refuses": ("prompt_cache_key",)}, "prompt_cache_key", replace(PROMPT, cache=True)),
        ({"refuses": ("store",)}, "store", PROMPT),
        ({"refuses": ("text",)}, "text", replace(PROMPT, schema=SCHEMA)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_refused_parameter_is_left_out(
    desk: Open, service: dict[str, Any], parameter: str, prompt: Prompt
) -> None:
    at = await desk(Reply("one", times=2), **service)
    await at.ask(prompt)
    await at.ask(prompt, step="again")
    assert [parameter in request for request in at.service.requests] == [True, False, False]


@pytest.mark.parametrize("step", ["temperature", "reasoning"])
async def test_parameters_that_a_model_accepts_are_sent(desk: Open, step: str) -> None:
    at = await desk(Reply("one"), reasons=step == "reasoning")
    more: dict[str, Any] = {"temperature": 0.3} if step == "temperature" else {"effort": "high"}
    await at.ask(replace(PROMPT, **more))
    assert at.service.calls == 1
    assert at.service.requests[0][step] == (0.3 if step == "temperature" else {"effort": "high"})


async def test_a_schema_that_may_not_be_sent_is_described_in_words(desk: Open) -> None:
    at = await desk(Reply("{}"), refuses=("text",))
    await at.ask(replace(PROMPT, schema=SCHEMA))
    prompt = at.service.requests[-1]["instructions"]
    assert prompt.startswith(PROMPT.system)
    assert json.dumps(SCHEMA) in prompt


async def test_a_wrong_schema_is_an_error(desk: Open) -> None:
    at = await desk()
    failed = await at.fail(replace(PROMPT, schema=SCHEMA | {"required": []}))
    assert (failed.fault, at.service.calls) == ("bad_request", 1)


async def test_refused_tools_are_an_error(desk: Open) -> None:
    at = await desk(refuses=("tools",))
    assert (await at.fail(WITH_TOOLS)).fault == "bad_request"
    assert at.service.calls == 1


BOOK = "The fireball burns. " * 500
"""1,500 words: more than the least that is cached."""


async def talk(at: Desk, *turns: Message, system: str = "", cache: bool = False, step: str) -> Usage:
    prompt = Prompt(system, turns, cache=cache)
    return (await at.ask(prompt, step=step))[1].usage


async def test_a_marked_beginning_is_read_from_the_cache(desk: Open) -> None:
    at = await desk(Reply("one", times=3))
    ask, again = Message("user", "How far?"), Message("user", "How hot?")
    first = await talk(at, ask, system=BOOK, cache=True, step="1")
    assert (first.input_tokens, first.cache_read_tokens, first.cache_write_tokens) == (2, 0, 1500)
    second = await talk(at, again, system=BOOK, cache=True, step="2")
    assert (second.input_tokens, second.cache_read_tokens, second.cache_write_tokens) == (2, 1500, 0)
    (one, two) = (request["prompt_cache_key"] for request in at.service.requests)
    assert one == two
    assert len(one) <= 64
    other = await talk(at, ask, system=BOOK + "Or not.", cache=True, step="3")
    assert other.cache_read_tokens == 0


async def test_a_growing_conversation_keeps_its_key(desk: Open) -> None:
    at = await desk(Reply("one", times=3))
    book = Message("user", BOOK, cache=True)
    more = (Message("assistant", "So?"), Message("user", "How far?", cache=True))
    await talk(at, book, step="1")
    usage = await talk(at, book, *more, step="2")
    assert usage.cache_read_tokens == 1500
    await talk(at, Message("user", "Another book.", cache=True), step="3")
    keys = [request["prompt_cache_key"] for request in at.service.requests]
    assert keys[0] == keys[1] != keys[2]


async def test_without_a_mark_no_cache_key_is_sent(desk: Open) -> None:
    at = await desk(Reply("one"))
    usage = await talk(at, Message("user", BOOK), step="1")
    assert "prompt_cache_key" not in at.service.requests[0]
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (0, 0)


async def test_a_model_without_explicit_marks_gets_the_same_request_as_before(desk: Open) -> None:
    at = await desk(Reply("one", times=2), refuses=("prompt_cache_options",))
    for step in ("1", "2"):
        await talk(at, Message("user", BOOK, cache=True), system="Answer.", cache=True, step=step)
    first, *others = at.service.requests
    assert "prompt_cache_options" in first
    for sent in others:
        assert "prompt_cache_options" not in sent
        assert (sent["instructions"], sent["input"]) == ("Answer.", [{"role": "user", "content": BOOK}])


async def test_the_token_count_includes_everything_in_the_prompt(desk: Open) -> None:
    at = await desk(ASKS, Reply("one"))
    _, asked = await at.ask(WITH_TOOLS)
    before = at.service.input_tokens
    prompt = replace(after(asked), effort="low", temperature=0.1, cache=True)
    counted = await at.provider.count("small", prompt)
    await at.ask(prompt, step="second")
    assert counted == at.service.input_tokens - before > 0


async def test_a_service_without_a_token_count_is_supported(desk: Open) -> None:
    assert await (await desk(counting=False)).provider.count("small", PROMPT) is None
    at = await desk(key=KEY)
    assert await at.provider.count("small", PROMPT) == 10
    assert await at.provider.count("gone", PROMPT) is None


async def test_no_key_is_sent_if_none_is_set(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask()
    assert "Authorization" not in at.service.headers[0]


async def test_the_environment_is_not_read(desk: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "somebody-elses")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/somebody-elses")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Other: somebody-elses")
    at = await desk(Reply("one"))
    await at.ask()
    (headers,) = at.service.headers
    assert "somebody" not in str(list(headers.items()))
    assert "OpenAI-Organization" not in headers
    assert "OpenAI-Project" not in headers


async def test_without_an_address_the_services_own_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/somebody-elses")
    provider = Responses(api_key=KEY)
    client = await provider._open()
    assert str(client.base_url).rstrip("/") == ADDRESS
    await provider.close()


async def test_the_sdk_does_not_retry(desk: Open) -> None:
    at = await desk(Reply(status=500, times=9))
    await at.fail()
    assert at.service.calls == len(at.waits) + 1 == 3
