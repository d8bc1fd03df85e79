"""Side tasks of an answer may fail without harming it, and the platform decides how urgent they are."""

from __future__ import annotations

import logging

import pytest

from bot.adapters.surface import Gone, NotEditable, PlaceClosed, Refused, Unavailable
from bot.adapters.writer import Rank, SideTasks, urgency
from storage.faults import StorageFault


async def failing(fault: Exception) -> None:
    raise fault


@pytest.mark.parametrize(
    "fault",
    [PlaceClosed(50013), Refused("no"), Gone(), NotEditable(), Unavailable("down"), StorageFault("locked")],
)
async def test_a_failed_side_task_is_only_logged(fault: Exception, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await SideTasks("c0ffee").do(failing(fault))
    assert caplog.messages == [f"run c0ffee: something beside the answer was left out: {fault}"]


async def test_a_programming_error_in_a_side_task_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await SideTasks("c0ffee").do(failing(ZeroDivisionError()))


@pytest.mark.parametrize(("rank", "urgent"), [(Rank.PASSING, Rank.PASSING), (None, Rank.FIRST)])
async def test_a_side_task_has_the_platforms_rank_or_that_of_its_answer(
    rank: Rank | None, urgent: Rank
) -> None:
    asked: list[int] = []

    async def ask() -> None:
        asked.append(urgency.get())

    urgency.set(Rank.FIRST)
    await SideTasks("c0ffee", rank).do(ask())
    assert asked == [urgent]
    assert urgency.get() == Rank.FIRST
