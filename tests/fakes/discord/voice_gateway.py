"""The voice gateway, version 8: sessions that survive their sockets, and their messages.

https://docs.discord.com/developers/topics/voice-connections. The messages of a group's members are handled in
voice_group.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMessage, WSMsgType, web

from tests.fakes.discord.gateway import Close
from tests.fakes.discord.voice_group import (
    COMMIT_WELCOME,
    INVALID_COMMIT_WELCOME,
    KEY_PACKAGE,
    TRANSITION_READY,
    VERSION,
)
from tests.fakes.discord.voice_mls import Malformed

if TYPE_CHECKING:
    from tests.fakes.discord.channels import Channel
    from tests.fakes.discord.voice import Voice
    from tests.fakes.discord.voice_group import Group
    from tests.fakes.discord.voice_udp import VoiceServer
    from tests.fakes.discord.world import Guild

IDENTIFY, SELECT_PROTOCOL, READY, HEARTBEAT, DESCRIPTION, SPEAKING = 0, 1, 2, 3, 4, 5
HEARTBEAT_ACK, RESUME, HELLO, RESUMED = 6, 7, 8, 9
MODES = ("aead_aes256_gcm_rtpsize", "aead_xchacha20_poly1305_rtpsize")
KEPT_MESSAGES = 500
_TEXT = (SELECT_PROTOCOL, SPEAKING, TRANSITION_READY, INVALID_COMMIT_WELCOME)


@dataclass(eq=False)
class VoiceSession:
    """The bot in a call, from the VOICE_SERVER_UPDATE until another session replaces it or the bot leaves."""

    guild: Guild
    channel: Channel
    user_id: int
    session_id: str
    server: VoiceServer
    group: Group
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    ssrc: int = 0
    # The selected protocol, none at first.
    mode: str = ""
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    address: tuple[str, int] | None = None
    # The time and the flags of each SPEAKING.
    speaking: list[tuple[float, int]] = field(default_factory=list)
    nonces: set[bytes] = field(default_factory=set)
    # Whether the session has ended, so that its messages are ignored.
    ended: bool = False
    seq: int = -1
    sent: deque[tuple[int, str | bytes]] = field(default_factory=lambda: deque(maxlen=KEPT_MESSAGES))
    socket: VoiceSocket | None = None

    @property
    def identified(self) -> bool:
        return self.ssrc != 0

    def hear(self, op: int, data: Any) -> None:
        """Send a message with a sequence number, which a RESUME repeats."""
        self.seq += 1
        self._put(json.dumps({"op": op, "d": data, "seq": self.seq & 0xFFFF}))

    def hear_binary(self, op: int, payload: bytes) -> None:
        self.seq += 1
        self._put((self.seq & 0xFFFF).to_bytes(2) + bytes([op]) + payload)

    def _put(self, message: str | bytes) -> None:
        self.sent.append((self.seq, message))
        if self.socket is not None:
            self.socket.put(message)


class VoiceSocket:
    """One connection; it sends queued messages in order."""

    def __init__(self, voice: Voice, server: VoiceServer, request: web.Request) -> None:
        self.voice = voice
        self.server = server
        self.request = request
        self.ws = web.WebSocketResponse(autoping=True, max_msg_size=0)
        self.session: VoiceSession | None = None
        self._queue: asyncio.Queue[str | bytes | Close] = asyncio.Queue()

    def put(self, message: str | bytes) -> None:
        self._queue.put_nowait(message)

    def say(self, op: int, data: Any) -> None:
        """Send a message without a sequence number."""
        self.put(json.dumps({"op": op, "d": data}))

    def close(self, code: int, reason: str = "") -> None:
        """Close the socket as the server; the session then has no socket."""
        if self.session is not None and self.session.socket is self:
            self.session.socket = None
        self._queue.put_nowait(Close(code, reason))

    def cut(self) -> None:
        """Cut the connection without a closing handshake, as when a cable is pulled."""
        if self.request.transport is not None:
            self.request.transport.abort()

    async def run(self) -> web.WebSocketResponse:
        await self.ws.prepare(self.request)
        writer = asyncio.create_task(self._write())
        self.say(HELLO, {"v": 8, "heartbeat_interval": int(self.voice.heartbeat * 1000)})
        try:
            await self._read()
        except Close as close:
            self.voice.closed.append((close.code, close.reason))
            self.close(close.code, close.reason)
            await asyncio.wait([writer], timeout=1.0)
        finally:
            writer.cancel()
            self.voice.gone(self)
        return self.ws

    async def _write(self) -> None:
        try:
            while item := await self._queue.get():
                if isinstance(item, Close):
                    await self.ws.close(code=item.code, message=item.reason.encode())
                    return
                if isinstance(item, bytes):
                    await self.ws.send_bytes(item)
                else:
                    await self.ws.send_str(item)
        except (ConnectionError, RuntimeError):
            return  # the socket is closed; the reader notices that, too

    async def _read(self) -> None:
        if self.request.query.get("v") != "8":
            raise Close(4020, "Bad request: the fake speaks version 8")
        beats = time.monotonic()
        while True:
            timeout = beats + 1.5 * self.voice.heartbeat - time.monotonic()
            try:
                message = await self.ws.receive(timeout=max(timeout, 0.001))
            except TimeoutError:
                raise Close(4009, "Session timed out.") from None
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            if self._take(message) == HEARTBEAT:
                beats = time.monotonic()

    def _take(self, message: WSMessage) -> int:
        """Handle a message; returns its opcode."""
        if message.type is WSMsgType.BINARY:
            return self._take_binary(bytes(message.data))
        try:
            frame = json.loads(message.data)
            op, data = int(frame["op"]), frame["d"]
        except (ValueError, KeyError, TypeError):
            raise Close(4002, "Failed to decode payload") from None
        if op == HEARTBEAT:
            self._heartbeat(data)
        elif op in (IDENTIFY, RESUME):
            if self.session is not None:
                raise Close(4005, "Already authenticated")
            if not isinstance(data, dict):
                raise Close(4002, "Failed to decode payload")
            (self._identify if op == IDENTIFY else self._resume)(data)
        elif op not in _TEXT:
            raise Close(4001, "Unknown opcode")
        elif self.session is None:
            raise Close(4003, "Not authenticated")
        else:
            self._say(self.session, op, data)
        return op

    def _take_binary(self, content: bytes) -> int:
        if not content or content[0] not in (KEY_PACKAGE, COMMIT_WELCOME):
            raise Close(4001, "Unknown opcode")
        if self.session is None:
            raise Close(4003, "Not authenticated")
        try:
            self.session.group.receive(self.session, content[0], content[1:])
        except Malformed as fault:
            raise Close(4020, f"Bad request: {fault}") from None
        return content[0]

    def _heartbeat(self, data: Any) -> None:
        """Check a heartbeat, which since version 8 has the number of the last received message."""
        if not isinstance(data, dict) or not isinstance(data.get("t"), int):
            raise Close(4020, "Bad request: a heartbeat is {t, seq_ack}")
        if self.session is not None:
            self._acknowledged(self.session, data)
        self.voice.heartbeats += 1
        if self.voice.answers_heartbeats:
            self.say(HEARTBEAT_ACK, {"t": data["t"]})

    def _acknowledged(self, session: VoiceSession, data: dict[str, Any]) -> int:
        ack = data.get("seq_ack", -1)
        if (
            not isinstance(ack, int)
            or not -1 <= ack <= 0xFFFF
            or (ack > session.seq and session.seq < 0x8000)
        ):
            raise Close(4020, f"Bad request: seq_ack is {ack!r}, and the last message was {session.seq}")
        return ack

    def _identify(self, data: dict[str, Any]) -> None:
        if self.voice.refuses is not None:
            raise Close(self.voice.refuses, "Refused")
        if data.get("max_dave_protocol_version", 0) < VERSION:
            raise Close(4017, "E2EE/DAVE protocol required")
        session = self._found(data)
        # A token is valid for one connection; then the session is resumed, or the gateway sends a new token.
        if session.identified:
            raise Close(4006, "Session is no longer valid.")
        if data.get("user_id") != str(session.user_id):
            raise Close(4004, "Authentication failed")
        self._bind(session)
        session.ssrc = self.server.admit(session)
        session.hear(
            READY,
            {
                "ssrc": session.ssrc,
                "ip": self.server.host,
                "port": self.server.udp_port,
                "modes": list(self.voice.modes),
                "heartbeat_interval": 1,
            },
        )
        session.group.connect(session)
        self.voice.discord.touch()

    def _resume(self, data: dict[str, Any]) -> None:
        session = self._found(data)
        ack = self._acknowledged(session, data)
        missed = [(seq, message) for seq, message in session.sent if seq > ack]
        if not session.identified or session.socket is not None:
            raise Close(4006, "Session is no longer valid.")
        if session.seq > ack and (not missed or missed[0][0] > ack + 1):
            raise Close(4006, "Session is no longer valid.")
        self._bind(session)
        self.say(RESUMED, None)
        for _, message in missed:
            self.put(message)
        self.voice.resumed += 1
        self.voice.discord.touch()

    def _found(self, data: dict[str, Any]) -> VoiceSession:
        """The session for an IDENTIFY or a RESUME."""
        session = self.server.sessions.get(str(data.get("token")))
        if session is None:
            raise Close(4004, "Authentication failed")
        if data.get("server_id") != str(session.guild.id):
            raise Close(4011, "Server not found")
        if session.ended or data.get("session_id") != session.session_id:
            raise Close(4006, "Session is no longer valid.")
        return session

    def _bind(self, session: VoiceSession) -> None:
        self.session, session.socket = session, self

    def _say(self, session: VoiceSession, op: int, data: Any) -> None:
        if not isinstance(data, dict):
            raise Close(4002, "Failed to decode payload")
        if op == SELECT_PROTOCOL:
            self._select(session, data)
        elif op == SPEAKING:
            if not isinstance(data.get("speaking"), int) or data.get("ssrc") != session.ssrc:
                raise Close(4020, "Bad request: SPEAKING has no flags, or another ssrc")
            session.speaking.append((time.monotonic(), data["speaking"]))
        elif op == TRANSITION_READY:
            session.group.ready(session.user_id, data.get("transition_id", 0))
        else:
            session.group.invalid(session.user_id)
        self.voice.discord.touch()

    def _select(self, session: VoiceSession, data: dict[str, Any]) -> None:
        if data.get("protocol") != "udp":
            raise Close(4012, "Unknown protocol")
        chosen = data.get("data")
        if (
            not isinstance(chosen, dict)
            or not isinstance(chosen.get("port"), int)
            or not chosen.get("address")
        ):
            raise Close(4002, "Failed to decode payload")
        if chosen.get("mode") not in self.voice.modes:
            raise Close(4016, "Unknown encryption mode")
        session.mode = chosen["mode"]
        session.address = (str(chosen["address"]), chosen["port"])
        session.hear(
            DESCRIPTION,
            {
                "mode": session.mode,
                "secret_key": list(session.key),
                "audio_codec": "opus",
                "media_session_id": secrets.token_hex(16),
                "dave_protocol_version": VERSION,
            },
        )
        session.group.invite(session)
