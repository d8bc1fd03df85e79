"""Shards start as fast as Discord's limits allow, with the number and the address that Discord or the config gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import discord
import pytest
from yarl import URL

from bot.adapters.discord.installed import shards
from bot.adapters.discord.installed.client import redirect
from bot.adapters.discord.installed.shards import Plan, SharedShards, Turnstile, plan
from bot.config import DiscordConfig
from bot.events import UserError
from storage.faults import StorageFault
from tests.fakes.discord import FakeDiscord


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as fake:
        yield fake


async def planned(fake: FakeDiscord, **settings: object) -> Plan:
    """The shard plan of a client that has logged in."""
    config = DiscordConfig(api_base=fake.api, **settings)  # type: ignore[arg-type]
    redirect(config)
    async with discord.Client(intents=discord.Intents.none()) as client:
        await client.login(fake.token)
        return await plan(client.http, config)


async def test_discord_says_how_many_shards_and_where(fake: FakeDiscord) -> None:
    fake.gateway.shards, fake.gateway.max_concurrency = 3, 2
    made = await planned(fake)
    assert (made.ids, made.count, str(made.gateway)) == ((0, 1, 2), 3, fake.gateway_url)
    assert made.buckets == [[0, 2], [1]]


async def test_a_process_runs_its_configured_shards_through_its_configured_gateway(
    fake: FakeDiscord,
) -> None:
    made = await planned(fake, shard_count=32, shard_ids=(16, 17, 1), gateway_url="ws://proxy.example:1")
    assert (made.ids, made.count, str(made.gateway)) == ((16, 17, 1), 32, "ws://proxy.example:1")
    assert made.buckets == [[16], [17, 1]]


async def test_a_start_beyond_the_daily_limit_is_refused(fake: FakeDiscord) -> None:
    fake.gateway.identified = [(0.0, 0, 0)] * 990
    with pytest.raises(UserError) as caught:
        await planned(fake, shard_count=11)
    assert caught.value.key == "discord_run.sessions_spent"
    assert caught.value.values == {"total": 1000, "hours": 24}


async def test_the_last_starts_of_the_day_may_be_used(fake: FakeDiscord) -> None:
    fake.gateway.identified = [(0.0, 0, 0)] * 990
    assert len((await planned(fake, shard_count=10)).ids) == 10


async def test_an_unknown_gateway_address_gets_one_sentence(fake: FakeDiscord) -> None:
    fake.fail("GET", "/gateway/bot", status=403)
    with pytest.raises(UserError) as caught:
        await planned(fake)
    assert caught.value.key == "discord_run.unreachable"


async def test_buckets_do_not_delay_each_other() -> None:
    turnstile = Turnstile(60.0)
    async with asyncio.timeout(60):
        await asyncio.gather(*(turnstile.through(bucket) for bucket in range(16)))


async def test_a_bucket_starts_one_shard_at_a_time_in_order() -> None:
    turnstile, loop = Turnstile(0.1), asyncio.get_running_loop()
    passed: list[tuple[str, float]] = []

    async def pass_through(name: str) -> None:
        await turnstile.through(0)
        passed.append((name, loop.time()))

    await asyncio.gather(*(pass_through(name) for name in "abc"))
    assert [name for name, _ in passed] == ["a", "b", "c"]
    times = [at for _, at in passed]
    assert all(later - earlier >= 0.099 for earlier, later in pairwise(times))


class _Share:
    """One shard, which belongs to this process from the start."""

    name, count, members, surplus = "discord", 1, 1, False

    def __init__(self) -> None:
        self.numbers: set[int] = set()

    async def join(self) -> None:
        return

    async def look(self) -> set[int]:
        gained = {0} - self.numbers
        self.numbers |= gained
        return gained


async def test_a_shard_starts_although_the_database_failed_just_after_it_was_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shards, "LOOK_S", 0.01)
    faults, served, started = [StorageFault("other", away=True)], list[int](), asyncio.Event()

    async def take_up(_: Callable[[str], bool]) -> None:
        if faults:
            raise faults.pop()

    async def serve(_: str, shard: int) -> None:
        served.append(shard)

    async def launch_shard(_: URL, shard: int) -> None:
        assert shard == 0
        started.set()

    client = SimpleNamespace(
        voice=SimpleNamespace(take_up=take_up),
        advice=Plan(URL("ws://gateway.example"), 1, (0,), 1, remaining=10, total=10),
        connected=set[int](),
        guilds=[],
        launch_shard=launch_shard,
        _connection=SimpleNamespace(),
    )
    processes = SimpleNamespace(hear=lambda *_: None, serve=serve)
    shared = SharedShards(cast("Any", client), cast("Any", processes), cast("Any", _Share()), None)
    keeping = asyncio.create_task(shared.keep())
    try:
        async with asyncio.timeout(10):
            await started.wait()
    finally:
        keeping.cancel()
    assert (faults, served) == ([], [0])


async def test_runs_of_a_shard_continue_before_discord_says_how_to_connect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Discord accepts that request twice in five seconds, and other processes send it too."""
    monkeypatch.setattr(shards, "LOOK_S", 0.01)
    served, given = asyncio.Event(), asyncio.Event()
    share = _Share()

    async def plan(*_: object, **__: object) -> Plan:
        await served.wait()
        raise UserError("discord_run.sessions_spent", total=1000, hours=1)

    async def serve(_: str, shard: int) -> None:
        served.set()

    def serve_no_more(_: str, shard: int) -> None:
        served.clear()

    async def give(shard: int) -> None:
        share.numbers.discard(shard)
        given.set()

    monkeypatch.setattr(shards, "plan", plan)
    monkeypatch.setattr(share, "give", give, raising=False)
    client = SimpleNamespace(
        voice=None,
        advice=None,
        connected={7},
        guilds=[],
        http=None,
        settings=None,
        _connection=SimpleNamespace(),
    )
    processes = SimpleNamespace(hear=lambda *_: None, serve=serve, serve_no_more=serve_no_more)
    shared = SharedShards(cast("Any", client), cast("Any", processes), cast("Any", share), None)
    keeping = asyncio.create_task(shared.keep())
    try:
        async with asyncio.timeout(10):
            await given.wait()
    finally:
        keeping.cancel()
    assert not served.is_set(), "a shard that cannot start goes to another process, with its runs"
