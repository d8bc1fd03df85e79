"""A bot on the real discord.py with a few commands, connected to the fake Discord, for the fake's own tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import discord
import pytest
import yarl
from discord import app_commands
from discord.ext import commands
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.fakes.discord import Channel, FakeDiscord, Guild, Message, User

INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
Doing = Callable[[discord.Interaction], Awaitable[Any]]


async def defer(interaction: discord.Interaction) -> None:
    await interaction.response.defer()


class SmallBot(commands.AutoShardedBot):
    """It records its events, calls `doing` for /hello, and `pressed` for presses and submitted forms."""

    def __init__(self, intents: discord.Intents = INTENTS, **options: Any) -> None:
        super().__init__(
            command_prefix="!", intents=intents, guild_ready_timeout=0.05, help_command=None, **options
        )
        self.heard: list[discord.Message] = []
        self.events: list[str] = []
        self.doing: Doing = defer
        self.pressed: Doing = defer
        self.question: tuple[str, str | None] | None = None
        self.file = b""
        self.trouble: list[Exception] = []
        self._table()

    async def on_message(self, message: discord.Message, /) -> None:
        self.heard.append(message)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if interaction.type in (discord.InteractionType.component, discord.InteractionType.modal_submit):
            await self._try(self.pressed, interaction)

    async def on_socket_event_type(self, event: str) -> None:
        self.events.append(event)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        self.trouble.append(RuntimeError(event_method))

    async def _try(self, doing: Doing, interaction: discord.Interaction) -> None:
        try:
            await doing(interaction)
        except (discord.HTTPException, discord.InteractionResponded) as trouble:
            self.trouble.append(trouble)

    def _table(self) -> None:
        rules = app_commands.Group(name="rules", description="About the rules")

        @rules.command(name="ask", description="Ask")
        async def ask(
            interaction: discord.Interaction,
            question: str,
            shelf: str | None = None,
            file: discord.Attachment | None = None,
        ) -> None:
            self.question = (question, shelf)
            if file is not None:
                self.file = await file.read()
            await interaction.response.defer()
            await interaction.edit_original_response(content=question)

        @ask.autocomplete("shelf")
        async def shelves(interaction: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
            return [app_commands.Choice(name=f"{current}-{number}", value=str(number)) for number in range(3)]

        @self.tree.command(name="hello", description="Say hello")
        @app_commands.allowed_installs(guilds=True, users=True)
        async def hello(interaction: discord.Interaction) -> None:
            await self._try(self.doing, interaction)

        @self.tree.command(name="secret", description="For managers")
        @app_commands.default_permissions(manage_guild=True)
        async def secret(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("yes")

        @self.tree.context_menu(name="Quote")
        async def quote(interaction: discord.Interaction, message: discord.Message) -> None:
            await interaction.response.send_message(f"> {message.content}")

        self.tree.add_command(rules)

    async def raw(self, method: str, path: str, body: Mapping[str, Any] | list[Any] | None = None) -> Any:
        """Send a request with the bot's token, like the client's own."""
        more: dict[str, Any] = {} if body is None else {"json": body}
        return await self.http.request(Route(method, path), **more)


@dataclass
class Table:
    fake: FakeDiscord
    bot: SmallBot
    guild: Guild
    channel: Channel
    ana: User

    async def refused(
        self, code: int, method: str, path: str, body: Any = None, status: int | None = None
    ) -> str:
        """Check that the request is refused with this code and that the fake has recorded it; returns the reason."""
        with pytest.raises(discord.HTTPException) as caught:
            await self.bot.raw(method, path, body)
        assert caught.value.code == code
        assert status in (None, caught.value.status)
        assert self.fake.refused[-1].code == code
        return self.fake.refused[-1].why

    async def post(self, where: Channel, **body: Any) -> Message:
        sent = await self.bot.raw("POST", f"/channels/{where.id}/messages", body)
        return where.posts[int(sent["id"])]


@asynccontextmanager
async def connected(
    fake: FakeDiscord, bot: SmallBot | None = None, sync: bool = True, shards: int = 1
) -> AsyncGenerator[SmallBot]:
    """The bot, logged in, with its commands registered and its cache filled."""
    bot = SmallBot() if bot is None else bot
    base, gateway = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = fake.api, yarl.URL(fake.gateway_url)
    running: asyncio.Task[None] | None = None
    try:
        await bot.login(fake.token)
        if sync:
            await bot.tree.sync()
        running = asyncio.create_task(bot.connect())
        await fake.connected(shards)
        await asyncio.wait_for(bot.wait_until_ready(), 60)
        yield bot
    finally:
        await bot.close()
        if running is not None:
            await asyncio.wait([running], timeout=60)
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = base, gateway


@asynccontextmanager
async def table(bot: SmallBot | None = None, fake: FakeDiscord | None = None) -> AsyncGenerator[Table]:
    """A guild with #general and Ana, and the bot connected to it."""
    async with FakeDiscord() if fake is None else fake as discord_:
        guild = discord_.guild("Table")
        channel, ana = guild.text("general"), discord_.user("Ana", locale="pt-BR")
        guild.join(ana)
        async with connected(discord_, bot) as client:
            yield Table(discord_, client, guild, channel, ana)
