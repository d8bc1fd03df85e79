"""The message menu "Ask about this message": what somebody wrote becomes the question, or part of it.

The interaction brings the message's text along, so the Message Content intent is not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord import app_commands

from bot.adapters.discord.translator import said
from bot.adapters.quoted import quotation
from bot.adapters.unfinished import Unfinished

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception


def about_message(reception: Reception) -> app_commands.ContextMenu:
    async def about(interaction: discord.Interaction, message: discord.Message) -> None:
        say = reception.words(interaction)
        quoted = quotation(message.content)
        if not quoted:
            await reception.tell(interaction, say("edge.no_text"))
            return
        asked = Unfinished("rules", "ask", after=f"\n\n{quoted}")
        await reception.open(
            interaction, asked, title=say("edge.about"), label=say("edge.about_label"), required=False
        )

    return app_commands.ContextMenu(name=said("edge.about"), callback=about)
