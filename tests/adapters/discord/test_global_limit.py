"""Discord's global limit for all channels together."""

from __future__ import annotations

import asyncio

from discord.http import Route

from bot.adapters.discord.installed.traffic import GlobalLimit
from bot.adapters.writer import urgency


def most_in_a_window(begun: list[float], window_s: float) -> int:
    return max(sum(at <= other < at + window_s for other in begun) for at in begun)


async def test_no_window_has_more_requests_than_allowed() -> None:
    limit, begun = GlobalLimit(5, 0.05), list[float]()

    async def one() -> None:
        await limit.turn()
        begun.append(asyncio.get_running_loop().time())

    began = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(23):
            tasks.create_task(one())
    assert len(begun) == 23
    assert begun[4] - began < 0.05  # the first requests need not wait
    assert begun[-1] - began >= 4 * 0.05
    assert most_in_a_window(begun, 0.049) <= 5


async def test_urgent_requests_go_first_and_then_the_oldest() -> None:
    limit, order = GlobalLimit(1, 0.01), list[str]()

    async def one(name: str, rank: int) -> None:
        urgency.set(rank)
        await limit.turn()
        order.append(name)

    async with asyncio.TaskGroup() as tasks:
        for name, rank in (("first", 9), ("late", 2), ("later", 2), ("urgent", 0), ("soon", 1)):
            tasks.create_task(one(name, rank))
    assert order == ["first", "urgent", "soon", "late", "later"]


async def test_an_unused_turn_goes_to_the_next_request() -> None:
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


async def test_a_request_keeps_its_arguments_while_it_waits() -> None:
    limit = GlobalLimit(1, 0.01)

    async def request(*given: object, **more: object) -> object:
        return given, more

    limited = limit.limiting(request)
    route, other = Route("GET", "/gateway/bot"), Route("GET", "/users/@me")
    assert [await limited(route, json=1), await limited(other)] == [((route,), {"json": 1}), ((other,), {})]
