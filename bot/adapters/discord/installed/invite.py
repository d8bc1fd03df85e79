"""Which permissions the bot asks a server for, why, and the link that asks for them."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final

import discord

from bot.adapters.discord.installed.faults import in_words
from bot.adapters.discord.installed.shards import redirect
from bot.events import Sorry
from bot.words import words

if TYPE_CHECKING:
    from bot.config import Config

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
