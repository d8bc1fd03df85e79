"""Calls wait for their turn, the most urgent first; a refused or lost call is repeated where that is harmless."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from bot.adapters.slack.installed.clients import (
    PER_MINUTE,
    REFUSED_S,
    REPEATABLE,
    Bucket,
    Client,
    Clients,
    Limits,
)
from bot.adapters.slack.installed.faults import Unsure
from bot.adapters.surface import NotSent, PlaceClosed, Refused, SurfaceFault, Unavailable
from bot.adapters.writer import Rank, urgency
from bot.config import SlackConfig
from tests.fakes.slack import (
    Channel,
    FakeSlack,
    web_chat,
    web_conversations,
    web_people,
    web_streams,
    web_views,
)

FAST = 1_200
"""Calls a minute: one in 50 ms, and a bucket of 600."""


async def drained(now: list[float]) -> Bucket:
    """An empty bucket on the test's clock."""
    bucket = Bucket(FAST, lambda: now[0])
    while bucket.has_room():
        await bucket.turn()
    return bucket


def started(
    call: Callable[[], Awaitable[None]], rank: Rank, name: str, done: list[str]
) -> asyncio.Task[None]:
    async def made() -> None:
        urgency.set(rank)
        await call()
        done.append(name)

    return asyncio.create_task(made())


async def test_the_most_urgent_call_goes_first() -> None:
    now = [0.0]
    bucket, done = await drained(now), list[str]()
    ranks = {"passing": Rank.PASSING, "first": Rank.FIRST, "final": Rank.FINAL, "another final": Rank.FINAL}
    tasks = [started(bucket.turn, rank, name, done) for name, rank in ranks.items() if name != "passing"]
    await asyncio.sleep(0)
    now[0] += 1
    await asyncio.gather(*tasks)
    assert done == ["final", "another final", "first"]


async def test_progress_leaves_room_for_ends() -> None:
    """A full bucket of 10, a quarter of which is reserved for ends."""
    bucket, done = Bucket(20), list[str]()
    waiting = [started(bucket.turn, Rank.PASSING, "passing", done) for _ in range(10)]
    await asyncio.sleep(0)
    assert len(done) == 7
    final = started(bucket.turn, Rank.FINAL, "final", done)
    await final
    assert done[-1] == "final"
    for task in waiting:
        task.cancel()


async def test_what_has_started_can_end_at_once() -> None:
    """A full bucket of 10, without passing time: room is reserved for each end that is still to come."""
    bucket, done = Bucket(20, lambda: 0.0), list[str]()
    ends = [bucket.keep_end() for _ in range(10)]
    assert None not in ends
    assert bucket.keep_end() is None
    assert not bucket.idle
    waiting = started(bucket.turn, Rank.PASSING, "passing", done)
    await asyncio.sleep(0)
    waiting.cancel()
    assert done == [], "progress uses no room that is reserved for ends"
    del ends[8:]
    await bucket.turn()
    assert bucket.keep_end(2) is None
    assert bucket.keep_end() is not None
    for _ in ends:
        await asyncio.wait_for(bucket.turn(), 1)


async def test_a_call_that_does_not_wait_gets_room_at_once_or_never() -> None:
    bucket = Bucket(6)
    for _ in range(3):
        assert bucket.has_room()
        await asyncio.wait_for(bucket.turn(), 0.01)
    assert not bucket.has_room()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bucket.turn(), 0.01)


async def test_a_cancelled_wait_uses_no_turn() -> None:
    now = [0.0]
    bucket, done = await drained(now), list[str]()
    gone = started(bucket.turn, Rank.FINAL, "gone", done)
    stays = started(bucket.turn, Rank.FINAL, "stays", done)
    await asyncio.sleep(0)
    gone.cancel()
    now[0] += 60 / FAST  # room for one
    await asyncio.wait_for(stays, 10)
    assert done == ["stays"]


async def test_an_unused_turn_goes_to_the_next_call() -> None:
    now = [0.0]
    bucket = await drained(now)
    gone = started(bucket.turn, Rank.FINAL, "gone", [])
    await asyncio.sleep(0)
    now[0] += 60 / FAST  # room for one
    bucket._ring()  # the turn was granted, but the waiting task has not run yet
    gone.cancel()
    await asyncio.wait([gone])
    assert gone.cancelled()
    assert bucket.has_room()


async def test_a_pause_delays_every_call() -> None:
    bucket, loop = Bucket(FAST), asyncio.get_running_loop()
    bucket.pause(0.2)
    assert not bucket.has_room()
    began = loop.time()
    await bucket.turn()
    assert 0.2 <= loop.time() - began < 10


async def test_unused_buckets_are_forgotten() -> None:
    limits = Limits()
    for n in range(5_001):
        limits.at(f"T{n}", "chat.update")
    used = limits.at("T1", "chat.postMessage")
    assert len(limits) < 10
    assert limits.at("T1", "chat.postMessage") is used


def test_the_limits_are_those_of_the_loopback_slack() -> None:
    tiers = {2: 20, 3: 50, 4: 100}
    parts: list[Any] = [web_chat, web_conversations, web_people, web_streams, web_views]
    methods = [method for part in parts for method in part.METHODS if method.tier in tiers]
    assert len(methods) > 15
    assert {method.name: PER_MINUTE.get(method.name) for method in methods} == {
        method.name: tiers[method.tier] for method in methods
    }


def test_calls_that_post_are_never_repeated() -> None:
    assert not [
        method for method in REPEATABLE if method.startswith(("chat.post", "chat.start", "chat.append"))
    ]
    assert not {"views.open", "files.completeUploadExternal", "chat.stopStream"} & REPEATABLE


class Wire:
    def __init__(self, slack: FakeSlack, clients: Clients) -> None:
        self.slack, self.clients = slack, clients
        team = slack.workspace("Table")
        self.channel: Channel = team.channel("general")
        self.ana = team.user("Ana")
        self.client: Client = clients.client(team.id, slack.bot_token)

    async def post(self, text: str = "hello") -> str:
        answer = await self.client.chat_postMessage(channel=self.channel.id, text=text)
        return str(answer["ts"])

    @property
    def said(self) -> list[str]:
        return [message.text for message in self.channel.messages]

    def calls(self, method: str) -> list[int]:
        """The statuses of all calls of the method."""
        return [call.status for call in self.slack.calls if call.method == method]


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with FakeSlack() as slack:
        clients = Clients(SlackConfig(api_base=slack.api))
        yield Wire(slack, clients)
        await clients.close()


async def test_a_rate_limited_call_waits_and_is_repeated(wire: Wire) -> None:
    ts = await wire.post()
    wire.slack.fail("chat.update", status=429, retry_after=1)
    first = wire.client.chat_update(channel=wire.channel.id, ts=ts, text="first")
    second = wire.client.chat_update(channel=wire.channel.id, ts=ts, text="second")
    task = asyncio.create_task(first)
    await wire.slack.until(lambda: 429 in wire.calls("chat.update"))
    await asyncio.gather(task, second)
    refused, *later = [call for call in wire.slack.calls if call.method == "chat.update"]
    assert [call.status for call in later] == [200, 200]
    assert min(call.at for call in later) - refused.at > 0.9, "nothing was sent during the pause"


async def test_a_progress_edit_does_not_wait_after_a_429(wire: Wire) -> None:
    """Waiting would delay the channel's other messages, and the edit would be outdated."""
    ts = await wire.post()
    wire.slack.fail("chat.update", status=429, retry_after=30)
    urgency.set(Rank.PASSING)
    async with asyncio.timeout(20):
        with pytest.raises(Unavailable):
            await wire.client.chat_update(channel=wire.channel.id, ts=ts, text="and so on")


async def test_starting_a_stream_does_not_wait_for_room(wire: Wire) -> None:
    root = await wire.slack.say(wire.ana, wire.channel, "hello")
    wire.slack.fail("chat.startStream", status=429, retry_after=30)
    assert wire.client.bucket("chat.startStream").has_room()
    async with asyncio.timeout(20):
        with pytest.raises(Unavailable):
            await wire.client.chat_startStream(channel=wire.channel.id, thread_ts=root.ts)
    assert not wire.client.bucket("chat.startStream").has_room(), "Slack has answered 429"
    assert wire.client.bucket("chat.stopStream").has_room()


async def test_a_429_in_one_channel_does_not_delay_another(wire: Wire) -> None:
    wire.slack.fail("chat.postMessage", status=429, retry_after=1)
    slow = asyncio.create_task(wire.post("slow"))
    await wire.slack.until(lambda: 429 in wire.calls("chat.postMessage"))
    await wire.post("quick")
    assert wire.said == ["quick"]
    await slow
    assert wire.said == ["quick", "slow"]


async def test_progress_waits_only_briefly(wire: Wire) -> None:
    """Otherwise it would be outdated, and its message could not be finished meanwhile."""
    ts = await wire.post()
    while (bucket := wire.client.bucket("chat.update")).has_room():
        await bucket.turn()
    urgency.set(Rank.PASSING)
    async with asyncio.timeout(20):
        with pytest.raises(NotSent):
            await wire.client.chat_update(channel=wire.channel.id, ts=ts, text="and so on")
    urgency.set(Rank.FINAL)
    await wire.client.chat_update(channel=wire.channel.id, ts=ts, text="the end")
    assert wire.said == ["the end"]
    assert wire.calls("chat.update") == [200]


@pytest.mark.parametrize("fault", [{"lost": True}, {"status": 0}, {"status": 503}])
async def test_a_post_that_may_have_arrived_is_not_repeated(wire: Wire, fault: dict[str, Any]) -> None:
    wire.slack.fail("chat.postMessage", **fault)
    with pytest.raises(Unsure):
        await wire.post()
    assert len(wire.calls("chat.postMessage")) == 1


async def test_idempotent_calls_are_repeated(wire: Wire) -> None:
    ts = await wire.post()
    wire.slack.fail("chat.update", status=0)
    await wire.client.chat_update(channel=wire.channel.id, ts=ts, text="again")
    assert wire.said == ["again"]
    wire.slack.fail("users.info", status=503)
    assert (await wire.client.users_info(user=wire.ana.id))["ok"]


async def test_a_feature_that_a_workspace_lacks_is_not_tried_again_that_day(wire: Wire) -> None:
    status, team = "assistant.threads.setStatus", wire.channel.team
    where: dict[str, Any] = {"channel_id": wire.channel.id, "thread_ts": "1.1"}
    refused = ("missing_scope", "unknown_method", "feature_not_enabled", "not_allowed", "paid_plan_required")
    for n, error in enumerate(refused, 1):
        wire.slack.fail(status, error=error)
        with pytest.raises((PlaceClosed, Refused)):
            await wire.client.assistant_threads_setStatus(**where, status="…")
        for _ in range(2):
            with pytest.raises(Refused):
                await wire.client.assistant_threads_setStatus(**where, status="…")
        assert len(wire.calls(status)) == n
        if n % 2:
            wire.client.refused[status] -= REFUSED_S
        else:
            wire.clients.forget(team.id)  # as when the app is installed again
            wire.client = wire.clients.client(team.id, wire.slack.bot_token)


async def test_a_refusal_in_one_thread_does_not_affect_others(wire: Wire) -> None:
    root = await wire.slack.say(wire.ana, wire.channel, "hello")
    where: dict[str, Any] = {"channel_id": wire.channel.id, "thread_ts": root.ts}
    for error in (
        "invalid_thread_ts",
        "channel_not_found",
        "not_in_channel",
        "not_authorized",
        "fatal_error",
    ):
        wire.slack.fail("agents.sessions.setStatus", error=error)
        with pytest.raises(SurfaceFault):
            await wire.client.agents_sessions_setStatus(**where, status="active")
        await wire.client.agents_sessions_setStatus(**where, status="active")
    ts = await wire.post()
    wire.slack.fail("chat.update", error="missing_scope")  # an answer needs this method
    for text in ("refused", "again"):
        with suppress(PlaceClosed):
            await wire.client.chat_update(channel=wire.channel.id, ts=ts, text=text)
    assert wire.said == ["hello", "again"]


async def test_each_workspace_has_its_own_limits() -> None:
    async with FakeSlack() as slack:
        one, other = slack.workspace("Table"), slack.workspace("Chair")
        clients = Clients(SlackConfig(api_base=slack.api))
        first, second = clients.client(one.id, one.bot_token), clients.client(other.id, other.bot_token)
        while (bucket := first.bucket("chat.startStream")).has_room():
            await bucket.turn()
        assert second.bucket("chat.startStream").has_room()
        assert first is clients.client(one.id, one.bot_token)
        await clients.close()
