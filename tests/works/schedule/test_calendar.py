"""The calendar in a real app: due schedules run once, and missed ones as they are set."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from bot.app import App
from bot.events import Author, Choices, Ended, Failed, Notice, Place, Request, Stage, Text, TransientError
from bot.kind import Runs
from bot.platforms import Platform
from bot.works.schedule.calendar import AT_ONCE, Calendar
from storage.db import Database
from storage.schedules import ScheduleRow, Schedules
from storage.tables import stories
from tests.fakes.scripted_app import Recorder, config

HERE = Place("terminal", "local", "terminal", "t")
RULE = '{"zone": "Europe/Lisbon", "first": "2026-11-24T19:00", "every": "week"}'
ONCE = '{"zone": "Europe/Lisbon", "first": "2026-11-24T19:00", "every": ""}'
DUE = datetime(2126, 11, 24, 19, 0, tzinfo=UTC)
"""So far away that the bot's own calendar leaves it alone."""


def row(id: str, **more: object) -> ScheduleRow:
    made = ScheduleRow(
        id,
        "local",
        "terminal",
        "terminal",
        "t",
        "ana",
        "en",
        "reminder",
        f"bring {id}",
        "{}",
        RULE,
        "once",
        DUE,
        DUE,
    )
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@asynccontextmanager
async def opened(data: Path, recorder: Recorder, **functions: Any) -> AsyncIterator[App]:
    app = await App.open(config(data))
    app.attach(Platform("terminal", recorder.view, origin=lambda place: "", **functions))
    try:
        await app.start()
        yield app
    finally:
        await app.close()


def calendar(app: App, now: datetime = DUE) -> Calendar:
    return Calendar(app.records.schedules, app, lambda: now)


async def said(app: App, recorder: Recorder) -> list[str]:
    """Every text that was shown, once all runs have ended."""
    for run in list(recorder.events):
        await app.ended(run)
    return [event.text for run in recorder.events.values() for event in run if isinstance(event, Text)]


async def come(app: App, recorder: Recorder, now: datetime = DUE, rounds: int = 1) -> list[str]:
    for _ in range(rounds):
        await calendar(app, now).round()
    for unfinished in await app.records.inbox.unfinished():
        await app.ended(unfinished.id)
    return await said(app, recorder)


async def ask(
    app: App, verb: str, text: str = "", who: str = "ana", admin: bool = False, **options: str
) -> str:
    run = f"{verb}-{who}-{text[:8]}-{len(options)}"
    await app.perform(Request(run, HERE, Author(who, who, admin=admin), "schedule", verb, options, text))
    await app.ended(run)
    return run


async def test_a_due_schedule_runs_once_however_often_the_calendar_looks(
    tmp_path: Path, recorder: Recorder
) -> None:
    async with opened(tmp_path, recorder) as app:
        schedules = app.records.schedules
        await schedules.add(row("a-cloak"))
        await schedules.add(row("b-rope", rule=ONCE))
        await schedules.add(row("elsewhere", platform="discord"))
        assert sorted(await come(app, recorder, rounds=2)) == ["bring a-cloak", "bring b-rope"]
        # As if the process had been killed before it had noted that they had come.
        await schedules.remove("local", "a-cloak")
        await schedules.add(row("a-cloak"))
        await schedules.add(row("b-rope", rule=ONCE))
        assert len(await come(app, recorder)) == 2
        left = {schedule.id: schedule for schedule in await schedules.by_author("local", "ana")}
        assert set(left) == {"a-cloak", "elsewhere"}
        assert left["a-cloak"].next_at > DUE
        assert left["a-cloak"].fired == 1


@pytest.mark.parametrize(
    ("locale", "weekly", "nudge", "zone"),
    [
        (
            "en",
            r"I'll post it here on (\w+) [\d-]{10} 19:00 \(UTC\), then every week on \1\.",
            r"every day at 19:00 \(UTC\), and remind .* when nobody has played for 2 days",
            "The time is UTC. To use your own time zone: `/settings set timezone Europe/Lisbon --for me`",
        ),
        (
            "pt-BR",
            r"Vou publicar aqui: ([\w-]+), \d\d/\d\d/\d{4}, às 19:00 \(UTC\); depois, toda semana \(\1\)\.",
            r"todo dia às 19:00 \(UTC\) e chamo a mesa no dia em que completar 2 dias sem ninguém jogar",
            "use `/settings set timezone America/Sao_Paulo --for mim`",
        ),
    ],
    ids=["en", "pt-BR"],
)
async def test_a_new_schedule_says_when_it_runs_and_in_which_time_zone(
    tmp_path: Path, recorder: Recorder, locale: str, weekly: str, nudge: str, zone: str
) -> None:
    async with opened(tmp_path, recorder) as app:
        for verb, when, every, expected in (
            ("reminder", "every friday 19:00", "", weekly),
            ("nudge", "19:00", "day", nudge),
        ):
            await app.perform(
                Request(
                    verb,
                    HERE,
                    Author("ana", "ana"),
                    "schedule",
                    verb,
                    {"when": when, "every": every},
                    "x",
                    locale=locale,
                )
            )
            await app.ended(verb)
            assert re.search(expected, str(recorder.events[verb]))
            assert zone in str(recorder.events[verb])


async def test_a_missed_time_is_made_up_for_once_or_skipped(tmp_path: Path, recorder: Recorder) -> None:
    async with opened(tmp_path, recorder) as app:
        await app.records.schedules.add(row("a-cloak"))
        await app.records.schedules.add(row("b-rope", missed="drop"))
        three_weeks = DUE + timedelta(days=21, hours=1)
        assert await come(app, recorder, three_weeks) == ["bring a-cloak"]
        notices = [
            event.text for run in recorder.events.values() for event in run if isinstance(event, Notice)
        ]
        assert len(notices) == 1
        assert "2126-11-24 19:00" in notices[0]
        assert all(
            schedule.next_at > three_weeks
            for schedule in await app.records.schedules.by_author("local", "ana")
        )


async def test_only_the_person_who_asked_is_mentioned(tmp_path: Path, recorder: Recorder) -> None:
    async with opened(tmp_path, recorder) as app:
        await app.records.schedules.add(row("the-rope-123456"))
        await ask(app, "follow", "123456", "bia")
        await ask(app, "follow", "123456", "cai")
        await ask(app, "unfollow", "123456", "cai")
        recorder.events.clear()
        await come(app, recorder)
        [shown] = recorder.events.values()
        assert [event.calls for event in shown if isinstance(event, Stage)] == [("bia",)]
        assert [event for event in shown if isinstance(event, Choices)]


async def test_a_one_off_schedule_offers_no_following_and_forgets_its_followers(
    tmp_path: Path, recorder: Recorder
) -> None:
    async with opened(tmp_path, recorder) as app:
        await app.records.schedules.add(row("once-rope-123456", rule=ONCE))
        await ask(app, "follow", "123456", "bia")
        recorder.events.clear()
        await come(app, recorder)
        [shown] = recorder.events.values()
        assert [event.calls for event in shown if isinstance(event, Stage)] == [("bia",)]
        assert not [event for event in shown if isinstance(event, Choices)]
        assert not await app.records.schedules.followers("local", "once-rope-123456")


async def test_an_unreadable_schedule_does_not_delay_others(tmp_path: Path, recorder: Recorder) -> None:
    async with opened(tmp_path, recorder) as app:
        await app.records.schedules.add(row("a-broken", rule='{"zone": 3}'))
        await app.records.schedules.add(row("b-unknown", kind="parade"))
        await app.records.schedules.add(row("c-rope"))
        assert await come(app, recorder) == ["bring c-rope"]
        assert len(await app.records.schedules.by_author("local", "ana")) == 3


async def test_its_author_can_make_list_and_delete_a_schedule(tmp_path: Path, recorder: Recorder) -> None:
    async with opened(tmp_path, recorder) as app:
        run = await ask(app, "reminder", "Bring dice", when="2027-01-08 19:00", every="week")
        code = run[-6:]
        [kept] = await app.records.schedules.by_author("local", "ana")
        assert (kept.next_at, kept.text) == (datetime(2027, 1, 8, 19, 0, tzinfo=UTC), "Bring dice")
        await ask(app, "recap", when="2027-01-08 19:00", every="week")
        listed = await ask(app, "list")
        assert not any("7 days" in str(event) for event in recorder.events[listed]), "“every week” says it"
        assert any(code in event.text for event in recorder.events[listed] if isinstance(event, Text))
        refused = await ask(app, "remove", code, "bia")
        assert any(isinstance(event, Failed) for event in recorder.events[refused])
        await ask(app, "remove", code, "dona", admin=True)
        assert [row.kind for row in await app.records.schedules.by_author("local", "ana")] == ["recap"]


async def test_a_conversation_has_a_limited_number_of_schedules(tmp_path: Path, recorder: Recorder) -> None:
    async with opened(tmp_path, recorder) as app:
        for n in range(20):
            await app.records.schedules.add(row(f"n{n}"))
        refused = await ask(app, "reminder", "one more", when="2027-01-08 19:00")
        assert any(isinstance(event, Failed) for event in recorder.events[refused])
        assert len(await app.records.schedules.by_author("local", "ana")) == 20


async def test_a_nudge_is_silent_where_nobody_plays(tmp_path: Path, recorder: Recorder) -> None:
    async with opened(tmp_path, recorder) as app:
        await app.records.schedules.add(row("a-nudge", kind="nudge", text=""))
        assert await come(app, recorder) == []
        assert not any(recorder.events.values())


async def test_a_nudge_comes_on_the_day_on_which_a_party_has_been_idle_for_so_long(
    tmp_path: Path, recorder: Recorder
) -> None:
    async with opened(tmp_path, recorder) as app:
        await app.perform(
            Request("start", HERE, Author("ana", "Ana"), "story", "start", {}, "The lighthouse")
        )
        await app.ended("start")
        shown = []
        for days in (1, 2, 3):
            played = datetime.now(UTC) - timedelta(days=days, hours=1)
            await app.records.database.run(stories.update().values(updated_at=played))
            await app.records.schedules.add(row(f"nudge-{days}", kind="nudge", text="", rule=ONCE))
            recorder.events.clear()
            shown.append(" ".join(await come(app, recorder)))
        assert "2 days" in shown[1]
        assert shown[::2] == ["", ""], "neither before that day nor after it"


async def test_deleting_a_persons_request_also_deletes_its_schedule(
    tmp_path: Path, recorder: Recorder
) -> None:
    async with opened(tmp_path, recorder) as app:
        run = await ask(app, "reminder", "Bring dice", when="2027-01-08 19:00")
        await ask(app, "follow", run[-6:], "bia")
        assert await app.forget("local", run)
        assert not await app.records.schedules.by_author("local", "ana")
        assert not await app.records.schedules.followers("local", run)


async def test_nothing_is_promised_where_the_bot_can_post_nothing_later(
    tmp_path: Path, recorder: Recorder
) -> None:
    async def check_may_post(request: Request) -> None:
        raise TransientError("slack_thread.not_later")

    async with opened(tmp_path, recorder, check_may_post=check_may_post) as app:
        run = await ask(app, "reminder", "bring dice", when="friday 19:00")
        (refused,) = [event for event in recorder.events[run] if isinstance(event, Failed)]
        assert "`/invite`" in refused.text
        assert refused.retry
        assert not await app.records.schedules.by_author("local", "ana")


class Silent(Schedules):
    """A calendar that never reports what is due."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.asked = asyncio.Event()

    async def due(self, now: datetime, platforms: Collection[str], limit: int) -> Sequence[ScheduleRow]:
        self.asked.set()
        await asyncio.Event().wait()
        return []


async def test_stopping_in_the_middle_of_a_round_is_no_error(
    tmp_path: Path, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, recorder) as app:
        schedules = Silent(app.records.database)
        leaving = Calendar(schedules, app)
        await leaving.start(())
        await schedules.asked.wait()
        await leaving.close()
    assert "Traceback" not in caplog.text


class Counting:
    """Runs that continue until the test ends them."""

    platforms = ("terminal",)

    def __init__(self) -> None:
        self.going: set[str] = set()
        self.most = self.begun = 0

    def origin(self, place: Place) -> str:
        return ""

    async def perform(self, request: Request) -> None:
        self.begun += 1
        self.going.add(request.id)
        self.most = max(self.most, len(self.going))

    async def ended(self, run_id: str) -> Ended:
        await asyncio.sleep(0)
        self.going.discard(run_id)
        return "done"


async def test_only_a_few_of_many_due_schedules_run_at_the_same_time() -> None:
    db, runs = await Database.open("sqlite+aiosqlite:///:memory:"), Counting()
    schedules = Schedules(db)
    for n in range(2 * AT_ONCE + 5):
        await schedules.add(row(f"reminder-{n}"))
    await Calendar(schedules, cast(Runs, runs), lambda: DUE).round()
    await db.close()
    assert (runs.begun, runs.most) == (2 * AT_ONCE + 5, AT_ONCE)
