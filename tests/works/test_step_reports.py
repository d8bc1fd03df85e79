"""A step's progress is passed on while it runs, only the newest, and no task is left behind."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from bot.works.library.step_reports import ReportingStep


async def test_progress_arrives_while_the_step_runs_and_its_value_afterwards() -> None:
    reporting: ReportingStep[int, str] = ReportingStep(pause_s=0)
    heard, go_on = [], asyncio.Event()

    async def step() -> str:
        reporting.put(1)
        await go_on.wait()
        return "done"

    async with aclosing(reporting.reports(step())) as news:
        async for news_item in news:
            heard.append(news_item)
            assert not hasattr(reporting, "value")
            go_on.set()
    assert (heard, reporting.value) == ([1], "done")


async def test_progress_that_comes_faster_than_it_is_read_is_skipped() -> None:
    reporting: ReportingStep[int, None] = ReportingStep(pause_s=0.01)
    heard, go_on = [], asyncio.Event()

    async def step() -> None:
        for n in range(400):
            reporting.put(n)
        await go_on.wait()

    async with aclosing(reporting.reports(step())) as news:
        async for news_item in news:
            heard.append(news_item)
            go_on.set()
    assert heard == [399]


async def test_the_steps_error_is_raised() -> None:
    reporting: ReportingStep[int, None] = ReportingStep()

    async def step() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError):
        await anext(reporting.reports(step()))


async def test_a_replayed_step_reports_no_progress() -> None:
    reporting: ReportingStep[int, str] = ReportingStep()

    async def kept() -> str:
        return "kept"

    assert [news_item async for news_item in reporting.reports(kept())] == []
    assert reporting.value == "kept"


async def test_leaving_cancels_the_step_and_waits_until_it_has_ended() -> None:
    reporting: ReportingStep[int, None] = ReportingStep()
    course: list[str] = []

    async def step() -> None:
        try:
            reporting.put(1)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            course.append("put away")

    async def listen() -> None:
        async with aclosing(reporting.reports(step())) as news:
            async for _ in news:
                heard.set()

    heard = asyncio.Event()
    task = asyncio.create_task(listen())
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert course == ["put away"]
