"""The connection to Discord: who we are there, what we listen to, and how a run finds its view.

Knows no command and no work: those are the cogs' and the application's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import aiohttp
import discord
from discord.ext import commands
from yarl import URL

from bot.adapters import unfinished
from bot.adapters.discord.installed import sync
from bot.adapters.discord.installed.global_limit import GlobalLimit, Request
from bot.adapters.discord.installed.invalid_requests import InvalidRequests
from bot.adapters.discord.installed.pace import PACE
from bot.adapters.discord.installed.shards import Plan, Turnstile, plan, redirect
from bot.adapters.discord.received.attachments import Attachments
from bot.adapters.discord.shown.surface import HANGS_S, UPLOAD_S
from bot.adapters.pen import Pens

if TYPE_CHECKING:
    from bot.adapters.discord.received.intake import Reception
    from bot.app import App
    from bot.config import Config

LEAVE_S = 3.0
"""How long the gateway is waited for when we leave: a dead line never says goodbye."""

_log = logging.getLogger(__name__)


def intents_of(free_chat: bool) -> discord.Intents:
    """The fewest that will do: servers, and messages. Their content is privileged, but for mentions and DMs."""
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = True
    intents.message_content = free_chat
    return intents


LAST_GUILD_S = 0.5
"""How long no server may be named any more before the bot says that it is there. discord.py waits 2 s, to fill caches
that we do not keep; servers that come later are known as well."""


class Sutradhar(commands.AutoShardedBot):
    """One per process. `login`, then `App.start`, then `connect`."""

    reception: Reception

    def __init__(
        self,
        app: App,
        config: Config,
        *,
        on_first_ready: Callable[[Sutradhar], None] | None = None,
        hangs_s: float = HANGS_S,
    ) -> None:
        """`hangs_s`: after so long without an answer a request is given up, and its connection with it."""
        self.app = app
        self.config = config
        self.settings = config.discord
        self.pens = Pens(PACE)
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
        sent = _timed(self.http.request, hangs_s)
        self.http.request = GlobalLimit().limiting(sent)  # type: ignore[method-assign]

    async def setup_hook(self) -> None:
        """Logged in, and not yet connected: everything that answers events is put in its place."""
        from bot.adapters.discord.received import listen, presses
        from bot.adapters.discord.shown.view import view_factory

        self.app.attach("discord", view_factory(self), Attachments(self.settings).fetch)
        await self.furnish()
        await listen.load(self)
        self.add_dynamic_items(*presses.ITEMS)
        await self.app.house.offers.sweep(unfinished.KIND, unfinished.KEPT)
        await sync.sync(self.tree, self.app.house.marks, self.settings.sync_guilds)

    async def furnish(self) -> None:
        """The commands, and who takes them in."""
        import cogs
        from bot.adapters.discord.received.intake import Reception
        from bot.adapters.discord.received.translator import Translator

        self.reception = Reception(self.app, self, self.config)
        await self.tree.set_translator(Translator())
        await cogs.load(self)

    async def on_message(self, message: discord.Message) -> None:
        """Not a prefix command: messages are listened to elsewhere."""

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

    async def quiet(self) -> None:
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
        self.pens.close()
        await super().close()


def _timed(request: Request, hangs_s: float) -> Request:
    """The same request, which waits for so long for its answer if it is of a channel: those can be made anew.

    Raises aiohttp.ServerTimeoutError, and the next try gets another connection. How long a limit keeps a request
    back does not count.
    """
    short = aiohttp.ClientTimeout(total=300, sock_connect=hangs_s, sock_read=hangs_s)
    long = aiohttp.ClientTimeout(total=300, sock_connect=hangs_s, sock_read=max(hangs_s, UPLOAD_S))

    async def timed(route: discord.http.Route, **given: Any) -> Any:
        if route.path.startswith("/channels/"):
            given["timeout"] = long if given.get("files") else short
        return await request(route, **given)

    return timed
