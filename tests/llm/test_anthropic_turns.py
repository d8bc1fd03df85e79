"""Turns of the Messages API are continued after a pause and sent back with their thoughts and calls."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.llm.completion import ToolCall, Usage
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES, Wire
from tests.llm.desk import PROMPT, WITH_TOOLS, Open, asked, both, events


@pytest.fixture
def wire() -> Wire:
    return WIRES["messages"]


@both
async def test_a_paused_turn_continues_seamlessly(desk: Open, whole: bool) -> None:
    paused = Reply(pieces=["A fireball ", "rea"], reasoning=["hm"], finish="pause", cached=3)
    at = await desk(paused, Reply(pieces=["ches "], finish="pause", cache_writes=2), Reply(pieces=["150."]))
    texts, completion = await at.ask(replace(PROMPT, cache=True), whole=whole)
    assert "".join(texts) == completion.text == "A fireball reaches 150."
    assert completion.finish == "end"
    service = at.service
    assert completion.usage == Usage(service.input_tokens, 5, 3, 2)
    assert await at.paid() == ("settled", service.input_tokens, 5, 3, 2)
    handed_back = service.requests[2]["messages"][1:]
    assert [message["role"] for message in handed_back] == ["assistant"]
    kinds = [block["type"] for block in handed_back[0]["content"]]
    assert kinds == ["thinking", "text", "server_tool_use", "text", "server_tool_use"]
    assert handed_back[0]["content"][2]["input"] == {"query": "fireball"}


@both
async def test_a_paused_turn_continues_although_a_parameter_is_refused(desk: Open, whole: bool) -> None:
    """The first part stays paid and is not requested again."""
    refused = Reply(
        status=400, error={"message": "output_config.effort: not supported", "type": "invalid_request_error"}
    )
    paused = Reply(pieces=["A fireball "], finish="pause")
    at = await desk(paused, refused, Reply(status=529), Reply(pieces=["reaches 150."]))
    texts, completion = await at.ask(replace(PROMPT, effort="low"), whole=whole)
    assert "".join(texts) == completion.text == "A fireball reaches 150."
    first, *others = at.service.requests
    assert [len(request["messages"]) for request in others] == [2, 2, 2]
    assert ["output_config" in request for request in (first, *others)] == [True, True, False, False]
    assert completion.usage == Usage(at.service.input_tokens, 2)
    assert await at.paid() == ("settled", at.service.input_tokens, 2, 0, 0)


@both
async def test_a_turn_is_not_continued_for_ever(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one", finish="pause", times=9))
    _, completion = await at.ask(whole=whole)
    assert (completion.finish, completion.text) == ("length", "one " * 6)
    assert at.service.calls == 6
    assert completion.usage == Usage(at.service.input_tokens, 6)


async def test_a_turn_that_pauses_before_any_text_continues_with_its_tool_call(desk: Open) -> None:
    at = await desk(
        Reply(reasoning=["hm"], finish="pause"),
        Reply(reasoning=["ah"], calls=[("search", "{}")]),
        Reply("150 feet."),
        manual_thinking=True,
    )
    _, completion = await at.ask(WITH_TOOLS)
    assert (completion.finish, [call.name for call in completion.calls]) == ("tool", ["search"])
    turns = (*PROMPT.messages, *asked(*completion.calls, raw=completion.raw))
    kinds = [block["type"] for block in json.loads(completion.raw)]
    assert kinds == ["thinking", "server_tool_use", "thinking", "tool_use"]
    assert (await at.ask(replace(WITH_TOOLS, messages=turns), step="2"))[1].text == "150 feet. "


async def test_an_answer_cut_off_after_a_pause_keeps_and_bills_both_parts(desk: Open) -> None:
    at = await desk(Reply("one", finish="pause"), Reply("two three four", fault="drop", at=2))
    error = await at.fail()
    assert error.fault == "cut"
    assert error.partial is not None
    assert error.partial.text == "one two three "
    # What the second part wrote is estimated, as it broke off: three tokens for ten letters.
    assert await at.paid() == ("failed", at.service.input_tokens, 1 + 3, 0, 0)


@both
async def test_a_turn_with_thoughts_goes_back_as_it_came(desk: Open, whole: bool) -> None:
    calls: list[tuple[str, str | list[str]]] = [("search", ['{"query":', ' "fogo"}']), ("search", "{}")]
    at = await desk(
        Reply("Let me see.", reasoning=["h", "m"], calls=calls), Reply("150."), manual_thinking=True
    )
    _, completion = await at.ask(WITH_TOOLS, whole=whole)
    thought, text, first, second = json.loads(completion.raw)
    assert thought["thinking"] == "hm"
    assert thought["signature"].startswith("sig_")
    assert text == {"type": "text", "text": "Let me see. "}
    assert [json.loads(call.arguments) for call in completion.calls] == [first["input"], second["input"]]
    assert first["input"] == {"query": "fogo"}
    turns = (*PROMPT.messages, *asked(*completion.calls, raw=completion.raw))
    assert (await at.ask(replace(WITH_TOOLS, messages=turns), whole=whole, step="2"))[1].text == "150. "
    assert at.service.requests[1]["messages"][1]["content"] == [thought, text, first, second]
    altered = completion.raw.replace('"hm"', '"Hm"')
    turns = (*PROMPT.messages, *asked(*completion.calls, raw=altered))
    error = await at.fail(replace(WITH_TOOLS, messages=turns), whole=whole, step="3")
    assert error.fault == "bad_request"


async def test_thoughts_of_another_model_are_left_out(desk: Open) -> None:
    at = await desk(Reply("one", times=2))
    thought = {"type": "thinking", "thinking": "hm", "signature": "of another"}
    use = {"type": "tool_use", "id": "a", "name": "search", "input": {}}
    call = ToolCall("a", "search", "{}")
    turns = (*PROMPT.messages, *asked(call, raw=json.dumps([thought, use])))
    for step in ("1", "2"):
        await at.ask(replace(WITH_TOOLS, messages=turns), step=step)
    assert [request["messages"][1]["content"] for request in at.service.requests] == [
        [thought, use],
        [use],
        [use],
    ]


async def test_thoughts_refused_in_one_conversation_are_still_sent_in_another(desk: Open) -> None:
    at = await desk(Reply("one"), Reply(calls=[("search", "{}")], reasoning=["hm"]), Reply("two"))
    thought = {"type": "thinking", "thinking": "hm", "signature": "of another"}
    use = {"type": "tool_use", "id": "a", "name": "search", "input": {}}
    turns = (*PROMPT.messages, *asked(ToolCall("a", "search", "{}"), raw=json.dumps([thought, use])))
    await at.ask(replace(WITH_TOOLS, messages=turns), step="1")
    _, mine = await at.ask(WITH_TOOLS, step="2")
    turns = (*PROMPT.messages, *asked(*mine.calls, raw=mine.raw))
    await at.ask(replace(WITH_TOOLS, messages=turns), step="3")
    kinds = [
        [block["type"] for block in request["messages"][1]["content"]] for request in at.service.requests[-1:]
    ]
    assert kinds == [["thinking", "tool_use"]]


async def test_an_answer_without_tools_is_stored_without_its_raw_form(desk: Open) -> None:
    at = await desk(Reply("one", reasoning=["hm"]))
    assert (await at.ask())[1].raw == ""


async def test_a_turn_of_another_service_is_translated_into_this_wire(desk: Open) -> None:
    at = await desk(Reply("one"), Reply("two"))
    calls = (ToolCall("functions.search:0", "search", '{"query": "fogo"}'), ToolCall("x", "search", "[half"))
    foreign = json.dumps([{"type": "function_call", "call_id": "x", "arguments": "{}"}])
    for step, raw in (("1", foreign), ("2", "no JSON")):
        turns = (*PROMPT.messages, *asked(*calls, raw=raw, text="Let me see."))
        await at.ask(replace(WITH_TOOLS, messages=turns), step=step)
        text, first, second = at.service.requests[-1]["messages"][1]["content"]
        assert text["text"] == "Let me see."
        assert first["input"] == {"query": "fogo"}
        assert second == {
            "type": "tool_use",
            "id": "x",
            "name": "search",
            "input": {"INVALID_JSON": "[half"},
        }


async def test_a_blank_text_is_left_out(desk: Open) -> None:
    at = await desk(Reply(pieces=["\n\n"], calls=[("search", "{}")]), Reply("one"))
    _, completion = await at.ask(WITH_TOOLS)
    turns = (*PROMPT.messages, *asked(*completion.calls, raw=completion.raw))
    assert (await at.ask(replace(WITH_TOOLS, messages=turns), step="2"))[1].text == "one "


async def test_after_tool_calls_an_answer_without_tools_can_be_requested(desk: Open) -> None:
    at = await desk(Reply("one"))
    turns = (*PROMPT.messages, *asked(ToolCall("a", "search", "{}"), ToolCall("b", "search", "{}")))
    await at.ask(replace(PROMPT, messages=turns))
    sent = at.service.requests[0]
    assert [tool["name"] for tool in sent["tools"]] == ["search"]
    assert sent["tool_choice"] == {"type": "none"}


async def test_a_tool_call_that_the_token_limit_cut_off_is_not_made(desk: Open) -> None:
    start = {"type": "tool_use", "id": "a", "name": "search", "input": {}}
    half = {"type": "input_json_delta", "partial_json": '{"que'}
    at = await desk(
        events(
            {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hm"}},
            {"type": "content_block_start", "index": 1, "content_block": start},
            {"type": "content_block_delta", "index": 1, "delta": half},
            {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 7}},
        )
    )
    _, completion = await at.ask(WITH_TOOLS)
    assert (completion.finish, completion.text, completion.calls, completion.usage) == (
        "length",
        "Hm",
        (),
        Usage(10, 7),
    )
