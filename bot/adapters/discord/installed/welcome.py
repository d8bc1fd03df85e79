"""The first thing that the bot says on a server: what to try, once, where it may write."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import discord

from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Sutradhar

_log = logging.getLogger(__name__)


class Welcome:
    """One per client."""

    def __init__(self, client: Sutradhar) -> None:
        self._client = client

    async def on_guild_join(self, guild: discord.Guild) -> None:
        marks, mark = self._client.app.house.marks, f"discord.welcomed.{guild.id}"
        if await marks.get(mark) is not None:
            return
        if (channel := where(guild)) is None:
            _log.info("nowhere to write on server %s, so it is not welcomed", guild.id)
            return
        say = words(str(guild.preferred_locale))
        try:
            await channel.send(
                say("welcome.server"),
                allowed_mentions=discord.AllowedMentions.none(),
                nonce=f"w{guild.id}",  # one message, should the mark be lost between the two
            )
        except discord.HTTPException as fault:
            _log.info("server %s could not be welcomed: %s", guild.id, fault)
            return
        await marks.set(mark, str(channel.id))


def where(guild: discord.Guild) -> discord.TextChannel | None:
    """The channel for news of the server, else the first one, from the top, in which the bot may write."""
    system = [guild.system_channel] if guild.system_channel is not None else []
    for channel in [*system, *sorted(guild.text_channels, key=lambda one: (one.position, one.id))]:
        may = channel.permissions_for(guild.me)
        if may.view_channel and may.send_messages:
            return channel
    return None
