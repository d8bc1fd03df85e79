"""What only chat completions have: finish reasons, parameters that some services refuse, missing usage."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.budget import prompt_tokens, text_tokens
from bot.llm.base import Message, Prompt, ToolResult
from bot.llm.completion import Completion, ToolCall, Usage
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES, Wire
from tests.llm.desk import PROMPT, SEARCH, WITH_TOOLS, Open, both

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"feet": {"type": "integer"}},
    "required": ["feet"],
    "additionalProperties": False,
}


@pytest.fixture
def wire() -> Wire:
    return WIRES["chat"]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("content_filter", "refusal"),
        ("tool_calls", "tool"),
        ("function_call", "tool"),
        ("eos_token", "end"),
        ("SAFETY", "refusal"),
        ("content_filter: RECITATION", "refusal"),
    ],
)
async def test_each_finish_reason_has_our_name(desk: Open, reason: str, finish: str) -> None:
    at = await desk(Reply("one two", finish=reason))
    assert (await at.ask())[1].finish == finish


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource", "something_new"])
async def test_an_unknown_end_counts_as_a_cut_off_answer(desk: Open, reason: str) -> None:
    at = await desk(Reply("one two", finish=reason))
    assert (await at.fail()).fault == "cut"


@pytest.mark.parametrize("whole", [False, True])
async def test_a_refusal_in_the_refusal_field_is_shown_as_the_answer(desk: Open, whole: bool) -> None:
    at = await desk(Reply(refusal="I will not.", reasoning=["hm", "hm"]))
    texts, completion = await at.ask(whole=whole)
    assert ("".join(texts), completion.finish) == ("I will not.", "refusal")
    assert completion.usage.output_tokens == at.service.output_tokens == 3


@pytest.mark.parametrize("whole", [False, True])
async def test_stop_with_tool_calls_counts_as_calling_tools(desk: Open, whole: bool) -> None:
    at = await desk(Reply(calls=[("search", '{"query": "fire"}')], finish="stop"))
    _, completion = await at.ask(WITH_TOOLS, whole=whole)
    assert (completion.finish, len(completion.calls)) == ("tool", 1)


@pytest.mark.parametrize("how", ["refused", "ignored"])
async def test_missing_usage_is_estimated_and_marked(desk: Open, how: str) -> None:
    at = await desk(Reply("one two", times=2), stream_options=how)
    _, completion = await at.ask()
    assert completion.usage == Usage(prompt_tokens(PROMPT), text_tokens("one two "), estimated=True)
    assert (await at.row()).output_tokens == text_tokens("one two ")
    before = at.service.calls
    await at.ask(step="again")
    assert at.service.calls == before + 1  # the refusal was learnt


@pytest.mark.parametrize("whole", [False, True])
async def test_usage_of_zero_is_not_believed(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one two", usage="zero"))
    assert (await at.ask(whole=whole))[1].usage.estimated


@pytest.mark.parametrize("takes", ["max_tokens", "max_completion_tokens"])
async def test_the_name_of_the_limit_is_found_and_remembered(desk: Open, takes: str) -> None:
    at = await desk(Reply("one", times=2), limit=(takes,))
    await at.ask()
    before = at.service.calls
    await at.ask(step="again")
    assert at.service.calls == before + 1
    assert at.service.requests[-1][takes] == 50


@pytest.mark.parametrize(
    ("refused", "prompt"),
    [
        ("temperature", replace(PROMPT, temperature=0.3)),
        ("reasoning_effort", replace(PROMPT, effort="low")),
        ("response_format", replace(PROMPT, schema=SCHEMA)),
    ],
)
async def test_a_refused_parameter_is_left_out(desk: Open, refused: str, prompt: Prompt) -> None:
    at = await desk(Reply("one", times=2), refuses=(refused,))
    await at.ask(prompt)
    await at.ask(prompt, step="again")
    assert [refused in request for request in at.service.requests] == [True, False, False]


async def test_a_schema_that_may_not_be_sent_is_described_in_words(desk: Open) -> None:
    at = await desk(Reply("{}"), refuses=("response_format",))
    await at.ask(replace(PROMPT, schema=SCHEMA))
    (system, _) = at.service.requests[-1]["messages"]
    assert system["content"].startswith(PROMPT.system)
    assert json.dumps(SCHEMA) in system["content"]


async def test_refused_tools_are_an_error(desk: Open) -> None:
    at = await desk(refuses=("tools",))
    error = await at.fail(replace(PROMPT, tools=(SEARCH,)))
    assert (error.fault, at.service.calls) == ("bad_request", 1)


async def test_a_stream_without_done_is_accepted(desk: Open) -> None:
    at = await desk(Reply("one", fault="no_done"))
    assert (await at.ask())[1].finish == "end"


@pytest.mark.parametrize("whole", [False, True])
async def test_an_error_with_status_200_is_a_server_error(desk: Open, whole: bool) -> None:
    body = json.dumps({"error": {"message": "upstream is gone", "code": 502}})
    at = await desk(Reply(body=body, headers={"Content-Type": "application/json"}, times=9))
    assert (await at.fail(whole=whole)).fault == "server"


async def test_no_key_is_sent_if_none_is_set(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask()
    assert "Authorization" not in at.service.headers[0]


async def test_a_message_without_words_is_still_a_message(desk: Open) -> None:
    at = await desk(Reply("one"))
    await at.ask(Prompt("", (Message("user", ""),)))
    assert at.service.requests[0]["messages"] == [{"role": "user", "content": ""}]


@both
async def test_thoughts_that_only_the_total_counts_are_billed(desk: Open, whole: bool) -> None:
    at = await desk(Reply("It reaches far.", reasoning=["h", "m", "m"]), dialect="gemini")
    usage = (await at.ask(whole=whole))[1].usage
    assert (usage.output_tokens, usage.estimated) == (3 + 3, False)


# What a service says beside text and calls.

ASKS = Reply("I look.", calls=[("search", '{"query": "fire"}')], reasoning=["h", "m"])


def after(asked: Completion) -> Prompt:
    results = tuple(ToolResult(call.id, "150 feet") for call in asked.calls)
    turn = Message("assistant", asked.text, calls=asked.calls, raw=asked.raw)
    return replace(WITH_TOOLS, messages=(*PROMPT.messages, turn, Message("user", results=results)))


OWN: dict[str, dict[str, Any]] = {
    "deepseek": {"reasoning_content": "hm"},
    "openrouter": {
        "reasoning_details": [
            {"type": "reasoning.text", "text": "hm", "format": "anthropic-claude-v1", "index": 0}
        ]
    },
    "gemini": {},
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("dialect", OWN)
async def test_a_turn_is_sent_back_as_it_came(desk: Open, dialect: str, whole: bool) -> None:
    at = await desk(ASKS, Reply("150 feet."), dialect=dialect)
    _, asked = await at.ask(WITH_TOOLS, whole=whole)
    assert (await at.ask(after(asked), whole=whole, step="second"))[1].text == "150 feet. "
    sent = next(request for request in at.service.requests[-1]["messages"] if request["role"] == "assistant")
    own = {name: value for name, value in sent.items() if name not in ("role", "content", "tool_calls")}
    for detail in own.get("reasoning_details", ()):
        assert detail.pop("signature")
    assert own == OWN[dialect]
    assert ("extra_content" in sent["tool_calls"][0]) == (dialect == "gemini")


async def test_a_refused_field_is_left_out_of_the_whole_conversation(desk: Open) -> None:
    at = await desk(ASKS, Reply("150 feet.", times=3))
    _, asked = await at.ask(WITH_TOOLS)
    for step in ("two", "three"):
        assert (await at.ask(after(asked), step=step))[1].text == "150 feet. "
    assert at.service.calls == 4, "once it was refused, and that was learnt"
    assert asked.reasoning == "hm"


async def test_blocks_of_another_wire_are_not_sent(desk: Open) -> None:
    at = await desk(Reply("150 feet.", times=4))
    call = ToolCall("a", "search", "{}")
    for n, raw in enumerate(('[{"type": "text", "text": "x"}]', "[]", "{", '[{"calls": 3}]')):
        turn = Completion("", "tool", "m", calls=(call,), raw=raw)
        assert (await at.ask(after(turn), step=str(n)))[1].text == "150 feet. "
        sent = at.service.requests[-1]["messages"][2]
        assert set(sent) == {"role", "content", "tool_calls"}


def chunks(*deltas: dict[str, Any]) -> str:
    """A stream with these deltas."""
    reasons = [*[None] * len(deltas), "tool_calls"]
    made = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in zip((*deltas, {}), reasons, strict=True)
    ]
    return "".join(f"data: {json.dumps(one)}\n\n" for one in made) + "data: [DONE]\n\n"


STREAM = {"Content-Type": "text/event-stream"}


async def test_tool_calls_with_the_same_index_are_distinguished_by_their_ids(desk: Open) -> None:
    def part(id: str | None, arguments: str, name: str | None = None) -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        return {"index": 0, "id": id, "function": function}

    body = chunks(
        {"tool_calls": [part("a", '{"query"', "search")]},
        {"tool_calls": [part(None, ': "x"}')]},
        {"tool_calls": [part("b", "", "search")]},
        {"tool_calls": [part("b", '{"query": "y"}')]},
    )
    at = await desk(Reply(body=body, headers=STREAM))
    _, completion = await at.ask(WITH_TOOLS)
    assert completion.calls == (
        ToolCall("a", "search", '{"query": "x"}'),
        ToolCall("b", "search", '{"query": "y"}'),
    )


async def test_arguments_sent_as_an_object_become_json(desk: Open) -> None:
    call = {"index": 0, "id": "a", "function": {"name": "search", "arguments": {"query": "é"}}}
    at = await desk(Reply(body=chunks({"tool_calls": [call]}), headers=STREAM))
    _, completion = await at.ask(WITH_TOOLS)
    assert completion.calls == (ToolCall("a", "search", '{"query": "é"}'),)


async def test_reasoning_details_of_several_kinds_are_joined_in_order(desk: Open) -> None:
    call: dict[str, Any] = {"index": 0, "id": "a", "function": {"name": "search", "arguments": "{}"}}
    details: list[Any] = [
        {"type": "reasoning.summary", "summary": "One", "index": 0},
        {"type": "reasoning.summary", "summary": " two", "index": 0, "id": None},
        {"type": "reasoning.encrypted", "data": "x", "index": 0, "id": "rs_1"},
        {"type": "reasoning.encrypted", "data": "y", "index": 1},
        {"type": "reasoning.text", "text": "a"},
        {"type": "reasoning.text", "text": "b"},
        "nonsense",
    ]
    deltas = [{"reasoning_details": [one]} for one in details]
    at = await desk(Reply(body=chunks(*deltas, {"tool_calls": [call]}), headers=STREAM))
    _, completion = await at.ask(WITH_TOOLS)
    ((own),) = json.loads(completion.raw)
    assert own["reasoning_details"] == [
        {"type": "reasoning.summary", "summary": "One two", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "index": 0, "id": "rs_1"},
        {"type": "reasoning.encrypted", "data": "y", "index": 1},
        {"type": "reasoning.text", "text": "a"},
        {"type": "reasoning.text", "text": "b"},
    ]


async def test_the_last_call_of_a_turn_keeps_its_tools(desk: Open) -> None:
    at = await desk(ASKS, Reply("150 feet.", times=2), refuses=("tool_choice",), dialect="deepseek")
    _, asked = await at.ask(WITH_TOOLS)
    await at.ask(replace(after(asked), closing=True), step="two")
    choices = [request.get("tool_choice") for request in at.service.requests]
    assert choices == [None, "none", None], "a service that knows no such word is asked without"
    assert len({json.dumps(request["tools"]) for request in at.service.requests}) == 1
