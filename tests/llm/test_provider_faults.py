"""Each way in which a service fails, on each wire: the error, what is retried, and what the ledger records."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import get_args

import pytest
from httpx2 import AsyncByteStream

from bot.budget import prompt_tokens
from bot.llm.activity import ActivityStream, Events
from bot.llm.base import Meter, ModelError, ModelFault
from bot.llm.deadlines import Deadlines, Timeouts
from bot.llm.error_report import ErrorReport, error_report
from bot.llm.faults import ParameterRules
from bot.llm.openai_chat import ChatAnswer
from bot.words import LOCALES, words
from tests.fakes.reply import Reply
from tests.fakes.wires import Wire
from tests.llm.desk import (
    BRIEF,
    KEY,
    PATIENT,
    PROMPT,
    QUICK,
    WITH_TOOLS,
    Desk,
    Open,
    both,
    provider,
)


def said(status: int, code: str | None = None, message: str = "no", **headers: str) -> Reply:
    error = {"message": message, "type": code or "invalid_request_error", "code": code}
    return Reply(status=status, error=error, headers={k.replace("_", "-"): v for k, v in headers.items()})


CONTEXT = {
    "chat": said(400, "context_length_exceeded"),
    "responses": said(400, "context_length_exceeded"),
    "messages": said(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8000 maximum"),
}
QUOTA = {
    "chat": said(429, "insufficient_quota"),
    "responses": said(429, "insufficient_quota"),
    "messages": said(400, "invalid_request_error", "Your credit balance is too low to access the API."),
}


async def refused(desk: Open, reply: Reply, fault: str, calls: int, *, whole: bool) -> None:
    at = await desk(replace(reply, times=9))
    error = await at.fail(whole=whole)
    assert (error.fault, at.service.calls, error.partial) == (fault, calls, None)
    assert await at.paid() == ("failed", 0, 0, 0, 0)
    assert len(at.waits) == calls - 1


@both
@pytest.mark.parametrize(
    ("reply", "fault", "calls"),
    [
        (said(400), "bad_request", 1),
        (said(401), "auth", 1),
        (said(402), "quota", 1),
        (said(403), "permission", 1),
        (said(404), "not_found", 1),
        (said(408), "timeout", 3),
        (said(409), "server", 3),
        (said(413), "context", 1),
        (said(422), "bad_request", 1),
        (said(429), "rate_limit", 3),
        (said(429, Retry_After="3600"), "rate_limit", 1),
        (said(500), "server", 3),
        (Reply(status=502, body="<html>Bad gateway</html>"), "server", 3),
        (said(503), "server", 3),
        (said(529, "overloaded_error"), "server", 3),
    ],
    ids=lambda value: f"{value.status}{'+' * len(value.headers)}" if isinstance(value, Reply) else None,
)
async def test_a_refused_call_costs_nothing(
    desk: Open, reply: Reply, fault: str, calls: int, whole: bool
) -> None:
    await refused(desk, reply, fault, calls, whole=whole)


async def test_a_prompt_that_is_too_long_is_recognised(desk: Open) -> None:
    await refused(desk, CONTEXT[desk.wire.name], "context", 1, whole=False)


async def test_an_empty_account_is_reported_and_the_call_is_not_retried(desk: Open) -> None:
    await refused(desk, QUOTA[desk.wire.name], "quota", 1, whole=False)


@both
async def test_an_unknown_model_is_reported_as_not_found(desk: Open, whole: bool) -> None:
    at = await desk(models=("other",))
    assert (await at.fail(whole=whole)).fault == "not_found"


@both
async def test_a_models_token_limit_is_remembered_once_it_has_reported_it(desk: Open, whole: bool) -> None:
    at = await desk(Reply("one", times=3), most_output=2_048)
    for step, most in enumerate((4_000, 4_000, 100)):
        assert (await at.ask(replace(PROMPT, max_tokens=most), whole=whole, step=str(step)))[1].text == "one "
    names = ("max_tokens", "max_output_tokens", "max_completion_tokens")
    asked = [[sent[name] for name in names if name in sent] for sent in at.service.requests]
    assert asked == [[4_000], [2_048], [2_048], [100]]


TOO_LARGE = {
    "max_tokens is too large: 4000. This model supports at most 2048 completion tokens, whereas you provided "
    "4000.": 2_048,
    "max_tokens: 4000 > 2048, which is the maximum allowed number of output tokens for claude-2-5": 2_048,
    "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 2048, but got 4000 "
    "instead.": 2_048,
    "`max_tokens` must be less than or equal to `2048`, the maximum value for `max_tokens` is less than the "
    "`context_window` for this model": 2_048,
    "Invalid max_tokens value, the valid range of max_tokens is [1, 2048]": 2_048,
    "Unable to submit request because it has a maxOutputTokens value of 4000 but the supported range is from 1 "
    "(inclusive) to 2049 (exclusive). Update the value and try again.": 2_048,
    "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 4096 "
    "tokens and your request has 1500 input tokens (4000 > 4096 - 1500).": 2_596,
    "This model's maximum context length is 4096 tokens. However, you requested 5500 tokens (1500 in the "
    "messages, 4000 in the completion).": 2_596,
    "This model's maximum context length is 4096 tokens and your request has 4000 input tokens.": None,
    "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.": None,
    "max_tokens is too large.": None,
    "The messages are too long: at most 2048 of them.": None,
}


def test_the_token_limit_is_read_from_each_services_wording() -> None:
    for said, most in TOO_LARGE.items():
        assert ErrorReport(400, said).most_output(4_000) == most, said
        assert ErrorReport(500, said).most_output(4_000) is None


async def test_a_limit_that_is_too_large_is_not_sent_under_another_name() -> None:
    rules = ParameterRules(other_names={"max_tokens": "max_completion_tokens"})
    refusal = ErrorReport(400, "max_tokens is too large: 4000.", param="max_tokens")
    assert not rules.learn(refusal, {"max_tokens": 4_000}, {})
    assert rules.fit({"max_tokens": 4_000}, {}) == {"max_tokens": 4_000}


def test_the_errors_of_gemini_are_lists_and_say_why_and_how_long() -> None:
    inner = {"code": 400, "message": "Model does not support this.", "status": "INVALID_ARGUMENT"}
    error = error_report(400, [{"error": inner}])
    assert (error.message, error.kind, error.fault) == (
        "Model does not support this.",
        "INVALID_ARGUMENT",
        "bad_request",
    )
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    error = error_report(429, [{"error": {"code": 429, "message": "Slow down.", "details": [{}, retry]}}])
    assert (error.fault, error.retry_after_s) == ("rate_limit", 34.5)
    key = {"code": 400, "message": "API key not valid. Please pass a valid API key."}
    assert error_report(400, [{"error": key}]).fault == "auth"
    assert error_report(500, []).fault == error_report(500, [1]).fault == "server"


@both
async def test_many_429_answers_are_retried_with_patience(desk: Open, whole: bool) -> None:
    at = await desk(Reply(status=429, headers={"retry-after": "2"}, times=2), Reply("one"))
    assert (await at.ask(whole=whole))[1].text == "one "
    assert at.waits == [2, 2]
    assert await at.paid() == ("settled", at.service.input_tokens, 1, 0, 0)
    assert at.service.input_tokens == 10


async def test_a_wait_that_is_too_long_is_reported(desk: Open) -> None:
    at = await desk(said(429, Retry_After="3600"))
    assert (await at.fail()).retry_after_s == 3600


@both
async def test_a_server_that_never_answers_times_out(desk: Open, whole: bool) -> None:
    at = await desk(Reply(fault="half_open", times=9), timeouts=BRIEF)
    assert (await at.fail(whole=whole)).fault == "timeout"
    assert at.service.calls <= 3
    assert await at.paid() == ("failed", 0, 0, 0, 0)


async def test_a_connection_that_is_never_accepted_times_out(desk: Open) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        service = desk.wire.service(port=deaf.getsockname()[1])
        at = Desk(desk.wire, service, (await desk()).ledger, None, BRIEF)
        assert (await at.fail()).fault == "timeout"
        await at.provider.close()


async def test_a_call_on_a_half_open_connection_is_retried(desk: Open) -> None:
    at = await desk(Reply(fault="half_open"), Reply("one"), timeouts=QUICK)
    assert (await at.ask())[1].text == "one "
    assert await at.paid() == ("settled", 10, 1, 0, 0)
    await asyncio.wait_for(at.service.closed.wait(), 20)


OVERLOADED = {"message": "boom", "type": "overloaded_error", "code": "server_error"}


@pytest.mark.parametrize("fault", ["truncate", "drop", "hang", "malformed", "error"])
async def test_an_answer_cut_off_after_text_is_shown_billed_and_not_retried(desk: Open, fault: str) -> None:
    cut = Reply("one two three", fault=fault, at=2, error=OVERLOADED)
    at = await desk(cut, timeouts=QUICK if fault == "hang" else PATIENT)
    error = await at.fail()
    assert error.fault == "cut"
    assert error.partial is not None
    assert (error.partial.text, error.partial.finish) == ("one two ", "cut")
    state, input_tokens, output_tokens, *_ = await at.paid()
    assert state == "failed"
    # Exact where the service says it at the start, else as we count.
    assert input_tokens in (at.service.input_tokens, prompt_tokens(PROMPT))
    assert output_tokens == 2
    assert (at.service.calls, at.waits) == (1, [])


@pytest.mark.parametrize("fault", ["truncate", "drop", "hang", "malformed", "error"])
async def test_an_answer_cut_off_before_text_is_retried_and_both_are_billed(desk: Open, fault: str) -> None:
    cut = Reply("one", fault=fault, at=0, error=OVERLOADED)
    at = await desk(cut, Reply("one"), timeouts=QUICK if fault == "hang" else PATIENT)
    assert (await at.ask())[1].text == "one "
    state, input_tokens, output_tokens, *_ = await at.paid()
    assert (state, output_tokens) == ("settled", 1)
    assert input_tokens in (at.service.input_tokens, 10 + prompt_tokens(PROMPT))


@pytest.mark.parametrize("fault", ["truncate", "drop", "malformed", "error"])
async def test_an_answer_cut_off_in_tool_arguments_is_retried(desk: Open, fault: str) -> None:
    arguments = ['{"query": ', '"fireball"}']
    cut = Reply(calls=[("search", arguments)], fault=fault, at=1, error=OVERLOADED)
    at = await desk(cut, Reply(calls=[("search", arguments)]))
    _, completion = await at.ask(WITH_TOOLS)
    assert [json.loads(call.arguments) for call in completion.calls] == [{"query": "fireball"}]
    assert at.service.calls == 2


@pytest.mark.parametrize("fault", ["truncate", "drop", "malformed", "error"])
async def test_a_whole_answer_that_breaks_is_retried(desk: Open, fault: str) -> None:
    at = await desk(Reply("one two", fault=fault, error=OVERLOADED, times=2), Reply("one"))
    texts, completion = await at.ask(whole=True)
    assert ("".join(texts), completion.text) == ("one ", "one ")
    assert at.service.calls == 3
    at = await desk(Reply("one two", fault=fault, error=OVERLOADED, times=9))
    assert (await at.fail(whole=True)).fault in ("server", "connection")


async def test_a_stream_without_an_end_counts_as_cut_off(desk: Open) -> None:
    at = await desk(Reply("one two", finish=None))
    assert (await at.fail()).fault == "cut"
    assert (await at.paid())[2] == 2


@both
async def test_a_web_page_in_place_of_an_answer_is_a_server_error(desk: Open, whole: bool) -> None:
    at = await desk(Reply(body="<html>Log in</html>", times=9))
    assert (await at.fail(whole=whole)).fault == "server"


async def test_an_answer_that_takes_too_long_in_total_is_cut_off(desk: Open) -> None:
    drip = Reply("word " * 500, delay_s=0.02)
    await (await desk(Reply("one"))).ask(step="first")  # opening takes a moment, the first time
    at = await desk(drip, timeouts=Timeouts(connect=5, first=5, idle=5, total=1.0))
    error = await at.fail()
    assert error.fault == "cut"
    assert error.partial is not None
    assert error.partial.text.startswith("word word ")
    await asyncio.wait_for(at.service.closed.wait(), 20)


@both
async def test_an_endless_answer_is_ended(desk: Open, whole: bool) -> None:
    at = await desk(Reply("word " * 3, endless=True))
    _, completion = await at.ask(whole=whole)
    assert (completion.finish, len(completion.text)) == ("length", 2_000)
    if not whole:
        await asyncio.wait_for(at.service.closed.wait(), 20)
        assert (await at.paid())[2] >= 400


async def test_a_stop_closes_the_connection_and_bills_what_came(desk: Open) -> None:
    gate = asyncio.Event()
    at = await desk(Reply("one two three", gates={2: gate}))
    heard = asyncio.Event()

    async def listen() -> None:
        seen = ""
        async with aclosing(at.pieces()) as pieces:
            async for piece in pieces:
                seen += str(piece)
                if seen == "one two ":
                    heard.set()

    task = asyncio.create_task(listen())
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    state, input_tokens, output_tokens, *_ = await at.paid()
    assert (state, output_tokens) == ("stopped", 2)
    assert input_tokens in (at.service.input_tokens, prompt_tokens(PROMPT))
    gate.set()
    await asyncio.wait_for(at.service.closed.wait(), 20)


@both
async def test_a_stop_before_the_answer_costs_nothing_that_is_known(desk: Open, whole: bool) -> None:
    at = await desk(Reply(fault="half_open"), timeouts=Timeouts())
    task = asyncio.create_task(at.ask(whole=whole))
    async with asyncio.timeout(60):
        await at.service.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await at.service.closed.wait()
    assert await at.paid() == ("stopped", 0, 0, 0, 0)


async def test_a_closed_port_is_reported_as_unreachable(desk: Open) -> None:
    at = await desk()
    await at.service.__aexit__()
    assert (await at.fail()).fault == "connection"
    assert len(at.waits) == 2


@pytest.mark.parametrize("key", [KEY, "looks-like-none-0123456789"])
@both
async def test_the_key_goes_to_the_service_and_nowhere_else(
    desk: Open, key: str, whole: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    for sdk in ("OPENAI", "ANTHROPIC"):
        for name in ("API_KEY", "ADMIN_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
            monkeypatch.setenv(f"{sdk}_{name}", "sk-somebody-elses")
        monkeypatch.setenv(f"{sdk}_CUSTOM_HEADERS", "X-Other: sk-somebody-elses")
        monkeypatch.setenv(f"{sdk}_BASE_URL", "http://127.0.0.1:9/v1")
    at = await desk(Reply("one"), said(400, None, f"bad key {key}"), key=key)
    await at.ask(whole=whole)
    sent = [value for headers in at.service.headers for value in headers.values()]
    assert [value for value in sent if key in value]
    assert not [value for value in sent if "somebody" in value]
    error = await at.fail(whole=whole, step="again")
    assert (error.__cause__, error.__context__) == (None, None)
    shown = f"{caplog.text} {error!r} {error.values} {error.detail} {at.provider!r}"
    assert key not in shown


@pytest.mark.parametrize("key", ["sk-wrong", "sk-with a space", "chavé"])
async def test_a_wrong_key_is_reported(desk: Open, key: str) -> None:
    opened = await desk(Reply("one"), key=KEY)
    at = Desk(desk.wire, opened.service, opened.ledger, key, PATIENT)
    error = await at.fail()
    assert error.fault == "auth"
    assert key not in f"{error!r} {error.values}"
    await at.provider.close()


@pytest.mark.parametrize("locale", LOCALES)
def test_every_fault_has_its_sentence(locale: str) -> None:
    assert all(
        words(locale)(f"model.{fault}", model="m", detail="d") != f"model.{fault} model=m detail=d"
        for fault in get_args(ModelFault)
    )


async def test_any_sign_of_life_extends_the_wait_up_to_the_total_limit() -> None:
    limits = Timeouts(connect=1, first=1_000, idle=1_000, total=1_500)
    answer = ChatAnswer("a:b", PROMPT, Meter(), set())
    deadlines = Deadlines(limits, None)
    async with deadlines.next_event(answer) as timer:
        first = timer.when()
        await asyncio.sleep(0)
        deadlines.activity()
        assert first is not None
        assert (timer.when() or 0) > first
    deadlines = Deadlines(Timeouts(connect=1, first=1_000, idle=1_000, total=1_000), None)
    async with deadlines.next_event(answer) as timer:
        end = timer.when()
        deadlines.activity()
        assert timer.when() == end
    deadlines.activity()  # nothing is waited for


async def test_comments_between_events_are_skipped_and_count_as_signs_of_life(desk: Open) -> None:
    at = await desk(Reply("one two", comments=3))
    assert (await at.ask())[1].text == "one two "

    async def sent() -> AsyncIterator[bytes]:
        yield b": OPENROUTER PROCESSING\n\n"
        yield b"data: {}\n\n"

    class Stream(AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return sent()

    times: list[None] = []
    chunks = [chunk async for chunk in ActivityStream(Stream(), lambda: times.append(None))]
    assert (chunks, len(times)) == ([b"data: {}\n\n"], 2)


def test_only_events_with_data_are_passed_on_however_their_bytes_are_split() -> None:
    said = [b'id: 1\ndata: {"a": 1}\n\n', b"event: error\r\ndata: {}\r\n\r\n", b"data: x\rdata: y\r\r"]
    idle = [b": ping\n\n", b"data:\n\n", b"data: \r\n\r\n", b"event: ping\n\n", b"id: 7\r\r", b"retry: 3\n\n"]
    sent = b"".join(event for kept in said for event in (*idle, kept)) + b"data: half"
    for size in (1, 2, 3, 7, len(sent)):
        events = Events()
        got = b"".join(events.feed(sent[at : at + size]) for at in range(0, len(sent), size))
        # The last line end of an event may arrive with the next bytes, and is then ignored.
        assert [part for part in got.split() if part] == [part for one in said for part in one.split()], size
        assert events.remainder() == b"data: half"


def test_the_filter_costs_little_of_an_event() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}], "id": "c" * 40}
    event, events = f"data: {json.dumps(chunk)}\n\n".encode(), Events()
    began = time.process_time()
    assert all(events.feed(event) == event for _ in range(20_000))
    filtered = time.process_time() - began
    began = time.process_time()
    for _ in range(20_000):
        json.loads(event[6:])
    assert filtered < 2 * (time.process_time() - began), "less than to parse it"


async def test_an_invalid_address_is_reported_as_unreachable(wire: Wire) -> None:
    for url in ("http://[bad", "http://x:99999", "http://a b"):
        service = provider(wire, url)
        with pytest.raises(ModelError) as caught:
            await anext(service.stream("small", PROMPT))
        assert (caught.value.fault, caught.value.detail) == ("connection", "base_url is no address")
        assert await service.count("small", PROMPT) is None
