"""/setup: what is in place for the bot on this server, for who manages it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.app_commands import locale_str
from discord.ext import commands

from bot.adapters.discord.installed.checklist import examine, listed
from bot.adapters.discord.received.commands import said
from bot.adapters.discord.received.placing import spot
from bot.adapters.discord.shown import telling

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client


class Setup(commands.Cog):
    def __init__(self, client: Client) -> None:
        self._client = client

    @app_commands.command(name=locale_str("setup", key="names.setup"), description=said("welcome.setup"))
    @app_commands.default_permissions(manage_guild=True)
    @app_commands.allowed_installs(guilds=True, users=False)
    @app_commands.allowed_contexts(guilds=True, dms=False, private_channels=False)
    async def setup(self, interaction: discord.Interaction[Client]) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        say = self._client.intake.words(interaction)
        space, may = spot(interaction).space, interaction.app_permissions
        text = listed(await examine(self._client, interaction.guild, space, may, say), say)
        await telling.at_length(interaction, text)
