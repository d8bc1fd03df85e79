"""A hundred schedules that are due at once on Postgres: each runs once, even if a process is killed
meanwhile.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text

from bot.app import App
from bot.platforms import Platform
from bot.works.schedule.calendar import Calendar
from storage.db import Database
from storage.schedules import ScheduleRow, Schedules
from tests.fakes.scripted_app import Recorder
from tests.storage.test_one_process import ROOT, server, settings

__all__ = ["server"]
pytestmark = pytest.mark.slow

COUNT = 100
RULE = '{"zone": "Europe/Lisbon", "first": "2026-11-24T19:00", "every": "week"}'
KILLED_AFTER = 30

WORKS = """
import asyncio, sys
from pathlib import Path
from bot.app import App
from bot.config import load
from bot.events import Text
from bot.platforms import Platform
from tests.fakes.scripted_app import Recorder

class Telling(Recorder):
    def view(self, run, request, outbox):
        made = super().view(run, request, outbox)
        print("shown", flush=True)
        return made

async def main():
    app = await App.open(load(Path(sys.argv[1]), Path(sys.argv[1]).with_name("data"), environ={}))
    app.attach(Platform("terminal", Telling().view, origin=lambda place: ""))
    await app.start()
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def planned(url: str) -> None:
    """A hundred reminders that were due a minute ago."""
    database, due = await Database.open(url), datetime.now(UTC) - timedelta(minutes=1)
    schedules = Schedules(database)
    for n in range(COUNT):
        place = ("local", "terminal", "terminal", f"thread-{n % 7}")
        await schedules.add(
            ScheduleRow(
                f"schedule-{n}", *place, "ana", "en", "reminder", f"bring {n}", "{}", RULE, "once", due, due
            )
        )
    await database.close()


EACH_ONCE = (0, COUNT, 0, [1] * COUNT)


def come(url: str) -> tuple[int, int, int, list[int]]:
    """How many runs are active, how many have started, how many schedules are still due, and how often each
    ran.
    """
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:

        def count(table: str, where: str) -> int:
            query = text(f"SELECT count(*) FROM {table} WHERE {where}")
            return int(connection.execute(query, {"now": datetime.now(UTC)}).scalar_one())

        fired = [row.fired for row in connection.execute(text("SELECT fired FROM schedules"))]
        going = count("inbox", "state NOT IN ('done', 'failed', 'stopped', 'answered')")
        return going, count("inbox", "verb = 'remind'"), count("schedules", "next_at <= :now"), fired


async def test_two_calendars_that_look_at_the_same_moment_start_each_schedule_once(
    server: str, tmp_path: Path
) -> None:
    app, recorder = await App.open(settings(server, tmp_path / "first")), Recorder()
    app.attach(Platform("terminal", recorder.view, origin=lambda place: ""))
    await planned(server)
    other = await Database.open(server)
    calendars = [Calendar(schedules, app) for schedules in (app.records.schedules, Schedules(other))]
    await app.start()
    await asyncio.gather(*(calendar.round() for calendar in calendars))
    for unfinished in await app.records.inbox.unfinished():
        await app.ended(unfinished.id)
    await other.close()
    await app.close()
    assert come(server) == EACH_ONCE


@pytest.fixture
def running() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def started(folder: Path, server: str, running: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    settings(server, folder)
    command = [sys.executable, "-c", WORKS, str(folder / "config.toml")]
    running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT))
    return running[-1]


async def test_another_process_completes_what_a_killed_one_has_begun(
    server: str, tmp_path: Path, running: list[subprocess.Popen[str]]
) -> None:
    await planned(server)
    first = started(tmp_path / "first", server, running)
    assert first.stdout is not None
    for _ in range(KILLED_AFTER):
        assert await asyncio.to_thread(first.stdout.readline) == "shown\n"
    first.send_signal(signal.SIGKILL)
    first.wait()
    started(tmp_path / "second", server, running)
    async with asyncio.timeout(60):
        while await asyncio.to_thread(come, server) != EACH_ONCE:  # noqa: ASYNC110  (another process's)
            await asyncio.sleep(0.2)
