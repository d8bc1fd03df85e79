"""What is in place for the bot where somebody asks, and what to click where something is not.

Looks only; `python -m bot doctor` looks from the other side, at the machine and the whole application.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import discord
from discord.utils import escape_markdown

from bot.adapters import checklist
from bot.adapters.checklist import Check
from bot.adapters.discord.installed import sync
from bot.adapters.discord.installed.invite import PERMISSIONS
from bot.words import Words

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client

_FOR_THREADS = ("create_public_threads", "send_messages_in_threads")


def listed(checks: Sequence[Check], say: Words) -> str:
    """The list as people read it."""
    return checklist.listed(checks, say, well="welcome.check_well", broken="welcome.check_broken")


async def examine(
    client: Client, guild: discord.Guild | None, space: str, may: discord.Permissions, say: Words
) -> list[Check]:
    """All that matters in a channel where the bot `may` do this."""
    return [
        *_permissions(may, say),
        _threads(client, may, say),
        _free_chat(client, say),
        await checklist.books(
            client.app.house, space, say, none="welcome.check_books_none", escaped=escape_markdown
        ),
        checklist.model(client.config, say),
        await _commands(client, guild, say),
        *_latency(client, guild, say),
    ]


def _permissions(may: discord.Permissions, say: Words) -> Iterator[Check]:
    missing = [name for name in PERMISSIONS if not getattr(may, name)]
    if not missing:
        yield Check(True, say("welcome.check_permissions"))
        return
    for name in missing:
        permission, why = say(f"discord_doctor.perm_{name}"), say(f"discord_doctor.why_{name}")
        yield Check(False, say("welcome.check_permission_missing", permission=permission, why=why))
    yield Check(None, say("welcome.check_permission_how"))


def _threads(client: Client, may: discord.Permissions, say: Words) -> Check:
    if not client.settings.threads:
        return Check(None, say("welcome.check_threads_off"))
    if not all(getattr(may, name) for name in _FOR_THREADS):
        return Check(False, say("welcome.check_threads_not"))
    return Check(True, say("welcome.check_threads"))


def _free_chat(client: Client, say: Words) -> Check:
    if client.intents.message_content:
        return Check(True, say("welcome.check_free_chat"))
    return Check(None, say("welcome.check_free_chat_off"))


async def _commands(client: Client, guild: discord.Guild | None, say: Words) -> Check:
    alone = guild.id if guild is not None and guild.id in client.settings.sync_guilds else None
    application = client.application_id
    assert application is not None, "nobody asks before the login"
    note = sync.note_of(application, alone)
    told = await client.app.house.marks.get(note)
    same = told == sync.digest(await sync.payload(client.tree))
    return Check(same, say("welcome.check_commands" if same else "welcome.check_commands_old"))


def _latency(client: Client, guild: discord.Guild | None, say: Words) -> Iterator[Check]:
    shard = client.get_shard(guild.shard_id) if guild is not None else None
    seconds = shard.latency if shard is not None else client.latency
    if math.isfinite(seconds):  # there is none before the first heartbeat
        yield Check(None, say("welcome.check_latency", ms=round(seconds * 1_000)))
