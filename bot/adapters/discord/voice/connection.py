"""The connection to one voice channel. Everything it sends is end-to-end encrypted.

Independent of queues. A thread of discord.py takes a frame every 20 ms, encodes it and sends it.
"""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import discord
from discord.gateway import DiscordVoiceWebSocket
from discord.voice_state import ConnectionFlowState, VoiceConnectionState

from bot.events import TransientError, UserError

if TYPE_CHECKING:
    from bot.words import Words

CONNECT_S: Final = 20.0
AGAIN_S: Final = 5.0
"""Seconds for which the library itself tries to resume a lost connection; after that we make a new one."""
PRIVACY_S: Final = 10.0
"""Seconds that the members of a channel may take to agree on their keys."""
ASK_S: Final = 0.5
"""Seconds that a voice server may take to report our packets' address before it is asked again."""
DISCOVERY_BYTES: Final = 74
LOOK_S: Final = 0.02

CUT: Final = 1006
CRASHED: Final = 4015
ENDED: Final = (4014, 4022)
"""Close codes: none was sent; the voice gateway asks for a RESUME; the call has ended here and perhaps continues
elsewhere (Discord's documentation, "Voice Close Event Codes").
"""

SENT_AWAY: Final = "voice.sent_away"
REPLACED: Final = "voice.replaced"
VoiceChannel = discord.VoiceChannel | discord.StageChannel


class NotEncrypted(Exception):
    """The keys of the channel's members, who alone may hear the bot, are missing."""


class ResumedState(VoiceConnectionState):
    """The library's connection state with a RESUME that succeeds, also after a cut connection.

    The library's own RESUME asks for the channel first, which ends the session, and waits for a key that arrives once
    per session.
    """

    async def _connect(
        self,
        reconnect: bool,
        timeout: float,  # noqa: ASYNC109 - the library's
        self_deaf: bool,
        self_mute: bool,
        resume: bool,
    ) -> None:
        if not resume:
            await super()._connect(reconnect, timeout, self_deaf, self_mute, resume)
            return
        before, resumed = self.ws, asyncio.Event()
        if before._keep_alive is not None:
            before._keep_alive.stop()

        async def hook(_: DiscordVoiceWebSocket, message: dict[str, Any]) -> None:
            if message["op"] == DiscordVoiceWebSocket.RESUMED:
                resumed.set()

        try:
            async with asyncio.timeout(timeout):
                self.ws = await self._connect_websocket(True)
                self.ws._hook = hook  # type: ignore[method-assign]
                while not resumed.is_set():
                    await self.ws.poll_event()
        except (discord.ConnectionClosed, aiohttp.ClientError, OSError) as fault:
            raise TimeoutError from fault  # on this error the library disconnects
        self.ws.secret_key = before.secret_key
        self.state = ConnectionFlowState.connected

    async def _poll_voice_ws(self, reconnect: bool) -> None:
        with suppress(discord.ConnectionClosed, TimeoutError):  # nobody awaits it, and `gone` has been called
            await super()._poll_voice_ws(reconnect)

    async def _handshake_websocket(self) -> None:
        connection = self.voice_client
        assert isinstance(connection, VoiceConnection)
        connection.anew = connection.is_playing()
        async with asyncio.timeout(self.timeout):
            await super()._handshake_websocket()
        connection.moving, connection.session = False, self.session_id or ""

    async def _voice_disconnect(self) -> None:
        connection = self.voice_client
        if isinstance(connection, VoiceConnection) and connection.replaced:
            self.state = ConnectionFlowState.disconnected  # a newer process there is not disconnected
        else:
            await super()._voice_disconnect()

    async def _connect_websocket(self, resume: bool) -> DiscordVoiceWebSocket:
        socket = await super()._connect_websocket(resume)
        poll = socket.poll_event

        async def poll_event() -> None:
            try:
                await poll()
            except discord.ConnectionClosed as closed:
                if closed.code == CUT:
                    closed.code = CRASHED
                if closed.code in ENDED and isinstance(self.voice_client, VoiceConnection):
                    self.voice_client.moving = True
                raise

        socket.poll_event = poll_event  # type: ignore[method-assign]
        socket.discover_ip = self._discover_ip  # type: ignore[method-assign]
        return socket

    async def _discover_ip(self) -> tuple[str, int]:
        """Our packets' address as the voice server sees it (Discord's documentation of voice).

        The library asks once and only then listens; but the question or the answer may be lost, or the answer may
        arrive before that.
        """
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bytes] = loop.create_future()

        def take(answer: bytes) -> None:
            if not answered.done():
                answered.set_result(answer)

        def heard(packet: bytes) -> None:
            if len(packet) == DISCOVERY_BYTES and packet[1] == 2:
                loop.call_soon_threadsafe(take, packet)

        question = struct.pack(">HHI", 1, DISCOVERY_BYTES - 4, self.ssrc).ljust(DISCOVERY_BYTES, b"\0")
        self.add_socket_listener(heard)
        try:
            while not answered.done():
                await loop.sock_sendall(self.socket, question)
                await asyncio.wait([answered], timeout=ASK_S)
        finally:
            self.remove_socket_listener(heard)
        packet = answered.result()
        return packet[8 : packet.index(0, 8)].decode("ascii"), int.from_bytes(packet[-2:], "big")


class VoiceConnection(discord.VoiceClient):
    """A connection with three callbacks.

    `changed` is called when the bot was moved, muted or allowed to speak. `gone` is called once, when the bot has left
    the channel, with the catalogue key of the reason, "" for a lost connection. `again` makes the source repeat the
    last frames, because nobody knows which of them the previous server has passed on; it is called in the player's
    thread.
    """

    def __init__(self, client: discord.Client, channel: discord.abc.Connectable) -> None:
        super().__init__(client, channel)
        self.changed: Callable[[], None] = lambda: None
        self.gone: Callable[[str], None] = lambda why: None
        self.again: Callable[[], None] = lambda: None
        self.suppressed = self.muted = self.alone = False
        self.moving = False
        """Whether the present server has gone, so that what is sent now is lost."""
        self.anew = False
        """Whether another server has taken over during playback."""
        self.session = ""
        """The gateway session with which the bot is in the channel; the library's attribute may hold another's."""
        self._gone_why = ""
        self._over = False

    def create_connection_state(self) -> VoiceConnectionState:
        return ResumedState(self)

    @property
    def connected(self) -> bool:
        return super().is_connected()

    @property
    def encrypted(self) -> bool:
        return self._connection.can_encrypt

    @property
    def _gateway(self) -> discord.gateway.DiscordWebSocket:
        return self.guild._state._get_websocket(self.guild.id)

    @property
    def replaced(self) -> bool:
        """Whether another process with the bot's token is in the channel instead."""
        return self._gone_why == REPLACED

    def lacks(self) -> str:
        """See `bot.speech.queue.Player`."""
        if self.moving or not self.connected:
            return "voice.lacks_connection"
        if self.suppressed:
            return "voice.lacks_leave"
        if self.muted:
            return "voice.lacks_mute"
        if self.alone:
            return "voice.lacks_listeners"
        return "" if self.encrypted else "voice.lacks_encryption"

    def is_connected(self) -> bool:
        """Whether somebody can hear the bot; until then the library's thread holds a frame back."""
        return not self.lacks()

    def wait_until_connected(self, timeout: float | None = 30.0) -> bool:
        player, ends = threading.current_thread(), time.monotonic() + (timeout or CONNECT_S)
        while self.lacks():
            if time.monotonic() > ends or self._player is not player:
                return False
            time.sleep(LOOK_S)
        return True

    def _get_voice_packet(self, data: bytes) -> bytes:
        if not self.encrypted:  # the library would send it unencrypted
            raise NotEncrypted
        packet: bytes = super()._get_voice_packet(data)
        return packet

    def send_audio_packet(self, data: bytes, *, encode: bool = True) -> None:
        if self.anew and encode:
            self.anew = False
            self.again()  # including this frame
            return
        try:
            super().send_audio_packet(data, encode=encode)
        except NotEncrypted:
            return

    async def on_voice_state_update(self, data: Any) -> None:
        self.suppressed, self.muted = bool(data.get("suppress")), bool(data.get("mute"))
        if data["channel_id"] is None:
            if not self._connection._expecting_disconnect:
                self._gone_why = SENT_AWAY
        elif self.session and data["session_id"] not in (self.session, self._gateway.session_id):
            self._gone_why = REPLACED
            if self.connected:
                await self._connection.disconnect()
            return
        await super().on_voice_state_update(data)
        self.changed()

    async def on_voice_server_update(self, data: Any) -> None:
        """Handle a server update. Without an endpoint the server is gone, and another is named later."""
        self.moving = True
        await super().on_voice_server_update(data)

    def cleanup(self) -> None:
        if not self._over:
            self._over = True
            super().cleanup()
            self.gone(self._gone_why)


async def connect(channel: VoiceChannel) -> VoiceConnection:
    """Enter the channel, and wait until the people there can hear the bot. Raises UserError."""
    await asyncio.to_thread(load_opus)
    try:
        # Without the library's own reconnect, because its thread that reads from the lost socket may hang for 30 s.
        connection = await channel.connect(
            timeout=CONNECT_S, reconnect=False, self_deaf=True, cls=VoiceConnection
        )
    except (TimeoutError, discord.DiscordException, OSError) as fault:
        raise TransientError("voice.not_connected", channel=channel.name) from fault
    connection._connection.timeout = AGAIN_S
    connection.alone = not listeners(channel)
    ends = time.monotonic() + PRIVACY_S
    while not (connection.alone or connection.encrypted):
        if time.monotonic() > ends or not connection.connected:
            await connection.disconnect(force=True)
            raise TransientError("voice.not_encrypted", channel=channel.name)
        await asyncio.sleep(LOOK_S)
    return connection


def listeners(channel: VoiceChannel) -> list[int]:
    """The ids of the people in the channel, without bots."""
    members = {member.id: member for member in channel.members}
    return [
        user
        for user in channel.voice_states
        if user != channel.guild.me.id and not (user in members and members[user].bot)
    ]


def closed(channel: VoiceChannel, say: Words) -> UserError | None:
    """The reason why the bot cannot enter the channel or speak there; None if it can."""
    me = channel.guild.me
    may = channel.permissions_for(me)
    needed = ["view_channel", "connect"]
    if isinstance(channel, discord.VoiceChannel):
        needed.append("speak")
    elif not may.mute_members:
        needed.append("request_to_speak")
    for name in needed:
        if not getattr(may, name):
            permission = say(f"discord_doctor.perm_{name}")
            return TransientError("voice.may_not", channel=channel.name, permission=permission)
    other_users = [user for user in channel.voice_states if user != me.id]
    if channel.user_limit and len(other_users) >= channel.user_limit and not may.move_members:
        return TransientError("voice.full", channel=channel.name, n=channel.user_limit)
    return None


async def ask_to_speak(channel: VoiceChannel) -> bool:
    """Speak on a stage, where the bot may; otherwise ask for it and return True."""
    if not isinstance(channel, discord.StageChannel):
        return False
    me = channel.guild.me
    try:
        if channel.permissions_for(me).mute_members:
            await me.edit(suppress=False)
            return False
        await me.request_to_speak()
    except (discord.HTTPException, discord.ClientException):
        return True
    return True


def load_opus() -> None:
    """Load libopus, which discord.py does not bring on Linux. Raises UserError if it is missing."""
    if discord.opus.is_loaded():
        return
    spec = find_spec("opuslib_next")
    if spec is not None and spec.origin is not None:
        try:
            discord.opus.load_opus(str(Path(spec.origin).parent / "_native" / "libopus.so"))
        except OSError:
            pass
        else:
            return
    if not discord.opus._load_default():
        raise UserError("voice.no_opus")
