"""Discord's shards across several processes on one Postgres: spread, taken over and moved, none started too early."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.wire.sharded import IDENTIFY_S, Sharded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CONNECTED_S = 10.0
"""The most seconds from the end of a process until another connects one of its shards."""


async def test_shards_are_spread_taken_over_and_given_back(fleet: Sharded) -> None:
    """Four shards, started five seconds apart, on two processes, then on one, then on two again."""
    f = await fleet()
    a, b = await asyncio.gather(f.start(), f.start())
    await f.until(lambda: f.live() == [0, 1, 2, 3])
    await f.until(lambda: f.holders() == {a.pid: 2, b.pid: 2})
    # The first process may connect more than its share before it hands some over.
    await f.until(lambda: all(p.log(whole=True).count("has connected to Gateway") >= 2 for p in (a, b)))
    await f.until(lambda: f.live() == [0, 1, 2, 3])
    f.identified_apart()
    await f.ask(0, 1, 2, 3)
    await f.until(lambda: f.ended(4))
    assert len({process for _, _, process in f.asked()}) == 2
    ran = f.ran()
    assert [len(ran[shard]) for shard in range(4)] == [1, 1, 1, 1], (
        "a run continues in the process of its shard"
    )
    assert len(set.union(*ran.values())) == 2

    await b.kill()
    killed = time.monotonic()
    before = len(f.discord.gateway.identified)
    await f.until(lambda: len(f.discord.gateway.identified) > before)
    first = time.monotonic() - killed
    await f.until(lambda: f.live() == [0, 1, 2, 3])
    both = time.monotonic() - killed
    print(f"taken over: the first shard after {first:.1f} s, both after {both:.1f} s")
    assert both < 2 * (CONNECTED_S + IDENTIFY_S), "10.6 s on a quiet machine: the second waits five seconds"
    assert first < CONNECTED_S
    f.identified_apart()
    await f.ask(0, 1, 2, 3)
    await f.until(lambda: f.ended(8))

    c = await f.start()
    moving = asyncio.create_task(f.holding(c.pid, 2))
    asked = 8
    while not moving.done():  # a move neither loses an event nor lets it be answered twice
        await f.ask(asked % 4)
        asked += 1
        await asyncio.sleep(0.4)
    await moving
    await f.until(lambda: f.live() == [0, 1, 2, 3])
    await f.until(lambda: f.ended(asked))
    told = sum(len(f.answers(shard)) for shard in range(4))
    assert told == asked, (told, asked)
    f.identified_apart()


async def test_one_shard_is_taken_over_within_ten_seconds(fleet: Sharded) -> None:
    f = await fleet(shards=1)
    a = await f.start()
    await f.until(lambda: f.live() == [0])
    b = await f.start()
    await f.until(lambda: "Another process" in b.log(whole=True))
    assert f.holders() == {a.pid: 1}
    await f.ask(0)
    await f.until(lambda: f.ended(1))
    await a.kill()
    killed = time.monotonic()
    await f.until(lambda: not f.live())
    await f.until(lambda: f.live() == [0])
    print(f"taken over after {time.monotonic() - killed:.1f} s")
    assert time.monotonic() - killed < CONNECTED_S
    await f.ask(0)
    await f.until(lambda: f.ended(2))
    assert f.holders() == {b.pid: 1}


async def test_a_process_hands_its_shards_over_before_it_leaves(fleet: Sharded) -> None:
    """Questions during the restart of one of two processes are answered once."""
    f = await fleet(shards=2, max_concurrency=16)
    a, b = await asyncio.gather(f.start(), f.start())
    await f.until(lambda: f.live() == [0, 1])
    await f.until(lambda: f.holders() == {a.pid: 1, b.pid: 1})
    leaving, asked = asyncio.create_task(b.leave()), 0
    while not leaving.done():  # two a second: a busy machine answers no more
        await f.ask(asked % 2)
        asked += 1
        await asyncio.sleep(0.5)
    await leaving
    assert "before another process had them" not in b.log(whole=True)
    await f.until(lambda: f.holders() == {a.pid: 2})
    await f.until(lambda: f.live() == [0, 1])
    await f.until(lambda: f.ended(asked))
    told = sum(len(f.answers(shard)) for shard in range(2))
    assert told == asked, (told, asked)


async def test_configured_shards_stay_where_they_are(fleet: Sharded) -> None:
    f = await fleet(shards=2, max_concurrency=16)
    text = f.config.read_text(encoding="utf-8")
    f.config.write_text(text.replace("[discord]\n", "[discord]\nshard_count = 2\nshard_ids = [0, 1]\n"))
    a = await f.start()
    await f.until(lambda: f.live() == [0, 1])
    b = await f.start()
    await f.until(lambda: "Another process" in b.log(whole=True))
    await asyncio.sleep(3)
    assert f.holders() == {a.pid: 2}
    await a.kill()
    await f.until(lambda: not f.live())
    await f.until(lambda: f.live() == [0, 1])
    assert f.holders() == {b.pid: 2}
