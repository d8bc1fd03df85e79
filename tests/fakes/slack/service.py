"""Slack on a loopback port: the Web API, Socket Mode, signed HTTP and files, and people who use it.

A model of the real service, from its documentation and from what slack_sdk 3.47 speaks. `slack.api` and the tokens
and secrets beside it are what a client needs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.fakes.slack import (
    agents,
    events,
    files,
    oauth,
    sockets,
    web_chat,
    web_conversations,
    web_people,
    web_streams,
    web_views,
)
from tests.fakes.slack.acts import Acts
from tests.fakes.slack.delivery import EVENT, UNHURRIED_SECONDS, Delivery, Sent
from tests.fakes.slack.faults import Fault, Faults
from tests.fakes.slack.grants import Grants
from tests.fakes.slack.hooks import Hooks
from tests.fakes.slack.http_mode import HttpMode
from tests.fakes.slack.interactions import Triggers
from tests.fakes.slack.limits import Limited, Limits
from tests.fakes.slack.messages import Message
from tests.fakes.slack.people import User
from tests.fakes.slack.post import Post
from tests.fakes.slack.story import story
from tests.fakes.slack.streams import EXPIRED
from tests.fakes.slack.views import View, Views
from tests.fakes.slack.web import BASE, Call, Refused, Web
from tests.fakes.slack.world import Enterprise, Team, World

LOOK_AGAIN = 0.05
MOST_BYTES = 64 * 1024 * 1024
# https://docs.slack.dev/apis/events-api#retries
REDELIVERY = (0.0, 60.0, 300.0)
# Not documented: https://github.com/slackapi/python-slack-sdk/issues/1859 and others measured it.
STREAM_SECONDS, STREAM_TEXT = 300.0, 12_000
EVENTS = (
    "agent_session_stopped",
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "channel_archive",
    "channel_deleted",
    "channel_left",
    "group_archive",
    "group_deleted",
    "group_left",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "reaction_added",
    "tokens_revoked",
)
T = TypeVar("T")


class FakeSlack:
    """`events`, `commands` and `shortcuts` come from the app's manifest; None allows all. With `rotation_seconds` the
    app uses token rotation, and its tokens have this lifetime.
    """

    def __init__(
        self,
        port: int = 0,
        bot_token: str = "xoxb-100000000000-loopback",
        app_token: str = "xapp-1-A0LOOPBACK-1-loopback",
    ) -> None:
        self.port = port
        self.bot_token = bot_token
        self.app_token = app_token
        self.signing_secret = "loopback-signing-secret"
        self.verification_token = "loopback-verification"
        self.client_id, self.client_secret = "100000000000.200000000000", "loopback-client-secret"
        self.redirect_uri = ""
        self.events = set(EVENTS)
        self.commands: set[str] | None = None
        self.shortcuts: set[str] | None = None
        self.ack_seconds = UNHURRIED_SECONDS
        self.redelivery: tuple[float, ...] = REDELIVERY
        self.rotation_seconds = 0
        self.stream_seconds, self.stream_text = STREAM_SECONDS, STREAM_TEXT
        self.calls: list[Call] = []
        self.refused: list[Refused] = []
        self.limited: list[Limited] = []
        self.world = World(bot_token)
        self.world.touch = self.touch
        self.grants = Grants(self.world)
        self.limits = Limits()
        self.faults = Faults()
        self.triggers = Triggers()
        self.agents = agents.Agents()
        self.views_kept = Views(self)
        self.files = files.Files(self)
        self.hooks = Hooks(self)
        self.post = Post(self)
        self.delivery = Delivery(self)
        self.sockets = sockets.Sockets(self)
        self.http = HttpMode(self)
        self.oauth = oauth.OAuth(self)
        acts, network = Acts(self), sockets.Network(self)
        self.say, self.edit, self.delete, self.react = acts.say, acts.edit, acts.delete, acts.react
        self.command, self.press, self.choose = acts.command, acts.press, acts.choose
        self.shortcut, self.global_shortcut = acts.shortcut, acts.global_shortcut
        self.open_home, self.submit, self.close = acts.open_home, acts.submit, acts.close
        self.stop_session, self.invite = acts.stop_session, acts.invite
        self.connected, self.drop, self.disconnect = network.connected, network.drop, network.disconnect
        self.install = self.oauth.install
        self._changed = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_get(sockets.PATH, self.sockets.connect)
        for part in (self.files, self.hooks, self.oauth):
            part.add_to(app)
        Web(
            self,
            (
                *web_chat.METHODS,
                *web_streams.METHODS,
                *web_conversations.METHODS,
                *web_people.METHODS,
                *web_views.METHODS,
                *agents.METHODS,
                *files.METHODS,
                *sockets.methods(self.sockets),
                *oauth.methods(self.oauth),
            ),
        ).add_to(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.delivery.close()
        await self.http.close()
        for socket in list(self.sockets.all):
            socket.cut()
        assert self._runner is not None
        await self._runner.cleanup()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> str:
        """A client's base_url."""
        return self.root + BASE

    # The world

    def workspace(self, name: str, enterprise: Enterprise | None = None, installed: bool = True) -> Team:
        """Create a workspace. The first one has the token `bot_token`. If not `installed`, `install` adds the app."""
        return self.world.team(name, enterprise, installed)

    def enterprise(self, name: str) -> Enterprise:
        return self.world.enterprise(name)

    def uninstall(self, team: Team) -> list[Sent]:
        """Remove the app: it gets the event, and its token becomes invalid."""
        events_sent = [
            self.delivery.event(team, {"type": "app_uninstalled"}, "app_uninstalled"),
            self.delivery.event(
                team,
                {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [team.bot.id]}},
                "tokens_revoked",
            ),
        ]
        team.installed = False
        self.grants.gone.add(team.bot_token)
        return [event for event in events_sent if event is not None]

    # Inspection

    @property
    def sent(self) -> list[Sent]:
        """Everything that was sent to the bot."""
        return self.delivery.sent

    @property
    def views(self) -> list[View]:
        """All modals, including closed ones."""
        return self.views_kept.opened

    def home(self, user: User) -> View | None:
        return self.views_kept.homes.get(user.id)

    def status(self, thread: Message) -> str:
        """The status line of a thread: "is thinking…"."""
        return self.agents.statuses.get((thread.channel.id, thread.root.ts), "")

    def session(self, thread: Message) -> agents.Session | None:
        return self.agents.sessions.get((thread.channel.id, thread.root.ts))

    # What the network and the service do

    def fail(
        self,
        method: str,
        error: str | None = None,
        status: int | None = None,
        retry_after: int | None = None,
        times: int = 1,
        delay: float = 0.0,
        lost: bool = False,
    ) -> Fault:
        fault = Fault(method, error, status, retry_after, times, delay, lost)
        self.faults.waiting.append(fault)
        return fault

    def redeliver(self, what: Sent | Message, reason: str = "timeout", attempt: int = 1) -> list[Sent]:
        """Deliver an event again although it was acknowledged, with a retry number and reason and the same event_id."""
        deliveries = what.sent if isinstance(what, Message) else [what]
        return [self.delivery.again(delivery, attempt, reason) for delivery in deliveries]

    def duplicate(self, what: Sent | Message) -> list[Sent]:
        """Deliver the same payload on another socket, as if for the first time."""
        deliveries = what.sent if isinstance(what, Message) else [what]
        for delivery in deliveries:
            others = [socket for socket in self.sockets.live if socket is not delivery.tries[0].socket]
            if self.http.url is None and not others:
                raise LookupError("there is no second socket")
            self.delivery.again(delivery, 0, "", others[0] if others else None)
        return deliveries

    def expire(self, message: Message) -> None:
        """End the message's stream, as after five minutes."""
        assert message.stream is not None
        message.stream.end(EXPIRED)

    async def send_raw(self, team: Team, event: events.Event) -> Sent:
        """Send any event with any content."""
        id = self.world.ids.next("Ev")
        return await self.send_envelope(
            team, EVENT, events.envelope(team, event, id, self.verification_token)
        )

    async def send_envelope(self, team: Team, kind: str, payload: dict[str, Any]) -> Sent:
        """Send any envelope; `kind` is events_api, slash_commands or interactive."""
        sent = self.delivery.begin(Sent(kind, team, payload))
        await sent.first.wait()
        return sent

    # Waiting

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
