"""Voice on the fake Discord, driven by the real client: people in the channel hear a tone that the bot plays."""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import discord
import pytest
import yarl

from bot.adapters.discord.installed.client import voice_without_tls
from tests.fakes.discord import Channel, FakeDiscord
from tests.fakes.discord.voice import Voice
from tests.fakes.discord.voice_heard import SAMPLES, Listener, pcm, placed
from tests.wire.small_bot import SmallBot, Table, table

INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, voice_states=True)
TRAILING_SILENCE = 5


class Tone(discord.AudioSource):
    """A number of frames, all of which sound different."""

    def __init__(self, frames: int) -> None:
        self.sent: list[bytes] = []
        for number in range(frames):
            hertz = 200 + 50 * (7 * number % 101)
            wave = [int(8_000 * math.sin(2 * math.pi * hertz * n / 48_000)) for n in range(SAMPLES)]
            self.sent.append(struct.pack(f"<{2 * SAMPLES}h", *(sample for sample in wave for _ in "lr")))
        self._left = iter(self.sent)

    def read(self) -> bytes:
        return next(self._left, b"")


@dataclass
class Call:
    """Ana in a voice channel, and the bot in it too, connected by discord.py."""

    table: Table
    voice: Voice
    channel: Channel
    ana: Listener
    client: discord.VoiceClient

    async def until(self, met: Callable[[], object]) -> None:
        await self.table.fake.until(met)

    async def play(self, tone: Tone) -> None:
        """Play the tone; on return the last packets may not have arrived."""
        loop, finished = asyncio.get_running_loop(), asyncio.Event()
        self.client.play(tone, after=lambda fault: loop.call_soon_threadsafe(finished.set))
        await finished.wait()


def load_opus() -> None:
    spec = find_spec("opuslib_next")
    assert spec is not None
    assert spec.origin is not None
    discord.opus.load_opus(str(Path(spec.origin).parent / "_native" / "libopus.so"))


@asynccontextmanager
async def seated(fake: FakeDiscord | None = None) -> AsyncGenerator[Table]:
    """A table whose bot may speak."""
    async with table(SmallBot(INTENTS), fake) as t:
        voice_without_tls(t.bot.http, yarl.URL(t.fake.gateway_url))
        yield t


async def joined(t: Table, channel: Channel) -> discord.VoiceClient:
    bot_channel = await t.fake.until(lambda: t.bot.get_channel(channel.id))
    assert isinstance(bot_channel, discord.VoiceChannel | discord.StageChannel)
    return await bot_channel.connect(timeout=20.0)


@asynccontextmanager
async def called() -> AsyncGenerator[Call]:
    load_opus()
    async with seated() as t:
        channel = t.guild.voice("Table talk")
        ana = t.fake.voice.enter(t.ana, channel)
        client = await joined(t, channel)
        await t.fake.until(lambda: t.fake.voice.ready(t.guild))
        yield Call(t, t.fake.voice, channel, ana, client)


async def test_people_hear_every_frame_that_is_played() -> None:
    async with called() as call:
        tone = Tone(25)
        await call.play(tone)
        await call.until(lambda: len(call.ana.frames) == len(tone.sent) + TRAILING_SILENCE)
        frames = call.ana.frames
        first = frames[0]
        assert [frame.sequence - first.sequence for frame in frames] == list(range(len(frames)))
        assert [frame.timestamp - first.timestamp for frame in frames] == [
            n * SAMPLES for n in range(len(frames))
        ]
        assert [frame.silent for frame in frames] == [False] * len(tone.sent) + [True] * TRAILING_SILENCE
        assert placed(tone.sent, pcm(frames)) == list(range(len(tone.sent)))
        assert placed(tone.sent[:-1], pcm(frames)) == [*range(len(tone.sent) - 1), -1]
        assert (call.voice.violations, call.ana.undecryptable) == ([], [])


async def test_people_and_the_bot_have_the_same_privacy_code_until_the_bot_leaves() -> None:
    async with called() as call:
        assert call.client.voice_privacy_code == call.ana.code
        assert [member.name for member in call.voice.members(call.channel)] == ["Ana", "Sutradhar"]
        await call.client.disconnect()
        assert call.voice.place(call.table.guild) is None
        assert call.voice.violations == []


async def test_later_listeners_hear_too_and_a_bot_alone_is_in_no_group() -> None:
    async with called() as call:
        call.voice.bot_commits = True
        guild, code = call.table.guild, call.ana.code
        bia = call.table.fake.user("Bia")
        guild.join(bia)
        ear = call.voice.enter(bia, call.channel)
        await call.until(lambda: ear.ready and call.voice.ready(guild))
        assert call.ana.code == ear.code != code
        await call.play(Tone(3))
        await call.until(lambda: len(ear.spoken) == len(call.ana.spoken) == 3)
        call.voice.leave(call.table.ana, guild)
        await call.until(lambda: call.client.voice_privacy_code == ear.code != code)
        call.voice.leave(bia, guild)
        await call.until(lambda: call.client.voice_privacy_code is None)
        assert not call.voice.ready(guild)
        ear = call.voice.enter(bia, call.channel)
        await call.until(lambda: call.voice.ready(guild))
        await call.play(Tone(2))
        await call.until(lambda: len(ear.spoken) == 2)
        assert (call.voice.violations, ear.undecryptable) == ([], [])


async def test_nobody_hears_anything_until_the_group_is_ready() -> None:
    load_opus()
    async with seated() as t:
        channel = t.guild.voice("Table talk")
        ana = t.fake.voice.enter(t.ana, channel)
        t.fake.voice.stall()
        client = await joined(t, channel)
        call = Call(t, t.fake.voice, channel, ana, client)
        await call.play(Tone(2))
        await call.until(lambda: len(call.voice.violations) == 2)
        assert "frame 1 is not encrypted from end to end" in call.voice.violations[0]
        call.voice.release()
        await call.until(lambda: call.voice.ready(t.guild))
        await call.play(Tone(2))
        await call.until(lambda: len(ana.spoken) == 2)


async def test_a_client_with_an_unusable_welcome_joins_again() -> None:
    load_opus()
    async with seated() as t:
        channel, bia = t.guild.voice("Table talk"), t.fake.user("Bia")
        t.guild.join(bia)
        ears = [t.fake.voice.enter(user, channel) for user in (t.ana, bia)]
        t.fake.voice.damage(channel)
        client = await joined(t, channel)
        await t.fake.until(lambda: t.fake.voice.ready(t.guild) and client.voice_privacy_code is not None)
        session = t.fake.voice.session(t.guild)
        assert session is not None
        assert session.group.epoch > 2, "removed from the group and added again"
        assert {client.voice_privacy_code} == {ear.code for ear in ears}


async def test_a_lost_packet_leaves_a_gap() -> None:
    async with called() as call:
        call.voice.lose(3, 4)
        await call.play(Tone(5))
        await call.until(lambda: len(call.ana.spoken) == 3)
        assert [frame.sequence for frame in call.ana.spoken] == [1, 2, 5]


async def test_the_call_continues_on_another_voice_server() -> None:
    async with called() as call:
        guild, first = call.table.guild, call.client.endpoint
        await call.voice.move_server(guild, announce=True)
        await call.until(lambda: call.voice.ready(guild))
        await call.until(call.client.is_connected)
        assert call.client.endpoint != first
        await call.play(Tone(2))
        await call.until(lambda: len(call.ana.spoken) == 2)
        assert call.voice.violations == []


async def test_a_moved_bot_is_heard_in_its_new_channel_and_a_removed_one_nowhere() -> None:
    async with called() as call:
        guild, fake = call.table.guild, call.table.fake
        other_channel, bia = guild.voice("Kitchen"), fake.user("Bia")
        guild.join(bia)
        ear = call.voice.enter(bia, other_channel)
        await call.until(lambda: call.table.bot.get_channel(other_channel.id))
        call.voice.move(guild, other_channel)
        await call.until(lambda: call.voice.ready(guild))
        await call.until(call.client.is_connected)
        assert call.client.channel.id == other_channel.id
        await call.play(Tone(2))
        await call.until(lambda: len(ear.spoken) == 2)
        assert (call.ana.frames, call.voice.violations) == ([], [])
        call.voice.kick(guild)
        await call.until(lambda: not call.client.is_connected())
        assert call.voice.place(guild) is None


async def test_the_second_connection_of_a_bot_ends_the_first() -> None:
    async with called() as call:
        session = call.voice.session(call.table.guild)
        call.voice.connect_elsewhere(call.table.guild)
        await call.until(lambda: not call.voice.sockets)
        assert session is not None
        assert session.ended
        assert call.voice.place(call.table.guild) is call.channel
        call.voice.kick(call.table.guild)  # otherwise the client would wait for it on closing


async def test_a_bot_on_a_stage_is_heard_once_it_may_speak() -> None:
    load_opus()
    async with seated() as t:
        stage = t.guild.stage("Stage")
        ana = t.fake.voice.enter(t.ana, stage)
        call = Call(t, t.fake.voice, stage, ana, await joined(t, stage))
        await call.until(lambda: call.voice.ready(t.guild))
        await call.play(Tone(2))
        await call.until(lambda: len(call.voice.unheard) == 2 + TRAILING_SILENCE)
        assert (ana.frames, {why for _, why in call.voice.unheard}) == ([], {"suppressed"})
        mine, up = f"/guilds/{t.guild.id}/voice-states/@me", {"channel_id": str(stage.id), "suppress": False}
        await t.refused(50013, "PATCH", mine, up)
        t.guild.permit("MUTE_MEMBERS")
        await t.bot.raw("PATCH", mine, up)
        assert (await t.bot.raw("GET", mine))["suppress"] is False
        await call.play(Tone(2))
        await call.until(lambda: len(ana.spoken) == 2)
        call.voice.suppress(t.guild)
        me = t.guild.voice_states[t.fake.world.bot.id]
        assert me.suppress
        await call.client.disconnect()
        await t.refused(10065, "GET", mine)


async def test_a_refusal_of_the_voice_gateway_reaches_the_client() -> None:
    async with seated() as t:
        channel = t.guild.voice("Table talk")
        t.fake.voice.refuses = 4017
        bot_channel = await t.fake.until(lambda: t.bot.get_channel(channel.id))
        assert isinstance(bot_channel, discord.VoiceChannel)
        with pytest.raises(discord.ConnectionClosed) as refused:
            await bot_channel.connect(timeout=20.0, reconnect=False)
        assert refused.value.code == 4017
        assert t.fake.voice.closed == [(4017, "Refused")]
