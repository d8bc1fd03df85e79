"""The complete bot on the fake Discord in one process: real client, views and storage; the works are scripts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.adapters.discord.service import Sutradhar
from bot.app import App
from bot.config import DiscordConfig
from tests.adapters.discord.wire import soon_ready
from tests.fakes import scripted_app
from tests.fakes.discord import Channel, FakeDiscord, Guild, User
from tests.fakes.scripted_app import Recorder, Script, open_scripted


@dataclass
class Line:
    """A table with Ana, whose Discord is in Portuguese, and Bia, who manages the server."""

    discord: FakeDiscord
    app: App
    client: Sutradhar
    guild: Guild
    channel: Channel
    ana: User
    bia: User


@asynccontextmanager
async def line(data: Path, scripts: Mapping[str, Script], *, free_chat: bool = False) -> AsyncIterator[Line]:
    portal = ["MESSAGE_CONTENT"] if free_chat else []
    async with FakeDiscord(portal=portal) as discord:
        guild = discord.guild("Table")
        channel = guild.text("general")
        ana, bia = discord.user("Ana", locale="pt-BR"), discord.user("Bia")
        guild.join(ana, manage=False)
        guild.join(bia, manage=True)
        settings = DiscordConfig(
            application_id=discord.application_id,
            api_base=discord.api,
            gateway_url=discord.gateway_url,
            free_chat=free_chat,
        )
        config = replace(scripted_app.config(data), discord=settings)
        app = await open_scripted(data, scripts, Recorder(), config)
        async with Sutradhar(app, config) as client:
            soon_ready(client)
            await client.login(discord.token)
            await app.start()
            connected = asyncio.create_task(client.connect())
            try:
                await discord.connected()
                await client.wait_until_ready()
                yield Line(discord, app, client, guild, channel, ana, bia)
            finally:
                await client.stop_receiving()
                await app.close()
                connected.cancel()
                await asyncio.gather(connected, return_exceptions=True)
