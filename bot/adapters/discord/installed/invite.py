"""How the bot comes to a server: the permissions that it asks for, and why, the link, and its first words there."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Final

import discord

from bot.adapters.discord.installed.connection import in_words, redirect
from bot.events import Sorry
from bot.words import words

if TYPE_CHECKING:
    from bot.config import Config
    from storage.marks import Marks

PERMISSIONS: Final = (
    "view_channel",
    "send_messages",
    "create_public_threads",
    "send_messages_in_threads",
    "read_message_history",
    "attach_files",
)
"""All that is ever needed; each has its name and its reason in the catalogue."""
ASK_S: Final = 20.0

_log = logging.getLogger(__name__)


def wanted() -> discord.Permissions:
    return discord.Permissions(**dict.fromkeys(PERMISSIONS, True))


def link(application: int) -> str:
    """Where somebody who may manage a server lets the bot in."""
    scopes = ("bot", "applications.commands")
    return discord.utils.oauth_url(application, permissions=wanted(), scopes=scopes)


def personal_link(application: int) -> str:
    """Where a person takes the commands along to every chat of theirs."""
    return discord.utils.oauth_url(application, scopes=("applications.commands",)) + "&integration_type=1"


def invite(config: Config, locale: str) -> int:
    """Print the link, and for a person what it asks for. Raises Sorry when nobody knows the application."""
    application = config.discord.application_id or asyncio.run(_ask(config))
    if not sys.stdout.isatty():
        print(link(application))
        return 0
    say = words(locale)
    print(say("discord_doctor.invite_why"))
    for name in PERMISSIONS:
        print(f"  {say(f'discord_doctor.perm_{name}')}: {say(f'discord_doctor.why_{name}')}")
    print(f"\n{link(application)}\n")
    print(say("discord_doctor.invite_user"))
    print(f"\n{personal_link(application)}")
    return 0


async def _ask(config: Config) -> int:
    settings = config.discord
    token = config.secret(settings.token_env)
    if token is None:
        raise Sorry("discord_doctor.invite_unknown", variable=settings.token_env)
    redirect(settings)
    async with (
        in_words(settings),
        asyncio.timeout(ASK_S),
        discord.Client(intents=discord.Intents(guilds=True)) as client,
    ):
        await client.login(token)
        assert client.application_id is not None
        return client.application_id


async def welcome(marks: Marks, guild: discord.Guild) -> None:
    """Say what to try, once, where the bot may write."""
    mark = f"discord.welcomed.{guild.id}"
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
