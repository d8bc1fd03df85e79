"""The bot in the voice channels of its servers, one per server: joined, left, found again after a restart.

Each channel's queue (`bot.speech.queue`) decides what is read aloud there and in which order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import discord

from bot import mention, metrics
from bot.adapters.discord.received.placing import PLATFORM
from bot.adapters.discord.voice import connection
from bot.adapters.discord.voice.captions import Captions
from bot.adapters.discord.voice.connection import VoiceChannel, VoiceConnection, connect
from bot.commands import ROWS
from bot.events import Request, Speak, Speaking, TransientError, UserError
from bot.speech.queue import HEARD, Queue, Reading
from bot.waiting import Background
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.speech.clips import Clip, Clips
    from bot.words import Words

PAUSES_S: Final = (0.5, 3.0, 10.0, 30.0, 60.0)
"""Seconds before each try to enter the channel again; the first is for Discord's event that the bot has left it."""
DELETED_S: Final = 0.5
"""Seconds after the bot's leaving event within which Discord may still report that the channel was deleted."""
LEAVE_S: Final = 3.0
"""Seconds that leaving may take: a dead connection never answers."""

_log = logging.getLogger(__name__)


class Room:
    """The bot in a server's voice channel, or on its way there; the queue plays on it."""

    def __init__(self, space: str, channel: int) -> None:
        self.space = space
        self.channel = channel
        self.connection: VoiceConnection | None = None
        self.queue: Queue
        self.entering = asyncio.Lock()
        self.leaving = False
        self.lost = False
        """Whether the connection is lost and no other one was tried yet."""
        self.empty: asyncio.TimerHandle | None = None
        """Runs while nobody is listening."""

    def lacks(self) -> str:
        return self.connection.lacks() if self.connection is not None else "voice.lacks_connection"

    def play(self, read: Callable[[], bytes], ended: Callable[[], None]) -> None:
        assert self.connection is not None
        source = FrameSource(read)
        self.connection.play(source, after=lambda _: ended(), application="voip", signal_type="voice")

    def stop(self) -> None:
        if self.connection is not None:
            self.connection.stop()

    def pause(self) -> None:
        if self.connection is not None:
            self.connection.pause()

    def resume(self) -> None:
        if self.connection is not None:
            self.connection.resume()


class FrameSource(discord.AudioSource):
    """Supplies frames to discord.py's thread."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read

    def read(self) -> bytes:
        if frame := self._read():
            metrics.FRAMES.add()
        return frame


class VoiceChannels:
    """The voice channels of one client. Call `open` before the gateway connects, and `close` before the runs are cut
    off.
    """

    def __init__(
        self, client: Client, clips: Clips, post: Callable[[Request, Clip, str], Coroutine[Any, Any, None]]
    ) -> None:
        """`clips` is for conversations without a voice channel; `post` shows a clip, or a sentence in its place."""
        self._client = client
        self._app = client.app
        self._readings = client.app.records.readings
        self._clips = clips
        self._post = post
        self._captions = Captions(client)
        self._rooms: dict[str, Room] = {}
        self._tasks = Background("a voice channel was not kept up with")

    async def open(self) -> None:
        """Listen to events of voice channels."""
        self._client.add_listener(self._come_back, "on_ready")
        self._client.add_listener(self._come_back, "on_guild_available")
        self._client.add_listener(self._moved, "on_voice_state_update")

    async def take_up(self, mine: Callable[[str], bool]) -> None:
        """Restore the voice channels and the waiting readings in the spaces that belong to this process."""
        for row in await self._readings.channels(PLATFORM):
            if mine(row.space):
                await self._take_up(self._rooms.get(row.space) or self._room(row.space, int(row.channel)))

    def busy(self, mine: Callable[[str], bool]) -> bool:
        """Whether something is read aloud, or may soon be, in one of these spaces."""
        return any(
            room.queue.waiting or self._app.runs.any_in(room.space)
            for room in self._rooms.values()
            if mine(room.space)
        )

    async def part(self, theirs: Callable[[str], bool]) -> None:
        """Leave the channels of spaces that another process now has; it joins in place of this one."""
        rooms = [room for room in self._rooms.values() if theirs(room.space) and not room.leaving]
        for room in rooms:
            del self._rooms[room.space]
        await asyncio.gather(*(_closed(room) for room in rooms))

    async def _take_up(self, room: Room) -> None:
        """Queue the readings that wait there from an earlier process, or from the time when another process had the
        channel.
        """
        await self._readings.tidy(room.space, HEARD)
        for reading in await self._readings.waiting(room.space, PLATFORM):
            request = await self._app.request_of(room.space, reading.run_id)
            if request is None:
                continue
            if reading.whole and reading.heard != HEARD:
                room.queue.take(request, reading)
            elif reading.marked:  # a killed process left its mark
                self._tasks.start(self._unmark(Reading(request, reading, None)))

    async def close(self) -> None:
        """Leave all channels when this process ends; the next process joins them again."""
        for task in self._tasks.tasks:
            task.cancel()
        await asyncio.gather(*(_closed(room) for room in self._rooms.values()))

    async def speak(self, request: Request, words_aloud: Speak) -> None:
        """See `Platform.speak`. A server whose voice channels the bot is not in hears only what is spoken on demand."""
        room = self._rooms.get(request.place.space)
        if room is not None:
            await room.queue.add(
                request, words_aloud.key, words_aloud.speaker, words_aloud.language, words_aloud.text
            )
        elif _direct(request) or ROWS[request.work, request.verb].speaks:
            await self._clips.speak(request, words_aloud)

    async def speak_along(
        self, request: Request, speaking: Speaking, pieces: AsyncGenerator[str, None]
    ) -> None:
        """See `Platform.speak_along`."""
        room = self._rooms.get(request.place.space)
        if room is not None:
            await room.queue.add(request, speaking.key, speaking.speaker, speaking.language, pieces)
        elif _direct(request):
            self._tasks.start(self._whole(request, speaking, pieces))

    async def hush(self, request: Request, key: str) -> None:
        """See `Platform.hush`."""
        room = self._rooms.get(request.place.space)
        if room is not None:
            await room.queue.hush(request.id, key)
        else:
            await self._readings.take_back(request.place.space, request.id, key, HEARD)
        await self._clips.hush(request, key)

    async def join(self, request: Request, name: str) -> str:
        """Enter the voice channel with this name, or the asker's. Returns the sentence to show. Raises UserError."""
        channel = await self._channel(request, name.strip())
        say, space = words(request.locale), request.place.space
        room = self._rooms.get(space)
        if room is not None and room.connection is not None and room.channel == channel.id:
            return say("voice.there_already", channel=channel.name)
        if room is not None:
            self._may_command(request, room)
        if (closed := connection.closed(channel, say)) is not None:
            raise closed
        if room is None:
            room = self._room(space, channel.id)
            await self._take_up(room)
        try:
            may_speak = await self._enter(room, channel)
        except UserError:
            if room.connection is None:
                await self._forget(room)
            raise
        await self._readings.note_joined(space, PLATFORM, str(channel.id))
        return say("voice.joined_stage" if may_speak else "voice.joined", channel=channel.name)

    async def leave(self, request: Request) -> str:
        """Leave the voice channel. Returns its name. Raises UserError."""
        room = self._here(request)
        name = self._name(room)
        await self._forget(room)
        return name

    async def stop(self, request: Request) -> int:
        """Drop what waits to be read aloud. Returns how many stages that were. Raises UserError."""
        if _direct(request):
            return await self._clips.stop(request)
        return await self._here(request).queue.stop()

    async def skip(self, request: Request) -> bool:
        """Continue with the next stage. Returns whether there was one to skip. Raises UserError."""
        if _direct(request):
            return await self._clips.skip(request)
        return await self._here(request).queue.skip()

    def pause(self, request: Request) -> bool:
        """Pause the reading. Returns whether something was being read. Raises UserError."""
        return self._here(request).queue.pause()

    def resume(self, request: Request) -> bool:
        """Resume the reading. Returns whether it was paused. Raises UserError."""
        return self._here(request).queue.resume()

    def where(self, request: Request) -> str | None:
        """See `bot.platforms.VoiceChannels`."""
        if _direct(request):
            return None
        room = self._rooms.get(request.place.space)
        return self._name(room) if room is not None else ""

    def state(self, request: Request, say: Words) -> list[str]:
        """The state of the voice channel for the doctor, one line for each finding."""
        try:
            connection.load_opus()
            lines = [f"✓ {say('voice.doctor_opus')}"]
        except UserError as error:
            lines = [f"✗ {say(error.key)}"]
        room = self._rooms.get(request.place.space)
        if room is None:
            return [*lines, f"– {say('voice.doctor_no_channel')}"]
        name, at = self._name(room), room.connection
        if at is None or not at.connected:
            lines.append(f"✗ {say('voice.doctor_not_connected', channel=name)}")
        else:
            latency = at.latency
            ms = round(latency * 1000) if latency < 1e6 else 0
            lines.append(f"✓ {say('voice.doctor_connected', channel=name, ms=ms)}")
            lacking = at.lacks()
            lines.append(
                f"✓ {say('voice.doctor_encrypted')}" if at.encrypted else f"✗ {say('voice.doctor_plain')}"
            )
            if lacking not in ("", "voice.lacks_encryption"):
                lines.append(f"✗ {say(lacking)}")
        lines.append(f"– {say('voice.doctor_queue', n=room.queue.waiting)}")
        if room.queue.last_fault:
            lines.append(f"– {say('voice.doctor_last', fault=say(room.queue.last_fault))}")
        return lines

    def _room(self, space: str, channel: int) -> Room:
        room = self._rooms[space] = Room(space, channel)
        room.queue = Queue(
            self._readings,
            self._app.resources.speech,
            self._app.resources.settings,
            self._app.config,
            room,
            paid=self._clips.paid,
            tell=self._tell,
            captions=self._captions,
        )
        return room

    def _here(self, request: Request) -> Room:
        """The room whose reading the asker may control. Raises UserError."""
        room = self._rooms.get(request.place.space)
        if room is None:
            raise UserError("voice.nowhere")
        self._may_command(request, room)
        return room

    def _may_command(self, request: Request, room: Room) -> None:
        """Raise UserError unless the person may control the reading: listeners and admins may, and anybody if nobody
        listens.
        """
        channel = self._client.get_channel(room.channel)
        if request.author.admin or not isinstance(channel, VoiceChannel):
            return
        listeners = connection.listeners(channel)
        if listeners and int(request.author.id) not in listeners:
            raise UserError("voice.others_listen", channel=channel.name)

    async def _channel(self, request: Request, name: str) -> VoiceChannel:
        guild = self._client.get_guild(int(request.place.space)) if request.place.space.isdecimal() else None
        if guild is None:
            raise UserError("voice.no_server")
        channels: list[VoiceChannel] = [*guild.voice_channels, *guild.stage_channels]
        person = int(request.author.id)
        if not name:
            mine = next((channel for channel in channels if person in channel.voice_states), None)
            if mine is None:
                raise TransientError("voice.where")
            return mine
        id, name = mention.chosen(name)
        channel_name = id or name.lstrip("#🔊 ").casefold()
        with suppress(discord.HTTPException):
            member = guild.get_member(person) or await guild.fetch_member(person)
            for channel in channels:
                # A channel that the person cannot see counts as none.
                if (
                    channel_name in (str(channel.id), channel.name.casefold())
                    and channel.permissions_for(member).connect
                ):
                    return channel
        raise UserError("voice.no_channel", channel=name[:80])

    async def _enter(self, room: Room, channel: VoiceChannel) -> bool:
        """Connect to the channel, or move to it. Returns whether the bot has asked to speak on a stage. Raises
        UserError.
        """
        async with room.entering:
            room.lost = False
            if room.connection is not None:
                await room.connection.move_to(channel)
            else:
                at = await connect(channel)
                at.gone = partial(self._gone, room)
                at.again = room.queue.again
                at.changed = partial(self._changed, room)
                room.connection = at
            room.channel = channel.id
            may_speak = await connection.ask_to_speak(channel)
        self._watch(room)
        return may_speak

    async def _come_back(self, *_: object) -> None:
        """Enter the channels again that the bot was in before a restart."""
        for room in list(self._rooms.values()):
            if (
                room.connection is None
                and not room.entering.locked()
                and self._client.get_guild(int(room.space))
            ):
                self._tasks.start(self._enter_again(room))

    async def _enter_again(self, room: Room) -> None:
        for pause in PAUSES_S:
            await asyncio.sleep(pause)
            channel = self._client.get_channel(room.channel)
            if room.leaving or room.connection is not None:
                return
            if not isinstance(channel, VoiceChannel) or connection.closed(channel, words("en")) is not None:
                break
            try:
                await self._enter(room, channel)
            except UserError as error:
                _log.info("server %s: not in the voice channel yet: %s", room.space, error.key)
            else:
                return
        await self._give_up(room, "voice.gave_up")

    async def _give_up(self, room: Room, reason: str) -> None:
        """Leave for good, and say so next to the text that was being read."""
        if reason == connection.SENT_AWAY:
            await asyncio.sleep(DELETED_S)
        if room.leaving or room.connection is not None:
            return
        if self._client.get_channel(room.channel) is None:
            reason = "voice.deleted"
        reading = room.queue.present
        if reading is not None and self._client.get_guild(int(room.space)) is not None:
            await self._tell(reading.request, words(reading.request.locale)(reason), reading.key)
        await self._forget(room, kept=reason == connection.REPLACED)

    async def _forget(self, room: Room, *, kept: bool = False) -> None:
        """Leave for good; with `kept` the next start joins again."""
        room.leaving = True
        if self._rooms.get(room.space) is room:
            del self._rooms[room.space]
        if room.empty is not None:
            room.empty.cancel()
        if not kept:
            await room.queue.stop()
            await self._readings.note_left(room.space, PLATFORM)
        await room.queue.close()
        await _disconnected(room)

    def _gone(self, room: Room, why: str) -> None:
        """Handle a connection that ended by something other than `leave`."""
        room.connection, room.lost = None, True
        if not room.leaving:
            self._tasks.start(self._give_up(room, why) if why else self._enter_again(room))

    def _changed(self, room: Room) -> None:
        """Handle that the bot was moved, muted or allowed to speak."""
        channel: VoiceChannel | None = room.connection.channel if room.connection is not None else None
        if channel is None or channel.id == room.channel:
            return
        room.channel = channel.id
        self._tasks.start(self._readings.note_joined(room.space, PLATFORM, str(room.channel)))
        self._watch(room)

    async def _moved(self, member: discord.Member, _: object, after: discord.VoiceState) -> None:
        """Handle that somebody has joined or left."""
        room = self._rooms.get(str(member.guild.id))
        if room is not None and room.lost and member == member.guild.me and after.channel is not None:
            # Another process with the bot's token is in the channel now.
            self._tasks.start(self._give_up(room, connection.REPLACED))
        elif room is not None:
            self._watch(room)

    def _watch(self, room: Room) -> None:
        """Watch whether anybody listens; after a while without listeners, leave."""
        channel, at = self._client.get_channel(room.channel), room.connection
        if at is None or not isinstance(channel, VoiceChannel):
            return
        at.alone = not connection.listeners(channel)
        if not at.alone and room.empty is not None:
            room.empty.cancel()
            room.empty = None
        elif at.alone and room.empty is None:
            after = self._client.settings.leave_empty_after_s
            room.empty = asyncio.get_running_loop().call_later(after, self._leave_empty, room)

    def _leave_empty(self, room: Room) -> None:
        if not room.leaving:
            self._tasks.start(self._forget(room))

    async def _unmark(self, reading: Reading) -> None:
        await self._captions.ends(reading)
        await self._readings.mark(reading.row.seq, "")

    async def _whole(self, request: Request, speaking: Speaking, pieces: AsyncGenerator[str, None]) -> None:
        text = "".join([piece async for piece in pieces])
        await self._clips.speak(request, Speak(text, speaking.key, speaking.speaker, speaking.language))

    async def _tell(self, request: Request, sentence: str, key: str) -> None:
        from bot.speech.clips import Clip

        await self._post(request, Clip("", "", b"", 0.0, sentence), key)

    def _name(self, room: Room) -> str:
        channel = self._client.get_channel(room.channel)
        return channel.name if isinstance(channel, VoiceChannel) else str(room.channel)


async def _closed(room: Room) -> None:
    room.leaving = True
    if room.empty is not None:
        room.empty.cancel()
    await room.queue.close()
    await _disconnected(room)


async def _disconnected(room: Room) -> None:
    at, room.connection = room.connection, None
    if at is not None:
        with suppress(discord.DiscordException, OSError, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await at.disconnect(force=True)


def _direct(request: Request) -> bool:
    """Whether the conversation can have no voice channel."""
    return not request.place.space.isdecimal()
