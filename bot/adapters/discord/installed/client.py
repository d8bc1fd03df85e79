"""The client of Discord: intents, gateway, and connection faults turned into sentences. Independent of commands and
works.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import discord
from discord.ext import commands
from yarl import URL

from bot.adapters.discord.installed.shards import Plan, ShardedClient, SharedShards, Turnstile, plan
from bot.adapters.discord.installed.traffic import (
    HANGS_S,
    PACE,
    Acknowledgements,
    GlobalLimit,
    InvalidRequests,
    NewThreads,
)
from bot.adapters.discord.received.placing import PLATFORM
from bot.adapters.discord.shown.webhooks import Webhooks
from bot.adapters.intake import KeyedLocks
from bot.adapters.stored_choices import VoteCounts
from bot.adapters.writer import Writers
from bot.events import UserError

if TYPE_CHECKING:
    from bot.adapters.discord.received.intake import Intake
    from bot.app import App
    from bot.config import Config, DiscordConfig

# The codes after which reconnecting does not help (Discord's documentation, "Gateway Close Event Codes").
_CLOSED: Final = {
    4004: "discord_run.token_refused",
    4010: "discord_run.shards_wrong",
    4011: "discord_run.shards_few",
    4014: "discord_run.intent_off",
}

LEAVE_S = 3.0
"""How long `stop_receiving` waits for the gateway, in seconds: a dead connection never closes."""

LAST_GUILD_S = 0.5
"""Seconds to wait for another server before the bot counts as ready. discord.py waits 2 s, to fill caches that we do
not use; servers that come later work as well.
"""

_log = logging.getLogger(__name__)


def redirect(settings: DiscordConfig) -> None:
    """Set discord.py's addresses to the configured ones. They are class attributes, so this applies to the whole
    process.
    """
    discord.http.Route.BASE = settings.api_base.rstrip("/")
    if settings.gateway_url is not None:
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = URL(settings.gateway_url)


def voice_without_tls(http: discord.http.HTTPClient, gateway: URL) -> None:
    """Connect to voice servers without TLS (ws://) if the gateway's host has none either.

    discord.py puts wss:// before their address, which has no scheme. Discord's own voice servers are at other hosts and
    keep TLS.
    """
    connect = http.ws_connect

    async def ws_connect(url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        address = URL(url)
        if gateway.scheme == "ws" and address.scheme == "wss" and address.host == gateway.host:
            url = str(address.with_scheme("ws"))
        return await connect(url, compress=compress)

    http.ws_connect = ws_connect  # type: ignore[method-assign]


@asynccontextmanager
async def faults_as_sorry(settings: DiscordConfig) -> AsyncGenerator[None, None]:
    """Turn faults of discord.py and the network into UserError."""
    try:
        yield
    except discord.LoginFailure:
        raise UserError("discord_run.token_refused", variable=settings.token_env) from None
    except discord.PrivilegedIntentsRequired:
        raise UserError("discord_run.intent_off") from None
    except discord.ConnectionClosed as closed:
        key = _CLOSED.get(closed.code, "discord_run.closed")
        raise UserError(key, variable=settings.token_env, code=closed.code) from closed
    except discord.HTTPException as fault:
        raise UserError("discord_run.refused", status=fault.status, url=settings.api_base) from fault
    except (discord.GatewayNotFound, aiohttp.ClientError, TimeoutError, OSError) as fault:
        raise UserError("discord_run.unreachable", url=settings.api_base) from fault


def intents_of(free_chat: bool) -> discord.Intents:
    """The fewest intents needed: servers, messages, voice channels. Message content is privileged, except in mentions
    and DMs.
    """
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = intents.voice_states = True
    intents.message_content = free_chat
    return intents


class Client(ShardedClient):
    """The Discord client; one per process. Call `login`, then `App.start`, then `connect`."""

    intake: Intake

    def __init__(
        self,
        app: App,
        config: Config,
        *,
        on_first_ready: Callable[[Client], None] | None = None,
        on_standby: Callable[[], None] | None = None,
        hangs_s: float = HANGS_S,
    ) -> None:
        """`hangs_s`: after so many seconds without a response a request is given up and its connection closed."""
        self.app = app
        self.config = config
        self.settings = config.discord
        self.writers = Writers(PACE, sure=app.sure)
        self.counts = VoteCounts(self.writers)
        self.webhooks = Webhooks(self)
        self.refused = InvalidRequests()
        self.acknowledgements = Acknowledgements()
        self.connected = set()
        self.new_threads = NewThreads()
        self.lines = KeyedLocks()
        """Locks by run: one task at a time adds the link to the line that says who asked, or takes the line back."""
        self._on_first_ready = on_first_ready
        self._on_standby = on_standby
        self._plan: Plan | None = None
        self._shared: SharedShards | None = None
        self._turnstile = Turnstile()
        self._starting: list[asyncio.Task[None]] = []
        redirect(self.settings)
        trace = self.refused.trace()
        trace.on_request_end.append(self.acknowledgements.answered)
        in_voice = discord.MemberCacheFlags.none()
        in_voice.voice = True  # tells people in voice channels from bots
        super().__init__(
            command_prefix=commands.when_mentioned,
            help_command=None,
            intents=intents_of(self.settings.free_chat),
            allowed_mentions=discord.AllowedMentions.none(),
            allowed_installs=discord.app_commands.AppInstallationType(guild=True, user=True),
            allowed_contexts=discord.app_commands.AppCommandContext(
                guild=True, dm_channel=True, private_channel=True
            ),
            member_cache_flags=in_voice,
            chunk_guilds_at_startup=False,
            guild_ready_timeout=LAST_GUILD_S,
            max_messages=None,
            http_trace=trace,
        )
        if self.settings.gateway_url is not None:
            voice_without_tls(self.http, URL(self.settings.gateway_url))
        # discord.py respects this limit only after it has been hit.
        self.http.request = GlobalLimit().limiting(self.http.request, hangs_s)  # type: ignore[method-assign]

    def connections(self) -> dict[str, bool]:
        """Whether each shard that this process runs is connected; empty before Discord has named the shards."""
        ids: Collection[int] = self._plan.ids if self._plan is not None else ()
        if self._shared is not None:
            ids = sorted(self._shared.held)
        return {f"shard {shard}": shard in self.connected for shard in ids}

    @property
    def standing_by(self) -> bool:
        """Whether other processes have all of the shards."""
        return self._shared is not None and self._shared.standing_by

    async def ask_advice(self) -> None:
        """Ask Discord how many shards there should be, if several processes share them. Raises UserError."""
        if self.app.processes is not None:
            self.advice = await plan(self.http, self.settings, starts=1)

    async def on_ready(self) -> None:
        """Handle READY. Discord repeats it after long interruptions; the operator sees the notice once."""
        if self._on_first_ready is not None:
            tell, self._on_first_ready = self._on_first_ready, None
            tell(self)

    async def launch_shards(self) -> None:
        """Start the shards in the background, so that a fault of the first one is noticed at once."""
        if self.is_closed():
            return
        if (processes := self.app.processes) is not None:
            share = processes.share(PLATFORM, self.settings.shard_ids)
            self.shard_count = self._connection.shard_count = share.count
            self._shared = SharedShards(self, processes, share, self._on_standby)
            self._starting = [asyncio.create_task(self._shared.keep(), name="shards")]
            return
        start = await plan(self.http, self.settings)
        self._plan = start
        self.shard_count = self._connection.shard_count = start.count
        self._connection.shard_ids = list(start.ids)
        self._starting = [
            asyncio.create_task(self._launch(start.gateway, bucket), name="shards")
            for bucket in start.buckets
        ]

    async def _launch(self, gateway: URL, shards: Sequence[int]) -> None:
        for shard in shards:
            await self.launch_shard(gateway, shard)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if self._shared is not None:
            await self._shared.identify_turn(shard_id or 0)
            return
        concurrency = self._plan.concurrency if self._plan is not None else 1
        await self._turnstile.through((shard_id or 0) % concurrency)

    async def on_shard_connect(self, shard_id: int) -> None:
        """Also resume sessions through the configured gateway rather than the address in READY."""
        self.connected.add(shard_id)
        if self.settings.gateway_url is not None and (shard := self.get_shard(shard_id)) is not None:
            shard._parent.ws.gateway = URL(self.settings.gateway_url)

    async def on_shard_resumed(self, shard_id: int) -> None:
        self.connected.add(shard_id)

    async def on_shard_disconnect(self, shard_id: int) -> None:
        self.connected.discard(shard_id)

    async def on_shard_ready(self, shard_id: int) -> None:
        if self._shared is not None:
            self._shared.ready(shard_id)

    async def stop_receiving(self) -> None:
        """Disconnect from the gateway. No more events arrive; requests can still be sent."""
        for task in self._starting:
            task.cancel()
        if self._shared is not None:
            await self._shared.leave()
        leaving: list[Any] = [shard.disconnect() for shard in self.shards.values()]
        try:
            async with asyncio.timeout(LEAVE_S):
                await asyncio.gather(*self._starting, *leaving, return_exceptions=True)
        except TimeoutError:
            _log.info("left the gateway without its goodbye")

    async def close(self) -> None:
        self.writers.close()
        await super().close()
