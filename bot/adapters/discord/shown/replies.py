"""What a person is told without a run: a refusal, a fault, a word of thanks. One sentence, and never a trace.

Knows no request; what nobody foresaw goes to the log, where its run's digits find it again.
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
from bot.events import Sorry
from bot.words import Words

MESSAGE_CHARS = 2_000
LAYOUT_CHARS = 4_000
"""What the text components of a message hold together (Discord's documentation, "Using Message Components")."""

_OUTDATED = (
    app_commands.CommandNotFound,
    app_commands.CommandSignatureMismatch,
    app_commands.TransformerError,
)
"""What a command raises that Discord still shows as it was before the last start."""

_log = logging.getLogger(__name__)


def sentence(say: Words, error: Exception, run: str = "") -> str:
    """The error in words; `run` where the request had become one."""
    cause: BaseException = getattr(error, "original", error)
    if isinstance(cause, _OUTDATED):
        cause = Sorry("discord.outdated")
    return intake.sentence(say, cause, run, adapt=partial(localized, say))


async def tell(interaction: discord.Interaction, text: str) -> None:
    """A sentence to the person alone; never raises."""
    if interaction.type is discord.InteractionType.autocomplete:
        return  # nothing but choices can be said there
    try:
        await alone(interaction, content=neutralise(clean(text))[:MESSAGE_CHARS])
    except (discord.DiscordException, OSError) as fault:  # nobody is there to be told any more
        _log.warning("interaction %s could not be answered: %s", interaction.id, type(fault).__name__)


async def at_length(interaction: discord.Interaction, text: str) -> None:
    """The same for what is longer than a sentence. Raises what discord.py raises."""
    view = LayoutView(timeout=None)
    view.add_item(TextDisplay(text[:LAYOUT_CHARS]))
    view.stop()  # it has no buttons, so the client need not keep it
    await alone(interaction, view=view)


async def alone(interaction: discord.Interaction, **said: Any) -> None:
    """To the person alone, whether or not the interaction has been answered before. Raises what discord.py raises."""
    done = interaction.response.is_done()
    send: Any = interaction.followup.send if done else interaction.response.send_message
    await send(**said, ephemeral=True, allowed_mentions=discord.AllowedMentions.none())


async def reply(message: discord.Message, text: str, kind: str = "r") -> None:
    """Under the message; never raises. It is one reply of its kind when Discord delivers the message twice."""
    send = partial(
        message.channel.send,
        neutralise(clean(text))[:MESSAGE_CHARS],
        allowed_mentions=discord.AllowedMentions.none(),
        nonce=f"{kind}{message.id}",
    )
    try:
        try:
            await send(reference=message.to_reference(fail_if_not_exists=False))
        except discord.Forbidden:  # answering to a message takes a permission that plain ones do not
            await send()
    except (discord.DiscordException, OSError) as fault:
        _log.warning("message %s could not be answered: %s", message.id, type(fault).__name__)
