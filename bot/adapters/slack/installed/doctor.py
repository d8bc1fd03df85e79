"""The Slack part of `doctor`: asks Slack what it thinks of us, and says what to click for each fault.

Changes nothing there, and opens no socket: the bot may be running.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import aiohttp

from bot.adapters.slack.installed.clients import Clients
from bot.adapters.slack.installed.faults import as_sorry
from bot.adapters.slack.installed.http import HEALTH
from bot.adapters.slack.installed.manifest import BOT_SCOPES, CUSTOMIZE, PUBLIC
from bot.events import Sorry
from bot.words import Words

if TYPE_CHECKING:
    from bot.adapters.slack.installed.credentials import Credentials
    from bot.config import Config, SlackConfig

Found: TypeAlias = tuple[bool | None, str]
"""Whether it is well (None is neither good nor bad), and the sentence."""

LONGEST_S: Final = 60.0
CALLS: Final = 3
SLOW_MS: Final = 1_000
HEALTH_S: Final = 2.0
_NOBODY: Final = "slack_run.unreachable"


async def examine(config: Config, given: Credentials, say: Words) -> list[Found]:
    """Look at everything that can be asked with what is there."""
    clients = Clients(config.slack)
    found: list[Found] = []
    try:
        for look in (_bot, _way_in, _installs):
            try:
                async with asyncio.timeout(LONGEST_S):
                    async for one in look(clients, given, say):
                        found.append(one)  # noqa: PERF401  (what came before a fault is shown, too)
            except Sorry as sorry:
                found.append((False, say(sorry.key, **sorry.values)))
                if sorry.key == _NOBODY:
                    break
            except TimeoutError:
                found.append((False, say(_NOBODY, url=config.slack.api_base)))
                break
    finally:
        await clients.close()
    return found


async def _bot(clients: Clients, given: Credentials, say: Words) -> AsyncGenerator[Found, None]:
    """The bot's token, what it may do, and how fast Slack answers."""
    settings = clients.settings
    if not given.bot:
        return
    client = clients.bare(given.bot)
    with as_sorry(settings):
        answer: Any = await client.auth_test()
    if not answer.get("bot_id"):
        raise Sorry("slack_run.no_bot", variable=settings.bot_token_env)
    yield (
        True,
        say(
            "slack_doctor.token",
            variable=settings.bot_token_env,
            who=answer.get("user"),
            where=answer.get("team"),
        ),
    )
    for one in _scopes(answer.headers.get("x-oauth-scopes") or "", say):
        yield one
    with as_sorry(settings):
        took = []
        for _ in range(CALLS):
            began = time.perf_counter()
            await client.auth_test()
            took.append(time.perf_counter() - began)
    ms = round(statistics.median(took) * 1_000)
    slow = ms > SLOW_MS
    yield not slow, say("slack_doctor.latency_slow" if slow else "slack_doctor.latency", ms=ms)


def _scopes(granted: str, say: Words) -> list[Found]:
    """`granted` is what Slack writes into the head of every answer."""
    held = {one.strip() for one in granted.split(",")}
    if lacking := [one for one in BOT_SCOPES if one not in held]:
        return [(False, say("slack_doctor.scopes_lack", scopes=", ".join(lacking)))]
    found: list[Found] = [(True, say("slack_doctor.scopes", n=len(BOT_SCOPES)))]
    for key, scope in (("scope_public", PUBLIC), ("scope_customize", CUSTOMIZE)):
        if scope not in held:
            found.append((None, say(f"slack_doctor.{key}", scope=scope)))
    return found


async def _way_in(clients: Clients, given: Credentials, say: Words) -> AsyncGenerator[Found, None]:
    """How events come."""
    settings = clients.settings
    if settings.mode == "http":
        yield _signed(settings, given, say)
        yield await _health(clients, say)
        return
    if not given.app:
        yield False, say("slack_run.no_app_token", variable=settings.app_token_env)
        return
    with as_sorry(settings, settings.app_token_env):
        await clients.bare(given.app).apps_connections_open(app_token=given.app)
    yield True, say("slack_doctor.socket", variable=settings.app_token_env, n=settings.connections)


def _signed(settings: SlackConfig, given: Credentials, say: Words) -> Found:
    if not given.signing:
        return False, say("slack_run.no_signing_secret", variable=settings.signing_secret_env)
    host, port = settings.http_host, settings.http_port
    return True, say("slack_doctor.signed", variable=settings.signing_secret_env, host=host, port=port)


async def _health(clients: Clients, say: Words) -> Found:
    """Whether a bot is there, seen from this machine."""
    settings = clients.settings
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.http_host, settings.http_host)
    url = f"http://{host}:{settings.http_port}{HEALTH}"
    try:
        timeout = aiohttp.ClientTimeout(total=HEALTH_S)
        async with clients.session.get(url, timeout=timeout) as answer:
            well = answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        well = False
    return (
        (True, say("slack_doctor.health", url=url))
        if well
        else (None, say("slack_doctor.no_health", url=url))
    )


async def _installs(clients: Clients, given: Credentials, say: Words) -> AsyncGenerator[Found, None]:
    """Whether workspaces can install the app; Slack lets nobody ask whether these two are right."""
    settings = clients.settings
    names = {"id": settings.client_id_env, "secret": settings.client_secret_env}
    if bool(given.client_id) != bool(given.client_secret):
        yield False, say("slack_run.half_client", **names)
    elif given.installs and settings.mode == "http":
        yield None, say("slack_doctor.installs", **names)
