"""Ordered runs of one place go strictly one after another."""

from __future__ import annotations

import asyncio

from bot.runs.live import Order


async def turn(order: Order, key: str, seq: int) -> None:
    """Wait for the number's turn, as a run does."""
    while order.ahead(key, seq):
        await order.moved(key, seq)


async def test_the_first_to_enter_goes_at_once_and_the_next_waits() -> None:
    order = Order()
    order.enter("here", 1)
    order.enter("here", 2)
    await turn(order, "here", 1)
    second = asyncio.create_task(turn(order, "here", 2))
    await asyncio.sleep(0)
    assert not second.done()
    order.leave("here", 1)
    await second


async def test_places_do_not_wait_for_each_other() -> None:
    order = Order()
    order.enter("here", 1)
    order.enter("there", 2)
    await turn(order, "there", 2)


async def test_after_a_restart_the_numbers_decide_not_who_asks_first() -> None:
    order = Order()
    for seq in (7, 5, 6):
        order.enter("here", seq)
    # 7 was called when it stood alone; the others go by number once it has left.
    fifth = asyncio.create_task(turn(order, "here", 5))
    await asyncio.sleep(0)
    assert not fifth.done()
    order.leave("here", 7)
    await fifth
    sixth = asyncio.create_task(turn(order, "here", 6))
    await asyncio.sleep(0)
    assert not sixth.done()
    order.leave("here", 5)
    await sixth


async def test_one_who_gives_up_waiting_lets_the_others_pass() -> None:
    order = Order()
    for seq in (1, 2, 3):
        order.enter("here", seq)
    order.leave("here", 2)
    order.leave("here", 1)
    await turn(order, "here", 3)


async def test_each_knows_how_many_go_before() -> None:
    order = Order()
    for seq in (7, 5, 6):  # 7 was called when it stood alone
        order.enter("here", seq)
    assert [order.ahead("here", seq) for seq in (7, 5, 6)] == [0, 1, 2]
    moved = asyncio.create_task(order.moved("here", 6))
    await asyncio.sleep(0)
    assert not moved.done()
    order.leave("here", 7)
    await moved
    assert [order.ahead("here", seq) for seq in (5, 6)] == [0, 1]
    order.leave("here", 5)
    assert order.ahead("here", 6) == 0
    order.leave("here", 6)
    assert order.ahead("here", 6) == 0
    await order.moved("here", 6)


async def test_who_is_called_while_they_read_how_many_go_before_does_not_wait() -> None:
    order = Order()
    order.enter("here", 1)
    order.enter("here", 2)
    assert order.ahead("here", 2) == 1
    order.leave("here", 1)
    await asyncio.wait_for(order.moved("here", 2), 1)


async def test_leaving_twice_is_leaving_once() -> None:
    order = Order()
    order.enter("here", 1)
    order.leave("here", 1)
    order.leave("here", 1)
    order.leave("there", 9)
    order.enter("here", 2)
    await turn(order, "here", 2)
