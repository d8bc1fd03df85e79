"""The fake refuses what a chat completions service refuses."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.fakes.chat_completions import ChatService
from tests.fakes.reply import Reply

Body = dict[str, Any]

HI: Body = {"role": "user", "content": "hi"}
GOOD: Body = {"model": "small", "messages": [HI], "stream": True}
SEARCH: Body = {"name": "search", "parameters": {"type": "object", "properties": {}}}
TOOL: Body = {"type": "function", "function": SEARCH}
STRICT: Body = {
    "type": "object",
    "properties": {"page": {"type": "integer"}},
    "required": ["page"],
    "additionalProperties": False,
}


def called(*ids: str, arguments: str = "{}") -> Body:
    function = {"name": "search", "arguments": arguments}
    calls = [{"id": id, "type": "function", "function": function} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(id: str) -> Body:
    return {"role": "tool", "tool_call_id": id, "content": "nothing"}


def by(schema: Body, **more: Any) -> Body:
    inner = {"name": "answer", "schema": schema, "strict": True, **more}
    return {"response_format": {"type": "json_schema", "json_schema": inner}}


def status(service: ChatService, change: Body, headers: Body | None = None) -> int | None:
    refused = service.refusal(GOOD | change, headers or {})
    return refused.status if refused else None


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"stream": False},
        {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False},
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "search"}}},
        {"messages": [HI, called("a", "b"), told("b"), told("a"), HI]},
        by(STRICT),
        {"response_format": {"type": "json_object"}, "messages": [HI | {"content": "in JSON"}]},
        {"reasoning_effort": "low"},
    ],
)
def test_a_request_that_the_service_allows_is_accepted(change: Body) -> None:
    assert ChatService().refusal(GOOD | change, {}) is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"top_secret": 1}, 400),
        ({"store": False}, 400),
        ({"prompt_cache_key": "k"}, 400),
        ({"model": 3}, 400),
        ({"model": "other"}, 404),
        ({"messages": []}, 400),
        ({"messages": [{"role": "wizard", "content": "hi"}]}, 400),
        ({"messages": [{"role": "user", "content": None}]}, 400),
        ({"messages": [{"role": "user"}]}, 400),
        ({"messages": [HI | {"cache_control": {"type": "ephemeral"}}]}, 400),
        ({"max_tokens": 5, "max_completion_tokens": 5}, 400),
        ({"max_tokens": True}, 400),
        ({"max_tokens": 0}, 400),
        ({"max_tokens": 64_001}, 400),
        ({"temperature": 2.5}, 400),
        ({"reasoning_effort": "heroic"}, 400),
        ({"stream": False, "stream_options": {"include_usage": True}}, 400),
        ({"stream_options": {"usage": True}}, 400),
    ],
)
def test_a_request_that_the_service_forbids_is_refused(change: Body, code: int) -> None:
    assert status(ChatService(), change) == code


@pytest.mark.parametrize(
    "messages",
    [
        [HI, told("a")],
        [HI, called("a")],
        [HI, called("a"), HI],
        [HI, called("a"), told("b")],
        [HI, called("a", "b"), told("a"), HI],
        [HI, called("a"), told("a"), told("a")],
        [HI, called("a", "a"), told("a"), told("a")],
        [HI, called()],
        [HI, called("a", arguments="{half"), told("a")],
        [HI, called("a", arguments="[]"), told("a")],
        [HI, {"role": "assistant", "content": None}],
        [HI, called("a"), {"role": "tool", "content": "nothing"}],
    ],
    ids=str,
)
def test_unpaired_tool_messages_are_refused(messages: list[Body]) -> None:
    assert status(ChatService(), {"messages": messages}) == 400


@pytest.mark.parametrize(
    "change",
    [
        {"tools": []},
        {"tools": [SEARCH]},
        {"tools": [TOOL, TOOL]},
        {"tools": [{"type": "function", "function": SEARCH | {"name": "search the book"}}]},
        {"tools": [{"type": "function", "function": SEARCH | {"input_schema": {}}}]},
        {"tools": [{"type": "function", "function": SEARCH | {"parameters": {"type": "string"}}}]},
        {"tools": [{"type": "function", "function": SEARCH | {"strict": True}}]},
        {"tools": [TOOL], "tool_choice": "search"},
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}},
        {"tool_choice": "auto"},
        {"parallel_tool_calls": True},
    ],
    ids=str,
)
def test_wrong_tools_are_refused(change: Body) -> None:
    assert status(ChatService(), change) == 400


@pytest.mark.parametrize(
    "change",
    [
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "yaml"}},
        {"response_format": {"type": "json_schema"}},
        by(STRICT, name="my answer"),
        by(STRICT, shape=1),
        by({"type": "string"}),
        by(STRICT | {"additionalProperties": True}),
        by(STRICT | {"required": []}),
        by(STRICT | {"properties": {"page": {"oneOf": []}}}),
        by(STRICT | {"properties": {"page": {"type": "array"}}}),
        by(STRICT | {"properties": {"page": {"$ref": "#/$defs/gone"}}}),
        by(STRICT | {"properties": {"page": {"type": "array", "items": {"type": "object"}}}}),
    ],
    ids=str,
)
def test_an_unsupported_response_format_is_refused(change: Body) -> None:
    assert status(ChatService(), change) == 400


@pytest.mark.parametrize("name", ["model", "messages"])
def test_a_missing_parameter_is_named(name: str) -> None:
    refused = ChatService().refusal({k: v for k, v in GOOD.items() if k != name}, {})
    assert refused is not None
    assert refused.param == name


@pytest.mark.parametrize("sent", [{}, {"Authorization": "Bearer wrong"}])
def test_a_request_without_a_key_is_refused(sent: Body) -> None:
    service = ChatService(key="right")
    assert status(service, {}, sent) == 401
    assert status(service, {}, {"Authorization": "Bearer right"}) is None


@pytest.mark.parametrize(
    ("service", "change"),
    [
        (ChatService(limit=("max_tokens",)), {"max_completion_tokens": 5}),
        (ChatService(temperature=False), {"temperature": 1}),
        (ChatService(stream_options="refused"), {"stream_options": {"include_usage": True}}),
        (ChatService(refuses=("response_format",)), by(STRICT)),
        (ChatService(refuses=("tools",)), {"tools": [TOOL]}),
    ],
)
def test_each_model_refuses_what_it_does_not_support(service: ChatService, change: Body) -> None:
    assert status(service, change) == 400


@pytest.mark.parametrize(
    ("service", "refused", "words"),
    [
        (ChatService(forbidden="blood"), 400, "flagged as potentially violating"),
        (ChatService(forbidden="blood", dialect="azure"), 400, "content management policy"),
        (ChatService(forbidden="blood", dialect="openrouter"), 403, "requires moderation"),
        (ChatService(forbidden="blood", dialect="deepseek"), 400, "Content Exists Risk"),
        (ChatService(minute=50), 413, "(TPM): Limit 50, Requested 52, "),
        (ChatService(window=51), 400, "You passed 2 input tokens and requested 50 output tokens."),
    ],
)
def test_requests_that_are_too_large_or_malformed_are_refused(
    service: ChatService, refused: int, words: str
) -> None:
    asked = {"messages": [{"role": "user", "content": "much blood"}], "max_tokens": 50}
    answer = service.refusal(GOOD | asked, {})
    assert answer is not None
    assert (answer.status, words in answer.message) == (refused, True)
    assert status(service, {"messages": [HI], "max_tokens": 10}) is None


async def test_errors_look_like_those_of_each_service() -> None:
    bodies: dict[str, Body] = {}
    for dialect in ("azure", "openrouter", "lmstudio"):
        async with (
            ChatService(forbidden="blood", dialect=dialect) as service,
            aiohttp.ClientSession() as client,
        ):
            bad = GOOD | {"messages": [{"role": "user", "content": "blood"}]}
            path = "/chat/completions" if dialect == "lmstudio" else "/v1/chat/completions"
            answer = await client.post(f"http://127.0.0.1:{service.port}{path}", json=bad)
            bodies[dialect] = {"status": answer.status, **await answer.json()}
    assert bodies["azure"]["error"]["innererror"] == {"code": "ResponsibleAIPolicyViolation"}
    assert bodies["openrouter"]["error"]["metadata"]["reasons"] == ["violence"]
    assert bodies["openrouter"]["error"]["code"] == bodies["openrouter"]["status"] == 403
    path_error = "Unexpected endpoint or method. (POST /chat/completions)"
    assert bodies["lmstudio"] == {"status": 200, "error": path_error}


async def test_mistral_gives_text_and_thoughts_as_parts() -> None:
    reply = Reply("Hel lo.", reasoning=["hm"])
    async with (
        ChatService([reply, reply], dialect="mistral") as service,
        aiohttp.ClientSession() as client,
    ):
        url = f"{service.base_url}/chat/completions"
        whole = await (await client.post(url, json=GOOD | {"stream": False})).json()
        stream = await (await client.post(url, json=GOOD)).text()
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert whole["choices"][0]["message"]["content"] == [thought, {"type": "text", "text": "Hel lo. "}]
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in stream.splitlines() if line[6:7] == "{"]
    first, second = ([{"type": "text", "text": "Hel "}], "lo. ")
    assert [delta.get("content") for delta in deltas] == ["", [thought], first, second, None]


async def test_a_script_that_has_ended_gives_an_error_that_is_not_retried() -> None:
    import aiohttp

    async with ChatService([Reply("one")]) as service, aiohttp.ClientSession() as client:
        got = [
            (await client.post(f"{service.base_url}/chat/completions", json=GOOD)).status for _ in range(2)
        ]
    assert got == [200, 400]


OWN = {
    "deepseek": "Missing `reasoning_content` field in the assistant message at message index 1.",
    "gemini": "Function call is missing a thought_signature in functionCall parts.",
    "openrouter": "Provider returned error: the thinking blocks cannot be modified.",
}


@pytest.mark.parametrize("dialect", OWN)
async def test_a_turn_with_tool_calls_must_come_back_complete(dialect: str) -> None:
    reply = Reply(calls=[("search", "{}"), ("search", "{}")], reasoning=["h", "m"])
    asked = GOOD | {"stream": False, "tools": [TOOL]}
    async with (
        ChatService([reply, Reply("yes")], dialect=dialect) as service,
        aiohttp.ClientSession() as client,
    ):

        async def said(messages: list[Body]) -> Any:
            async with client.post(
                f"{service.base_url}/chat/completions", json=asked | {"messages": messages}
            ) as response:
                return await response.json()

        message = (await said([HI]))["choices"][0]["message"]
        turn = {name: value for name, value in message.items() if name != "refusal"}
        told_both = [told(call["id"]) for call in turn["tool_calls"]]
        calls: list[Body] = [
            {name: value for name, value in call.items() if name != "extra_content"}
            for call in turn["tool_calls"]
        ]
        plain = {"role": "assistant", "content": None, "tool_calls": calls}
        refused = await said([HI, plain, *told_both])
        error = refused[0] if dialect == "gemini" else refused
        assert error["error"]["message"] == OWN[dialect]
        assert (await said([HI, turn, *told_both]))["choices"][0]["message"]["content"] == "yes "


@pytest.mark.parametrize("own", ["reasoning_content", "reasoning", "reasoning_details", "extra_content"])
def test_services_refuse_unknown_fields_of_a_turn(own: str) -> None:
    turn = called("a") | {own: "hm"}
    assert status(ChatService(), {"messages": [HI, turn, told("a")]}) == 400
