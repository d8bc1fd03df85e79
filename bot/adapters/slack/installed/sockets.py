"""Socket Mode: several connections at once, each renewed when Slack says so; their envelopes go to Bolt.

Independent of events: Bolt's response to an envelope goes back on the same connection. This module replaces slack_sdk's
loop, which retries a refused token and a used address for ever, closes a connection before it has another, and leaves
tasks behind.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import aiohttp
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.request import SocketModeRequest

from bot import metrics
from bot.adapters.health import Connections
from bot.adapters.log_redaction import type_and_trace
from bot.adapters.slack.installed.faults import as_sorry, code_of, final
from bot.events import UserError
from bot.waiting import Background, cancelled
from storage.patience import patient_with_an_event

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp
    from slack_bolt.response import BoltResponse
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.config import SlackConfig

HEARTBEAT_S: Final = 10.0
"""Seconds between pings. A connection that does not answer one within half of that is dead."""
BACKOFF_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
LIVED_S: Final = 5.0
"""A connection that lasted this many seconds resets the backoff."""
FRESH_S: Final = 20.0
"""Seconds for which an unused address stays valid; it can be used once (apps.connections.open)."""
LINGER_S: Final = 30.0
"""Seconds for which a replaced connection is still read; Slack closes it after some ten."""
LEAVE_S: Final = 3.0
"""Seconds that `stop_receiving` waits for envelopes that have just arrived."""

_log = logging.getLogger(__name__)

Socket = aiohttp.ClientWebSocketResponse


class Sockets:
    """The app's connections in this process."""

    def __init__(
        self, bolt: AsyncApp, client: AsyncWebClient, settings: SlackConfig, on_hello: Callable[[], None]
    ) -> None:
        self._bolt = bolt
        self._client = client
        self._settings = settings
        self._on_hello = on_hello
        self._address: tuple[str, float] = ("", 0.0)
        self._live: set[Socket] = set()
        self._greeted: WeakSet[Socket] = WeakSet()
        self._handling = Background()
        """The envelopes that are handled now, each in a task, so that a slow one does not delay others."""
        self._lingering = Background()
        self._lines: list[asyncio.Task[None]] = []
        self._leaving = asyncio.Event()

    async def admit(self) -> None:
        """Verify the app token. Raises UserError; `run` uses the address that Slack returns."""
        with as_sorry(self._settings, self._settings.app_token_env):
            self._address = (await self._open(), time.monotonic())

    def connections(self) -> Connections:
        """The sockets. One is enough, because Slack sends each event to one of them."""
        n = sum(not socket.closed for socket in self._greeted)
        states = {f"socket {number}": number <= n for number in range(1, self._settings.connections + 1)}
        return Connections(n > 0, states)

    async def run(self) -> None:
        """Hold the connections until `stop_receiving`. Raises UserError when Slack permanently refuses them."""
        self._lines = [asyncio.create_task(self._line()) for _ in range(self._settings.connections)]
        try:
            await asyncio.gather(*self._lines)
        finally:
            await cancelled(*self._lines)

    async def stop_receiving(self) -> None:
        """Receive nothing more; envelopes already received are still acknowledged."""
        self._leaving.set()
        await cancelled(*self._lines)
        if self._handling.tasks:
            await asyncio.wait(self._handling.tasks, timeout=LEAVE_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await asyncio.gather(*(socket.close() for socket in self._live), return_exceptions=True)
        await cancelled(*self._handling.tasks, *self._lingering.tasks)

    async def _open(self) -> str:
        answer: Any = await self._client.apps_connections_open(app_token=str(self._client.token))
        return str(answer["url"])

    async def _next_address(self) -> str:
        (address, at), self._address = self._address, ("", 0.0)
        return address if address and time.monotonic() - at < FRESH_S else await self._open()

    async def _line(self) -> None:
        """Hold one connection after another."""
        failed = 0
        while not self._leaving.is_set():
            began, renewed, reason = time.monotonic(), False, "it closed"
            try:
                renewed = await self._connection()
            except SlackApiError as fault:
                if final(fault):
                    with as_sorry(self._settings, self._settings.app_token_env):
                        raise
                reason = code_of(fault) or "no answer of Slack's"
            except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as fault:
                reason = type(fault).__name__  # not its text, because the address holds a ticket
            if time.monotonic() - began > LIVED_S:
                failed = 0
            if not renewed or failed:
                wait = BACKOFF_S[min(failed, len(BACKOFF_S) - 1)] * (1 + random.random() / 4)
                _log.info("a socket to Slack is gone (%s); the next one in %.1f s", reason, wait)
                await asyncio.sleep(wait)
            failed += 1

    async def _connection(self) -> bool:
        """Read a new connection until it ends. Returns whether Slack wants it replaced, so that the next may follow at
        once.
        """
        assert self._client.session is not None
        socket = await self._client.session.ws_connect(
            await self._next_address(),
            heartbeat=HEARTBEAT_S,
            max_msg_size=0,
            proxy=self._client.proxy,
            timeout=aiohttp.ClientWSTimeout(ws_close=LEAVE_S),
        )
        self._live.add(socket)
        greeted = False
        async for frame in socket:
            if frame.type is not aiohttp.WSMsgType.TEXT or (envelope := _read(frame.data)) is None:
                continue
            match envelope.get("type"):
                case "hello":
                    greeted = True
                    self._greeted.add(socket)
                    self._on_hello()
                case "disconnect":
                    return self._renewed(socket, str(envelope.get("reason")), greeted)
                case _:
                    self._handling.start(self._handle(socket, envelope))
        self._live.discard(socket)
        return False

    def _renewed(self, socket: Socket, reason: str, greeted: bool) -> bool:
        """Handle Slack's request for another connection. Slack may still send on the old one until it closes it."""
        _log.info("Slack renews a socket (%s)", reason)
        self._lingering.start(self._linger(socket))
        if reason == "link_disabled":
            raise UserError("slack_run.socket_off", variable=self._settings.app_token_env)
        return greeted and reason != "too_many_websockets"

    async def _linger(self, socket: Socket) -> None:
        try:
            async with asyncio.timeout(LINGER_S):
                async for frame in socket:
                    if frame.type is aiohttp.WSMsgType.TEXT and (envelope := _read(frame.data)) is not None:
                        self._handling.start(self._handle(socket, envelope))
        except TimeoutError:
            pass
        finally:
            self._live.discard(socket)
            await socket.close()

    async def _handle(self, socket: Socket, envelope: dict[str, Any]) -> None:
        began = time.monotonic()
        metrics.EVENTS.add("Slack")
        patient_with_an_event()
        try:
            request = SocketModeRequest.from_dict(envelope)
            if request is None or not isinstance(request.payload, dict):
                return
            response: BoltResponse = await run_async_bolt_app(self._bolt, request)
        except Exception as fault:  # no envelope may end the connection
            _log.error("an envelope could not be read: %s", type_and_trace(fault))
            return
        if response.status not in (200, 404):
            return  # not acknowledged, so Slack sends it again
        answer: dict[str, Any] = {"envelope_id": request.envelope_id}
        if request.accepts_response_payload and response.status == 200 and response.body:
            kind = response.headers.get("content-type", [""])[0]
            as_json = kind.startswith("application/json")
            answer["payload"] = json.loads(response.body) if as_json else {"text": response.body}
        try:
            await socket.send_str(json.dumps(answer))
            metrics.ACKNOWLEDGED.observe("Slack", seconds=time.monotonic() - began)
        except (ConnectionError, aiohttp.ClientError, RuntimeError):
            _log.info("a socket closed before an acknowledgement; it comes again")


def _read(text: str) -> dict[str, Any] | None:
    try:
        message: Any = json.loads(text)
    except ValueError:
        message = None
    return message if isinstance(message, dict) else None
