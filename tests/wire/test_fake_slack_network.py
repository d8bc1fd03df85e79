"""Faults, redelivery, several sockets and disconnects between the fake Slack and a real client."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler

from tests.fakes.slack import FakeSlack
from tests.fakes.slack.small_app import connected, table


async def test_a_method_fails_the_given_number_of_times() -> None:
    async with table(socket=False) as t:
        t.slack.fail("chat.postMessage", error="invalid_blocks", times=2)
        for _ in range(2):
            with pytest.raises(SlackApiError, match="invalid_blocks"):
                await t.post()
        await t.post()
        t.slack.fail("chat.*", status=503)
        with pytest.raises(SlackApiError):
            await t.post()
        assert [call.status for call in t.slack.calls] == [200, 200, 200, 503]


async def test_a_client_that_obeys_retry_after_succeeds() -> None:
    async with table(socket=False) as t:
        t.client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
        t.slack.fail("chat.postMessage", status=429, retry_after=1)
        message = await t.post("through")
        assert message.shown == "through"
        assert [call.error for call in t.slack.calls] == ["ratelimited", None]
        assert t.slack.calls[1].at - t.slack.calls[0].at >= 1


async def test_a_response_can_be_slow_or_lost_after_the_work() -> None:
    async with table(socket=False) as t:
        t.slack.fail("chat.postMessage", delay=0.05)
        await t.post("slow")
        assert t.slack.calls[-1].error is None
        t.client.retry_handlers.clear()
        t.slack.fail("chat.postMessage", lost=True)
        with pytest.raises(aiohttp.ClientError):
            await t.post("lost")
        t.slack.fail("chat.postMessage", status=0)
        with pytest.raises(aiohttp.ClientError):
            await t.post("cut")
        assert [message.shown for message in t.channel.messages] == ["slow", "lost"]


async def test_an_unacknowledged_event_is_delivered_again() -> None:
    async with table() as t:
        t.slack.ack_seconds, t.slack.redelivery = 0.02, (0.0, 0.4)
        t.small.deaf = True
        message = await t.slack.say(t.ana, t.channel, "hello?")
        [sent] = message.sent
        assert (sent.acked, len(sent.tries)) == (None, 1)
        await t.slack.until(lambda: len(sent.tries) == 2 and t.small.missed == 2)
        t.small.deaf, t.slack.ack_seconds = False, 60.0
        await t.slack.until(lambda: sent.acked is not None)
        assert [attempt.attempt for attempt in sent.tries] == [0, 1, 2]
        assert t.small.retries == [("2", "timeout")]
        assert t.small.heard[0]["event_id"] == sent.event_id


async def test_an_event_is_delivered_again_three_times_at_most() -> None:
    async with table() as t:
        t.slack.ack_seconds, t.slack.redelivery = 0.01, (0.0, 0.0, 0.0)
        t.small.deaf = True
        [sent] = (await t.slack.say(t.ana, t.channel, "hello?")).sent
        await t.slack.until(lambda: len(sent.tries) == 4 and sent.tries[-1].failed)
        assert [attempt.failed for attempt in sent.tries] == ["timeout"] * 4


async def test_an_acknowledged_event_can_be_redelivered_on_demand() -> None:
    async with table() as t:
        message = await t.slack.say(t.ana, t.channel, "once", mention=True)
        t.slack.redeliver(message, reason="http_timeout")
        await t.slack.until(lambda: len(t.small.heard) == 4)
        assert t.small.retries == [("1", "http_timeout")] * 2
        assert len({body["event_id"] for body in t.small.heard}) == 2


async def test_an_event_is_delivered_on_any_socket_or_on_two() -> None:
    async with FakeSlack() as slack:
        team = slack.workspace("Table")
        ana, channel = team.user("Ana"), team.channel("general")
        async with connected(slack, n=2) as small:
            messages = [await slack.say(ana, channel, str(number)) for number in range(4)]
            assert [len(socket.handed) for socket in slack.sockets.live] == [2, 2]
            slack.duplicate(messages[0])
            await slack.until(lambda: len(small.heard) == 5)
            first, second = messages[0].sent[0].tries
            assert first.socket is not second.socket
            assert small.heard[4]["event_id"] == messages[0].sent[0].event_id
            assert small.retries == []


async def test_there_is_no_second_delivery_without_a_second_socket() -> None:
    async with table() as t:
        message = await t.slack.say(t.ana, t.channel, "alone")
        with pytest.raises(LookupError, match="no second socket"):
            t.slack.duplicate(message)


async def test_at_most_ten_sockets_are_open() -> None:
    async with FakeSlack() as slack, aiohttp.ClientSession() as http:
        seen: list[dict[str, Any]] = []
        sockets = []
        for _ in range(11):
            ws = await http.ws_connect(await _address(slack, http))
            sockets.append(ws)
            seen.append(await ws.receive_json())
        assert [frame["type"] for frame in seen] == ["hello"] * 10 + ["disconnect"]
        assert [frame["num_connections"] for frame in seen[:10]] == list(range(1, 11))
        assert seen[10]["reason"] == "too_many_websockets"
        assert (await sockets[10].receive()).type is aiohttp.WSMsgType.CLOSE


async def _address(slack: FakeSlack, http: aiohttp.ClientSession) -> str:
    header = {"Authorization": f"Bearer {slack.app_token}"}
    async with http.post(slack.api + "apps.connections.open", headers=header) as response:
        return str((await response.json())["url"])


async def test_a_socket_address_can_be_used_once() -> None:
    async with FakeSlack() as slack, aiohttp.ClientSession() as http:
        address = await _address(slack, http)
        async with http.ws_connect(address) as ws:
            assert (await ws.receive_json())["connection_info"] == {"app_id": slack.world.app_id}
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await http.ws_connect(address)


async def test_wrong_acknowledgements_are_recorded() -> None:
    async with FakeSlack() as slack, aiohttp.ClientSession() as http:
        team = slack.workspace("Table")
        ana, channel = team.user("Ana"), team.channel("general")
        async with http.ws_connect(await _address(slack, http)) as ws:
            await ws.receive_json()
            saying = asyncio.create_task(slack.say(ana, channel, "x"))
            envelope = await ws.receive_json()
            assert (envelope["type"], envelope["accepts_response_payload"]) == ("events_api", False)
            assert (envelope["retry_attempt"], envelope["retry_reason"]) == (0, "")
            answer = {"envelope_id": envelope["envelope_id"]}
            for frame in ("no json", json.dumps({"envelope_id": "never sent"})):
                await ws.send_str(frame)
            await ws.send_json(answer | {"payload": {"text": "x"}})
            [sent] = (await saying).sent
            assert sent.acked is not None
            assert sent.response is None
            await ws.send_json(answer)
            await slack.until(lambda: sent.late == 1)
            wrong = [refusal.error for refusal in slack.refused]
            assert wrong == ["no_envelope", "unknown_envelope", "payload_not_accepted"]


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
async def test_a_client_reconnects_on_request(reason: str) -> None:
    async with table() as t:
        [before] = t.slack.sockets.live
        await t.slack.disconnect(reason)
        await t.slack.until(lambda: t.slack.sockets.live and t.slack.sockets.live != [before])
        await t.slack.say(t.ana, t.channel, "still here?")
        assert len(t.small.heard) == 1


@pytest.mark.parametrize("rude", [False, True])
async def test_a_client_reconnects_after_a_cut(rude: bool) -> None:
    async with table() as t:
        await t.slack.drop(rude=rude)
        await t.slack.connected()
        await t.slack.say(t.ana, t.channel, "still here?")
        assert (t.slack.sockets.greeted, len(t.small.heard)) == (2, 1)


async def test_events_during_a_disconnection_are_delivered_later() -> None:
    async with table(socket=False) as t:
        t.slack.redelivery = (0.0, *[0.1] * 600)
        message = await t.slack.say(t.ana, t.channel, "anyone?")
        assert message.sent[0].tries[0].failed == "no_socket"
        async with connected(t.slack, t.small):
            await t.slack.until(lambda: t.small.heard)
            assert [reason for _, reason in t.small.retries] == ["timeout"]


async def test_a_hundred_at_once_are_all_acknowledged_in_time() -> None:
    async with table() as t:
        asked = [t.slack.command(t.ana, t.channel, "/sutradhar", str(number)) for number in range(100)]
        sent = await asyncio.gather(*asked)
        assert all(sent.acked is not None and sent.failed is None for sent in sent)
        assert {number["text"] for number in t.small.done} == {str(number) for number in range(100)}


async def test_any_event_with_any_content_can_be_sent() -> None:
    async with table() as t:
        sent = await t.slack.send_raw(t.team, {"type": "emoji_changed", "user": None, "thread_ts": 7})
        assert sent.acked is not None
        assert t.small.events[0]["type"] == "emoji_changed"


async def test_a_failed_wait_describes_the_fakes_state() -> None:
    async with table(socket=False) as t:
        await t.post("findable")
        await t.refused("no_text", "chat.postMessage", channel=t.channel.id)
        with pytest.raises(AssertionError, match=r"findable[\s\S]*no_text"):
            await t.slack.until(lambda: False, seconds=0.01)
