"""The Discord part of `doctor`: asks Discord what it thinks of us, and says what to click for each fault.

Changes nothing there, and never opens a gateway: the bot may be running.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import discord

from bot.adapters.discord.installed.client import in_words, redirect
from bot.adapters.discord.installed.setup import PERMISSIONS, payload, wanted
from bot.events import Sorry
from bot.words import Words

if TYPE_CHECKING:
    from bot.app import App
    from bot.config import Config, DiscordConfig

Found: TypeAlias = tuple[bool | None, str]
"""Whether it is well (None is neither good nor bad), and the sentence."""

LONGEST_S: Final = 60.0
CALLS: Final = 3
SLOW_MS: Final = 1_000
PAGE: Final = 200
"""Servers per call, the most that Discord gives ("Get Current User Guilds")."""
NAMED: Final = 10


async def examine(config: Config, token: str, say: Words) -> list[Found]:
    """Look at everything that can be asked with this token."""
    found: list[Found] = []
    settings = config.discord
    redirect(settings)
    try:
        async with (
            in_words(settings),
            asyncio.timeout(LONGEST_S),
            discord.Client(intents=discord.Intents(guilds=True)) as client,
        ):
            await client.login(token)
            async for one in _look(client, config, say):
                found.append(one)  # noqa: PERF401  (what came before a fault is shown, too)
    except Sorry as sorry:
        found.append((False, say("discord_doctor.unreachable", reason=say(sorry.key, **sorry.values))))
    return found


async def _look(client: discord.Client, config: Config, say: Words) -> AsyncGenerator[Found, None]:
    settings = config.discord
    yield True, say("discord_doctor.token", variable=settings.token_env, who=client.user)
    for one in _application(client, settings, say):
        yield one
    shards, _, limits = await client.http.get_bot_gateway()
    yield (
        limits["remaining"] >= shards,
        say("discord_doctor.sessions", shards=shards, remaining=limits["remaining"], total=limits["total"]),
    )
    async for one in _guilds(client.http, say):
        yield one
    async for one in _commands(client, settings, say, await ours(config)):
        yield one
    took = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await client.http.request(discord.http.Route("GET", "/users/@me"))
        took.append(time.perf_counter() - began)
    ms = round(statistics.median(took) * 1_000)
    slow = ms > SLOW_MS
    yield not slow, say("discord_doctor.latency_slow" if slow else "discord_doctor.latency", ms=ms)


def _application(client: discord.Client, settings: DiscordConfig, say: Words) -> list[Found]:
    application = client.application
    assert application is not None
    found: list[Found] = []
    if settings.application_id not in (None, application.id):
        found.append(
            (
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
            found.append((True, say("discord_doctor.intent")))
        case True, False:
            found.append((False, say("discord_doctor.intent_off")))
        case False, False:
            found.append((None, say("discord_doctor.intent_unneeded")))
    if application.interactions_endpoint_url:
        found.append((False, say("discord_doctor.endpoint")))
    if not application.bot_public:
        found.append((None, say("discord_doctor.private")))
    return found


async def _guilds(http: discord.http.HTTPClient, say: Words) -> AsyncGenerator[Found, None]:
    """By the bot's roles; what a single channel forbids shows where it is asked."""
    need, n, lacking, after = wanted(), 0, 0, None
    while True:
        page: list[dict[str, Any]] = list(await http.get_guilds(PAGE, after=after, with_counts=False))  # type: ignore[arg-type]  # as they come over the wire
        for guild in page:
            held = discord.Permissions(int(guild["permissions"]))
            if held.administrator or held.is_superset(need):
                continue
            lacking += 1
            if lacking <= NAMED:
                names = ", ".join(
                    say(f"discord_doctor.perm_{name}") for name in PERMISSIONS if not getattr(held, name)
                )
                yield False, say("discord_doctor.guild_lacks", guild=guild["name"], permissions=names)
        n += len(page)
        if len(page) < PAGE:
            break
        after = int(page[-1]["id"])
    if lacking > NAMED:
        yield False, say("discord_doctor.guilds_more", n=lacking - NAMED)
    if not n:
        yield None, say("discord_doctor.guilds_none")
    elif not lacking:
        yield True, say("discord_doctor.guilds", n=n)


async def _commands(
    client: discord.Client, settings: DiscordConfig, say: Words, commands: list[dict[str, Any]]
) -> AsyncGenerator[Found, None]:
    application = client.application_id
    assert application is not None
    mine = {_shape(command): command["name"] for command in commands}
    for guild in settings.sync_guilds or (None,):
        try:
            there: list[Any] = (
                await client.http.get_global_commands(application)
                if guild is None
                else await client.http.get_guild_commands(application, guild)
            )
        except discord.Forbidden:
            yield False, say("discord_doctor.commands_guild", guild=guild)
            continue
        theirs = {_shape(command): command["name"] for command in there}
        other = sorted({(mine | theirs)[shape] for shape in mine.keys() ^ theirs.keys()})
        if not theirs:
            yield None, say("discord_doctor.commands_none")
        elif other:
            yield None, say("discord_doctor.commands_old", names=", ".join(other))
        else:
            yield True, say("discord_doctor.commands", n=len(theirs))


def _shape(command: dict[str, Any]) -> tuple[object, ...]:
    """What of a command or option has to be the same on both sides; Discord adds fields of its own."""
    return (
        command.get("type", 1),
        command["name"],
        command.get("description", ""),
        bool(command.get("required")),
        bool(command.get("autocomplete")),
        tuple(_shape(option) for option in command.get("options") or ()),
    )


class _Nobody:
    """Stands where the application would, for commands that nobody uses."""

    async def complete(self, *_: object) -> list[str]:
        return []


async def ours(config: Config) -> list[dict[str, Any]]:
    """The commands of this release, from a client that never goes anywhere."""
    from bot.adapters.discord.service import Sutradhar

    async with Sutradhar(cast("App", _Nobody()), config) as client:
        await client.furnish()
        return await payload(client.tree)
