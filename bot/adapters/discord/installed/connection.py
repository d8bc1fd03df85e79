"""The way to Discord: where it leads, how many shards go it, what is dropped on it, and its faults as sentences.

Discord's documentation, "Sharding", "Max Concurrency": one identify per five seconds and bucket, where a
shard's bucket is its number modulo `max_concurrency`.

A payload that the library can't read ends its connection for good, and with it the whole process; and a resumed session
delivers events again. Both are dropped as they come, before anything is counted or answered. Knows no command.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import discord
from discord.ext import commands
from yarl import URL

from bot.events import Sorry

if TYPE_CHECKING:
    from bot.config import DiscordConfig

IDENTIFY_S: Final = 5.0

# Discord's documentation, "Gateway Close Event Codes": those after which connecting again does not help.
_CLOSED: Final = {
    4004: "discord_run.token_refused",
    4010: "discord_run.shards_wrong",
    4011: "discord_run.shards_few",
    4014: "discord_run.intent_off",
}

NEEDED: Final = ("READY", "RESUMED")
"""Without these there is no connection, so what is wrong with them is not passed over."""
ONCE: Final = ("INTERACTION_CREATE", "MESSAGE_CREATE")
"""What is heard of once. Only what this process has seen is known here; what an earlier one took in, to the inbox."""
KEPT: Final = 8_192
"""Ids that are remembered: more than comes between two heartbeats."""

_TYPES = (1, 2, 3)
"""Of application commands: slash, user, message."""
_GROUPS = (1, 2)
"""Of options: those that hold options."""
_VALUES = {4: int, 5: bool, 10: int | float}
"""Options that are no text: numbers and flags (Discord's documentation, "Application Command Option Type")."""

_log = logging.getLogger(__name__)

Parser = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a start has to keep to."""

    gateway: URL
    count: int
    ids: tuple[int, ...]
    concurrency: int

    @property
    def buckets(self) -> list[list[int]]:
        """The shards that have to wait for one another, each list in its order."""
        found: dict[int, list[int]] = {}
        for shard in self.ids:
            found.setdefault(shard % self.concurrency, []).append(shard)
        return list(found.values())


async def plan(http: discord.http.HTTPClient, settings: DiscordConfig) -> Plan:
    """Ask Discord (GET /gateway/bot) and hold its answer against the settings.

    Raises Sorry when Discord cannot be asked, or would not allow so many sessions today: an identify beyond
    its limit costs the bot its token.
    """
    try:
        shards, url, limits = await http.get_bot_gateway()
    except (discord.GatewayNotFound, aiohttp.ClientError, OSError) as fault:
        raise Sorry("discord_run.unreachable", url=settings.api_base) from fault
    count = settings.shard_count or shards
    ids = settings.shard_ids or tuple(range(count))
    if limits["remaining"] < len(ids):
        hours = max(1, -(-limits["reset_after"] // 3_600_000))
        raise Sorry("discord_run.sessions_spent", total=limits["total"], hours=hours)
    return Plan(URL(settings.gateway_url or url), count, ids, max(1, limits["max_concurrency"]))


class Turnstile:
    """Lets one through per `seconds` and bucket, in the order in which they came."""

    def __init__(self, seconds: float = IDENTIFY_S) -> None:
        self._seconds = seconds
        self._locks: dict[int, asyncio.Lock] = {}
        self._next: dict[int, float] = {}

    async def through(self, bucket: int) -> None:
        """Wait for this bucket's turn."""
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(bucket, asyncio.Lock()):
            wait = self._next.get(bucket, 0.0) - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            self._next[bucket] = loop.time() + self._seconds


def redirect(settings: DiscordConfig) -> None:
    """Send discord.py where the settings say: it keeps these addresses with its classes, once per process."""
    discord.http.Route.BASE = settings.api_base.rstrip("/")
    if settings.gateway_url is not None:
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = URL(settings.gateway_url)


@asynccontextmanager
async def in_words(settings: DiscordConfig) -> AsyncGenerator[None, None]:
    """Turn what discord.py and the network raise into a Sorry."""
    try:
        yield
    except discord.LoginFailure:
        raise Sorry("discord_run.token_refused", variable=settings.token_env) from None
    except discord.PrivilegedIntentsRequired:
        raise Sorry("discord_run.intent_off") from None
    except discord.ConnectionClosed as closed:
        key = _CLOSED.get(closed.code, "discord_run.closed")
        raise Sorry(key, variable=settings.token_env, code=closed.code) from closed
    except discord.HTTPException as fault:
        raise Sorry("discord_run.refused", status=fault.status, url=settings.api_base) from fault
    except (discord.GatewayNotFound, aiohttp.ClientError, TimeoutError, OSError) as fault:
        raise Sorry("discord_run.unreachable", url=settings.api_base) from fault


def guard(client: commands.Bot | commands.AutoShardedBot) -> None:
    """Drop what can't be read and what comes again; once the client is set up, and before it connects."""
    parsers: dict[str, Parser] = client._connection.parsers
    for event, parse in parsers.items():
        if event not in NEEDED:
            parsers[event] = _guarded(event, parse)
    # The tree's own hook for a check before everything else, which a subclass would override.
    client.tree.interaction_check = _readable  # type: ignore[method-assign]


async def _readable(interaction: discord.Interaction[Any], /) -> bool:
    """Whether a command's data has the shape that the tree takes for granted."""
    if well_formed(interaction.data):
        return True
    _log.warning("a malformed command was dropped")
    return False


def well_formed(data: object) -> bool:
    """A name, a known type, options with names and types, and nothing else in their place."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        return False
    if data.get("type", 1) not in _TYPES or not isinstance(data.get("resolved", {}), dict):
        return False
    return _options(data.get("options", []))


def _options(options: object) -> bool:
    if not isinstance(options, list):
        return False
    for one in options:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            return False
        kind, value = one.get("type"), one.get("value")
        if kind in _GROUPS:
            if not _options(one.get("options", [])):
                return False
        # What is being typed is a text, whatever it will become.
        elif not isinstance(kind, int) or not isinstance(
            value, str if one.get("focused") else _VALUES.get(kind, str)
        ):
            return False
    return True


def _guarded(event: str, parse: Parser) -> Parser:
    seen: OrderedDict[str, None] = OrderedDict()

    def read(payload: Any) -> None:
        id = payload.get("id") if event in ONCE and isinstance(payload, dict) else None
        if isinstance(id, str) and id in seen:
            _log.info("%s %s came again and was dropped", event, id)
            return
        try:
            parse(payload)
        except Exception as error:
            # Not the payload, nor a trace of it: an interaction's holds its token.
            _log.warning("a malformed %s was dropped (%s)", event, type(error).__name__)
            return
        if isinstance(id, str):
            seen[id] = None
            if len(seen) > KEPT:
                seen.popitem(last=False)

    return read
