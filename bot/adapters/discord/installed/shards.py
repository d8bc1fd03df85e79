"""How many shards, where they connect, and how soon one may identify after another.

Discord's documentation, "Sharding", "Max Concurrency": one identify per five seconds and bucket, where a
shard's bucket is its number modulo `max_concurrency`. Knows neither events nor commands.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import aiohttp
import discord
from yarl import URL

from bot.events import Sorry

if TYPE_CHECKING:
    from bot.config import DiscordConfig

IDENTIFY_S: Final = 5.0


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
