"""The fake of the Messages API refuses what the API refuses, caches prefixes the same way, and streams the
same events.
"""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.fakes.anthropic_blocks import signature
from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.reply import Reply

Body = dict[str, Any]

HI: Body = {"role": "user", "content": "hi"}
YES: Body = {"role": "assistant", "content": "yes?"}
GOOD: Body = {"model": "small", "max_tokens": 50, "messages": [HI], "stream": True}
TOOL: Body = {"name": "search", "description": "", "input_schema": {"type": "object", "properties": {}}}
MARK: Body = {"type": "ephemeral"}
STRICT: Body = {
    "type": "object",
    "properties": {"page": {"type": "integer"}},
    "required": ["page"],
    "additionalProperties": False,
}
HEAD = {"anthropic-version": "2026-10-21"}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def user(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def use(id: str, **more: Any) -> Body:
    return {"type": "tool_use", "id": id, "name": "search", "input": {}, **more}


def result(id: str, **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": id, "content": "nothing", **more}


def thought(words: str, **more: Any) -> Body:
    return {"type": "thinking", "thinking": words, "signature": signature(words), **more}


def by(schema: Body, **more: Any) -> Body:
    return {"output_config": {"format": {"type": "json_schema", "schema": schema, **more}}}


def status(service: MessagesService, change: Body, headers: Body = HEAD) -> int | None:
    refused = service.refusal(GOOD | change, headers)
    return refused.status if refused else None


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"stream": False},
        {"system": "Be brief."},
        {"system": [text("Be brief.", cache_control=MARK | {"ttl": "1h"})]},
        {"messages": [HI, YES, HI, HI]},
        {
            "messages": [
                HI,
                assistant(text("Let me see."), use("a"), use("b")),
                user(result("b"), result("a")),
            ]
        },
        {"messages": [HI, assistant(use("a")), user(result("a", is_error=True), text("Well?"))]},
        {"messages": [HI, assistant(use("a")), user(result("a", content=""))]},
        {"messages": [HI, assistant(thought("hm"), use("a")), user(result("a"))]},
        {"messages": [HI, assistant(use("a")), user(result("a")), user(text("Well?"))]},
        {"tool_choice": {"type": "none"}},
        {"tool_choice": {"type": "tool", "name": "search"}},
        {"thinking": {"type": "adaptive"}},
        {"output_config": {"effort": "low"}},
        by(STRICT),
    ],
    ids=str,
)
def test_a_request_that_the_service_allows_is_accepted(change: Body) -> None:
    assert MessagesService().refusal(GOOD | {"tools": [TOOL]} | change, HEAD) is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"temperature": 0.3}, 400),
        ({"top_p": 0.9}, 400),
        ({"top_k": 5}, 400),
        ({"top_secret": 1}, 400),
        ({"response_format": {"type": "json_object"}}, 400),
        ({"max_completion_tokens": 5}, 400),
        ({"model": 3}, 400),
        ({"model": "other"}, 404),
        ({"max_tokens": True}, 400),
        ({"max_tokens": 0}, 400),
        ({"max_tokens": 64_001}, 400),
        ({"thinking": {"type": "hard"}}, 400),
        ({"thinking": {"type": "enabled", "budget_tokens": 10}}, 400),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, 400),
    ],
    ids=str,
)
def test_a_request_that_the_service_forbids_is_refused(change: Body, code: int) -> None:
    assert status(MessagesService(), change) == code


@pytest.mark.parametrize("name", ["model", "max_tokens", "messages"])
def test_a_missing_parameter_is_named(name: str) -> None:
    refused = MessagesService().refusal({k: v for k, v in GOOD.items() if k != name}, HEAD)
    assert refused is not None
    assert (refused.status, refused.message) == (400, f"{name}: Field required")


@pytest.mark.parametrize("head", [{}, {"anthropic-version": "2019-01-01"}])
def test_a_request_without_a_version_is_refused(head: Body) -> None:
    assert status(MessagesService(), {}, head) == 400


@pytest.mark.parametrize("sent", [{}, {"Authorization": "Bearer wrong"}, {"x-api-key": "wrong"}])
def test_a_request_without_a_key_is_refused(sent: Body) -> None:
    service = MessagesService(key="right")
    assert status(service, {}, HEAD | sent) == 401
    for right in ({"Authorization": "Bearer right"}, {"x-api-key": "right"}):
        assert status(service, {}, HEAD | right) is None


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "system", "content": "Be brief."}, HI],
        [HI, {"role": "system", "content": "Be brief."}, HI],
        [{"role": "tool", "content": "nothing"}],
        [YES, HI],
        [{"role": "user"}],
        [HI | {"name": "ana"}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": []}],
        [{"role": "user", "content": " \n"}],
        [user(text(""))],
        [user(text("hi"), text(" "))],
        [user({"type": "text"})],
        [user(text("hi", mood=3))],
        [user({"type": "input_text", "text": "hi"})],
        [user(thought("hm"))],
        [user(use("a"))],
        [HI, assistant(result("a")), HI],
        [HI, YES],
        [HI, {"role": "assistant", "content": "The answer is "}],
    ],
    ids=str,
)
def test_wrong_messages_are_refused(messages: list[Body]) -> None:
    assert status(MessagesService(), {"messages": messages, "tools": [TOOL]}) == 400


@pytest.mark.parametrize(
    "messages",
    [
        [HI, assistant(use("functions.search:0")), user(result("functions.search:0"))],
        [HI, assistant(use("")), user(result(""))],
        [HI, assistant(use("a"))],
        [HI, assistant(use("a")), HI],
        [HI, assistant(use("a"), use("b")), user(result("a"))],
        [HI, assistant(use("a")), HI, user(result("a"))],
        [HI, assistant(use("a")), user(text("Well?"), result("a"))],
        [HI, assistant(use("a")), user(result("a"), text("Well?"), result("a"))],
        [HI, assistant(use("a"), use("b")), user(result("a"), text("Well?"), result("b"))],
        [HI, assistant(use("a")), user(result("b"))],
        [HI, assistant(use("a")), user(result("a"), result("a"))],
        [HI, assistant(use("a"), use("a")), user(result("a"))],
        [HI, assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
        [user(result("a"))],
        [HI, assistant(use("a", input="{}")), user(result("a"))],
        [HI, assistant(use("a")), user(result("a", content="", is_error=True))],
        [HI, assistant(use("a")), user(result("a", content={"page": 1}))],
        [HI, assistant(use("a", arguments="{}")), user(result("a"))],
    ],
    ids=str,
)
def test_unpaired_tool_calls_and_results_are_refused(messages: list[Body]) -> None:
    assert status(MessagesService(), {"messages": messages, "tools": [TOOL]}) == 400


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [TOOL | {"parameters": {}}]},
        {"tools": [{"type": "function", "function": TOOL}]},
        {"tools": [TOOL | {"name": "search the book"}]},
        {"tools": [TOOL | {"input_schema": {"properties": {}}}]},
        {"tools": [TOOL, TOOL]},
        {"tools": [TOOL], "tool_choice": {"type": "required"}},
        {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "other"}},
        {"tool_choice": {"type": "auto"}},
        {"messages": [HI, assistant(use("a")), user(result("a"))]},
    ],
    ids=str,
)
def test_wrong_tools_are_refused(change: Body) -> None:
    assert status(MessagesService(), change) == 400


@pytest.mark.parametrize(
    "change",
    [
        {"output_config": {"format": {"type": "json_object"}}},
        {"output_config": {"effort": "heroic"}},
        {"output_config": {"verbosity": "low"}},
        by(STRICT, name="answer"),
        by({"type": "object", "properties": {}}),
        by(STRICT | {"additionalProperties": True}),
        by(STRICT | {"properties": {"page": {"type": "integer", "minimum": 1}}}),
        by(STRICT | {"properties": {"page": {"type": "array", "items": {"type": "object"}}}}),
        by(STRICT | {"properties": {"page": {"anyOf": [{"type": "object"}, {"type": "null"}]}}}),
    ],
    ids=str,
)
def test_an_unsupported_output_format_is_refused(change: Body) -> None:
    assert status(MessagesService(), change) == 400


@pytest.mark.parametrize(
    "change",
    [
        {"messages": [user(*(text("hi", cache_control=MARK) for _ in range(5)))]},
        {
            "tools": [TOOL | {"cache_control": MARK}],
            "system": [text("Be brief.", cache_control=MARK)],
            "messages": [user(*(text("hi", cache_control=MARK) for _ in range(3)))],
        },
        {"messages": [user(text("hi", cache_control={"type": "eternal"}))]},
        {"messages": [user(text("hi", cache_control=MARK | {"ttl": "1d"}))]},
        {"messages": [HI, assistant(thought("hm", cache_control=MARK), text("yes?")), HI]},
    ],
    ids=str,
)
def test_wrong_cache_marks_are_refused(change: Body) -> None:
    assert status(MessagesService(), change) == 400


@pytest.mark.parametrize("system", ["", " ", [text("")], [{"type": "image"}], ["Be brief."], 3])
def test_a_wrong_system_prompt_is_refused(system: object) -> None:
    assert status(MessagesService(), {"system": system}) == 400


def test_a_prompt_over_the_window_is_refused() -> None:
    refused = MessagesService(context=1).refusal(GOOD | {"system": "Be brief."}, HEAD)
    assert refused is not None
    assert refused.message == "prompt is too long: 3 tokens > 1 maximum"
    service = MessagesService(context=20)
    refused = service.refusal(GOOD | {"max_tokens": 20}, HEAD)
    assert refused is not None
    assert refused.message.startswith("input length and `max_tokens` exceed context limit: 1 + 20 > 20, ")
    assert service.refusal(GOOD | {"max_tokens": 19}, HEAD) is None


@pytest.mark.parametrize(
    ("lacks", "change"),
    [
        ("effort", {"output_config": {"effort": "low"}}),
        ("format", by(STRICT)),
        ("output_config", by(STRICT)),
        ("output_config", {"output_config": {"effort": "low"}}),
    ],
)
def test_each_model_refuses_what_it_does_not_support(lacks: str, change: Body) -> None:
    assert status(MessagesService(refuses=(lacks,)), change) == 400
    assert status(MessagesService(), change) is None


async def post(service: MessagesService, body: Body, path: str = "/v1/messages") -> Body:
    """Request an unstreamed answer."""
    async with aiohttp.ClientSession() as client:
        response = await client.post(
            f"{service.base_url}{path}", json=body, headers=HEAD, raise_for_status=False
        )
        answer: Body = await response.json()
        return answer


WHOLE: Body = {"model": "small", "max_tokens": 50, "messages": [HI], "tools": [TOOL]}


@pytest.mark.parametrize("manual", [False, True], ids=["adaptive", "manual"])
async def test_thoughts_must_come_back_unchanged(manual: bool) -> None:
    replies = [Reply(reasoning=["hm"], calls=[("search", "{}")]), Reply("one", times=9)]
    async with MessagesService(replies, manual_thinking=manual) as service:
        hm, call = (await post(service, WHOLE))["content"]

        async def after(*blocks: Body) -> bool:
            turn = [HI, assistant(*blocks), user(result(call["id"]))]
            return "content" in await post(service, WHOLE | {"messages": turn})

        assert await after(hm, call)
        assert await after(call) is not manual
        assert not await after(hm | {"thinking": "Hm"}, call)
        assert not await after(hm | {"signature": "sig_"}, call)
        assert not await after(thought("another"), call)
        assert not await after(hm, hm, call)
        assert not await after(text("Well"), hm, call)
        turn = [HI, assistant(hm, call), user(result(call["id"])), YES, HI]
        assert (await post(service, WHOLE | {"messages": turn}))["type"] == "message"


async def test_only_a_paused_turn_may_come_last() -> None:
    async with MessagesService([Reply("one", finish="pause"), Reply("two", times=9)]) as service:
        paused = await post(service, WHOLE)
        assert paused["stop_reason"] == "pause_turn"
        words, search = paused["content"]

        async def after(*blocks: Body) -> str:
            said = await post(service, WHOLE | {"messages": [HI, assistant(*blocks)]})
            return str(said["type"])

        assert await after(words, search) == "message"
        assert await after(words) == "error"
        assert await after(words, search | {"input": {}}) == "error"


async def test_only_prefixes_above_a_minimum_length_are_cached() -> None:
    async def counts(service: MessagesService, *blocks: Body) -> tuple[int, int, int]:
        said = (await post(service, WHOLE | {"tools": [], "messages": [user(*blocks)]}))["usage"]
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        fresh, written, read = (said[name] for name in names)
        return fresh, written, read

    book, mark = text("one two three", cache_control=MARK), {"cache_control": MARK}
    async with MessagesService([Reply("yes", times=99)], cache_least=3) as service:
        assert await counts(service, text("one two", **mark)) == (2, 0, 0)
        assert await counts(service, text("one two", **mark)) == (2, 0, 0)
        assert await counts(service, text("one two three")) == (3, 0, 0)
        assert await counts(service, book, text("four")) == (1, 3, 0)
        assert await counts(service, book, text("five")) == (1, 0, 3)
        assert await counts(service, book, text("five", **mark)) == (0, 1, 3)
        assert await counts(service, book, text("five"), text("six")) == (2, 0, 3)
        assert await counts(service, text("One two three", **mark)) == (0, 3, 0)
        assert await counts(service, text("one two three"), *[text("x")] * 19, text("y", **mark)) == (
            0,
            20,
            3,
        )
        assert await counts(service, text("one two three"), *[text("z")] * 20, text("y", **mark)) == (
            0,
            24,
            0,
        )


async def test_the_counting_endpoint_refuses_and_counts_as_the_messages_endpoint_does() -> None:
    counting = {"model": "small", "messages": [HI, YES, HI], "system": "Be brief."}
    path = "/v1/messages/count_tokens"
    async with MessagesService() as service:
        assert await post(service, counting, path) == {"input_tokens": 5}
        for wrong in ({"max_tokens": 5}, {"temperature": 1}, {"messages": [YES]}, {"model": "other"}):
            assert (await post(service, counting | wrong, path))["type"] == "error"
        assert service.calls == 0


async def test_the_events_come_in_order() -> None:
    reply = Reply("one two", reasoning=["hm"], calls=[("search", ['{"a":', "1}"])])
    async with MessagesService([reply]) as service, aiohttp.ClientSession() as client:
        response = await client.post(
            f"{service.base_url}/v1/messages", json=WHOLE | {"stream": True}, headers=HEAD
        )
        assert response.content_type == "text/event-stream"
        frames = [frame.split("\n") for frame in (await response.text()).strip().split("\n\n")]
    events = [json.loads(data.removeprefix("data: ")) for _, data in frames]
    assert [name for name, _ in frames] == [f"event: {event['type']}" for event in events]
    kinds = [event["type"] for event in events if event["type"] != "ping"]
    block = ["content_block_start", "content_block_delta", "content_block_delta", "content_block_stop"]
    tool = [*block[:1], *block[1:3], *block[2:]]
    assert kinds == ["message_start", *block, *block, *tool, "message_delta", "message_stop"]
    assert [event["index"] for event in events if "index" in event] == [0] * 4 + [1] * 4 + [2] * 5
    assert events[0]["message"]["content"] == []
    assert events[0]["message"]["usage"]["input_tokens"] == service.input_tokens
    assert events[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert events[-2]["usage"]["output_tokens"] == service.output_tokens == 5


async def test_an_error_has_the_shape_of_the_service() -> None:
    async with MessagesService([Reply(status=529), Reply(status=500, error={"message": "oh"})]) as service:
        errors = [await post(service, WHOLE) for _ in range(2)]
        errors.append(await post(service, WHOLE | {"temperature": 1}))
    assert [error["type"] for error in errors] == ["error"] * 3
    assert [error["error"]["type"] for error in errors] == [
        "overloaded_error",
        "api_error",
        "invalid_request_error",
    ]
    assert errors[1]["error"]["message"] == "oh"


async def test_thoughts_are_bound_to_the_tools_of_their_request() -> None:
    reply = Reply(calls=[("search", "{}")], reasoning=["hm"])
    other = TOOL | {"description": "Searches."}
    async with MessagesService([reply, Reply("yes"), Reply("yes")]) as service:
        turn = {"role": "assistant", "content": (await post(service, WHOLE))["content"]}
        talk = [HI, turn, user(result(turn["content"][-1]["id"]))]
        for tools in ([other], [TOOL, other | {"name": "other"}]):
            refused = await post(service, WHOLE | {"messages": talk, "tools": tools})
            assert "bound to a different conversation" in refused["error"]["message"]
        for more in ({}, {"tool_choice": {"type": "none"}}):
            assert (await post(service, WHOLE | {"messages": talk} | more))["type"] == "message"


async def test_another_tool_choice_invalidates_only_the_cached_messages() -> None:
    body = WHOLE | {
        "system": [text("be brief", cache_control=MARK)],
        "messages": [user(text("a b c", cache_control=MARK))],
    }
    async with MessagesService([Reply("yes", times=3)], cache_least=1) as service:
        for choice, (read, written) in (("auto", (0, 1)), ("auto", (1, 0)), ("none", (1, 1))):
            usage = (await post(service, body | {"tool_choice": {"type": choice}}))["usage"]
            assert (usage["cache_read_input_tokens"] > 0) == bool(read)
            assert (usage["cache_creation_input_tokens"] > 0) == bool(written)
        assert usage["cache_creation_input_tokens"] == 3
