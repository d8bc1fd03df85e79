"""/rules: questions to the rulebooks, sections by name, dice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.ext import commands

from bot.adapters.discord.verbs import PASSAGES, given, group, verb
from bot.works.snapshot import QUESTION_CHARS

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception


class Rules(commands.GroupCog, **group("rules")):
    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    @verb("rules", "ask")
    async def ask(
        self,
        interaction: discord.Interaction,
        question: app_commands.Range[str, 1, QUESTION_CHARS] | None = None,
        shelf: str | None = None,
        k: app_commands.Range[int, 1, PASSAGES] | None = None,
        strategy: str | None = None,
        file: discord.Attachment | None = None,
        private: bool = False,
    ) -> None:
        options = given(shelf=shelf, k=k, strategy=strategy, private=private)
        await self._reception.perform(
            interaction, "rules", "ask", text=question, options=options, attachments=(file,)
        )

    @verb("rules", "lookup")
    async def lookup(
        self, interaction: discord.Interaction, name: str, shelf: str | None = None, private: bool = False
    ) -> None:
        options = given(shelf=shelf, private=private)
        await self._reception.perform(interaction, "rules", "lookup", text=name, options=options)

    @verb("rules", "roll")
    async def roll(
        self, interaction: discord.Interaction, expression: str | None = None, private: bool = False
    ) -> None:
        options = given(private=private)
        await self._reception.perform(interaction, "rules", "roll", text=expression, options=options)

    @verb("rules", "books")
    async def books(
        self, interaction: discord.Interaction, shelf: str | None = None, private: bool = False
    ) -> None:
        options = given(shelf=shelf, private=private)
        await self._reception.perform(interaction, "rules", "books", options=options)

    @verb("rules", "see")
    async def see(
        self, interaction: discord.Interaction, ref: str, shelf: str | None = None, private: bool = False
    ) -> None:
        options = given(shelf=shelf, private=private)
        await self._reception.perform(interaction, "rules", "see", text=ref, options=options)
