"""A step's progress is passed on while it runs, only the newest, and no task is left behind."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from bot.works.library.intake_job import Pump


async def test_progress_arrives_while_the_step_runs_and_its_value_afterwards() -> None:
    pump: Pump[int, str] = Pump(pause_s=0)
    heard, go_on = [], asyncio.Event()

    async def step() -> str:
        pump.put(1)
        await go_on.wait()
        return "done"

    async with aclosing(pump.news(step())) as news:
        async for news_item in news:
            heard.append(news_item)
            assert not hasattr(pump, "value")
            go_on.set()
    assert (heard, pump.value) == ([1], "done")


async def test_progress_that_comes_faster_than_it_is_read_is_skipped() -> None:
    pump: Pump[int, None] = Pump(pause_s=0.01)
    heard, go_on = [], asyncio.Event()

    async def step() -> None:
        for n in range(400):
            pump.put(n)
        await go_on.wait()

    async with aclosing(pump.news(step())) as news:
        async for news_item in news:
            heard.append(news_item)
            go_on.set()
    assert heard == [399]


async def test_the_steps_error_is_raised() -> None:
    pump: Pump[int, None] = Pump()

    async def step() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError):
        await anext(pump.news(step()))


async def test_a_replayed_step_reports_no_progress() -> None:
    pump: Pump[int, str] = Pump()

    async def kept() -> str:
        return "kept"

    assert [news_item async for news_item in pump.news(kept())] == []
    assert pump.value == "kept"


async def test_leaving_cancels_the_step_and_waits_until_it_has_ended() -> None:
    pump: Pump[int, None] = Pump()
    course: list[str] = []

    async def step() -> None:
        try:
            pump.put(1)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            course.append("put away")

    async def listen() -> None:
        async with aclosing(pump.news(step())) as news:
            async for _ in news:
                heard.set()

    heard = asyncio.Event()
    task = asyncio.create_task(listen())
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert course == ["put away"]
