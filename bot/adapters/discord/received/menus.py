"""The message menu "Ask about this message": what somebody wrote becomes the question, or part of it.

The interaction brings the message's text along, so the Message Content intent is not needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import discord
from discord import app_commands

from bot.adapters.discord.received.translator import said
from bot.adapters.quoted import quotation
from bot.adapters.unfinished import Unfinished
from bot.commands import DEFAULT_WORK, plain_verb

if TYPE_CHECKING:
    from bot.adapters.discord.received.intake import Reception

_SMALL = re.compile(r"(?:> )?-# ")


def about_message(reception: Reception) -> app_commands.ContextMenu:
    async def about(interaction: discord.Interaction, message: discord.Message) -> None:
        say = reception.words(interaction)
        quoted = quotation(text_of(message))
        if not quoted:
            await reception.tell(interaction, say("edge.no_text"))
            return
        asked = Unfinished(*plain_verb(DEFAULT_WORK), after=f"\n\n{quoted}")
        await reception.open(
            interaction, asked, title=say("edge.about"), label=say("edge.about_label"), required=False
        )

    return app_commands.ContextMenu(name=said("edge.about"), callback=about)


def text_of(message: discord.Message) -> str:
    """What there is to read in the message: as its content, in its components and embeds, or passed on with it."""
    found: list[str] = []
    parts: list[discord.Message | discord.MessageSnapshot] = [message, *message.message_snapshots]
    for part in parts:
        found += [part.content, *_displayed(part.components)]
        for embed in part.embeds:
            fields = [f"{field.name or ''}\n{field.value or ''}" for field in embed.fields]
            found += [embed.title or "", embed.description or "", *fields]
    return "\n\n".join(text.strip() for text in found if text.strip())


def _displayed(components: Sequence[object]) -> Iterator[str]:
    """The text displays, however deep, without the small print under an answer: sources, notes, what goes on."""
    for one in components:
        if isinstance(one, discord.TextDisplay):
            yield "\n".join(line for line in one.content.split("\n") if not _SMALL.match(line))
        yield from _displayed(getattr(one, "children", ()))
