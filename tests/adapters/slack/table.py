"""A workspace at which people play: the fake Slack, the real Bolt app on real sockets, a real App and its storage.

For tests of what people do: messages, commands, presses, windows. The works are scripts, and answers are shown by a
plain view that posts them as text; with `record` they are only kept. Everything else is as in `Slack.prepare`.

    async with table(tmp_path) as at:
        await at.slack.command(at.ana, at.channel, "/rules", "ask Who?")
        await at.ended()
        assert at.asked.text == "Who?"
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bot.adapters.slack.installed.credentials import Credentials
from bot.adapters.slack.placing import PLATFORM, Origin, origin_of
from bot.adapters.slack.received.fetched import Files, ThreadReader
from bot.adapters.slack.service import Slack, register
from bot.adapters.slack.shown.home import view_of
from bot.adapters.stored_choices import VoteCounts
from bot.adapters.writer import Pace, Writers
from bot.app import App
from bot.config import SlackConfig, load
from bot.events import Changed, Event, Request, Shown, Text
from bot.platforms import Platform
from bot.view import Closing, View
from bot.words import words
from bot.work import Run
from storage.outbox import Outbox
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder, Script, open_scripted
from tests.fakes.slack import Channel, FakeSlack, Message, Team, User

ANSWER = "An answer."


async def answers(run: Run) -> AsyncGenerator[Event, None]:
    yield Text(ANSWER)


class Scripts(dict[str, Script]):
    """Scripts by text; a text without a script gets an answer."""

    def __missing__(self, text: str) -> Script:
        return answers


class Record(Recorder):
    """The recorder, with the requests in the order in which they were begun."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []

    def view(self, run: str, request: Request, outbox: Outbox) -> View:
        self.requests.append(request)
        return super().view(run, request, outbox)


class Plain:
    """Posts the recorded text of a run in its home once the run has ended."""

    def __init__(self, bot: Slack, request: Request, recorded: View) -> None:
        self._bot = bot
        self._request = request
        self._recorded = recorded
        self._text = ""

    async def change(self, changed: Changed) -> None:
        await self._recorded.change(changed)

    async def show(self, event: Shown) -> None:
        self._text += event.text if isinstance(event, Text) else ""
        await self._recorded.show(event)

    async def flush(self, status: Any) -> None:
        origin = origin_of(self._request.origin)
        client: Any = await self._bot.workspaces.client(origin.team, origin.enterprise)
        text = self._text or status
        match origin.home:
            case "here":
                await client.chat_postMessage(channel=origin.channel, thread_ts=origin.thread, text=text)
            case "channel":
                await client.chat_postMessage(channel=origin.channel, text=text)
            case "alone":
                thread = origin.thread or None
                where = {"channel": origin.channel, "user": origin.user, "thread_ts": thread}
                await client.chat_postEphemeral(text=text, **where)
            case "thread" | "direct":
                await self._under_a_root(client, origin, text)
        await self._recorded.flush(status)

    async def _under_a_root(self, client: Any, origin: Origin, text: str) -> None:
        place = self._request.place
        to = origin.user if origin.home == "direct" else origin.channel
        asked = f"{self._request.author.name} asked: {origin.asked}"
        root: Any = await client.chat_postMessage(channel=to, text=asked)
        thread = f"{root['channel']}:{root['ts']}"
        await self._bot.app.resources.records.threads.bind(place.space, place.channel, place.thread, thread)
        await client.chat_postMessage(channel=root["channel"], thread_ts=root["ts"], text=text)

    async def close(self, status: Any) -> None:
        assert isinstance(self._recorded, Closing)
        await self._recorded.close(status)


class Bot(Slack):
    """The real bot, except for its views."""

    record: Record
    scripts: Scripts
    plain = True
    real: Callable[[str, Request, Outbox], View] | None = None

    def view(self, run: str, request: Request, outbox: Outbox) -> View:
        recorded = self.record.view(run, request, outbox)
        if self.real is not None:
            return self.real(run, request, outbox)
        return Plain(self, request, recorded) if self.plain else recorded

    async def prepare(self) -> None:
        await self.workspaces.learn()
        register(self.bolt, self.intake, self.store)
        files = Files(self.workspaces, self.settings)
        reader = ThreadReader(self.workspaces, self.people)
        self.app.attach(
            Platform(
                PLATFORM,
                self.view,
                files.fetch,
                reader,
                read_whole_thread=reader.whole,
                read_transcript=files.transcript,
                standing=self._standing,
                find=self._find,
                without_words=lambda origin: origin_of(origin).to_json(title="", asked=""),
            )
        )


class Table:
    """Ana plays, Bia is in charge of the workspace; this table's channel is #general."""

    def __init__(self, slack: FakeSlack, bot: Bot, team: Team) -> None:
        self.slack = slack
        self.bot = bot
        self.team = team
        self.bia: User = team.user("Bia", admin=True)
        self.ana: User = team.user("Ana")
        self.channel: Channel = team.channel("general")

    def another(self) -> Table:
        """Another table with other people, without the requests of this one."""
        return Table(self.slack, self.bot, self.team)

    @property
    def app(self) -> App:
        return self.bot.app

    @property
    def space(self) -> str:
        return self.team.id

    @property
    def requests(self) -> list[Request]:
        """The requests of these people, in order."""
        people = (self.ana.id, self.bia.id)
        return [request for request in self.bot.record.requests if request.author.id in people]

    @property
    def asked(self) -> Request:
        """The only request so far."""
        (request,) = self.requests
        return request

    @property
    def origin(self) -> Origin:
        return origin_of(self.asked.origin)

    @property
    def origins(self) -> list[Origin]:
        return [origin_of(request.origin) for request in self.requests]

    async def begun(self, n: int = 1) -> list[Request]:
        """Wait until `n` runs have begun."""
        await self.slack.until(lambda: len(self.requests) >= n)
        return self.requests

    async def ended(self, n: int = 1) -> list[Request]:
        """Wait until `n` runs have begun, and all that have begun have ended."""
        for one in list(await self.begun(n)):
            await self.app.ended(one.id)
        return self.requests

    async def whispered(self, to: User, within: Channel | None = None) -> Message:
        """Wait for the newest ephemeral message to this person."""
        channel = within or self.channel

        def found() -> list[Message]:
            return [message for message in channel.everything if message.ephemeral_to is to]

        return (await self.slack.until(found))[-1]

    def whispers(self, to: User, within: Channel | None = None) -> list[str]:
        """The texts of the ephemeral messages to this person."""
        return [
            message.shown for message in (within or self.channel).everything if message.ephemeral_to is to
        ]


@asynccontextmanager
async def table(
    data: Path,
    scripts: Mapping[str, Script] | None = None,
    *,
    record: bool = False,
    pace: Pace | None = None,
    **settings: Any,
) -> AsyncIterator[Table]:
    """`record`: nothing is posted. With a `pace` the real views show what runs do. `settings` are [slack]'s."""
    async with FakeSlack() as slack:
        team = slack.workspace("Table")
        async with seated(slack, team, data, scripts, record=record, pace=pace, **settings) as at:
            yield at


@asynccontextmanager
async def seated(
    slack: FakeSlack,
    team: Team,
    data: Path,
    scripts: Mapping[str, Script] | None = None,
    *,
    record: bool = False,
    pace: Pace | None = None,
    **settings: Any,
) -> AsyncIterator[Table]:
    """The bot on an existing fake Slack, also a second bot after the first has left."""
    told = replace(SlackConfig(api_base=slack.api, connections=1), **settings)
    config = replace(load(data=migrated.folder(data), environ={}), slack=told)
    known = scripts if isinstance(scripts, Scripts) else Scripts(scripts or {})
    app = await open_scripted(data, known, Recorder())
    bot = Bot(app, config, Credentials(slack.bot_token, slack.app_token), words("en"))
    bot.record, bot.scripts, bot.plain = Record(), known, not record
    if pace is not None:
        bot.writers = Writers(pace)
        bot.intake.counts = VoteCounts(bot.writers)
        bot.real = partial(view_of, app.resources.records, bot.workspaces, bot.writers)
    running: asyncio.Task[None] | None = None
    try:
        await bot.prepare()
        await app.start()
        running = asyncio.create_task(bot.run())
        await slack.connected(told.connections)
        yield Table(slack, bot, team)
    finally:
        await bot.stop_receiving()
        if running is not None:
            running.cancel()
            await asyncio.wait([running])
        await app.close()
        await bot.close()
