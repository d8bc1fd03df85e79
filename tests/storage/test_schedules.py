"""Two processes that look at the calendar at the same time start each schedule once, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import UTC, datetime
from typing import cast

from bot.events import Ended, Place, Request
from bot.kind import Runs
from bot.runs.requests import row_of
from bot.works.schedule.calendar import Calendar
from storage.db import Database
from storage.inbox import Inbox
from storage.schedules import ScheduleRow, Schedules

DUE = datetime(2026, 11, 24, 19, 0, tzinfo=UTC)
RULE = '{"zone": "UTC", "first": "2026-11-24T19:00", "every": "day"}'


class Process:
    """A process that stores what it starts in the inbox, as App does."""

    platforms: Collection[str] = ("discord",)

    def __init__(self, db: Database) -> None:
        self._inbox = Inbox(db)
        self.calendar = Calendar(Schedules(db), cast(Runs, self), lambda: DUE)
        self.begun: list[str] = []

    def origin(self, place: Place) -> str:
        return ""

    async def perform(self, request: Request) -> None:
        self.begun += await self._inbox.receive([row_of(request)])

    async def ended(self, run_id: str) -> Ended:
        return "done"


async def test_two_processes_begin_each_schedule_once(db: Database) -> None:
    schedules, one = Schedules(db), Process(db)
    for n in range(100):
        await schedules.add(
            ScheduleRow(
                f"s{n}",
                f"space {n % 3}",
                "discord",
                "1",
                str(n),
                "a",
                "en",
                "reminder",
                "x",
                "{}",
                RULE,
                "once",
                DUE,
                DUE,
            )
        )
    other = Process(db)
    await asyncio.gather(one.calendar.round(), other.calendar.round())
    begun = one.begun + other.begun
    assert len(begun) == len(set(begun)) == 100
    assert not await schedules.due(DUE, ["discord"], 200)
    assert {row.fired for n in range(3) for row in await schedules.by_author(f"space {n}", "a")} == {1}
