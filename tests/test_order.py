"""The ordered runs of a place go strictly one after another."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from bot.events import Ended
from bot.runs.live import LiveRun, Order
from tests.fakes.scripted_app import asked


def run(seq: int, thread: str = "here") -> LiveRun:
    """A run that was received as number `seq`."""
    answered, end = asyncio.Future[Ended](), asyncio.Future[Ended]()
    return LiveRun(asked(str(seq), ""), seq, thread, datetime.now(UTC), False, answered, end)


async def turn(order: Order, live: LiveRun) -> None:
    """Wait for the run's turn, as the run itself does."""
    while order.ahead(live):
        await order.moved(live)


async def test_the_first_run_starts_at_once_and_the_next_waits() -> None:
    order, first, second = Order(), run(1), run(2)
    order.enter(first)
    order.enter(second)
    await turn(order, first)
    waiting = asyncio.create_task(turn(order, second))
    await asyncio.sleep(0)
    assert not waiting.done()
    order.leave(first)
    await waiting


async def test_runs_of_different_places_do_not_wait_for_each_other() -> None:
    order, elsewhere = Order(), run(2, "there")
    order.enter(run(1))
    order.enter(elsewhere)
    await turn(order, elsewhere)


async def test_after_a_restart_the_numbers_decide_the_order() -> None:
    order, runs = Order(), {seq: run(seq) for seq in (7, 5, 6)}
    for live in runs.values():
        order.enter(live)
    # 7 was called when it stood alone; the others go by number once it has left.
    fifth = asyncio.create_task(turn(order, runs[5]))
    await asyncio.sleep(0)
    assert not fifth.done()
    order.leave(runs[7])
    await fifth
    sixth = asyncio.create_task(turn(order, runs[6]))
    await asyncio.sleep(0)
    assert not sixth.done()
    order.leave(runs[5])
    await sixth


async def test_a_run_that_gives_up_waiting_lets_the_others_pass() -> None:
    order, first, second, third = Order(), run(1), run(2), run(3)
    for live in (first, second, third):
        order.enter(live)
    order.leave(second)
    order.leave(first)
    await turn(order, third)


async def test_each_run_knows_which_runs_go_before_it() -> None:
    order, runs = Order(), [run(seq) for seq in (7, 5, 6)]  # 7 enters while it is alone
    for live in runs:
        order.enter(live)
    seventh, fifth, sixth = runs
    assert [order.ahead(live) for live in runs] == [0, 1, 2]
    assert [order.before(live) for live in runs] == [sixth, None, fifth]
    assert order.called("here") is seventh
    moved = asyncio.create_task(order.moved(sixth))
    await asyncio.sleep(0)
    assert not moved.done()
    order.leave(seventh)
    await moved
    assert [order.ahead(live) for live in (fifth, sixth)] == [0, 1]
    order.leave(fifth)
    assert order.ahead(sixth) == 0
    order.leave(sixth)
    assert order.ahead(sixth) == 0
    await order.moved(sixth)


async def test_a_run_whose_turn_comes_while_it_counts_does_not_wait() -> None:
    order, first, second = Order(), run(1), run(2)
    order.enter(first)
    order.enter(second)
    assert order.ahead(second) == 1
    order.leave(first)
    await asyncio.wait_for(order.moved(second), 1)


async def test_leaving_twice_has_no_further_effect() -> None:
    order, first, second = Order(), run(1), run(2)
    order.enter(first)
    order.leave(first)
    order.leave(first)
    order.leave(run(9, "there"))
    order.enter(second)
    await turn(order, second)
