"""A hostile service on each wire: people get a sentence or an answer, and nothing that a database cannot
store gets in.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from aiohttp import web

from bot.budget import prompt_tokens, text_tokens
from bot.llm.completion import ToolCall
from tests.fakes.reply import Reply
from tests.llm.desk import KEY, PROMPT, WITH_TOOLS, Open, both

EVENTS = {"Content-Type": "text/event-stream"}
JSON = {"Content-Type": "application/json"}


@both
async def test_surrogate_halves_are_joined_or_replaced_and_nul_is_removed(desk: Open, whole: bool) -> None:
    at = await desk(Reply(pieces=["a\ud83d", "\ude00b", "\ud83d", "c\0", "d\ud83d"]))
    texts, last = await at.ask(whole=whole)
    kept = "a\U0001f600b\ufffdcd"
    assert "".join(texts) == last.text
    assert last.text == kept
    assert (await at.paid())[0] == "settled"


@both
async def test_hostile_tool_arguments_can_be_stored(desk: Open, whole: bool) -> None:
    at = await desk(Reply(calls=[("search", '{"query": "\ud800 and"}')]))
    _, last = await at.ask(WITH_TOOLS, whole=whole)
    (call,) = last.calls
    assert call == ToolCall(call.id, "search", '{"query": "\ufffd and"}')
    assert last.raw.isprintable()


@both
async def test_an_invalid_token_count_is_replaced_by_an_estimate(desk: Open, whole: bool) -> None:
    at = await desk(Reply("Far enough.", usage="absurd"))
    _, last = await at.ask(whole=whole)
    assert last.usage.estimated
    assert await at.paid() == ("settled", prompt_tokens(PROMPT), text_tokens("Far enough. "), 0, 0)


async def test_json_nested_too_deep_is_an_error(desk: Open) -> None:
    at = await desk(Reply(body=f"data: {'[' * 100_000}\n\n", headers=EVENTS, times=3))
    assert (await at.fail()).fault == "server"
    assert at.service.calls == 3
    at = await desk(Reply(body="[" * 100_000, headers=JSON, times=3))
    assert (await at.fail(whole=True, step="whole")).fault == "server"


async def test_tool_arguments_nested_too_deep_are_passed_on_as_text(desk: Open) -> None:
    deep = '{"a":' * 1_500 + "1" + "}" * 1_500
    at = await desk(Reply(calls=[("search", deep)]))
    _, last = await at.ask(replace(WITH_TOOLS, max_tokens=1_000))
    assert [call.arguments for call in last.calls] == [deep]


@both
async def test_error_messages_stay_on_one_line_in_the_log(desk: Open, whole: bool) -> None:
    words = "\x1b[2Jred\ud800\u202e\nand\u200bmore"
    at = await desk(Reply(status=400, error={"message": words, "type": "x", "code": None}))
    error = await at.fail(whole=whole)
    assert error.detail == "400 [2Jred and more"


@pytest.mark.parametrize("year", ["99999", "9999999999999"])
async def test_an_impossible_date_is_ignored(desk: Open, year: str) -> None:
    after = {"retry-after": f"Fri, 31 Dec {year} 23:59:59 GMT"}
    at = await desk(Reply(status=429, headers=after), Reply("Far."))
    assert (await at.ask())[0]
    assert len(at.waits) == 1


@both
@pytest.mark.parametrize("status", [302, 307, 308])
async def test_a_redirect_to_another_address_is_not_followed(desk: Open, status: int, whole: bool) -> None:
    seen: list[str] = []

    async def elsewhere(request: web.Request) -> web.Response:
        seen.append(await request.text())
        return web.Response(text=json.dumps({}))

    app = web.Application()
    app.add_routes([web.route("*", "/{any:.*}", elsewhere)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        there = f"http://localhost:{runner.addresses[0][1]}/v1/x"
        at = await desk(Reply(status=status, headers={"location": there}), key=KEY)
        error = await at.fail(whole=whole)
    finally:
        await runner.cleanup()
    assert (error.fault, seen) == ("bad_request", [])
    assert error.detail.startswith(str(status))
