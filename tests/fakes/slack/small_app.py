"""A small app on the real slack_bolt, connected to the fake Slack, for the fake's own tests."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncAck, AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import Channel, FakeSlack, Message, Team, User

Body = dict[str, Any]
Doing = Callable[[Body, AsyncAck], Awaitable[Any]]
ANY = re.compile(".*")


async def acknowledge(body: Body, ack: AsyncAck) -> None:
    await ack()


class SmallApp:
    """It records events, and calls `doing` for commands, presses, shortcuts and forms. If deaf, it leaves events
    unacknowledged.
    """

    def __init__(self, client: AsyncWebClient, **options: Any) -> None:
        logger = logging.getLogger("small_app")
        self.client = client
        # Without a name, slack_bolt reads the sources of every caller to find one.
        self.app = AsyncApp(name="small_app", client=client, logger=logger, **options)
        self.heard: list[Body] = []
        self.retries: list[tuple[str, str]] = []
        self.done: list[Body] = []
        self.doing: Doing = acknowledge
        self.deaf = False
        self.missed = 0
        """Events that came while it was."""
        self.app.event(ANY, matchers=[self._listens])(self._hear)
        self.app.command(ANY)(self._do)
        self.app.action(ANY)(self._do)
        self.app.shortcut(ANY)(self._do)
        self.app.view(ANY)(self._do)
        self.app.view_closed(ANY)(self._do)

    async def _listens(self) -> bool:
        self.missed += self.deaf
        return not self.deaf

    async def _hear(self, body: Body, request: Any) -> None:
        self.heard.append(body)
        names = ("x-slack-retry-num", "x-slack-retry-reason")
        number, reason = (request.headers.get(name, [""])[0] for name in names)
        if number not in ("", "0"):
            self.retries.append((number, reason))

    async def _do(self, body: Body, ack: AsyncAck) -> None:
        self.done.append(body)
        await self.doing(body, ack)

    @property
    def events(self) -> list[Body]:
        return [body["event"] for body in self.heard]


@dataclass
class Table:
    slack: FakeSlack
    small: SmallApp
    team: Team
    channel: Channel
    ana: User

    @property
    def client(self) -> AsyncWebClient:
        return self.small.client

    async def post(self, text: str = "hello", **more: Any) -> Message:
        sent = await self.client.chat_postMessage(channel=self.channel.id, text=text, **more)
        return self.channel.posts[sent["ts"]]

    async def refused(self, error: str, method: str, **args: Any) -> str:
        """Check that the call is refused with this error and that the fake has recorded it; returns the reason."""
        with pytest.raises(SlackApiError) as caught:
            await self.client.api_call(method, json=args)
        assert caught.value.response["error"] == error
        assert self.slack.refused[-1].error == error
        return self.slack.refused[-1].why


@asynccontextmanager
async def connected(slack: FakeSlack, small: SmallApp | None = None, n: int = 1) -> AsyncGenerator[SmallApp]:
    """The app, after a hello on each of its `n` sockets."""
    small = small or SmallApp(AsyncWebClient(slack.bot_token, base_url=slack.api))
    async with AsyncExitStack() as stack:
        for _ in range(n):
            handler: Any = AsyncSocketModeHandler(
                small.app, slack.app_token, ping_interval=1, logger=logging.getLogger("small_app")
            )
            # The app closes its session twice, and does not wait for its own tasks.
            stack.push_async_callback(_close, handler)
            await handler.connect_async()
        await slack.connected(n)
        yield small


@asynccontextmanager
async def served(small: SmallApp) -> AsyncGenerator[str]:
    """The app as a web server, for signed HTTP and installations; returns its root URL."""
    runner = web.AppRunner(small.app.web_app("/slack/events"), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _close(handler: Any) -> None:
    client = handler.client
    await handler.close_async()
    tasks = (client.message_processor, client.current_session_monitor, client.message_receiver)
    await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)


@asynccontextmanager
async def table(socket: bool = True, **options: Any) -> AsyncGenerator[Table]:
    """A workspace with #general and Ana, and the app in it."""
    async with FakeSlack() as slack, AsyncExitStack() as stack:
        team = slack.workspace("Table")
        ana = team.user("Ana", locale="pt-BR")
        channel = team.channel("general")
        small = SmallApp(AsyncWebClient(slack.bot_token, base_url=slack.api), **options)
        if socket:
            await stack.enter_async_context(connected(slack, small))
        yield Table(slack, small, team, channel, ana)
