"""The connection to Discord: identifying, starting shards, resuming and closing."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import discord
import pytest

from bot.adapters.discord.installed.client import faults_as_sorry
from bot.adapters.discord.service import Sutradhar
from bot.adapters.intake import WINDOW
from bot.app import App
from bot.config import Config, DiscordConfig, load
from bot.events import UserError
from tests.adapters.discord.wire import soon_ready
from tests.fakes import migrated
from tests.fakes.discord import FakeDiscord

GUILDS, VOICE_STATES, GUILD_MESSAGES, DM_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 7, 1 << 9, 1 << 12, 1 << 15
"""https://docs.discord.com/developers/events/gateway#list-of-intents"""


def config(fake: FakeDiscord, data: Path, **settings: object) -> Config:
    given = {"api_base": fake.api, **settings}
    return replace(load(data=migrated.folder(data), environ={}), discord=DiscordConfig(**given))  # type: ignore[arg-type]


@asynccontextmanager
async def here(fake: FakeDiscord, data: Path, **settings: object) -> AsyncIterator[Sutradhar]:
    """A client that has logged in and connects."""
    app = await App.open(config(fake, data, **settings))
    async with Sutradhar(app, app.resources.config) as client:
        soon_ready(client)
        await client.login(fake.token)
        await app.start()
        connecting = asyncio.create_task(client.connect())
        try:
            await fake.connected(shards=fake.gateway.shards)
            yield client
        finally:
            await client.stop_receiving()
            await app.close()
            connecting.cancel()


async def test_the_client_requests_only_the_intents_that_it_needs(tmp_path: Path) -> None:
    async with FakeDiscord(portal=()) as fake, here(fake, tmp_path) as client:
        ((_, _, intents),) = fake.gateway.identified
        assert intents == GUILDS | VOICE_STATES | GUILD_MESSAGES | DM_MESSAGES
        assert client.allowed_mentions is not None
        assert dict(client.allowed_mentions.to_dict()) == {"parse": []}
        assert (client.help_command, list(client.commands)) == (None, [])


async def test_the_client_is_ready_without_waiting_for_unused_caches(tmp_path: Path) -> None:
    """discord.py would wait two seconds after each server, and so would the line that says that the bot is ready."""
    app = await App.open(load(data=tmp_path, environ={}))
    async with Sutradhar(app, app.resources.config) as client:
        assert client._connection.guild_ready_timeout <= 0.5
    await app.close()


async def test_free_chat_requests_the_message_content_intent(tmp_path: Path) -> None:
    async with FakeDiscord() as fake, here(fake, tmp_path, free_chat=True):
        ((_, _, intents),) = fake.gateway.identified
        assert intents == GUILDS | VOICE_STATES | GUILD_MESSAGES | DM_MESSAGES | MESSAGE_CONTENT


async def test_free_chat_without_the_intent_says_what_to_click(tmp_path: Path) -> None:
    async with FakeDiscord(portal=()) as fake:
        app = await App.open(config(fake, tmp_path, free_chat=True))
        async with Sutradhar(app, app.resources.config) as client:
            await client.login(fake.token)
            with pytest.raises(UserError) as caught:
                async with faults_as_sorry(client.settings), asyncio.timeout(30):
                    await client.connect()
            await app.close()
    assert caught.value.key == "discord_run.intent_off"


async def test_sixteen_shards_start_at_once_if_discord_allows_it(tmp_path: Path) -> None:
    async with FakeDiscord(shards=16, max_concurrency=16) as fake:
        guilds = [fake.guild(f"Table {n}") for n in range(16)]
        began = time.monotonic()
        async with here(fake, tmp_path) as client:
            assert sorted(shard for _, shard, _ in fake.gateway.identified) == list(range(16))
            assert (
                max(at for at, _, _ in fake.gateway.identified) - began < 60
            )  # one after another, they would take 75 seconds
            await fake.until(lambda: len(client.guilds) == len(guilds))
            await client.wait_until_ready()
            assert {guild.shard_id for guild in client.guilds} == set(range(16))
        assert fake.gateway.closed == []


async def test_the_client_resumes_at_the_address_from_ready(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        proxy = f"ws://localhost:{fake.port}/gateway"
        async with here(fake, tmp_path, gateway_url=proxy) as client:
            hosts = [socket.request.host for socket in fake.gateway.sockets]
            await fake.until(lambda: client.connections() == {"shard 0": True})
            await fake.reconnect()
            await fake.until(lambda: fake.gateway.resumed == 1)
            await fake.until(lambda: client.connections() == {"shard 0": True})
            hosts += [socket.request.host for socket in fake.gateway.sockets]
    assert hosts == [f"localhost:{fake.port}"] * 2


async def test_refused_requests_are_counted(tmp_path: Path) -> None:
    async with FakeDiscord() as fake, here(fake, tmp_path) as client:
        channel = fake.guild("Table", []).text("general")
        with pytest.raises(discord.Forbidden):
            await client.get_partial_messageable(channel.id).send("…")
        assert client.refused.count == 1


async def test_the_second_start_registers_nothing(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        for _ in range(2):
            fake.limits.refresh()
            async with here(fake, tmp_path):
                pass
        assert [call.path for call in fake.calls if call.method == "PUT"] == [
            f"/applications/{fake.application_id}/commands"
        ]


async def test_dismissed_windows_are_forgotten_at_the_start(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        async with here(fake, tmp_path) as client:
            for run in ("old", "new"):
                await client.app.resources.records.offers.keep("1", run, WINDOW, ["{}"])
        with closing(sqlite3.connect(tmp_path / "sutradhar.db")) as connection, connection:
            connection.execute("UPDATE offers SET created_at = '2020-01-01 00:00:00' WHERE run_id = 'old'")
        fake.limits.refresh()
        async with here(fake, tmp_path) as client:
            offers = client.app.resources.records.offers
            assert [await offers.all("1", run, WINDOW) for run in ("old", "new")] == [[], ["{}"]]


async def test_leaving_takes_no_longer_than_the_gateways_close(tmp_path: Path) -> None:
    async with FakeDiscord() as fake, here(fake, tmp_path) as client:
        await client.stop_receiving()
        await fake.until(lambda: not fake.gateway.live, seconds=1)
        # Requests can still be sent, so that runs can show their end.
        assert (await client.fetch_user(fake.user("Ana").id)).display_name == "Ana"
