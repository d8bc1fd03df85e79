"""The fake of the Responses API refuses what the API refuses, and streams and caches the same way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.openai_responses import ResponsesService
from tests.fakes.reply import Reply
from tests.fakes.responses_items import seal

Body = dict[str, Any]

HI: Body = {"role": "user", "content": "hi"}
GOOD: Body = {"model": "small", "input": [HI], "stream": True, "store": False}
STRICT: Body = {
    "type": "object",
    "properties": {"page": {"type": "integer"}},
    "required": ["page"],
    "additionalProperties": False,
}
TOOL: Body = {"type": "function", "name": "search", "parameters": STRICT, "strict": True}
CALL: Body = {"type": "function_call", "call_id": "call_1", "name": "search", "arguments": "{}"}
OUTPUT: Body = {"type": "function_call_output", "call_id": "call_1", "output": "nothing"}
THOUGHT: Body = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": seal("rs_1", "small"),
}
SAID: Body = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "So.", "annotations": [], "logprobs": []}],
}


def by(schema: Body, **more: Any) -> Body:
    form = {"type": "json_schema", "name": "answer", "schema": schema, "strict": True, **more}
    return {"text": {"format": form}}


def items(*given: object) -> Body:
    return {"input": list(given)}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"stream": False},
        {"input": "hi"},
        {"instructions": "Be brief.", "max_output_tokens": 16, "prompt_cache_key": "x" * 64},
        {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False},
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "search"}},
        {"tools": [TOOL | {"parameters": {"type": "object"}, "strict": False}]},
        {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"}},
        by(STRICT),
        by({"type": "object"}, strict=False),
        items(HI, CALL, OUTPUT),
        items(HI, CALL, CALL | {"call_id": "call_2"}, OUTPUT | {"call_id": "call_2"}, OUTPUT, HI),
        items(HI, THOUGHT, SAID, CALL | {"id": "fc_1", "status": "completed"}, OUTPUT),
        items(HI, THOUGHT, CALL | {"id": "fc_1"}, OUTPUT),
        items(HI, {"role": "assistant", "content": "So."}, {"role": "developer", "content": "Go."}),
        items({"role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
    ],
)
def test_a_request_that_the_service_allows_is_accepted(change: Body) -> None:
    assert ResponsesService().refusal(GOOD | change, {}) is None


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"max_tokens": 50}, "max_tokens"),
        ({"messages": [HI]}, "messages"),
        ({"response_format": {}}, "response_format"),
        ({"cache_control": {}}, "cache_control"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"model": 3}, "model"),
        ({"model": "gone"}, "model"),
        ({"input": []}, "input"),
        ({"input": ""}, "input"),
        ({"input": {"role": "user"}}, "input"),
        ({"store": "no"}, "store"),
        ({"max_output_tokens": True}, "max_output_tokens"),
        ({"max_output_tokens": 15}, "max_output_tokens"),
        ({"max_output_tokens": 64_001}, "max_output_tokens"),
        ({"temperature": 0.2}, "temperature"),
        ({"top_p": 0.2}, "top_p"),
        ({"truncation": "on"}, "truncation"),
        ({"prompt_cache_key": "x" * 65}, "prompt_cache_key"),
        ({"include": ["reasoning.content"]}, "include[0]"),
        ({"reasoning": {"effort": "utmost"}}, "reasoning.effort"),
        ({"reasoning": {"summary": "long"}}, "reasoning.summary"),
        ({"reasoning": {"budget": 3}}, "reasoning.budget"),
    ],
)
def test_unsupported_parameters_are_refused(change: Body, param: str) -> None:
    refused = ResponsesService().refusal(GOOD | change, {})
    assert refused is not None
    assert (refused.status, refused.param) == (400, param)


@pytest.mark.parametrize("name", ["model", "input"])
def test_a_missing_parameter_is_named(name: str) -> None:
    refused = ResponsesService().refusal({k: v for k, v in GOOD.items() if k != name}, {})
    assert refused is not None
    assert (refused.param, refused.code) == (name, "missing_required_parameter")


@pytest.mark.parametrize(
    "change",
    [
        {"reasoning": {"effort": "low"}},
        {"include": ["reasoning.encrypted_content"]},
        {"temperature": 2.5},
        {"top_p": 1.5},
        {"temperature": -1},
    ],
)
def test_reasoning_is_refused_for_a_model_without_it(change: Body) -> None:
    assert ResponsesService(reasons=False).refusal(GOOD | change, {}) is not None
    assert ResponsesService(reasons=False).refusal(GOOD | {"temperature": 0.5}, {}) is None


@pytest.mark.parametrize("sent", [{}, {"Authorization": "Bearer wrong"}, {"x-api-key": "right"}])
def test_a_request_without_a_key_is_refused(sent: dict[str, str]) -> None:
    refused = ResponsesService(key="right").refusal(GOOD, sent)
    assert refused is not None
    assert (refused.status, refused.code) == (401, "invalid_api_key")
    assert ResponsesService(key="right").refusal(GOOD, {"Authorization": "Bearer right"}) is None


def test_a_body_that_is_no_object_is_refused() -> None:
    assert ResponsesService().refusal([GOOD], {}) is not None


def test_requests_that_are_too_long_are_refused() -> None:
    refused = ResponsesService(context=2).refusal(GOOD | {"input": "one two three"}, {})
    assert refused is not None
    assert refused.code == "context_length_exceeded"


def test_malformed_requests_are_refused() -> None:
    service = ResponsesService(forbidden="blood")
    refused = service.refusal(GOOD | {"input": "much blood"}, {})
    assert refused is not None
    assert (refused.status, refused.code) == (400, "invalid_prompt")
    assert service.refusal(GOOD, {}) is None


@pytest.mark.parametrize(
    ("given", "param", "words"),
    [
        (["hi"], "input[0]", "expected an object"),
        ([{"type": "tool_result"}], "input[0].type", "tool_result"),
        ([{"content": "hi"}], "input[0].role", "role"),
        ([HI | {"role": "tool"}], "input[0].role", "tool"),
        ([HI | {"role": "wizard"}], "input[0].role", "wizard"),
        ([HI | {"cache": True}], "input[0].cache", "Unknown"),
        ([HI | {"content": None}], "input[0].content", "type"),
        ([HI | {"content": [{"type": "text", "text": "hi"}]}], "input[0].content[0]", "input_text"),
        ([HI | {"content": [{"type": "input_text"}]}], "input[0].content[0]", "text"),
        ([SAID | {"content": [{"type": "input_text", "text": "So."}]}], "input[0].content[0]", "output_text"),
        ([HI | {"content": [{"type": "input_text", "text": "", "a": 1}]}], "input[0].content[0]", "Unknown"),
        ([SAID | {"id": "rs_1"}], "input[0].id", "msg"),
        ([SAID | {"status": "done"}], "input[0].status", "done"),
        ([HI, OUTPUT], "input", "No tool call found"),
        ([HI, OUTPUT, CALL], "input", "No tool call found"),
        ([HI, CALL, OUTPUT, OUTPUT], "input", "No tool call found"),
        ([HI, CALL, OUTPUT | {"call_id": "call_2"}], "input", "No tool call found"),
        ([HI, CALL], "input", "No tool output found"),
        ([HI, CALL, HI], "input", "No tool output found"),
        ([HI, CALL, CALL, OUTPUT], "input[2].call_id", "Duplicate"),
        ([HI, CALL | {"call_id": "x" * 65}, OUTPUT], "input[1].call_id", "64"),
        ([HI, CALL | {"call_id": ""}, OUTPUT], "input[1].call_id", "64"),
        ([HI, CALL | {"call_id": 1}, OUTPUT], "input[1].call_id", "type"),
        ([HI, CALL | {"arguments": {}}, OUTPUT], "input[1].arguments", "type"),
        ([HI, CALL | {"name": "look it up"}, OUTPUT], "input[1].name", "pattern"),
        ([HI, CALL | {"id": "call_1"}, OUTPUT], "input[1].id", "fc"),
        ([HI, {"type": "function_call", "name": "search"}, OUTPUT], "input[1].arguments", "Missing"),
        ([HI, CALL, OUTPUT | {"output": None}], "input[2].output", "type"),
        ([HI, CALL, OUTPUT | {"is_error": True}], "input[2].is_error", "Unknown"),
        ([HI, SAID, SAID], "input", "Duplicate item"),
        ([HI, THOUGHT], "input", "required following item"),
        ([HI, THOUGHT, HI], "input", "required following item"),
        ([HI, THOUGHT, CALL, OUTPUT], "input", "required following item"),
        ([HI, {"type": "reasoning", "id": "rs_1"}, SAID], "input[1].summary", "Missing"),
        ([HI, THOUGHT | {"id": "1"}, SAID], "input[1].id", "rs"),
    ],
)
def test_wrong_inputs_are_refused(given: list[Any], param: str, words: str) -> None:
    refused = ResponsesService().refusal(GOOD | items(*given), {})
    assert refused is not None
    assert (refused.status, refused.param) == (400, param)
    assert words in refused.message


@pytest.mark.parametrize("sealed", ["gAAAAAforged", seal("rs_2", "small"), seal("rs_1", "other")])
def test_tampered_reasoning_is_refused(sealed: str) -> None:
    refused = ResponsesService().refusal(GOOD | items(HI, THOUGHT | {"encrypted_content": sealed}, SAID), {})
    assert refused is not None
    assert (refused.status, refused.code) == (400, "invalid_encrypted_content")


def test_reasoning_that_is_neither_stored_nor_encrypted_is_refused() -> None:
    bare = {name: value for name, value in THOUGHT.items() if name != "encrypted_content"}
    refused = ResponsesService().refusal(GOOD | items(HI, bare, SAID), {})
    assert refused is not None
    assert (refused.status, refused.param) == (404, "input")


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"type": "web_search"}, "tools[0].type"),
        ({"name": "look it up"}, "tools[0].name"),
        ({"name": "x" * 65}, "tools[0].name"),
        ({"name": ""}, "tools[0].name"),
        ({"parameters": None}, "tools[0].parameters"),
        ({"parameters": {"type": "string"}}, "tools[0].parameters"),
        ({"parameters": {**STRICT, "additionalProperties": True}}, "tools[0].parameters"),
        ({"parameters": {**STRICT, "required": []}}, "tools[0].parameters"),
        ({"function": {}}, "tools[0].function"),
    ],
)
def test_unsupported_tools_are_refused(change: Body, param: str) -> None:
    refused = ResponsesService().refusal(GOOD | {"tools": [TOOL | change]}, {})
    assert refused is not None
    assert (refused.status, refused.param) == (400, param)


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [{"type": "function", "function": {"name": "search"}}]},
        {"tools": [{"type": "function", "name": "search", "parameters": {"type": "object"}}]},
        {"tools": [TOOL, TOOL]},
        {"tools": [TOOL], "tool_choice": "any"},
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "other"}},
        {"tool_choice": "required"},
    ],
)
def test_tools_in_a_wrong_form_are_refused(change: Body) -> None:
    assert ResponsesService().refusal(GOOD | change, {}) is not None


@pytest.mark.parametrize(
    ("change", "param"),
    [
        (by({k: v for k, v in STRICT.items() if k != "additionalProperties"}), "text.format.schema"),
        (by(STRICT | {"required": []}), "text.format.schema"),
        (by({"type": "array", "items": STRICT}), "text.format.schema"),
        (by(STRICT, name="my answer"), "text.format.name"),
        (by(STRICT, json_schema={}), "text.format.json_schema"),
        ({"text": {"format": {"type": "json_schema", "schema": STRICT}}}, "text.format.name"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.type"),
        ({"text": {"shape": {}}}, "text"),
    ],
)
def test_unsupported_output_formats_are_refused(change: Body, param: str) -> None:
    refused = ResponsesService().refusal(GOOD | change, {})
    assert refused is not None
    assert refused.param == param


async def raw(service: ResponsesService, body: Body, path: str = "") -> tuple[int, Any]:
    """Call the service without an SDK: the events of a stream, or the JSON of an answer."""
    import json

    from aiohttp import ClientSession

    async with (
        ClientSession() as session,
        session.post(f"{service.base_url}/responses{path}", json=body) as got,
    ):
        text = await got.text()
        if got.content_type != "text/event-stream":
            return got.status, json.loads(text)
        frames = [frame.split("\n") for frame in text.strip().split("\n\n")]
        assert all(len(frame) == 2 for frame in frames)
        names = [name.removeprefix("event: ") for name, _ in frames]
        events = [json.loads(data.removeprefix("data: ")) for _, data in frames]
        assert [event["type"] for event in events] == names
        return got.status, events


async def test_the_events_of_an_answer_come_in_their_order() -> None:
    reply = Reply("one two", reasoning=["hm"], calls=[("search", ['{"page": ', "3}"])])
    more = {"include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}, "tools": [TOOL]}
    async with ResponsesService([reply]) as service:
        _, events = await raw(service, GOOD | more)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    last = events[-1]["response"]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert last["output"] == done
    assert last["usage"]["output_tokens"] == 5
    assert last["usage"]["output_tokens_details"] == {"reasoning_tokens": 1}


@pytest.mark.parametrize(
    "reply",
    [
        Reply("one two", reasoning=["hm"], calls=[("search", '{"page": 3}')]),
        Reply(refusal="I will not."),
        Reply("one", finish="length"),
        Reply("one", finish="failed", error={"code": "server_error", "message": "boom"}),
        Reply("one", fault="error", error={"code": "server_error", "message": "boom"}),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_every_event_has_a_type_of_the_sdk(reply: Reply, stream: bool) -> None:
    from openai.types.responses import Response, ResponseStreamEvent
    from pydantic import TypeAdapter

    of: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent if stream else Response)
    more = {"include": ["reasoning.encrypted_content"], "tools": [TOOL], "stream": stream}
    async with ResponsesService([reply], aloud=True) as service:
        status, events = await raw(service, GOOD | more)
    if status != 500:
        assert [of.validate_python(event) for event in (events if stream else [events])]


async def test_the_reasoning_behind_an_item_must_come_back_with_it() -> None:
    reply = Reply(reasoning=["hm"], calls=[("search", "{}")])
    more = {"include": ["reasoning.encrypted_content"], "tools": [TOOL], "stream": False}
    async with ResponsesService([reply]) as service:
        _, first = await raw(service, GOOD | more)
        thought, call = first["output"]
        output = OUTPUT | {"call_id": call["call_id"]}
        assert service.refusal(GOOD | items(HI, thought, call, output), {}) is None
        refused = service.refusal(GOOD | items(HI, call, output), {})
    assert refused is not None
    assert "without its required 'reasoning' item" in refused.message


LONG = "The fireball burns. " * 500
"""1,500 words."""


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        ({"input": LONG}, {"input": LONG}, 1408),
        ({"input": LONG}, {"input": LONG + "How far?"}, 1408),
        ({"input": LONG + "How hot?"}, {"input": LONG + "How far?"}, 1408),
        ({"input": LONG}, {"input": "Well. " + LONG}, 0),
        ({"input": LONG}, {"input": LONG, "prompt_cache_key": "b"}, 0),
        ({"input": "hi " * 1023}, {"input": "hi " * 1023}, 0),
        ({"input": "hi " * 1024}, {"input": "hi " * 1025}, 1024),
        ({"input": "hi " * 1151}, {"input": "hi " * 1152}, 1024),
        ({"input": "hi " * 1152}, {"input": "hi " * 1152}, 1152),
    ],
)
def test_the_cache_covers_the_common_beginning_of_two_requests(first: Body, second: Body, read: int) -> None:
    service = ResponsesService(models=("small",))
    assert service.cache(GOOD | first, Reply())[0] == 0
    assert service.cache(GOOD | second, Reply())[0] == read
    assert service.cache(GOOD | second | {"model": "other"}, Reply())[0] == 0


async def test_the_tokens_of_a_request_are_counted() -> None:
    asked = {"model": "small", "input": "one two", "instructions": "Be brief."}
    async with ResponsesService() as service:
        assert await raw(service, asked, "/input_tokens") == (
            200,
            {"object": "response.input_tokens", "input_tokens": 4},
        )
        wrongs: list[Body] = [{"max_output_tokens": 50}, {"store": False}, {"model": "gone"}, {"input": []}]
        for wrong in wrongs:
            assert (await raw(service, asked | wrong, "/input_tokens"))[0] == 400
        assert service.calls == service.input_tokens == 0
