"""The Discord part of `doctor`: checks the application on Discord, and says how to mend each fault.

Changes nothing there, and never opens a gateway, because the bot may be running.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final, cast

import discord

from bot.adapters.discord.installed.client import faults_as_sorry, redirect
from bot.adapters.discord.installed.setup import PERMISSIONS, payload, wanted
from bot.check import Check
from bot.events import UserError
from bot.words import Words

if TYPE_CHECKING:
    from bot.app import App
    from bot.config import Config, DiscordConfig

LONGEST_S: Final = 60.0
CALLS: Final = 3
SLOW_MS: Final = 1_000
PAGE: Final = 200
"""Servers per call; Discord's maximum ("Get Current User Guilds")."""
NAMED: Final = 10


async def examine(config: Config, token: str, say: Words) -> list[Check]:
    """Run all checks that this token permits."""
    checks: list[Check] = []
    settings = config.discord
    redirect(settings)
    try:
        async with (
            faults_as_sorry(settings),
            asyncio.timeout(LONGEST_S),
            discord.Client(intents=discord.Intents(guilds=True)) as client,
        ):
            await client.login(token)
            async for check in _look(client, config, say):
                checks.append(check)  # noqa: PERF401  (checks before a fault are shown, too)
    except UserError as error:
        checks.append(Check(False, say("discord_doctor.unreachable", reason=say(error.key, **error.values))))
    return checks


async def _look(client: discord.Client, config: Config, say: Words) -> AsyncGenerator[Check, None]:
    settings = config.discord
    yield Check(True, say("discord_doctor.token", variable=settings.token_env, who=client.user))
    for check in _application(client, settings, say):
        yield check
    shards, _, limits = await client.http.get_bot_gateway()
    yield Check(
        limits["remaining"] >= shards,
        say("discord_doctor.sessions", shards=shards, remaining=limits["remaining"], total=limits["total"]),
    )
    async for check in _guilds(client.http, say):
        yield check
    async for check in _commands(client, settings, say, await ours(config)):
        yield check
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await client.http.request(discord.http.Route("GET", "/users/@me"))
        took.append(time.perf_counter() - began)
    ms = round(statistics.median(took) * 1_000)
    slow = ms > SLOW_MS
    yield Check(not slow, say("discord_doctor.latency_slow" if slow else "discord_doctor.latency", ms=ms))


def _application(client: discord.Client, settings: DiscordConfig, say: Words) -> list[Check]:
    application = client.application
    assert application is not None
    checks: list[Check] = []
    if settings.application_id not in (None, application.id):
        checks.append(
            Check(
                False,
                say(
                    "discord_doctor.other_application",
                    found=application.id,
                    configured=settings.application_id,
                ),
            )
        )
    flags = application.flags
    on = flags.gateway_message_content or flags.gateway_message_content_limited
    match settings.free_chat, on:
        case True, True:
            checks.append(Check(True, say("discord_doctor.intent")))
        case True, False:
            checks.append(Check(False, say("discord_doctor.intent_off")))
        case False, False:
            checks.append(Check(None, say("discord_doctor.intent_unneeded")))
    if application.interactions_endpoint_url:
        checks.append(Check(False, say("discord_doctor.endpoint")))
    if not application.bot_public:
        checks.append(Check(None, say("discord_doctor.private")))
    return checks


async def _guilds(http: discord.http.HTTPClient, say: Words) -> AsyncGenerator[Check, None]:
    """Check the permissions of the bot's roles; /setup shows those of a single channel."""
    need, n, lacking, after = wanted(), 0, 0, None
    while True:
        page: list[dict[str, Any]] = list(await http.get_guilds(PAGE, after=after, with_counts=False))  # type: ignore[arg-type]  # as they come over the wire
        for guild in page:
            permissions = discord.Permissions(int(guild["permissions"]))
            if permissions.administrator or permissions.is_superset(need):
                continue
            lacking += 1
            if lacking <= NAMED:
                names = ", ".join(
                    say(f"discord_doctor.perm_{name}")
                    for name in PERMISSIONS
                    if not getattr(permissions, name)
                )
                yield Check(False, say("discord_doctor.guild_lacks", guild=guild["name"], permissions=names))
        n += len(page)
        if len(page) < PAGE:
            break
        after = int(page[-1]["id"])
    if lacking > NAMED:
        yield Check(False, say("discord_doctor.guilds_more", n=lacking - NAMED))
    if not n:
        yield Check(None, say("discord_doctor.guilds_none"))
    elif not lacking:
        yield Check(True, say("discord_doctor.guilds", n=n))


async def _commands(
    client: discord.Client, settings: DiscordConfig, say: Words, commands: list[dict[str, Any]]
) -> AsyncGenerator[Check, None]:
    application = client.application_id
    assert application is not None
    mine = {_shape(command): command["name"] for command in commands}
    for guild in settings.sync_guilds or (None,):
        try:
            registered: list[Any] = (
                await client.http.get_global_commands(application)
                if guild is None
                else await client.http.get_guild_commands(application, guild)
            )
        except discord.Forbidden:
            yield Check(False, say("discord_doctor.commands_guild", guild=guild))
            continue
        theirs = {_shape(command): command["name"] for command in registered}
        differing = sorted({(mine | theirs)[shape] for shape in mine.keys() ^ theirs.keys()})
        if not theirs:
            yield Check(None, say("discord_doctor.commands_none"))
        elif differing:
            yield Check(None, say("discord_doctor.commands_old", names=", ".join(differing)))
        else:
            yield Check(True, say("discord_doctor.commands", n=len(theirs)))


def _shape(command: dict[str, Any]) -> tuple[object, ...]:
    """The fields of a command or option that must be equal on both sides; Discord adds others."""
    return (
        command.get("type", 1),
        command["name"],
        command.get("description", ""),
        bool(command.get("required")),
        bool(command.get("autocomplete")),
        tuple(_shape(option) for option in command.get("options") or ()),
    )


class _Nobody:
    """Replaces the application while the commands are built but not used."""

    sure = None

    async def complete(self, *_: object) -> list[str]:
        return []


async def ours(config: Config) -> list[dict[str, Any]]:
    """The commands of this release, from a client that never connects."""
    from bot.adapters.discord.service import Sutradhar

    async with Sutradhar(cast("App", _Nobody()), config) as client:
        await client.furnish()
        return await payload(client.tree)
