"""Discord's limit over all channels together."""

from __future__ import annotations

import asyncio

from discord.http import Route

from bot.adapters.discord.installed.traffic import GlobalLimit
from bot.adapters.writer import urgency


def most_in_a_window(begun: list[float], window_s: float) -> int:
    return max(sum(at <= other < at + window_s for other in begun) for at in begun)


async def test_no_more_than_allowed_begin_in_any_window() -> None:
    limit, begun = GlobalLimit(5, 0.05), list[float]()

    async def one() -> None:
        await limit.turn()
        begun.append(asyncio.get_running_loop().time())

    began = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(23):
            tasks.create_task(one())
    assert len(begun) == 23
    assert begun[4] - began < 0.05  # the first ones need not wait
    assert begun[-1] - began >= 4 * 0.05
    assert most_in_a_window(begun, 0.049) <= 5


async def test_who_is_urgent_goes_first_and_then_who_waits_longest() -> None:
    limit, order = GlobalLimit(1, 0.01), list[str]()

    async def one(name: str, rank: int) -> None:
        urgency.set(rank)
        await limit.turn()
        order.append(name)

    async with asyncio.TaskGroup() as tasks:
        for name, rank in (("first", 9), ("late", 2), ("later", 2), ("urgent", 0), ("soon", 1)):
            tasks.create_task(one(name, rank))
    assert order == ["first", "urgent", "soon", "late", "later"]


async def test_a_turn_that_nobody_waits_for_any_more_is_anothers() -> None:
    limit, went, begun = GlobalLimit(1, 0.02), list[str](), asyncio.Event()

    async def one(name: str) -> None:
        await limit.turn()
        went.append(name)
        begun.set()

    tasks = [asyncio.create_task(one(name)) for name in "abc"]
    await begun.wait()
    tasks[1].cancel()
    async with asyncio.timeout(60):
        await tasks[2]
    assert went == ["a", "c"]


async def test_a_request_is_made_in_its_turn_with_what_it_was_given() -> None:
    limit = GlobalLimit(1, 0.01)

    async def request(*given: object, **more: object) -> object:
        return given, more

    limited = limit.limiting(request)
    route, other = Route("GET", "/gateway/bot"), Route("GET", "/users/@me")
    assert [await limited(route, json=1), await limited(other)] == [((route,), {"json": 1}), ((other,), {})]
