"""The real views and surfaces with the real slack_sdk client on a loopback Slack; no bot listens to events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp

from bot.adapters.slack.installed.clients import PER_MINUTE, Client, Limits
from bot.adapters.slack.installed.workspaces import Installed, Workspace, Workspaces
from bot.adapters.slack.placing import AnswerPlace, Location, Origin, home, place
from bot.adapters.slack.shown.home import SlackHome, view_of
from bot.adapters.writer import Pace, Writers
from bot.events import Author, Ended, Request, Shown, Stage, Status, Text
from bot.runs.requests import event_id
from bot.view import View
from storage.db import Database
from storage.records import Records
from tests.fakes import migrated
from tests.fakes.slack import Channel, FakeSlack, Message, Team, User

QUICK = Pace(edit_every_s=0.01, posts=50, posts_in_s=4.0)
"""So that no test waits; test_writer has the waiting."""
SEARCH = (Stage("search", "Searching"), Status("Looking"), Text("Found 3 passages."))
ANSWER = (Stage("answer", "Answer", answer=True), Text("It is "), Text("Ana."))


class Known(Workspaces):
    """Knows every workspace of the fake; slack_sdk retries no call by itself."""

    def __init__(self, fake: FakeSlack) -> None:
        self._fake = fake
        self.limits = Limits(dict.fromkeys(PER_MINUTE, 1e6))
        self._nameless: dict[str, float] = {}
        self.session = aiohttp.ClientSession()

    async def client(self, team: str, enterprise: str = "") -> Client:
        token, api = self._fake.world.teams[team].bot_token, self._fake.api
        return Client(self.limits, team, session=self.session, retry_handlers=[], token=token, base_url=api)

    async def installed(self, team: str, enterprise: str = "") -> Installed:
        there = self._fake.world.teams[team]
        return Installed(there.bot_token, there.bot.id, there.bot_id, team, name=there.bot.name)


class Desk:
    """A workspace with a channel, and Ana in it."""

    def __init__(self, fake: FakeSlack, database: Database) -> None:
        self.fake = fake
        self.team: Team = fake.workspace(f"Table {len(fake.world.teams)}")
        self.ana: User = self.team.user("Ana")
        self.channel: Channel = self.team.channel("general")
        self.dm: Channel = self.team.dm(self.ana)
        self.workspaces = Known(fake)
        self.workspace = Workspace(self.workspaces, self.team.id)
        self.database = database
        self.records = Records.of(database)
        self.outbox, self.offers, self.threads = (
            self.records.outbox,
            self.records.offers,
            self.records.threads,
        )
        self.writers = Writers(QUICK)
        self._asked = 0

    async def root(self, text: str = "Who?", channel: Channel | None = None) -> Message:
        return await self.fake.say(self.ana, channel or self.channel, text, wait=False)

    def request(
        self,
        at: Message | Channel,
        *,
        verb: tuple[str, str] = ("rules", "ask"),
        ordered: bool = True,
        private: bool = False,
        goes: AnswerPlace | None = None,
        text: str = "Who?",
        **more: Any,
    ) -> Request:
        """A request as the intake would store it: a message in a thread, or a command in a channel."""
        self._asked += 1
        channel, message = (at, "") if isinstance(at, Channel) else (at.channel, at.ts)
        here = Location(self.ana.id, self.team.id, channel.id, message=message)
        run = event_id("slack", self.team.id, f"command:{self._asked}")
        goes = goes or home(here, ordered=ordered, private=private)
        origin = Origin(
            goes,
            channel.id,
            self.ana.id,
            self.team.id,
            thread=here.message if goes == "here" else "",
            message=message,
            title=text,
            asked=text,
        )
        kept = replace(origin, **more).to_json()
        where = place(here, event=run, goes=goes)
        return Request(run, where, Author(self.ana.id, "Ana"), *verb, text=text, origin=kept)

    def home(self, request: Request) -> SlackHome:
        return SlackHome(self.workspaces, request, self.records, self.writers)

    def view(self, request: Request) -> View:
        """A new view of the request; a second one acts as after a crash."""
        return view_of(self.records, self.workspaces, self.writers, request.id, request, self.outbox)

    async def noted(self, request: Request, message: Message) -> None:
        """Wait until the outbox has recorded the message."""
        async with asyncio.timeout(90):
            while message.ts not in await self.outbox.cut_off(self.team.id, request.id):
                pass

    async def beside(self) -> None:
        """Wait for the side tasks of the answers."""
        tasks = [task for task in asyncio.all_tasks() if "Beside." in repr(task.get_coro())]
        await asyncio.gather(*tasks)

    def crash(self) -> None:
        """Cancel everything that the bot is doing; nothing more is written."""
        for task in asyncio.all_tasks():
            coroutine: Any = task.get_coro()
            if "/bot/adapters/" in coroutine.cr_code.co_filename:
                task.cancel()
        self.writers = Writers(QUICK)

    async def run(self, request: Request, *events: Shown, status: Ended = "done") -> None:
        view = self.view(request)
        for event in events:
            await view.show(event)
        await view.flush(status)

    def said(self, message: Message) -> list[str]:
        """The bot's messages in the thread under this message."""
        return [reply.shown for reply in message.thread if reply.user is self.team.bot]


@dataclass(frozen=True)
class Ground:
    """What desks share. Slack counts no calls here."""

    fake: FakeSlack
    database: Database


@asynccontextmanager
async def ground(data: Path) -> AsyncIterator[Ground]:
    database = await Database.open(migrated.database(data / "desk.db"))
    async with FakeSlack() as fake:
        yield Ground(fake, database)
    await database.close()


@asynccontextmanager
async def desk(under: Ground) -> AsyncIterator[Desk]:
    """A desk with a workspace of its own; Slack remembers nothing of others."""
    fake = under.fake
    for kept in (fake.calls, fake.refused, fake.limited, fake.faults.waiting):
        kept.clear()
    fake.limits.on, fake.limits.clock = False, time.monotonic
    made = Desk(fake, under.database)
    try:
        yield made
    finally:
        made.crash()
        await made.workspaces.session.close()


async def show(view: View, *events: Shown) -> None:
    for event in events:
        await view.show(event)


def body(message: Message) -> str:
    return "".join(block["text"] for block in message.blocks if block["type"] == "markdown")


def shows(root: Message, words: str) -> bool:
    return words in "".join(body(message) for message in root.thread)


def called(bench: Desk, method: str) -> int:
    return sum(call.method == method for call in bench.fake.calls)
