"""The gateway: sessions that outlive their sockets, shards, intents, resuming.

https://docs.discord.com/developers/events/gateway. It uses plain text frames, and knows the content of events only as
far as intents hide it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

from tests.fakes.discord import intents

if TYPE_CHECKING:
    from tests.fakes.discord.channels import Channel
    from tests.fakes.discord.service import FakeDiscord
    from tests.fakes.discord.world import Guild

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, VOICE, RESUME, RECONNECT = 0, 1, 2, 3, 4, 6, 7
REQUEST_MEMBERS, INVALID, HELLO, ACK = 8, 9, 10, 11
KEPT_EVENTS = 5000
COMMANDS, COMMAND_SECONDS = 120, 60.0
FRAME_BYTES = 4096
IDENTIFY_SECONDS = 5.0
OnSent = Callable[[], None]


class Close(Exception):
    """Close the socket with this code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


@dataclass(eq=False)
class Session:
    """A session that RESUME can find: the sent events by their numbers."""

    shard: int
    shards: int
    intents: int
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    seq: int = 0
    sent: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=KEPT_EVENTS))
    socket: Socket | None = None

    def dispatch(self, event: str, data: dict[str, Any], on_sent: OnSent | None = None) -> None:
        self.seq += 1
        text = json.dumps({"op": DISPATCH, "t": event, "s": self.seq, "d": data})
        self.sent.append((self.seq, text))
        if self.socket is not None:
            self.socket.put(text, on_sent)


class Socket:
    """One connection; it sends what is put into it, in order."""

    def __init__(self, gateway: Gateway, request: web.Request, ws: web.WebSocketResponse) -> None:
        self.gateway = gateway
        self.request = request
        self.ws = ws
        self.session: Session | None = None
        self._queue: asyncio.Queue[tuple[str, OnSent | None] | Close] = asyncio.Queue()
        self._commands: deque[float] = deque()

    def put(self, text: str, on_sent: OnSent | None = None) -> None:
        """Queue a text; `on_sent` is called once it is sent."""
        self._queue.put_nowait((text, on_sent))

    def say(self, op: int, data: Any = None) -> None:
        self.put(json.dumps({"op": op, "t": None, "s": None, "d": data}))

    def close(self, code: int, reason: str = "") -> None:
        self._queue.put_nowait(Close(code, reason))

    def cut(self) -> None:
        """Cut the connection without a closing handshake, as when a cable is pulled."""
        if self.request.transport is not None:
            self.request.transport.abort()

    async def run(self) -> None:
        writer = asyncio.create_task(self._write())
        self.say(HELLO, {"heartbeat_interval": int(self.gateway.heartbeat * 1000), "_trace": []})
        try:
            await self._read()
        except Close as close:
            self.gateway.closed.append((close.code, close.reason))
            self.close(close.code, close.reason)
            await asyncio.wait([writer], timeout=1.0)
        finally:
            writer.cancel()
            if self.session is not None and self.session.socket is self:
                self.session.socket = None
                if self.ws.close_code in (1000, 1001):
                    # A client that closes properly ends its session.
                    self.gateway.end(self.session)
            self.gateway.sockets.discard(self)
            self.gateway.discord.touch()

    async def _write(self) -> None:
        try:
            while item := await self._queue.get():
                if isinstance(item, Close):
                    await self.ws.close(code=item.code, message=item.reason.encode())
                    return
                text, on_sent = item
                await self.ws.send_str(text)
                if on_sent is not None:
                    on_sent()
        except (ConnectionError, RuntimeError):
            return  # the socket is closed; the reader notices that, too

    async def _read(self) -> None:
        while True:
            try:
                message = await self.ws.receive(timeout=self.gateway.heartbeat * 1.5)
            except TimeoutError:
                raise Close(4009, "Session timed out.") from None
            if message.type is not WSMsgType.TEXT:
                return
            self._take(str(message.data))

    def _take(self, text: str) -> None:
        if len(text.encode()) > FRAME_BYTES:
            raise Close(4002, "Error while decoding payload.")
        now = time.monotonic()
        self._commands.append(now)
        while self._commands and now - self._commands[0] > COMMAND_SECONDS:
            self._commands.popleft()
        if len(self._commands) > COMMANDS:
            raise Close(4008, "Rate limited.")
        try:
            frame = json.loads(text)
            op, data = frame["op"], frame.get("d")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Close(4002, "Error while decoding payload.") from None
        if op == HEARTBEAT:
            self.gateway.heartbeats += 1
            if self.gateway.answers_heartbeats:
                self.say(ACK)
            return
        if op == IDENTIFY:
            if self.session is not None:
                raise Close(4005, "Already authenticated.")
            self.gateway.identify(self, data)
            return
        if op == RESUME:
            self.gateway.resume(self, data)
            return
        if op not in (PRESENCE, VOICE, REQUEST_MEMBERS):
            raise Close(4001, "Unknown opcode.")
        if self.session is None:
            raise Close(4003, "Not authenticated.")
        if op == REQUEST_MEMBERS:
            self.gateway.members(self.session, data)
        elif op == VOICE:
            self.gateway.discord.voice.update(self.session, data)


class Gateway:
    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord
        self.sessions: dict[str, Session] = {}
        self.sockets: set[Socket] = set()
        self.heartbeat = 41.25
        self.answers_heartbeats = True
        self.heartbeats = 0
        # The number of IDENTIFYs allowed in five seconds.
        self.max_concurrency = 16
        self.shards = 1
        # How many of the last events the next RESUME repeats.
        self.repeat = 0
        # Codes and reasons of the sockets that were refused; intents and times of those that were not.
        self.closed: list[tuple[int, str]] = []
        self.identified: list[tuple[float, int, int]] = []
        self.resumed = 0

    async def connect(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse(autoping=True, max_msg_size=0)
        await ws.prepare(request)
        socket = Socket(self, request, ws)
        self.sockets.add(socket)
        await socket.run()
        return ws

    @property
    def live(self) -> list[Session]:
        return [session for session in self.sessions.values() if session.socket is not None]

    def identify(self, socket: Socket, data: Any) -> None:
        if not isinstance(data, dict) or data.get("token") != self.discord.token:
            raise Close(4004, "Authentication failed.")
        shard, shards = data.get("shard") or (0, 1)
        if not 0 <= shard < shards:
            raise Close(4010, "Invalid shard.")
        wanted = data.get("intents")
        if not isinstance(wanted, int) or wanted < 0 or wanted & ~intents.ALL:
            raise Close(4013, "Invalid intent(s).")
        if wanted & intents.PRIVILEGED & ~intents.bits(self.discord.portal):
            raise Close(4014, "Disallowed intent(s).")
        now = time.monotonic()
        if sum(now - at < IDENTIFY_SECONDS for at, _, _ in self.identified) >= self.max_concurrency:
            self.closed.append((INVALID, "identified too soon"))
            socket.say(INVALID, False)
            return
        self.identified.append((now, shard, wanted))
        session = Session(shard, shards, wanted, socket=socket)
        socket.session = session
        self.sessions[session.id] = session
        session.dispatch("READY", self._ready(session))
        if wanted & intents.GUILDS:
            for guild in self._guilds(session):
                data = guild.create_payload()
                shown = intents.shown("GUILD_CREATE", data, wanted, self.discord.world.bot.id, False)
                session.dispatch("GUILD_CREATE", shown or data)
        self.discord.touch()

    def resume(self, socket: Socket, data: Any) -> None:
        if not isinstance(data, dict) or data.get("token") != self.discord.token:
            raise Close(4004, "Authentication failed.")
        session = self.sessions.get(str(data.get("session_id")))
        if session is None:
            socket.say(INVALID, False)
            return
        seq = data.get("seq")
        if not isinstance(seq, int) or seq > session.seq:
            raise Close(4007, "Invalid seq.")
        if session.socket is not None:
            session.socket.close(4000)
        session.socket = socket
        socket.session = session
        since, self.repeat = max(0, seq - self.repeat), 0
        for number, text in session.sent:
            # READY is never repeated.
            if number > max(1, since):
                socket.put(text)
        self.resumed += 1
        session.dispatch("RESUMED", {"_trace": []})
        self.discord.touch()

    def emit(
        self,
        event: str,
        data: dict[str, Any],
        guild: Guild | None = None,
        channel: Channel | None = None,
        on_sent: OnSent | None = None,
    ) -> None:
        """Send the event to every session that should get it: by shard, membership, permission and intents."""
        guild = channel.guild if channel is not None else guild
        if guild is not None and not guild.home and event != "INTERACTION_CREATE":
            return
        if (
            channel is not None
            and event.startswith(("MESSAGE_", "THREAD_", "TYPING_"))
            and not channel.allows("VIEW_CHANNEL")
        ):
            return
        for session in self.sessions.values():
            if (
                (guild.id >> 22) % session.shards != session.shard
                if guild is not None
                else session.shard != 0
            ):
                continue
            shown = intents.shown(event, data, session.intents, self.discord.world.bot.id, guild is None)
            if shown is not None:
                session.dispatch(event, shown, on_sent)
        self.discord.touch()

    def end(self, session: Session) -> None:
        """End the session: it can no longer be resumed, and it leaves its voice channels."""
        self.sessions.pop(session.id, None)
        self.discord.voice.end_gateway_session(session.id)

    def members(self, session: Session, data: Any) -> None:
        guild = self.discord.world.guilds.get(int(data["guild_id"]))
        if guild is None:
            return
        ids = {int(id) for id in data.get("user_ids") or ()} or set(guild.members)
        members = [guild.member_payload(member.user) for id, member in guild.members.items() if id in ids]
        chunk = {"guild_id": str(guild.id), "members": members, "chunk_index": 0, "chunk_count": 1}
        session.dispatch("GUILD_MEMBERS_CHUNK", chunk | {"nonce": data.get("nonce")})

    def _guilds(self, session: Session) -> list[Guild]:
        guilds = self.discord.world.guilds.values()
        return [
            guild for guild in guilds if guild.home and (guild.id >> 22) % session.shards == session.shard
        ]

    def _ready(self, session: Session) -> dict[str, Any]:
        return {
            "v": 10,
            "user": self.discord.world.bot.payload()
            | {"verified": True, "mfa_enabled": True, "flags": 0, "email": None},
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in self._guilds(session)],
            "private_channels": [],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.discord.gateway_url,
            "shard": [session.shard, session.shards],
            "application": {"id": str(self.discord.application_id), "flags": self.discord.flags},
        }
