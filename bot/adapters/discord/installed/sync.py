"""Tells Discord the slash commands, but only when they are others than it was told last time.

Each target (everybody, or one server) has a note in the storage: a hash over what was sent. Knows no
command's meaning.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import aiohttp
import discord

if TYPE_CHECKING:
    from discord.app_commands import CommandTree

PATIENCE_S: Final = 20.0
"""A start does not wait longer: Discord limits changes to commands by the day."""

_log = logging.getLogger(__name__)

Payload = list[dict[str, Any]]


class Notes(Protocol):
    """What is asked of storage.marks.Marks."""

    async def get(self, name: str) -> str | None: ...

    async def set(self, name: str, value: str) -> None: ...


async def payload(tree: CommandTree[Any]) -> Payload:
    """The commands as they are sent to Discord, translated, in an order of their own."""
    translator = tree.translator
    commands: Payload = []
    for command in tree.get_commands():
        if translator is None:
            commands.append(dict(command.to_dict(tree)))
        else:
            commands.append(dict(await command.get_translated_payload(tree, translator)))
    return sorted(commands, key=lambda command: (command.get("type", 1), command["name"]))


def digest(commands: Payload) -> str:
    """The same for the same commands in every process."""
    text = json.dumps(commands, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def note_of(application: int, guild: int | None) -> str:
    """The name of the note for a target: one server, or None for everybody."""
    return f"discord.commands.{application}.{guild or 'global'}"


async def sync(tree: CommandTree[Any], notes: Notes, guilds: Sequence[int] = ()) -> list[int | None]:
    """Bring Discord up to date; the targets that had to be written. `guilds` get the commands alone.

    A server that had them alone and is named no more loses its own. A target that Discord refuses keeps what
    it had, and is tried again at the next start.
    """
    application = tree.client.application_id
    assert application is not None
    commands = await payload(tree)
    alone = f"discord.commands.{application}.guilds"
    before = [int(guild) for guild in (await notes.get(alone) or "").split()]
    targets: dict[int | None, Payload] = {guild: [] for guild in before}
    targets |= dict.fromkeys(guilds, commands)
    targets[None] = [] if guilds else commands
    await notes.set(alone, " ".join(map(str, dict.fromkeys((*before, *guilds)))))
    written = [guild for guild in targets if await _put(tree, notes, application, guild, targets[guild])]
    for guild in guilds:  # so that what comes from there finds its command
        tree.copy_global_to(guild=discord.Object(guild))
    return written


async def _put(
    tree: CommandTree[Any], notes: Notes, application: int, guild: int | None, commands: Payload
) -> bool:
    name, wanted = note_of(application, guild), digest(commands)
    known = await notes.get(name)
    if known == wanted or (known is None and not commands and guild is not None):
        return False
    http = tree.client.http
    try:
        async with asyncio.timeout(PATIENCE_S):
            if guild is None:
                await http.bulk_upsert_global_commands(application, payload=commands)
            else:
                await http.bulk_upsert_guild_commands(application, guild, payload=commands)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as fault:
        _log.warning("Discord did not take the commands for %s: %r", guild or "everybody", fault)
        return False
    await notes.set(name, wanted)
    _log.info("told Discord %d commands for %s", len(commands), guild or "everybody")
    return True
