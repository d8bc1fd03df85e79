"""/library: books onto shelves and off them. Files come as attachments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from bot.adapters.discord.verbs import given, group, verb

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception


class Library(commands.GroupCog, **group("library")):
    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    @verb("library", "add")
    async def add(
        self,
        interaction: discord.Interaction,
        file: discord.Attachment,
        shelf: str,
        file2: discord.Attachment | None = None,
        file3: discord.Attachment | None = None,
        file4: discord.Attachment | None = None,
        file5: discord.Attachment | None = None,
        replace: bool = False,
    ) -> None:
        options = given(shelf=shelf, replace=replace)
        files = (file, file2, file3, file4, file5)
        await self._reception.perform(interaction, "library", "add", options=options, attachments=files)

    @verb("library", "list")
    async def list(self, interaction: discord.Interaction, shelf: str | None = None) -> None:
        await self._reception.perform(interaction, "library", "list", options=given(shelf=shelf))

    @verb("library", "remove")
    async def remove(self, interaction: discord.Interaction, name: str, shelf: str) -> None:
        options = given(shelf=shelf)
        await self._reception.perform(interaction, "library", "remove", text=name, options=options)

    @verb("library", "reindex")
    async def reindex(self, interaction: discord.Interaction, shelf: str | None = None) -> None:
        await self._reception.perform(interaction, "library", "reindex", options=given(shelf=shelf))

    @verb("library", "jobs")
    async def jobs(self, interaction: discord.Interaction) -> None:
        await self._reception.perform(interaction, "library", "jobs")

    @verb("library", "cancel")
    async def cancel(self, interaction: discord.Interaction, job: str | None = None) -> None:
        await self._reception.perform(interaction, "library", "cancel", text=job or "")
