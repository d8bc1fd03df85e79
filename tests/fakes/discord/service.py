"""Discord on a loopback port: REST, the gateway, files, and people's actions.

A model of the real service, from its documentation and from what discord.py 2.7.1 speaks. `discord.api`,
`discord.gateway_url` and `discord.token` are what a client needs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.fakes.discord import (
    intents,
    rest_applications,
    rest_channels,
    rest_guilds,
    rest_interactions,
    rest_threads,
    rest_voice,
    rest_webhooks,
)
from tests.fakes.discord.asked import UNHURRIED_SECONDS, Asked
from tests.fakes.discord.channels import THREAD, Channel, Thread
from tests.fakes.discord.commands import Commands
from tests.fakes.discord.faults import Fault, Faults
from tests.fakes.discord.files import Files
from tests.fakes.discord.gateway import Gateway
from tests.fakes.discord.limits import Limited, Limits
from tests.fakes.discord.messages import Message
from tests.fakes.discord.network import Network
from tests.fakes.discord.people import People
from tests.fakes.discord.post import Post
from tests.fakes.discord.rest import BASE, REQUEST_BYTES, Call, Refused, Rest
from tests.fakes.discord.story import story
from tests.fakes.discord.voice import Voice
from tests.fakes.discord.voice_udp import VoiceServer
from tests.fakes.discord.world import Guild, User, World

LOOK_AGAIN = 0.05
T = TypeVar("T")
ROUTES = (
    *rest_applications.ROUTES,
    *rest_channels.ROUTES,
    *rest_threads.ROUTES,
    *rest_interactions.ROUTES,
    *rest_webhooks.ROUTES,
    *rest_guilds.ROUTES,
    *rest_voice.ROUTES,
)


class FakeDiscord:
    """`portal` names the privileged intents that are enabled in the developer portal."""

    def __init__(
        self,
        port: int = 0,
        token: str = "MTAwMDAw.Fake.loopback-token",
        portal: Iterable[str] = ("MESSAGE_CONTENT",),
        shards: int = 1,
        max_concurrency: int = 16,
    ) -> None:
        self.port = port
        self.token = token
        self.portal = set(portal)
        self.interactions_endpoint_url: str | None = None
        # The documentation names a limit only for user installs, but a code for all (40094).
        self.follow_ups = 1_000
        self.world = World()
        self.asked: dict[str, Asked] = {}
        self.tokens: dict[str, Asked] = {}
        self.calls: list[Call] = []
        self.refused: list[Refused] = []
        self.limited: list[Limited] = []
        self.hooks: dict[int, rest_webhooks.Hook] = {}
        self.commands = Commands()
        self.ack_seconds = UNHURRIED_SECONDS
        self.limits = Limits()
        self.faults = Faults()
        self.files = Files(self)
        self.post = Post(self)
        self.gateway = Gateway(self)
        self.gateway.shards = shards
        self.gateway.max_concurrency = max_concurrency
        self.voice = Voice(self)
        self.world.emit = self.gateway.emit
        self.world.touch = self.touch
        self.people = people = People(self)
        network = Network(self)
        self.slash, self.autocomplete, self.menu = people.slash, people.autocomplete, people.menu
        self.press, self.submit = people.press, people.submit
        self.say, self.speak, self.edit, self.delete = people.say, people.speak, people.edit, people.delete
        self.proxy = people.proxy
        self.connected, self.reconnect, self.drop = network.connected, network.reconnect, network.drop
        self.invalidate, self.replay, self.send_raw = network.invalidate, network.replay, network.send_raw
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2 * REQUEST_BYTES)
        app.router.add_get("/gateway", self.gateway.connect)
        app.router.add_get("/gateway/", self.gateway.connect)
        app.router.add_get("/", self.voice.connect)
        app.router.add_get("/attachments/{channel}/{file}/{name}", self.files.serve)
        Rest(self, ROUTES).add_to(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        await self.voice.open(self.port)
        return self

    async def __aexit__(self, *exc: object) -> None:
        for socket in list(self.gateway.sockets):
            socket.cut()
        self.voice.close()
        assert self._runner is not None
        await self._runner.cleanup()

    async def open_voice_server(self) -> VoiceServer:
        """Open one more voice server, on a separate port."""
        assert self._runner is not None
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return await self.voice.open(self._runner.addresses[-1][1])

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> str:
        return self.root + BASE

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/gateway"

    @property
    def application_id(self) -> int:
        return self.world.application

    @property
    def flags(self) -> int:
        """The flags of the application, with the intents that are enabled in the portal."""
        return intents.flags(self.portal)

    # The world

    def guild(
        self, name: str, permissions: Iterable[str] | None = None, *, bot: bool = True, locale: str = "en-US"
    ) -> Guild:
        """A guild; the bot's role has `permissions`. With `bot=False` the bot was never invited there."""
        return self.world.guild(name, permissions, bot, locale)

    def user(self, name: str, locale: str = "en-US") -> User:
        return self.world.user(name, locale)

    def dm(self, user: User) -> Channel:
        return self.world.private(user)

    def private(self, *people: User) -> Channel:
        """A group of people without the bot, which is available there only through user installs."""
        return self.world.private(*people, group=True)

    def open_thread(
        self, channel: Channel, id: int, type: int, name: str, auto_archive: int, owner: User
    ) -> Thread:
        thread = Thread(
            self.world, id, type, name, channel.guild, up=channel, owner=owner.id, auto_archive=auto_archive
        )
        thread.people = {owner.id: time.time()}
        self.world.channels[thread.id] = thread
        channel.threads.append(thread)
        created = thread.payload() | {"newly_created": True}
        if owner is self.world.bot:
            created["member"] = thread.member_payload(owner.id)
        self.gateway.emit("THREAD_CREATE", created, channel=thread)
        return thread

    def thread(self, user: User, channel: Channel, name: str, text: str = "") -> Thread:
        """Open a thread as a person; in a forum, a post that begins with `text`."""
        thread = self.open_thread(channel, self.world.ids.next(), THREAD, name, 1440, user)
        if text:
            first = Message(thread.id, thread, user, text, created=time.time())
            self.post.mention(first, {})
            self.post.put(first)
        return thread

    def remove_channel(self, channel: Channel) -> None:
        event = "CHANNEL_DELETE"
        if isinstance(channel, Thread):
            event = "THREAD_DELETE"
            channel.parent.threads.remove(channel)
        elif channel.guild is not None:
            channel.guild.channels.remove(channel)
        if channel.guild is not None:
            self.voice.empty(channel)
        payload = channel.payload()
        self.gateway.emit(event, payload, channel=channel)
        self.world.channels.pop(channel.id, None)
        self.touch()

    def kick(self, guild: Guild) -> None:
        """Remove the bot from a guild."""
        self.voice.end(guild)
        self.gateway.emit("GUILD_DELETE", {"id": str(guild.id)}, guild=guild)
        guild.home = False
        guild.members.pop(self.world.bot.id, None)
        self.touch()

    async def archive(self, thread: Thread, archived: bool = True) -> None:
        thread.set_archived(archived)

    def webhook(
        self, channel: Channel, name: str, user: User, application: int | None = None
    ) -> rest_webhooks.Hook:
        """Create a webhook in a channel, as a person does."""
        hook = rest_webhooks.Hook(self.world.ids.next(), channel, name, user, application)
        self.hooks[hook.id] = hook
        self._webhooks_changed(channel)
        return hook

    def delete_webhook(self, hook: rest_webhooks.Hook) -> None:
        """Delete the webhook, as a moderator does; its messages stay."""
        del self.hooks[hook.id]
        self._webhooks_changed(hook.channel)

    def _webhooks_changed(self, channel: Channel) -> None:
        guild = str(channel.guild.id) if channel.guild else None
        data = {"guild_id": guild, "channel_id": str(channel.id)}
        self.gateway.emit("WEBHOOKS_UPDATE", data, channel=channel)
        self.touch()

    # What the network does

    def fail(
        self,
        method: str,
        pattern: str,
        status: int = 500,
        code: int = 0,
        times: int = 1,
        retry_after: float | None = None,
        delay: float = 0.0,
        lost: bool = False,
    ) -> Fault:
        fault = Fault(method, pattern, status, code, times, retry_after, delay, lost)
        self.faults.waiting.append(fault)
        return fault

    async def expire(self, asked: Asked) -> None:
        """Expire the interaction, as after fifteen minutes."""
        asked.dead = True

    # Waiting and telling

    def touch(self) -> None:
        """Note a change, so that waiting tests look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, met: Callable[[], T], seconds: float = 60.0) -> T:
        """Wait for the condition, which is checked after every change and now and then. Fails with a description."""
        ends = time.monotonic() + seconds
        while not (value := met()):
            remaining = ends - time.monotonic()
            if remaining <= 0:
                raise AssertionError(f"not within {seconds} s. This is what there is:\n{story(self)}")
            with suppress(TimeoutError):
                # The condition may depend on the test's own state, whose changes the fake does not see.
                await asyncio.wait_for(self._changed.wait(), min(remaining, LOOK_AGAIN))
        return value

    def readable(self, message: Message) -> dict[str, Any]:
        """A message as REST shows it: without the intent, only messages that concern the bot have content."""
        payload = message.payload()
        if "MESSAGE_CONTENT" in self.portal or message.channel.guild is None:
            return payload
        return intents.blanked(payload, self.world.bot.id)
