"""The Slack part of `doctor`: checks the app on Slack, and says how to mend each fault.

Changes nothing there, and opens no socket, because the bot may be running.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from bot.adapters.slack.installed.clients import Clients
from bot.adapters.slack.installed.faults import as_sorry
from bot.adapters.slack.installed.http import HEALTH
from bot.adapters.slack.manifest import BOT_SCOPES, CUSTOMIZE, GROUP_DMS, PUBLIC
from bot.check import Check
from bot.events import UserError
from bot.words import Words

if TYPE_CHECKING:
    from bot.adapters.slack.installed.credentials import Credentials
    from bot.config import Config, SlackConfig

LONGEST_S: Final = 60.0
CALLS: Final = 3
SLOW_MS: Final = 1_000
HEALTH_S: Final = 2.0
_NOBODY: Final = "slack_run.unreachable"


async def examine(config: Config, credentials: Credentials, say: Words) -> list[Check]:
    """Run all checks that these credentials permit."""
    clients = Clients(config.slack)
    checks: list[Check] = []
    try:
        for look in (_bot, _way_in, _installs):
            try:
                async with asyncio.timeout(LONGEST_S):
                    async for check in look(clients, credentials, say):
                        checks.append(check)  # noqa: PERF401  (what came before a fault is shown, too)
            except UserError as error:
                checks.append(Check(False, say(error.key, **error.values)))
                if error.key == _NOBODY:
                    break
            except TimeoutError:
                checks.append(Check(False, say(_NOBODY, url=config.slack.api_base)))
                break
    finally:
        await clients.close()
    return checks


async def _bot(clients: Clients, credentials: Credentials, say: Words) -> AsyncGenerator[Check, None]:
    """Check the bot's token, its scopes, and Slack's latency."""
    settings = clients.settings
    if not credentials.bot:
        return
    client = clients.bare(credentials.bot)
    try:
        with as_sorry(settings):
            answer: Any = await client.auth_test()
    except UserError as error:
        if error.key != "slack_run.token_expired" or not (credentials.refresh and credentials.installs):
            raise
        names = {"variable": settings.bot_token_env, "refresh": settings.refresh_token_env}
        yield Check(None, say("slack_doctor.rotated", **names))
        return
    if not answer.get("bot_id"):
        raise UserError("slack_run.no_bot", variable=settings.bot_token_env)
    yield Check(
        True,
        say(
            "slack_doctor.token",
            variable=settings.bot_token_env,
            who=answer.get("user"),
            where=answer.get("team"),
        ),
    )
    for check in _scopes(answer.headers.get("x-oauth-scopes") or "", say):
        yield check
    with as_sorry(settings):
        took = []
        for _ in range(CALLS):
            began = time.perf_counter()
            await client.auth_test()
            took.append(time.perf_counter() - began)
    ms = round(statistics.median(took) * 1_000)
    slow = ms > SLOW_MS
    yield Check(not slow, say("slack_doctor.latency_slow" if slow else "slack_doctor.latency", ms=ms))


def _scopes(granted: str, say: Words) -> list[Check]:
    """Check the scopes. `granted` is the header that lists them in any response."""
    granted_scopes = {name.strip() for name in granted.split(",")}
    if lacking := [name for name in BOT_SCOPES if name not in granted_scopes]:
        return [Check(False, say("slack_doctor.scopes_lack", scopes=", ".join(lacking)))]
    checks: list[Check] = [Check(True, say("slack_doctor.scopes", n=len(BOT_SCOPES)))]
    optional = (
        ("scope_public", (PUBLIC,)),
        ("scope_customize", (CUSTOMIZE,)),
        ("scope_group_dms", GROUP_DMS),
    )
    for key, scopes in optional:
        if missing := [name for name in scopes if name not in granted_scopes]:
            checks.append(Check(None, say(f"slack_doctor.{key}", scope=", ".join(missing))))
    return checks


async def _way_in(clients: Clients, credentials: Credentials, say: Words) -> AsyncGenerator[Check, None]:
    """Check how events arrive."""
    settings = clients.settings
    if settings.mode == "http":
        yield _signed(settings, credentials, say)
        yield await _health(clients, say)
        return
    if not credentials.app:
        yield Check(False, say("slack_run.no_app_token", variable=settings.app_token_env))
        return
    with as_sorry(settings, settings.app_token_env):
        await clients.bare(credentials.app).apps_connections_open(app_token=credentials.app)
    yield Check(True, say("slack_doctor.socket", variable=settings.app_token_env, n=settings.connections))


def _signed(settings: SlackConfig, credentials: Credentials, say: Words) -> Check:
    if not credentials.signing:
        return Check(False, say("slack_run.no_signing_secret", variable=settings.signing_secret_env))
    host, port = settings.http_host, settings.http_port
    return Check(True, say("slack_doctor.signed", variable=settings.signing_secret_env, host=host, port=port))


async def _health(clients: Clients, say: Words) -> Check:
    """Check whether a bot's server answers on this machine."""
    settings = clients.settings
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.http_host, settings.http_host)
    url = f"http://{host}:{settings.http_port}{HEALTH}"
    try:
        timeout = aiohttp.ClientTimeout(total=HEALTH_S)
        async with clients.session.get(url, timeout=timeout) as answer:
            well = answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        well = False
    if well:
        return Check(True, say("slack_doctor.health", url=url))
    return Check(None, say("slack_doctor.no_health", url=url))


async def _installs(clients: Clients, credentials: Credentials, say: Words) -> AsyncGenerator[Check, None]:
    """Check whether workspaces can install the app. Slack has no call to verify the client id and secret."""
    settings = clients.settings
    names = {"id": settings.client_id_env, "secret": settings.client_secret_env}
    if bool(credentials.client_id) != bool(credentials.client_secret):
        yield Check(False, say("slack_run.half_client", **names))
    elif credentials.installs and settings.mode == "http":
        yield Check(None, say("slack_doctor.installs", **names))
