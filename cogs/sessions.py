"""/sessions: a person's own conversations, shown to nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from bot.adapters.discord.verbs import given, group, verb

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception


class Sessions(commands.GroupCog, **group("sessions")):
    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    @verb("sessions", "list")
    async def list(self, interaction: discord.Interaction) -> None:
        await self._reception.perform(interaction, "sessions", "list")

    @verb("sessions", "resume")
    async def resume(self, interaction: discord.Interaction, session: str) -> None:
        await self._reception.perform(interaction, "sessions", "resume", text=session)

    @verb("sessions", "rename")
    async def rename(
        self, interaction: discord.Interaction, title: str | None = None, session: str | None = None
    ) -> None:
        options = given(session=session)
        await self._reception.perform(interaction, "sessions", "rename", text=title, options=options)

    @verb("sessions", "archive")
    async def archive(self, interaction: discord.Interaction, session: str | None = None) -> None:
        await self._reception.perform(interaction, "sessions", "archive", text=session or "")

    @verb("sessions", "delete")
    async def delete(self, interaction: discord.Interaction, session: str) -> None:
        await self._reception.perform(interaction, "sessions", "delete", text=session)
