"""Rate limits and faults of the fake Discord, driven by the real client."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import discord
import pytest

from tests.fakes.discord.limits import GLOBAL, POST
from tests.wire.small_bot import Table, table


async def _all_at_once(
    t: Table, count: int, path: str, body: dict[str, Any] | None
) -> list[tuple[int, dict[str, str], Any]]:
    """Send the requests at once, as a client that ignores all limits."""
    async with aiohttp.ClientSession(headers={"Authorization": f"Bot {t.fake.token}"}) as http:

        async def one() -> tuple[int, dict[str, str], Any]:
            async with http.request("POST" if body else "GET", t.fake.api + path, json=body) as answer:
                return answer.status, dict(answer.headers), await answer.json()

        return await asyncio.gather(*(one() for _ in range(count)))


async def test_a_channel_accepts_five_messages_in_five_seconds() -> None:
    async with table() as t:
        path = f"/channels/{t.channel.id}/messages"
        t.fake.limits.stop_clock()
        answers = await _all_at_once(t, 7, path, {"content": "x"})
        assert sorted(status for status, _, _ in answers) == [200] * 5 + [429] * 2
        limited = next((headers, body) for status, headers, body in answers if status == 429)
        assert limited[0]["Via"]
        assert limited[0]["Content-Type"] == "application/json"
        assert limited[0]["X-RateLimit-Bucket"] == POST.hash
        assert limited[1]["retry_after"] == pytest.approx(POST.seconds, abs=0.01)
        assert not limited[1]["global"]
        assert [wait.bucket for wait in t.fake.limited] == ["post", "post"]
        # Another channel has its own limit.
        assert (await _all_at_once(t, 1, f"/channels/{t.guild.text('b').id}/messages", {"content": "x"}))[0][
            0
        ] == 200


async def test_the_client_waits_for_the_bucket_and_is_never_limited() -> None:
    async with table() as t:
        channel = t.bot.get_channel(t.channel.id)
        assert isinstance(channel, discord.TextChannel)
        began = time.monotonic()
        await asyncio.gather(*(channel.send(str(number)) for number in range(6)))
        assert time.monotonic() - began > 4.5
        assert len(t.channel.messages) == 6
        assert t.fake.limited == []


async def test_the_bot_may_send_fifty_requests_a_second() -> None:
    async with table() as t:
        t.fake.limits.stop_clock()
        answers = await _all_at_once(t, GLOBAL.limit + 20, f"/users/{t.ana.id}", None)
        limited = [(headers, body) for status, headers, body in answers if status == 429]
        assert len(limited) == 20
        assert all(headers["X-RateLimit-Global"] == "true" and body["global"] for headers, body in limited)
        # A response to an interaction does not count, and is not delayed.
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        assert asked.kind == 5


@pytest.mark.parametrize("status", [429, 502])
async def test_a_fault_occurs_the_given_number_of_times(status: int) -> None:
    async with table() as t:
        t.fake.fail("POST", "/channels/*/messages", status=status, times=1, retry_after=0.01)
        await t.post(t.channel, content="x")
        assert [call.status for call in t.fake.calls[-2:]] == [status, 200]
        assert [message.text for message in t.channel.messages] == ["x"]
        assert t.fake.refused == []


async def test_a_fault_has_the_given_code() -> None:
    async with table() as t:
        t.fake.fail("POST", "/channels/{channel}/messages/{message}/threads", status=400, code=160006)
        root = await t.post(t.channel, content="x")
        with pytest.raises(discord.HTTPException) as caught:
            await t.bot.raw("POST", f"/channels/{t.channel.id}/messages/{root.id}/threads", {"name": "x"})
        assert caught.value.code == 160006
        await t.bot.raw("POST", f"/channels/{t.channel.id}/messages/{root.id}/threads", {"name": "x"})


async def test_a_response_can_be_lost_after_the_work() -> None:
    async with table() as t:
        t.fake.fail("POST", "*/messages", lost=True)
        with pytest.raises(aiohttp.ClientError):
            await t.post(t.channel, content="x")
        assert [message.text for message in t.channel.messages] == ["x"]


async def test_a_connection_can_be_cut_before_the_work() -> None:
    async with table() as t:
        t.fake.fail("POST", "*/messages", status=0)
        with pytest.raises(aiohttp.ClientError):
            await t.post(t.channel, content="x")
        assert t.channel.messages == []


async def test_a_slow_response_arrives() -> None:
    async with table() as t:
        t.fake.fail("POST", "*/messages", status=200, delay=0.2)
        began = time.monotonic()
        await t.post(t.channel, content="x")
        assert time.monotonic() - began >= 0.2
