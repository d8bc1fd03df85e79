"""Numbered parts are spread over the processes that share a Postgres, and taken over when one ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

import pytest

from storage.db import Database
from storage.lease import Lease
from storage.shares import Share, agreed


class Process:
    def __init__(self, database: Database, lease: Lease, share: Share) -> None:
        self.database, self.lease, self.share = database, lease, share

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            await self.share.look()

    @property
    def numbers(self) -> set[int]:
        return self.share.numbers


@asynccontextmanager
async def process(server: str, count: int, only: tuple[int, ...] = ()) -> AsyncIterator[Process]:
    lease = Lease(server, beat_s=0.02, grace_s=0.3)
    database = await Database.open(server, lease=lease)
    await lease.take()

    async def nobody(_: str) -> None:
        return

    keeping = asyncio.create_task(lease.keep(nobody))
    share = Share(database, lease, "shards", count, only)
    await share.join()
    try:
        yield Process(database, lease, share)
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
        await lease.release()
        await database.close()


async def test_each_process_takes_a_fair_share_and_all_parts_are_taken(server: str) -> None:
    async with process(server, 7) as a, process(server, 7) as b, process(server, 7) as c:
        await asyncio.gather(a.look(), b.look(), c.look())
        assert sorted([*a.numbers, *b.numbers, *c.numbers]) == list(range(7))
        assert max(len(each.numbers) for each in (a, b, c)) == 3


async def test_the_parts_of_an_ended_process_are_free_at_once(server: str) -> None:
    async with process(server, 4) as a:
        async with process(server, 4) as b:
            await a.look()
            await b.look()
            assert (len(a.numbers), len(b.numbers)) == (2, 2)
        await a.look()
        assert a.numbers == {0, 1, 2, 3}
        assert a.share.members == 1


async def test_parts_that_a_leaving_process_gives_up_are_taken_before_it_ends(server: str) -> None:
    async with process(server, 4) as a, process(server, 4) as b:
        await a.look()
        await b.look()
        await b.share.leave()
        for number in sorted(b.numbers):
            await b.share.give(number)
        await a.look()
        assert a.numbers == {0, 1, 2, 3}


async def test_a_process_that_comes_later_gets_its_share_one_by_one(server: str) -> None:
    async with process(server, 4) as a:
        await a.look()
        assert a.numbers == {0, 1, 2, 3}
        async with process(server, 4) as b:
            given = 0
            for _ in range(4):
                await a.look()
                if a.share.surplus:
                    await a.share.give(max(a.numbers))
                    given += 1
                await b.look()
            assert (a.numbers, b.numbers, given) == ({0, 1}, {2, 3}, 2)
            assert await a.share.elsewhere(3)
            assert not await a.share.elsewhere(0)


async def test_a_second_process_gets_none_of_a_single_part(server: str) -> None:
    async with process(server, 1) as a, process(server, 1) as b:
        await a.look(2)
        await b.look(2)
        assert (a.numbers, b.numbers, a.share.surplus) == ({0}, set(), False)


async def test_of_three_processes_only_the_one_with_most_parts_gives(server: str) -> None:
    async with process(server, 4) as a, process(server, 4) as b:
        await a.look()
        await b.look()
        async with process(server, 4) as c:
            for _ in range(3):
                for each in (a, b, c):
                    await each.look()
                assert sum(each.share.surplus for each in (a, b, c)) <= 1
                for each in (a, b):
                    if each.share.surplus:
                        await each.share.give(max(each.numbers))
            assert sorted(len(each.numbers) for each in (a, b, c)) == [1, 1, 2]


async def test_numbers_set_by_hand_are_taken_and_kept_whatever_the_share(server: str) -> None:
    async with process(server, 4, (0, 1, 2)) as a, process(server, 4) as b:
        await a.look()
        await b.look(2)
        assert (a.numbers, b.numbers, a.share.surplus) == ({0, 1, 2}, {3}, False)


async def test_a_part_that_nobody_takes_for_long_is_taken_by_anybody(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.shares.LEFT_S", 0.2)
    async with process(server, 4) as a, process(server, 4):
        await a.look()
        assert len(a.numbers) == 2, "the other one, which has joined and takes nothing, has its share"
        await asyncio.sleep(0.3)
        await a.look()
        assert len(a.numbers) == 4


async def test_a_fair_share_depends_on_the_running_processes(server: str) -> None:
    async with process(server, 1) as a, process(server, 1) as b:
        assert await agreed(a.database, a.lease, "shards", 2) == (2, False)
        assert await agreed(b.database, b.lease, "shards", 4) == (2, True)
    async with process(server, 1) as c:
        assert await agreed(c.database, c.lease, "shards", 4) == (4, False), "those are gone"


async def test_turns_of_all_processes_are_spaced_apart(server: str) -> None:
    async with process(server, 1) as a, process(server, 1) as b:
        turns: list[float] = []

        async def take(one: Process) -> None:
            await one.share.turn("identify.0", 0.4)
            turns.append(time.monotonic())

        await asyncio.gather(*(take(one) for one in (a, b, a, b)))
        # The server's clock counts, and its word takes a moment.
        assert all(later - earlier > 0.3 for earlier, later in pairwise(turns)), turns
        async with asyncio.timeout(10):
            await a.share.turn("identify.1", 60.0)
            waiting = asyncio.create_task(b.share.turn("identify.1", 60.0))
            await a.share.turn("identify.2", 60.0)
        assert not waiting.done()
        waiting.cancel()


async def test_a_process_killed_while_waiting_for_a_turn_delays_nobody(server: str) -> None:
    async with process(server, 1) as a, process(server, 1) as b:
        await a.share.turn("identify.0", 1.0)
        began = time.monotonic()
        waiting = asyncio.create_task(b.share.turn("identify.0", 1.0))
        await asyncio.sleep(0.3)
        waiting.cancel()
        await a.share.turn("identify.0", 1.0)
        assert time.monotonic() - began < 1.9
