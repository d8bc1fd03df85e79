"""The set-up on Discord: the link for inviting the bot, with the permissions that it needs and why; the welcome message
on a server; the registration of slash commands when they have changed; and the checklist of /setup.

For each target of commands (everybody, or one server) the storage keeps a hash of what was sent. The module does not
depend on what a command means. `python -m bot doctor` checks the machine and the whole application instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import aiohttp
import discord
from discord.utils import escape_markdown

from bot.adapters.discord.installed.client import faults_as_sorry, redirect
from bot.check import Check, checklist, library_check, model_check
from bot.events import UserError
from bot.words import Words, words

if TYPE_CHECKING:
    from discord.app_commands import CommandTree

    from bot.adapters.discord.installed.client import Client
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
"""All permissions that are ever needed. The catalogue has a name and a reason for each."""
FOR_VOICE: Final = ("connect", "speak")
"""Permissions that the link also asks for. Without them the bot cannot use voice channels; nothing else is affected."""
ASK_S: Final = 20.0
_FOR_THREADS = ("create_public_threads", "send_messages_in_threads")
SYNC_S: Final = 20.0
"""Seconds that a start waits for Discord to accept the commands; Discord limits changes to commands per day."""

_log = logging.getLogger(__name__)

Payload = list[dict[str, Any]]


def wanted() -> discord.Permissions:
    return discord.Permissions(**dict.fromkeys((*PERMISSIONS, *FOR_VOICE), True))


def link(application: int) -> str:
    """The address where a person who manages a server can add the bot."""
    scopes = ("bot", "applications.commands")
    return discord.utils.oauth_url(application, permissions=wanted(), scopes=scopes)


def personal_link(application: int) -> str:
    """The address where a person can install the commands for all their chats."""
    return discord.utils.oauth_url(application, scopes=("applications.commands",)) + "&integration_type=1"


def invite(config: Config, locale: str) -> int:
    """Print the link, and on a terminal the permissions. Raises UserError when the application's id is unknown."""
    application = config.discord.application_id or asyncio.run(_ask(config))
    if not sys.stdout.isatty():
        print(link(application))
        return 0
    say = words(locale)
    print(say("discord_doctor.invite_why"))
    for name in (*PERMISSIONS, *FOR_VOICE):
        print(f"  {say(f'discord_doctor.perm_{name}')}: {say(f'discord_doctor.why_{name}')}")
    print(f"\n{link(application)}\n")
    print(say("discord_doctor.invite_user"))
    print(f"\n{personal_link(application)}")
    return 0


async def _ask(config: Config) -> int:
    settings = config.discord
    token = config.secret(settings.token_env)
    if token is None:
        raise UserError("discord_doctor.invite_unknown", variable=settings.token_env)
    redirect(settings)
    async with (
        faults_as_sorry(settings),
        asyncio.timeout(ASK_S),
        discord.Client(intents=discord.Intents(guilds=True)) as client,
    ):
        await client.login(token)
        assert client.application_id is not None
        return client.application_id


async def welcome(marks: Marks, guild: discord.Guild) -> None:
    """Post the welcome message once, where the bot may write."""
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
            nonce=f"w{guild.id}",  # one message, even after a crash before the mark is stored
        )
    except discord.HTTPException as fault:
        _log.info("server %s could not be welcomed: %s", guild.id, fault)
        return
    await marks.set(mark, str(channel.id))


def where(guild: discord.Guild) -> discord.TextChannel | None:
    """The first channel where the bot may write: the server's system channel, else the first one from the top."""
    system = [guild.system_channel] if guild.system_channel is not None else []
    for channel in [*system, *sorted(guild.text_channels, key=lambda each: (each.position, each.id))]:
        may = channel.permissions_for(guild.me)
        if may.view_channel and may.send_messages:
            return channel
    return None


class Notes(Protocol):
    """The part of `storage.marks.Marks` that is used here."""

    async def get(self, name: str) -> str | None: ...

    async def set(self, name: str, value: str) -> None: ...


async def payload(tree: CommandTree[Any]) -> Payload:
    """The commands as they are sent to Discord, translated and sorted."""
    translator = tree.translator
    commands: Payload = []
    for command in tree.get_commands():
        if translator is None:
            commands.append(dict(command.to_dict(tree)))
        else:
            commands.append(dict(await command.get_translated_payload(tree, translator)))
    return sorted(commands, key=lambda command: (command.get("type", 1), command["name"]))


def digest(commands: Payload) -> str:
    """A hash of the commands, equal in every process."""
    text = json.dumps(commands, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def note_of(application: int, guild: int | None) -> str:
    """The name of the note for a target: one server, or None for everybody."""
    return f"discord.commands.{application}.{guild or 'global'}"


async def sync(tree: CommandTree[Any], notes: Notes, guilds: Sequence[int] = ()) -> list[int | None]:
    """Register changed commands and return the targets that were written. With `guilds` only these servers get the
    commands.

    A server that is no longer in `guilds` loses its own commands. A target that Discord refuses keeps its commands, and
    the next start tries again.
    """
    application = tree.client.application_id
    assert application is not None
    commands = await payload(tree)
    own_guilds_note = f"discord.commands.{application}.guilds"
    before = [int(guild) for guild in (await notes.get(own_guilds_note) or "").split()]
    targets: dict[int | None, Payload] = {guild: [] for guild in before}
    targets |= dict.fromkeys(guilds, commands)
    targets[None] = [] if guilds else commands
    await notes.set(own_guilds_note, " ".join(map(str, dict.fromkeys((*before, *guilds)))))
    registered = [guild for guild in targets if await _put(tree, notes, application, guild, targets[guild])]
    for guild in guilds:  # so that their interactions find the command
        tree.copy_global_to(guild=discord.Object(guild))
    return registered


async def _put(
    tree: CommandTree[Any], notes: Notes, application: int, guild: int | None, commands: Payload
) -> bool:
    name, current = note_of(application, guild), digest(commands)
    recorded = await notes.get(name)
    if recorded == current or (recorded is None and not commands and guild is not None):
        return False
    http = tree.client.http
    try:
        async with asyncio.timeout(SYNC_S):
            if guild is None:
                await http.bulk_upsert_global_commands(application, payload=commands)
            else:
                await http.bulk_upsert_guild_commands(application, guild, payload=commands)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
        _log.warning("Discord did not take the commands for %s: %r", guild or "everybody", fault)
        return False
    await notes.set(name, current)
    _log.info("told Discord %d commands for %s", len(commands), guild or "everybody")
    return True


def listed(checks: Sequence[Check], say: Words) -> str:
    """The checklist in Markdown."""
    return checklist(checks, say, well="welcome.check_well", broken="welcome.check_broken")


async def examine(
    client: Client, guild: discord.Guild | None, space: str, may: discord.Permissions, say: Words
) -> list[Check]:
    """Run all checks for a channel where the bot has the permissions `may`."""
    return [
        *_permissions(may, say),
        _threads(client, may, say),
        _free_chat(client, say),
        await library_check(
            client.app.records.documents, space, say, none="welcome.check_books_none", escaped=escape_markdown
        ),
        model_check(client.config, await client.app.settings.roles_of_space(space), say),
        await _commands(client, guild, say),
        *_latency(client, guild, say),
    ]


def _permissions(may: discord.Permissions, say: Words) -> Iterator[Check]:
    missing = [name for name in PERMISSIONS if not getattr(may, name)]
    if not missing:
        yield Check(True, say("welcome.check_permissions"))
        return
    for name in missing:
        permission, reason = say(f"discord_doctor.perm_{name}"), say(f"discord_doctor.why_{name}")
        yield Check(False, say("welcome.check_permission_missing", permission=permission, why=reason))
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
    own_guild = guild.id if guild is not None and guild.id in client.settings.sync_guilds else None
    application = client.application_id
    assert application is not None, "nobody asks before the login"
    note = note_of(application, own_guild)
    recorded = await client.app.records.marks.get(note)
    up_to_date = recorded == digest(await payload(client.tree))
    return Check(up_to_date, say("welcome.check_commands" if up_to_date else "welcome.check_commands_old"))


def _latency(client: Client, guild: discord.Guild | None, say: Words) -> Iterator[Check]:
    shard = client.get_shard(guild.shard_id) if guild is not None else None
    seconds = shard.latency if shard is not None else client.latency
    if math.isfinite(seconds):  # before the first heartbeat there is no latency
        yield Check(None, say("welcome.check_latency", ms=round(seconds * 1_000)))
