"""Who we are on Discord, what we want to be told, and how we come and go there: where the way leads, how many shards go
it, and its faults as sentences. Knows no command and no work.

Discord's documentation, "Sharding", "Max Concurrency": one identify per five seconds and bucket, where a
shard's bucket is its number modulo `max_concurrency`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import discord
from discord.ext import commands
from yarl import URL

from bot.adapters.discord.installed.traffic import HANGS_S, PACE, GlobalLimit, InvalidRequests
from bot.adapters.discord.shown.webhooks import Webhooks
from bot.adapters.stored_choices import VoteCounts
from bot.adapters.writer import Writers
from bot.events import Sorry

if TYPE_CHECKING:
    from bot.adapters.discord.received.intake import Intake
    from bot.app import App
    from bot.config import Config, DiscordConfig

IDENTIFY_S: Final = 5.0

# Discord's documentation, "Gateway Close Event Codes": those after which connecting again does not help.
_CLOSED: Final = {
    4004: "discord_run.token_refused",
    4010: "discord_run.shards_wrong",
    4011: "discord_run.shards_few",
    4014: "discord_run.intent_off",
}

LEAVE_S = 3.0
"""How long the gateway is waited for when we leave: a dead line never says goodbye."""

LAST_GUILD_S = 0.5
"""How long no server may be named any more before the bot says that it is there. discord.py waits 2 s, to fill caches
that we do not keep; servers that come later are known as well."""

_log = logging.getLogger(__name__)


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


def intents_of(free_chat: bool) -> discord.Intents:
    """The fewest that will do: servers, and messages. Their content is privileged, but for mentions and DMs."""
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = True
    intents.message_content = free_chat
    return intents


class Client(commands.AutoShardedBot):
    """One per process. `login`, then `App.start`, then `connect`."""

    intake: Intake

    def __init__(
        self,
        app: App,
        config: Config,
        *,
        on_first_ready: Callable[[Client], None] | None = None,
        hangs_s: float = HANGS_S,
    ) -> None:
        """`hangs_s`: after so long without an answer a request is given up, and its connection with it."""
        self.app = app
        self.config = config
        self.settings = config.discord
        self.writers = Writers(PACE)
        self.counts = VoteCounts(self.writers)
        self.webhooks = Webhooks(self)
        self.refused = InvalidRequests()
        self._on_first_ready = on_first_ready
        self._plan: Plan | None = None
        self._turnstile = Turnstile()
        self._starting: list[asyncio.Task[None]] = []
        redirect(self.settings)
        # The voice release brings what these two warn about.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            command_prefix=commands.when_mentioned,
            help_command=None,
            intents=intents_of(self.settings.free_chat),
            allowed_mentions=discord.AllowedMentions.none(),
            allowed_installs=discord.app_commands.AppInstallationType(guild=True, user=True),
            allowed_contexts=discord.app_commands.AppCommandContext(
                guild=True, dm_channel=True, private_channel=True
            ),
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=LAST_GUILD_S,
            max_messages=None,
            http_trace=self.refused.trace(),
        )
        # discord.py only minds this limit once it has been hit.
        self.http.request = GlobalLimit().limiting(self.http.request, hangs_s)  # type: ignore[method-assign]

    async def on_ready(self) -> None:
        """Discord says this again after long absences; people are told once."""
        if self._on_first_ready is not None:
            tell, self._on_first_ready = self._on_first_ready, None
            tell(self)

    async def launch_shards(self) -> None:
        """Begin, and go on in the background, so that what befalls the first shard is heard of at once."""
        if self.is_closed():
            return
        made = await plan(self.http, self.settings)
        self._plan = made
        self.shard_count = self._connection.shard_count = made.count
        self._connection.shard_ids = list(made.ids)
        self._starting = [
            asyncio.create_task(self._launch(made.gateway, bucket), name="shards") for bucket in made.buckets
        ]

    async def _launch(self, gateway: URL, shards: Sequence[int]) -> None:
        for shard in shards:
            await self.launch_shard(gateway, shard)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        concurrency = self._plan.concurrency if self._plan is not None else 1
        await self._turnstile.through((shard_id or 0) % concurrency)

    async def on_shard_connect(self, shard_id: int) -> None:
        """A session is resumed through the configured gateway, too, not where READY would lead it."""
        if self.settings.gateway_url is not None and (shard := self.get_shard(shard_id)) is not None:
            shard._parent.ws.gateway = URL(self.settings.gateway_url)

    async def stop_receiving(self) -> None:
        """Leave the gateway: no more events come, while requests can still be sent."""
        leaving: list[Any] = [shard.disconnect() for shard in self.shards.values()]
        for task in self._starting:
            task.cancel()
        try:
            async with asyncio.timeout(LEAVE_S):
                await asyncio.gather(*self._starting, *leaving, return_exceptions=True)
        except TimeoutError:
            _log.info("left the gateway without its goodbye")

    async def close(self) -> None:
        self.writers.close()
        await super().close()
