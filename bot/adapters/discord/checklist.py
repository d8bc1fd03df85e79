"""What is in place for the bot where somebody asks, and what to click where something is not.

Looks only; `python -m bot doctor` looks from the other side, at the machine and the whole application.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import discord

from bot.adapters.discord import sync
from bot.adapters.discord.invite import PERMISSIONS
from bot.config import DEMO
from bot.words import Words

if TYPE_CHECKING:
    from bot.adapters.discord.client import Sutradhar

MARKS = {True: "✓", False: "✗", None: "–"}
_FOR_THREADS = ("create_public_threads", "send_messages_in_threads")


@dataclass(frozen=True, slots=True)
class Check:
    """One line. `well` None is neither good nor bad: a choice, or a thing to come."""

    well: bool | None
    text: str


def listed(checks: Sequence[Check], say: Words) -> str:
    """The list as people read it."""
    lines = [f"{MARKS[check.well]} {check.text}" for check in checks]
    broken = sum(check.well is False for check in checks)
    end = say("welcome.check_broken", n=broken) if broken else say("welcome.check_well")
    return "\n".join([say("welcome.check_title"), "", *lines, "", end])


async def examine(
    client: Sutradhar, guild: discord.Guild | None, space: str, may: discord.Permissions, say: Words
) -> list[Check]:
    """All that matters in a channel where the bot `may` do this."""
    return [
        *_permissions(may, say),
        _threads(client, may, say),
        _free_chat(client, say),
        await _books(client, space, say),
        _model(client, say),
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


def _threads(client: Sutradhar, may: discord.Permissions, say: Words) -> Check:
    if not client.settings.threads:
        return Check(None, say("welcome.check_threads_off"))
    if not all(getattr(may, name) for name in _FOR_THREADS):
        return Check(False, say("welcome.check_threads_not"))
    return Check(True, say("welcome.check_threads"))


def _free_chat(client: Sutradhar, say: Words) -> Check:
    if client.intents.message_content:
        return Check(True, say("welcome.check_free_chat"))
    return Check(None, say("welcome.check_free_chat_off"))


async def _books(client: Sutradhar, space: str, say: Words) -> Check:
    books = await client.app.house.documents.list(space)
    if not books:
        return Check(False, say("welcome.check_books_none"))
    shelves = list(dict.fromkeys(book.shelf for book in books))
    more = "…" if len(shelves) > 5 else ""
    names = ", ".join(discord.utils.escape_markdown(shelf) for shelf in shelves[:5]) + more
    return Check(True, say("welcome.check_books", n=len(books), shelves=names))


def _model(client: Sutradhar, say: Words) -> Check:
    answers = client.config.roles.chain("answerer")
    if not answers:
        return Check(None, say("welcome.check_model_none"))
    if answers[0] == DEMO:
        return Check(None, say("welcome.check_model_demo"))
    if variable := client.config.key_missing(answers[0]):
        return Check(False, say("welcome.check_model_key", model=answers[0], variable=variable))
    return Check(True, say("welcome.check_model", model=answers[0]))


async def _commands(client: Sutradhar, guild: discord.Guild | None, say: Words) -> Check:
    alone = guild.id if guild is not None and guild.id in client.settings.sync_guilds else None
    application = client.application_id
    assert application is not None, "nobody asks before the login"
    note = sync.note_of(application, alone)
    told = await client.app.house.marks.get(note)
    same = told == sync.digest(await sync.payload(client.tree))
    return Check(same, say("welcome.check_commands" if same else "welcome.check_commands_old"))


def _latency(client: Sutradhar, guild: discord.Guild | None, say: Words) -> Iterator[Check]:
    shard = client.get_shard(guild.shard_id) if guild is not None else None
    seconds = shard.latency if shard is not None else client.latency
    if math.isfinite(seconds):  # there is none before the first heartbeat
        yield Check(None, say("welcome.check_latency", ms=round(seconds * 1_000)))
