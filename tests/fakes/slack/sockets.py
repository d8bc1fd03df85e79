"""Socket Mode: the app's connections, any of which may get an envelope.

https://docs.slack.dev/apis/events-api/using-socket-mode. What Slack does with an acknowledgement that has a payload
where none is accepted is not documented: here the payload is dropped and noted in `slack.refused`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

from tests.fakes.slack.ask import Ask
from tests.fakes.slack.delivery import ACK_SECONDS, COMMAND, EVENT, INTERACTIVE, Sent, Try
from tests.fakes.slack.web import Method, Refused

if TYPE_CHECKING:
    from tests.fakes.slack.service import FakeSlack

PATH = "/link/"
# https://docs.slack.dev/apis/events-api/using-socket-mode#connections
MOST_SOCKETS = 10
HOST = "applink-loopback"


@dataclass(eq=False)
class Socket:
    number: int
    ws: web.WebSocketResponse
    request: web.Request
    greeted: bool = False
    # It closes soon, and gets no more envelopes.
    leaving: bool = False
    handed: list[str] = field(default_factory=list)
    acked: list[str] = field(default_factory=list)

    @property
    def live(self) -> bool:
        return self.greeted and not self.leaving and not self.ws.closed

    async def say(self, frame: dict[str, Any]) -> None:
        if not self.ws.closed:
            await self.ws.send_str(json.dumps(frame))

    def cut(self) -> None:
        """Cut the connection without a closing handshake."""
        if self.request.transport is not None:
            self.request.transport.abort()

    def __repr__(self) -> str:
        return f"<Socket {self.number}>"


class Sockets:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.all: list[Socket] = []
        self.greeted = 0
        self.tickets: set[str] = set()
        self._numbers = itertools.count(1)
        self._turn = itertools.count()

    @property
    def live(self) -> list[Socket]:
        return [socket for socket in self.all if socket.live]

    async def open(self, ask: Ask) -> dict[str, Any]:
        """apps.connections.open: an address that can be used once."""
        ticket = secrets.token_urlsafe(16)
        self.tickets.add(ticket)
        host = f"127.0.0.1:{self.slack.port}"
        return {"url": f"ws://{host}{PATH}?ticket={ticket}&app_id={self.slack.world.app_id}"}

    async def connect(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self.tickets:
            return web.Response(status=403)
        self.tickets.discard(ticket)
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        socket = Socket(next(self._numbers), ws, request)
        if len(self.live) >= MOST_SOCKETS:
            await socket.say(_disconnect("too_many_websockets"))
            await ws.close()
            return ws
        self.all.append(socket)
        try:
            await self._greet(socket)
            async for frame in ws:
                if frame.type is WSMsgType.TEXT:
                    self._hear(socket, frame.data)
        finally:
            self.all.remove(socket)
            self.slack.world.touch()
        return ws

    async def _greet(self, socket: Socket) -> None:
        socket.greeted = True
        self.greeted += 1
        debug = {
            "host": HOST,
            "started": time.strftime("%Y-%m-%d %H:%M:%S.000"),
            "build_number": 1,
            "approximate_connection_time": 18060,
        }
        hello = {"type": "hello", "connection_info": {"app_id": self.slack.world.app_id}}
        await socket.say(hello | {"num_connections": len(self.live), "debug_info": debug})
        self.slack.world.touch()

    def _hear(self, socket: Socket, text: str) -> None:
        try:
            frame = json.loads(text)
        except ValueError:
            frame = None
        if not isinstance(frame, dict) or not isinstance(frame.get("envelope_id"), str):
            self._refuse("no_envelope", text[:200])
            return
        socket.acked.append(frame["envelope_id"])
        waiting = self.slack.delivery.waiting.get(frame["envelope_id"])
        if waiting is None or waiting[1].done.is_set():
            self._stray(frame["envelope_id"])
            return
        sent, attempt = waiting
        payload = frame.get("payload")
        if payload and sent.kind == EVENT:
            self._refuse("payload_not_accepted", str(payload)[:200])
            payload = None
        attempt.acked = time.monotonic() - attempt.at
        attempt.done.set()
        sent.take(attempt, payload if isinstance(payload, dict) else None)

    def _stray(self, id: str) -> None:
        """Record a late, repeated or unknown acknowledgement."""
        for sent in self.slack.delivery.sent:
            if any(attempt.id == id for attempt in sent.tries):
                sent.late += 1
                return
        self._refuse("unknown_envelope", id)

    def _refuse(self, error: str, why: str) -> None:
        self.slack.refused.append(Refused(time.monotonic(), "socket", error, why))

    async def hand(self, sent: Sent, attempt: Try, socket: Socket | None) -> None:
        """Send an envelope to `socket`, or to the next socket in turn, and wait for the acknowledgement."""
        live = self.live
        if not live:
            attempt.failed = "no_socket"
            return
        attempt.socket = socket if socket is not None else live[next(self._turn) % len(live)]
        envelope: dict[str, Any] = {
            "envelope_id": attempt.id,
            "payload": sent.payload,
            "type": sent.kind,
            "accepts_response_payload": sent.kind in (COMMAND, INTERACTIVE),
        }
        if sent.kind == EVENT:
            # Observed: events during an absence are delivered again with the same reason.
            reason = "timeout" if attempt.reason == "no_socket" else attempt.reason or ""
            envelope |= {"retry_attempt": attempt.attempt, "retry_reason": reason}
        attempt.socket.handed.append(attempt.id)
        attempt.at = time.monotonic()
        try:
            await attempt.socket.say(envelope)
            await self._acknowledged(attempt)
        except (TimeoutError, ConnectionError):
            attempt.failed = "timeout"

    async def _acknowledged(self, attempt: Try) -> None:
        """Wait for the acknowledgement, from a disconnected client only as long as Slack does."""
        ends = attempt.at + self.slack.ack_seconds
        while not attempt.done.is_set():
            remaining = ends - time.monotonic()
            if remaining <= 0 or (
                attempt.socket not in self.all and time.monotonic() - attempt.at >= ACK_SECONDS
            ):
                raise TimeoutError
            with suppress(TimeoutError):
                await asyncio.wait_for(attempt.done.wait(), min(remaining, ACK_SECONDS))


def _disconnect(reason: str) -> dict[str, Any]:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": HOST}}


class Network:
    """Disturbs the connections, on demand."""

    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.sockets = slack.sockets

    async def connected(self, n: int = 1, seconds: float = 60.0) -> None:
        """Wait until `n` sockets are open and have received their hello."""
        await self.slack.until(lambda: len(self.sockets.live) >= n, seconds)

    async def drop(self, socket: Socket | None = None, rude: bool = False) -> None:
        """Close one socket, or all; `rude` means without a closing handshake. Returns when they are gone."""
        sockets = [socket] if socket is not None else list(self.sockets.all)
        for closing in sockets:
            closing.leaving = True
            if rude:
                closing.cut()
            else:
                await closing.ws.close()
        await self.slack.until(lambda: not set(sockets) & set(self.sockets.all))

    async def disconnect(self, reason: str = "refresh_requested", socket: Socket | None = None) -> None:
        """Ask one client or all to reconnect. After "warning" the connection still works for a while."""
        for live_socket in [socket] if socket is not None else list(self.sockets.live):
            live_socket.leaving = reason != "warning"
            await live_socket.say(_disconnect(reason))


def methods(sockets: Sockets) -> tuple[Method, ...]:
    return (Method("apps.connections.open", sockets.open, 3, token="app"),)
