"""What is done beside an answer may fail; how urgent it is, is the platform's to say."""

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
async def test_what_goes_wrong_goes_to_the_log_alone(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await SideTasks("c0ffee").do(failing(fault))
    assert caplog.messages == [f"run c0ffee: something beside the answer was left out: {fault}"]


async def test_a_fault_of_our_own_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await SideTasks("c0ffee").do(failing(ZeroDivisionError()))


@pytest.mark.parametrize(("rank", "urgent"), [(Rank.PASSING, Rank.PASSING), (None, Rank.FIRST)])
async def test_it_is_as_urgent_as_the_platform_says_or_as_what_it_goes_with(
    rank: Rank | None, urgent: Rank
) -> None:
    asked: list[int] = []

    async def ask() -> None:
        asked.append(urgency.get())

    urgency.set(Rank.FIRST)
    await SideTasks("c0ffee", rank).do(ask())
    assert asked == [urgent]
    assert urgency.get() == Rank.FIRST
