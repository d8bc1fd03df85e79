"""/council: one question to several models, who sits there, and what each of them said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord.ext import commands

from bot.adapters.discord.verbs import given, group, verb

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception


class Council(commands.GroupCog, **group("council")):
    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    @verb("council", "ask")
    async def ask(
        self,
        interaction: discord.Interaction,
        question: str | None = None,
        level: str | None = None,
        research: str | None = None,
        debate: bool = False,
        follow: bool = False,
        yes: bool = False,
        private: bool = False,
    ) -> None:
        options = given(
            level=level, research=research, debate=debate, follow=follow, yes=yes, private=private
        )
        await self._reception.perform(interaction, "council", "ask", text=question, options=options)

    @verb("council", "members")
    async def members(self, interaction: discord.Interaction, list: str | None = None) -> None:
        await self._reception.perform(interaction, "council", "members", text=list or "")

    @verb("council", "chair")
    async def chair(self, interaction: discord.Interaction, models: str | None = None) -> None:
        await self._reception.perform(interaction, "council", "chair", text=models or "")

    @verb("council", "criteria")
    async def criteria(self, interaction: discord.Interaction, text: str | None = None) -> None:
        await self._reception.perform(interaction, "council", "criteria", text=text or "")

    @verb("council", "show")
    async def show(
        self, interaction: discord.Interaction, what: str, run: str | None = None, private: bool = False
    ) -> None:
        options = given(run=run, private=private)
        await self._reception.perform(interaction, "council", "show", text=what, options=options)

    @verb("council", "export")
    async def export(
        self, interaction: discord.Interaction, run: str | None = None, private: bool = False
    ) -> None:
        options = given(run=run, private=private)
        await self._reception.perform(interaction, "council", "export", options=options)

    @verb("council", "stats")
    async def stats(self, interaction: discord.Interaction, private: bool = False) -> None:
        await self._reception.perform(interaction, "council", "stats", options=given(private=private))
