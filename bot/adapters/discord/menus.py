"""The message menu "Ask about this message": what somebody wrote becomes the question, or part of it.

The interaction brings the message's text along, so the Message Content intent is not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord import app_commands

from bot.adapters.discord.modals import Unfinished
from bot.adapters.discord.translator import said
from bot.adapters.draft import clean

if TYPE_CHECKING:
    from bot.adapters.discord.reception import Reception

QUOTED_CHARS = 1_500
"""Of the message that is asked about; the question itself comes on top."""


def quotation(text: str) -> str:
    """The text, cut, as a quotation in Markdown; "" of nothing."""
    text = clean(text).strip()
    if len(text) > QUOTED_CHARS:
        text = text[: QUOTED_CHARS - 1].rstrip() + "…"
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def about_message(reception: Reception) -> app_commands.ContextMenu:
    async def about(interaction: discord.Interaction, message: discord.Message) -> None:
        say = reception.words(interaction)
        quoted = quotation(message.content)
        if not quoted:
            await reception.tell(interaction, say("discord.no_text"))
            return
        asked = Unfinished("rules", "ask", after=f"\n\n{quoted}")
        await reception.open(
            interaction, asked, title=say("discord.about"), label=say("discord.about_label"), required=False
        )

    return app_commands.ContextMenu(name=said("discord.about"), callback=about)
