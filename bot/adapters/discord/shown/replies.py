"""Sentences to one person without a run: a refusal, a fault, thanks; never a traceback.

Knows no request; an unforeseen fault goes to the log with its run's digits.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import discord
from discord import app_commands
from discord.ui import LayoutView, TextDisplay

from bot.adapters import intake
from bot.adapters.discord.text.command_names import localized
from bot.adapters.markdown import clean, neutralise
from bot.events import UserError
from bot.words import Words

MESSAGE_CHARS = 2_000
LAYOUT_CHARS = 4_000
"""Characters of all text components of a message (Discord's documentation, "Using Message Components")."""

_OUTDATED = (
    app_commands.CommandNotFound,
    app_commands.CommandSignatureMismatch,
    app_commands.TransformerError,
)
"""Faults of commands that Discord still shows as they were before the last start."""

_log = logging.getLogger(__name__)


def sentence(say: Words, error: Exception, run: str = "") -> str:
    """The sentence for an error; `run` if the request had become one."""
    cause: BaseException = getattr(error, "original", error)
    if isinstance(cause, _OUTDATED):
        cause = UserError("discord.outdated")
    return intake.sentence(say, cause, run, adapt=partial(localized, say))


async def tell(interaction: discord.Interaction, text: str) -> None:
    """Show a sentence to the person alone; never raises."""
    if interaction.type is discord.InteractionType.autocomplete:
        return  # it takes nothing but choices
    try:
        await send_alone(interaction, content=neutralise(clean(text))[:MESSAGE_CHARS])
    except (discord.DiscordException, OSError) as fault:  # the interaction cannot be answered any more
        _log.warning("interaction %s could not be answered: %s", interaction.id, type(fault).__name__)


async def at_length(interaction: discord.Interaction, text: str) -> None:
    """Show a longer text to the person alone. Raises what discord.py raises."""
    view = LayoutView(timeout=None)
    view.add_item(TextDisplay(text[:LAYOUT_CHARS]))
    view.stop()  # it has no buttons, so the client need not keep it
    await send_alone(interaction, view=view)


async def send_alone(interaction: discord.Interaction, **content: Any) -> None:
    """Send to the person alone, as response or follow-up. Raises what discord.py raises."""
    done = interaction.response.is_done()
    send: Any = interaction.followup.send if done else interaction.response.send_message
    await send(**content, ephemeral=True, allowed_mentions=discord.AllowedMentions.none())


async def reply(message: discord.Message, text: str, kind: str = "r") -> None:
    """Reply to the message; never raises. One reply of its kind, also when Discord delivers the message twice."""
    send = partial(
        message.channel.send,
        neutralise(clean(text))[:MESSAGE_CHARS],
        allowed_mentions=discord.AllowedMentions.none(),
        nonce=f"{kind}{message.id}",
    )
    try:
        try:
            await send(reference=message.to_reference(fail_if_not_exists=False))
        except discord.Forbidden:  # a reply needs a permission more than a plain message
            await send()
    except (discord.DiscordException, OSError) as fault:
        _log.warning("message %s could not be answered: %s", message.id, type(fault).__name__)
