"""/prompts: what the models are told in this space. A window holds a prompt's text while it is edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from bot.adapters.discord.verbs import group, verb

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception


@app_commands.default_permissions(manage_guild=True)
class Prompts(commands.GroupCog, **group("prompts")):
    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    @verb("prompts", "list")
    async def list(self, interaction: discord.Interaction) -> None:
        await self._reception.perform(interaction, "prompts", "list")

    @verb("prompts", "show")
    async def show(self, interaction: discord.Interaction, name: str) -> None:
        await self._reception.perform(interaction, "prompts", "show", text=name)

    @verb("prompts", "edit")
    async def edit(
        self, interaction: discord.Interaction, name: str, file: discord.Attachment | None = None
    ) -> None:
        if file is None:
            await self._reception.reword(interaction, name)
        else:
            await self._reception.perform(interaction, "prompts", "edit", text=name, attachments=(file,))

    @verb("prompts", "reset")
    async def reset(self, interaction: discord.Interaction, name: str) -> None:
        await self._reception.perform(interaction, "prompts", "reset", text=name)
