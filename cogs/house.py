"""/help, /stop, /new and /usage: the verbs that steer the conversation itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from bot.adapters.discord import telling
from bot.adapters.discord.help import help_text
from bot.adapters.discord.verbs import given, verb
from bot.commands import DAYS
from bot.verb import HOUSE

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception


class House(commands.Cog):
    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    @verb(HOUSE, "help")
    async def help(self, interaction: discord.Interaction, topic: str | None = None) -> None:
        # Answered on the spot, to the person alone: there is nothing in it to keep or to lose.
        await telling.at_length(interaction, help_text(self._reception.words(interaction), topic or ""))

    @verb(HOUSE, "stop")
    async def stop(self, interaction: discord.Interaction) -> None:
        await self._reception.perform(interaction, HOUSE, "stop")

    @verb(HOUSE, "new")
    async def new(self, interaction: discord.Interaction) -> None:
        await self._reception.perform(interaction, HOUSE, "new")

    @verb(HOUSE, "usage")
    async def usage(
        self,
        interaction: discord.Interaction,
        days: app_commands.Range[int, 1, DAYS] | None = None,
    ) -> None:
        await self._reception.perform(interaction, HOUSE, "usage", options=given(days=days))
