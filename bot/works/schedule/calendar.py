"""Starts scheduled posts: every few seconds it reads the table, and requests a run for each schedule that is due.

A run's id is made from its schedule and its due time, so that the inbox drops a duplicate, even after a crash and with
several processes.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from bot.events import Author, Place, Request, UserError
from bot.runs.requests import event_id
from bot.works.schedule.times import Rule
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.kind import Runs
    from storage.schedules import ScheduleRow, Schedules

ROUND_S: Final = 5.0
"""Seconds between two checks for schedules that are due."""
DUE: Final = 100
"""The maximum number of schedules in one reading of the table."""
AT_ONCE: Final = 16
"""The maximum number of simultaneous runs: many are due at seven in the evening, when people also ask."""
RUN_S: Final = 1.0
"""The maximum seconds for which a run delays the next one."""
LATE: Final = timedelta(minutes=15)
"""A schedule that starts later than this was missed, because the bot or its platform was down."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The verb that a kind of schedule starts. `missed` is what happens at a time when the bot was down.

    A `silent` one shows nothing if it has nothing to say.
    """

    work: str
    verb: str
    missed: str = "once"
    silent: bool = False


SCHEDULED: Final = {
    "reminder": Scheduled("schedule", "remind"),
    "recap": Scheduled("story", "recap"),
    "nudge": Scheduled("story", "nudge", missed="drop", silent=True),
    "deadline": Scheduled("story", "overdue", silent=True),
    "lesson": Scheduled("course", "lesson"),
}


class Calendar:
    """A Service: `start`, then a round every few seconds, until `close`."""

    def __init__(
        self, schedules: Schedules, runs: Runs, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._schedules = schedules
        self._runs = runs
        self._now = now
        self._clock: Any = None

    async def start(self, taken_up: Iterable[Request]) -> list[Request]:
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._clock = AsyncIOScheduler(timezone=UTC)
        # One round at a time; after a suspension one is enough, however many were due.
        self._clock.add_job(
            self._safe_round,
            "interval",
            seconds=ROUND_S,
            next_run_time=datetime.now(UTC),
            coalesce=True,
            misfire_grace_time=None,
        )
        self._clock.start()
        return []

    async def close(self) -> None:
        if self._clock is not None:
            self._clock.shutdown(wait=False)

    async def _safe_round(self) -> None:
        try:
            await self.round()
        except StorageFault as fault:
            _log.warning("the schedules could not be read: %s", fault)
        except asyncio.CancelledError:  # by `close`; otherwise the library would log a traceback
            return

    async def round(self) -> None:
        """Start everything that is due now. Raises StorageFault."""
        now = self._now()
        slots = asyncio.Semaphore(AT_ONCE)

        async def fire(row: ScheduleRow) -> bool:
            async with slots:
                run = await self._fire(row, now)
                if run:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(RUN_S):
                            await self._runs.ended(run)
                return run is not None

        while due := await self._schedules.due(now, self._runs.platforms, DUE):
            if not all(await asyncio.gather(*map(fire, due))) or len(due) < DUE:
                return  # the next round tries failed ones again

    async def _fire(self, row: ScheduleRow, now: datetime) -> str | None:
        """Start the schedule's run and advance the schedule; returns the run's id, "" for none, None if the storage
        fails.
        """
        late = now - row.next_at > LATE
        try:
            following = Rule(**json.loads(row.rule)).following(now)
            request = self._request(row, late, last=following is None)
        except (KeyError, TypeError, ValueError) as error:  # written by another release, which may return
            _log.warning("schedule %s cannot be read: %r", row.id, error)
            await self._schedules.move(row, now + timedelta(days=1), fired=False)
            return ""
        if late and row.missed == "drop":
            await self._schedules.move(row, following, fired=False)
            return ""
        try:
            await self._runs.perform(request)
        except UserError as refusal:
            _log.warning("schedule %s was not started: %s", row.id, refusal)
            if refusal.key.startswith("storage."):
                return None
        await self._schedules.move(row, following, fired=True)
        return request.id

    def _request(self, row: ScheduleRow, late: bool, *, last: bool) -> Request:
        kind = SCHEDULED[row.kind]
        place = Place(row.platform, row.space, row.channel, row.thread)
        due = row.next_at.isoformat(timespec="minutes")
        options = (
            json.loads(row.options) | {"fired": row.fired, "last": last} | ({"due": due} if late else {})
        )
        return Request(
            id=event_id(row.platform, row.space, f"schedule:{row.id}:{due}"),
            place=place,
            author=Author(row.author_id, ""),
            work=kind.work,
            verb=kind.verb,
            options=options,
            text=row.text,
            locale=row.locale,
            origin=self._runs.origin(place) or "",
            # A child run shows nothing before it opens a stage.
            parent=row.id if kind.silent else "",
            answers="" if kind.silent else row.id,
        )
