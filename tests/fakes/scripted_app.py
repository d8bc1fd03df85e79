"""A real application, except that its works follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bot.accounts import Accounts
from bot.app import App
from bot.config import Config, load
from bot.config.settings import EmbeddingConfig
from bot.events import Author, Changed, Event, Place, Request, Speak
from bot.kind import Runs
from bot.names import Names
from bot.platforms import Platform
from bot.resources import Resources
from bot.settings import Settings
from bot.view import View
from bot.work import Run, Work
from bot.works.house.models import ModelChoice
from bot.works.house.work import ConversationWork
from bot.works.privacy.work import Privacy
from bot.works.sessions.work import SessionsWork
from bot.works.settings.work import SettingsWork
from bot.works.voice.work import VoiceWork
from storage.db import Database
from storage.outbox import Outbox
from storage.schedules import ScheduleRow
from storage.settings import SettingsStore
from tests.fakes import migrated

Script = Callable[[Run], AsyncGenerator[Event, None]]


class Scripted:
    """A work that runs the script for a request's text."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._scripts = scripts

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        return self._scripts[run.request.text](run)


class Recorder:
    """Makes views that store their events here."""

    def __init__(self) -> None:
        self.events: dict[str, list[Event]] = {}
        self.flushed: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        self.changes: list[Changed] = []
        self.spoken: list[Speak] = []
        self.shown = asyncio.Condition()

    def view(self, run: str, request: Request, outbox: Outbox) -> View:
        return RecordedView(self, run)

    async def speak(self, request: Request, words_aloud: Speak) -> None:
        self.spoken.append(words_aloud)

    async def until(self, run: str, event: Event) -> None:
        """Wait until the run has shown `event`."""
        async with asyncio.timeout(90), self.shown:
            await self.shown.wait_for(lambda: event in self.events.get(run, []))


class RecordedView:
    def __init__(self, recorder: Recorder, run: str) -> None:
        self._recorder = recorder
        self._run = run
        recorder.events.setdefault(run, [])

    async def change(self, changed: Changed) -> None:
        assert changed.run == self._run
        self._recorder.changes.append(changed)

    async def show(self, event: Event) -> None:
        async with self._recorder.shown:
            self._recorder.events[self._run].append(event)
            self._recorder.shown.notify_all()

    async def flush(self, status: str) -> None:
        self._recorder.flushed[self._run] = status

    async def close(self, status: str) -> None:
        self._recorder.statuses[self._run] = status


async def open_scripted(
    data: Path, scripts: Mapping[str, Script], recorder: Recorder, settings: Config | None = None
) -> App:
    """An app over real storage and the real engine, not yet started."""
    resources = await Resources.open(settings or config(data))

    async def no_threads(*_: object) -> None:
        return None

    def works(resources: Resources, runs: Runs) -> dict[str, Work]:
        scripted = Scripted(scripts)
        accounts = Accounts(
            resources.ledger, resources.records.feedback, Names(resources), resources.config.budget
        )
        return {
            "rules": scripted,
            "library": scripted,
            "sessions": SessionsWork(
                resources.records.sessions,
                resources.records.own_sessions,
                runs.forget,
                runs.reword,
                no_threads,
                resources.settings.zone,
            ),
            "settings": SettingsWork(resources),
            "privacy": Privacy(resources, runs),
            "voice": VoiceWork(resources, runs),
            "house": ConversationWork(
                resources.records.sessions, runs.stop, accounts, ModelChoice(resources)
            ),
        }

    app = App(resources, resources.engine_url, works=works)
    app.attach(
        Platform(
            "terminal", recorder.view, origin=lambda place: f"nobody in {place.thread}", speak=recorder.speak
        )
    )
    return app


def settings_of(db: Database) -> Settings:
    """The settings in this database, over an empty config."""
    return Settings(SettingsStore(db), Config(Path(), Path()))


def config(data: Path) -> Config:
    """The default settings, but for the search by meaning: the bot would download its models, 70 MB."""
    return replace(load(data=migrated.folder(data), environ={}), embedding=EmbeddingConfig("none"))


def asked(
    id: str, text: str, *, work: str = "rules", verb: str = "ask", space: str = "local", thread: str = "t"
) -> Request:
    """A request in a thread of the terminal."""
    return Request(
        id, Place("terminal", space, "terminal", thread), Author("a", "A", admin=True), work, verb, {}, text
    )


def reminder(id: str, place: Place, author: str) -> ScheduleRow:
    """A request that is due in a hundred years."""
    due = datetime(2126, 11, 24, 19, 0, tzinfo=UTC)
    rule = '{"zone": "UTC", "first": "2126-11-24T19:00", "every": ""}'
    address = (place.space, place.platform, place.channel, place.thread)
    return ScheduleRow(id, *address, author, "en", "reminder", "bring dice", "{}", rule, "once", due, due)
