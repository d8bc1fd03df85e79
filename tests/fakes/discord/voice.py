"""Voice: who is in which channel, the gateway's events about it, and faults on demand.

A person in a channel is a `Listener`, which records what it hears. `violations` lists what Discord would reject or
make inaudible; tests expect it to be empty.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.fakes.discord.channels import STAGE, VOICE, Channel
from tests.fakes.discord.gateway import Session
from tests.fakes.discord.voice_gateway import MODES, VoiceSession, VoiceSocket
from tests.fakes.discord.voice_group import Group
from tests.fakes.discord.voice_heard import SILENCE, Frame, Listener
from tests.fakes.discord.voice_states import VoiceState
from tests.fakes.discord.voice_udp import VoiceServer
from tests.fakes.discord.world import Guild, User

if TYPE_CHECKING:
    from tests.fakes.discord.service import FakeDiscord

ENCRYPTED = b"\xfa\xfa"
"""How each frame ends that is encrypted from end to end."""
PATIENCE = 15.0
"""How long a session whose connection is cut may be resumed, in seconds."""


class Voice:
    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord
        self.heartbeat = 13.75
        self.answers_heartbeats = True
        self.modes = MODES
        # The voice gateway closes each new connection with this code.
        self.refuses: int | None = None
        # While `stall` sets this, no call gets a group.
        self.stalled = False
        # Only the bot's commits count, if it can commit.
        self.bot_commits = False
        self.violations: list[str] = []
        # Frames that nobody hears because the bot is suppressed or muted, with the reason.
        self.unheard: list[tuple[Frame, str]] = []
        # Failed requests of gateway sessions, with the reason, which Discord does not send.
        self.ignored: list[str] = []
        # Codes and reasons of the connections that the voice gateway closed.
        self.closed: list[tuple[int, str]] = []
        # All sessions, oldest first.
        self.sessions: list[VoiceSession] = []
        self.sockets: set[VoiceSocket] = set()
        self.heartbeats = 0
        self.resumed = 0
        self.servers: list[VoiceServer] = []
        self._calls: dict[int, Group] = {}
        self._listeners: dict[tuple[int, int], Listener] = {}
        self._current: dict[int, VoiceSession] = {}

    async def open(self, port: int) -> VoiceServer:
        """Open a voice server whose gateway is at this port."""
        server = VoiceServer(self._heard, self._unusable)
        await server.open(port)
        self.servers.append(server)
        return server

    def close(self) -> None:
        for socket in list(self.sockets):
            socket.cut()
        for server in self.servers:
            server.close()

    async def connect(self, request: web.Request) -> web.WebSocketResponse:
        """Handle a connection to the voice gateway, for the server with the port."""
        assert request.transport is not None
        port = request.transport.get_extra_info("sockname")[1]
        server = next((server for server in self.servers if server.port == port), None)
        if server is None:
            raise web.HTTPNotFound
        socket = VoiceSocket(self, server, request)
        self.sockets.add(socket)
        return await socket.run()

    # Inspection

    @property
    def listeners(self) -> list[Listener]:
        """The people in voice channels."""
        return list(self._listeners.values())

    def session(self, guild: Guild) -> VoiceSession | None:
        """The bot's session in that guild."""
        return self._current.get(guild.id)

    def place(self, guild: Guild) -> Channel | None:
        """The bot's voice channel in that guild, as people see it in the list of channels."""
        state = guild.voice_states.get(self.discord.world.bot.id)
        return state.channel if state else None

    def members(self, channel: Channel) -> list[User]:
        """The people in the channel, in order of arrival."""
        assert channel.guild is not None
        return [
            voice_state.user
            for voice_state in channel.guild.voice_states.values()
            if voice_state.channel is channel
        ]

    def ready(self, guild: Guild) -> bool:
        """Whether the bot is in a call and its group, and all members have each other's keys."""
        session = self._current.get(guild.id)
        return session is not None and not session.ended and session.group.has(session.user_id)

    # People's actions

    def enter(self, user: User, channel: Channel) -> Listener:
        """Let a person join a voice channel; returns the listener."""
        guild = _guild(channel)
        if user.id not in guild.members:
            raise LookupError(f"{user.name} is not in {guild.name}")
        self.leave(user, guild, moving=True)
        state = VoiceState(user, channel, secrets.token_hex(16))
        state.go(channel)
        guild.voice_states[user.id] = state
        self.tell(guild, state)
        listener = self._listeners[guild.id, user.id] = Listener(user, channel)
        listener.join(self._call(channel))
        return listener

    def leave(self, user: User, guild: Guild, *, moving: bool = False) -> None:
        """Let a person leave their voice channel."""
        state = guild.voice_states.pop(user.id, None)
        if state is None:
            return
        self._listeners.pop((guild.id, user.id), None)
        self._call(state.channel).disconnect(user.id)
        if not moving:
            self.tell(guild, state, left_channel=True)

    def empty(self, channel: Channel) -> None:
        """Remove all people from a deleted channel."""
        guild = _guild(channel)
        for user in self.members(channel):
            if user is self.discord.world.bot:
                self.end(guild, 4022)
            else:
                self.leave(user, guild)

    # The bot's requests on the gateway

    def update(self, session: Session, data: Any) -> None:
        """Opcode 4: join, move, leave. Where Discord sends no response, `ignored` has the reason."""
        if not isinstance(data, dict) or not str(data.get("guild_id")).isdecimal():
            self.ignored.append(f"no guild in {data!r}")
            return
        guild = self.discord.world.guilds.get(int(data["guild_id"]))
        if guild is None or not guild.home or (guild.id >> 22) % session.shards != session.shard:
            self.ignored.append(f"no guild of this shard's in {data!r}")
            return
        state = guild.voice_states.get(self.discord.world.bot.id)
        if data.get("channel_id") is None:
            if state is not None and state.session_id == session.id:
                self.end(guild)
            return
        channel = self.discord.world.channels.get(int(data["channel_id"]))
        if why := self._closed_to_the_bot(guild, channel):
            self.ignored.append(why)
            return
        assert channel is not None
        if state is None or state.session_id != session.id:
            self._end_session(guild, 4014)
            guild.voice_states.pop(self.discord.world.bot.id, None)
            state = VoiceState(self.discord.world.bot, channel, session.id)
            state.go(channel)
        elif state.channel is not channel:
            state.go(channel)
        state.self_mute, state.self_deaf = bool(data.get("self_mute")), bool(data.get("self_deaf"))
        there = self._current.get(guild.id)
        if there is not None and there.channel is channel and there.socket is not None:
            self.tell(guild, state)  # it is connected already
        else:
            self._seat(guild, state)

    def _closed_to_the_bot(self, guild: Guild, channel: Channel | None) -> str:
        if channel is None or channel.guild is not guild or channel.type not in (VOICE, STAGE):
            return f"no voice channel of {guild.name}"
        if not channel.allows("VIEW_CHANNEL") or not channel.allows("CONNECT"):
            return f"the bot may not connect to {channel.name}"
        others = [member for member in self.members(channel) if member is not self.discord.world.bot]
        if channel.user_limit and len(others) >= channel.user_limit and not channel.allows("MOVE_MEMBERS"):
            return f"{channel.name} is full"
        return ""

    def _seat(self, guild: Guild, state: VoiceState, server: VoiceServer | None = None) -> None:
        """Put the bot into that channel, and send it the address to connect to."""
        guild.voice_states[state.user.id] = state
        old = self._current.get(guild.id)
        server = server or (old.server if old is not None and not old.ended else self.servers[0])
        self.tell(guild, state)
        self._end_session(guild, 4014)
        call = self._call(state.channel)
        session = VoiceSession(guild, state.channel, state.user.id, state.session_id, server, call)
        self._current[guild.id] = server.sessions[session.token] = session
        self.sessions.append(session)
        self._tell_server(session, session.server.endpoint)

    def end(self, guild: Guild, code: int = 4014) -> None:
        """Take the bot out of the guild's voice channels."""
        state = guild.voice_states.pop(self.discord.world.bot.id, None)
        if state is not None:
            self.tell(guild, state, left_channel=True)
        self._end_session(guild, code)

    def end_gateway_session(self, session_id: str) -> None:
        """End the voice session of a gateway session that has ended."""
        for guild in self.discord.world.guilds.values():
            state = guild.voice_states.get(self.discord.world.bot.id)
            if state is not None and state.session_id == session_id:
                self.end(guild)

    def gone(self, socket: VoiceSocket) -> None:
        """Handle a closed connection: a proper close ends the session, otherwise it can be resumed for a while."""
        self.sockets.discard(socket)
        session = socket.session
        if session is None or session.ended or session.socket is not socket:
            return
        session.socket = None
        if socket.ws.close_code in (1000, 1001):
            self.end(session.guild)
        else:
            asyncio.get_running_loop().call_later(PATIENCE, self._expire, session)
        self.discord.touch()

    def _expire(self, session: VoiceSession) -> None:
        if not session.ended and session.socket is None:
            self.end(session.guild)

    # Faults

    def stall(self) -> None:
        """Prevent new groups and changes of groups until `release`."""
        self.stalled = True
        for call in self._calls.values():
            call.stalled = True

    def release(self) -> None:
        self.stalled = False
        for call in self._calls.values():
            call.release()

    def damage(self, channel: Channel) -> None:
        """Damage the bot's next welcome to the channel's group, so that it must ask for another one."""
        self._call(channel).damaged.add(self.discord.world.bot.id)

    def lose(self, *sequences: int) -> None:
        """Lose the packets with these sequence numbers."""
        for server in self.servers:
            server.loses = set(sequences).__contains__

    def drop(self, guild: Guild) -> None:
        """Cut the bot's connection to the voice gateway; UDP continues, and the session can be resumed."""
        self._socket(guild).cut()

    def crash(self, guild: Guild, code: int = 4015, *, resumable: bool = True) -> None:
        """Close the bot's voice connection with a code that blames the server."""
        socket = self._socket(guild)
        if not resumable:
            self._forget(guild)
        socket.close(code)

    async def move_server(self, guild: Guild, *, announce: bool = False) -> VoiceServer:
        """Move the call to another voice server; with `announce`, first announce that the old one is gone."""
        state, session = guild.voice_states[self.discord.world.bot.id], self._current[guild.id]
        server = await self.discord.open_voice_server()
        if announce:
            self._tell_server(session, None)
        listeners = [listener for listener in self.listeners if listener.channel is state.channel]
        self._end_session(guild, 4022)
        self._calls.pop(state.channel.id)
        for listener in listeners:
            listener.join(self._call(state.channel))
        call = self._call(state.channel)
        session = VoiceSession(guild, state.channel, state.user.id, state.session_id, server, call)
        self._current[guild.id] = server.sessions[session.token] = session
        self.sessions.append(session)
        self._tell_server(session, server.endpoint)
        return server

    def kick(self, guild: Guild) -> None:
        """Disconnect the bot, as a moderator does."""
        self.end(guild)

    def move(self, guild: Guild, channel: Channel) -> None:
        """Move the bot into another channel, as a moderator does."""
        state = guild.voice_states[self.discord.world.bot.id]
        state.go(channel)
        self._seat(guild, state)

    def suppress(self, guild: Guild, suppressed: bool = True) -> None:
        """Remove the bot from the speakers of a stage, or let it speak, as a moderator does."""
        state = guild.voice_states[self.discord.world.bot.id]
        state.suppress = suppressed
        self.tell(guild, state)

    def mute(self, guild: Guild, muted: bool = True) -> None:
        """Mute the bot, as a moderator does."""
        state = guild.voice_states[self.discord.world.bot.id]
        state.mute = muted
        self.tell(guild, state)

    def connect_elsewhere(self, guild: Guild, channel: Channel | None = None, code: int = 4014) -> None:
        """Let a second process with the bot's token join a channel, by default the same: the first must leave."""
        old = guild.voice_states[self.discord.world.bot.id]
        self._end_session(guild, code)
        state = VoiceState(old.user, old.channel, secrets.token_hex(16))
        state.go(channel or old.channel)
        guild.voice_states[state.user.id] = state
        self.tell(guild, state)

    # Internals

    def _call(self, channel: Channel) -> Group:
        call = self._calls.get(channel.id)
        if call is None:
            call = self._calls[channel.id] = Group(channel.id, self.violations.append)
            call.stalled = self.stalled
        call.committer = self.discord.world.bot.id if self.bot_commits else None
        return call

    def _socket(self, guild: Guild) -> VoiceSocket:
        session = self._current.get(guild.id)
        if session is None or session.socket is None:
            raise LookupError(f"the bot is not connected to voice in {guild.name}")
        return session.socket

    def _end_session(self, guild: Guild, code: int) -> None:
        session = self._current.pop(guild.id, None)
        if session is None or session.ended:
            return
        session.ended = True
        session.group.disconnect(session.user_id)
        if session.socket is not None:
            session.socket.close(code)
        self.discord.touch()

    def _forget(self, guild: Guild) -> None:
        """Forget the session after a complete crash: it cannot be resumed."""
        session = self._current[guild.id]
        session.ended = True
        session.group.disconnect(session.user_id)

    def tell(self, guild: Guild, state: VoiceState, *, left_channel: bool = False) -> None:
        """Send connected sessions the channel of that person, or that they have left."""
        data = state.payload() | {"guild_id": str(guild.id), "member": guild.member_payload(state.user)}
        if left_channel:
            data["channel_id"] = None
        self.discord.gateway.emit("VOICE_STATE_UPDATE", data, guild=guild)

    def _tell_server(self, session: VoiceSession, endpoint: str | None) -> None:
        """Send the voice server's address to the gateway session in the channel."""
        gateway_session = self.discord.gateway.sessions.get(session.session_id)
        if gateway_session is not None:
            where = {"token": session.token, "guild_id": str(session.guild.id), "endpoint": endpoint}
            gateway_session.dispatch("VOICE_SERVER_UPDATE", where)
        self.discord.touch()

    def _heard(self, session: VoiceSession, frame: Frame) -> None:
        """Pass a received frame to each listener in the channel."""
        if frame.opus != SILENCE and not frame.opus.endswith(ENCRYPTED):
            self._violated(f"frame {frame.sequence} is not encrypted from end to end")
            return
        state = session.guild.voice_states[session.user_id]
        if state.suppress or state.mute:
            self.unheard.append((frame, "suppressed" if state.suppress else "muted"))
            return
        for listener in self.listeners:
            if listener.channel is not session.channel:
                continue
            if frame.opus == SILENCE or listener.user_id in session.group.leaves:
                listener.take(frame, session.user_id)
        self.discord.touch()

    def _unusable(self, session: VoiceSession | None, why: str) -> None:
        self._violated(why)
        if session is not None and session.socket is not None and "SPEAKING" in why:
            session.socket.close(4020, "Invalid SSRC")

    def _violated(self, why: str) -> None:
        self.violations.append(f"{time.monotonic():.3f}: {why}")
        self.discord.touch()


def _guild(channel: Channel) -> Guild:
    assert channel.guild is not None
    return channel.guild
