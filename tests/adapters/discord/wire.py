"""The real client, intake, views and storage on a loopback Discord; only the works are scripts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import discord

from bot.adapters.composer import Composer
from bot.adapters.discord.installed.client import intents_of, redirect
from bot.adapters.discord.installed.traffic import HANGS_S, PACE, NewThreads
from bot.adapters.discord.received.placing import AnswerPlace, Origin, origin_of
from bot.adapters.discord.service import Sutradhar
from bot.adapters.discord.shown.home import DiscordHome, dialect
from bot.adapters.discord.shown.webhooks import Webhooks
from bot.adapters.discord.text.page import Page
from bot.adapters.intake import KeyedLocks
from bot.adapters.writer import Writers
from bot.app import App
from bot.config import DiscordConfig, load
from bot.events import Author, Ended, Place, Request, Shown
from bot.runs.requests import event_id
from bot.speech.engines.base import Engine
from storage.db import Database
from storage.records import Records
from tests.fakes import migrated
from tests.fakes.discord import Asked, Channel, FakeDiscord, User
from tests.fakes.scripted_app import Recorder, Script, open_scripted

READY_S = 0.1
"""How long after the last server a client waits for one more before it is ready; discord.py's is two seconds."""


def soon_ready(client: discord.Client) -> None:
    client._connection.guild_ready_timeout = READY_S


@asynccontextmanager
async def bot(
    fake: FakeDiscord,
    data: Path,
    scripts: Mapping[str, Script],
    *,
    hangs_s: float = HANGS_S,
    voice: Engine | None = None,
    **settings: object,
) -> AsyncIterator[Sutradhar]:
    """A connected bot that speaks with `voice`. At the end it shuts down in order, without waiting for runs."""
    told = DiscordConfig(api_base=fake.api, gateway_url=fake.gateway_url)
    config = replace(load(data=migrated.folder(data), environ={}), discord=replace(told, **settings))  # type: ignore[arg-type]
    app: App = await open_scripted(data, scripts, Recorder())
    if voice is not None:
        app.resources.speech._engines["hibari"] = voice
    client = Sutradhar(app, config, hangs_s=hangs_s)
    soon_ready(client)
    connecting: asyncio.Task[None] | None = None
    try:
        await client.login(fake.token)
        await app.start()
        connecting = asyncio.create_task(client.connect(reconnect=True))
        await fake.connected()
        await client.wait_until_ready()
        yield client
    finally:
        if connecting is not None:
            connecting.cancel()
            await asyncio.wait([connecting])
        if client.voice is not None:
            await client.voice.close()
        await app.close()
        client.writers.close()
        await client.close()


class Bench:
    """A client that only acknowledges `/ask`; the test makes the views of the requests."""

    def __init__(self, fake: FakeDiscord, database: Database) -> None:
        self.fake, self.database = fake, database
        self.records = Records.of(database)
        self.outbox, self.offers, self.threads = (
            self.records.outbox,
            self.records.offers,
            self.records.threads,
        )
        self.writers = Writers(PACE)
        self.client = discord.Client(
            intents=intents_of(False), max_messages=None, guild_ready_timeout=READY_S
        )
        self.webhooks = Webhooks(self.client)
        self.new_threads = NewThreads()
        self.lines = KeyedLocks()
        self._asked: dict[int, discord.Interaction] = {}
        tree = discord.app_commands.CommandTree(
            self.client, allowed_installs=discord.app_commands.AppInstallationType(guild=True, user=True)
        )
        self.tree = tree

        @tree.command(name="ask", description="Ask")
        async def ask(interaction: discord.Interaction, question: str, private: bool = False) -> None:
            self._asked[interaction.id] = interaction
            await interaction.response.defer(thinking=True, ephemeral=private)

    async def ask(
        self, user: User, channel: Channel, home: AnswerPlace, *, question: str = "Who?", **told: Any
    ) -> tuple[Asked, Request]:
        """Ask; returns the request as the intake would store it."""
        private, guest = bool(told.get("private")), not told.get("member", True)
        asked = await self.fake.slash(user, channel, "ask", question=question, private=private, guest=guest)
        interaction = self._asked[asked.id]
        origin = Origin(
            home,
            channel.id,
            self.fake.application_id,
            guild=channel.guild.id if channel.guild else None,
            user=user.id,
            token=interaction.token,
            until=time.time() + 900,
            title=question,
            asked=question,
        )
        space = str(channel.guild.id) if channel.guild else f"user:{user.id}"
        thread = str(asked.id) if home == "thread" else ""
        place = Place("discord", space, str(channel.id), thread)
        run = event_id("discord", space, str(asked.id))
        kept = replace(origin, **told).to_json()
        return asked, Request(
            run, place, Author(str(user.id), user.name), "rules", "ask", text=question, origin=kept
        )

    def home(self, request: Request, *, free_chat: bool = False) -> DiscordHome:
        async def free(place: Place) -> bool:
            return free_chat

        origin = origin_of(request.origin)
        return DiscordHome(
            self.client,
            request,
            origin,
            self.records,
            self.webhooks,
            free,
            self.writers.side_tasks,
            self.new_threads,
            self.lines,
        )

    def view(self, request: Request, *, free_chat: bool = False) -> Composer[Page]:
        """A new view from the factory; a second one acts as after a crash."""
        home = self.home(request, free_chat=free_chat)
        spoken = dialect(origin_of(request.origin), request.locale)
        return Composer(request, self.outbox, self.offers, home, self.writers, spoken)

    async def run(self, request: Request, *events: Shown, status: Ended = "done") -> None:
        view = self.view(request)
        for event in events:
            await view.show(event)
        await view.flush(status)


@asynccontextmanager
async def bench(data: Path) -> AsyncIterator[Bench]:
    database = await Database.open(migrated.database(data / "wire.db"))
    async with FakeDiscord() as fake:
        made = Bench(fake, database)
        redirect(DiscordConfig(api_base=fake.api, gateway_url=fake.gateway_url))
        await made.client.login(fake.token)
        await made.tree.sync()
        connecting = asyncio.create_task(made.client.connect())
        await fake.connected()
        await made.client.wait_until_ready()
        try:
            yield made
        finally:
            made.writers.close()
            await made.client.close()
            await asyncio.wait([connecting])
    await database.close()
