"""The fake Discord's voice, driven by the real client: a tone is played, and people in the channel hear it."""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import discord
import yarl

from bot.adapters.discord.installed.client import voice_without_tls
from tests.fakes.discord import Channel, FakeDiscord
from tests.fakes.discord.voice import Voice
from tests.fakes.discord.voice_heard import SAMPLES, Listener, likeness, pcm
from tests.wire.small_bot import SmallBot, Table, table

INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, voice_states=True)
TRAILING_SILENCE = 5
ALIKE = 0.8


class Tone(discord.AudioSource):
    """So many frames; no two that follow each other sound alike."""

    def __init__(self, frames: int) -> None:
        self.sent: list[bytes] = []
        for number in range(frames):
            hertz = 250 + 50 * (7 * number % 19)
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

    async def play(self, tone: Tone) -> None:
        """Returns when it has been played; the last packets may be on their way."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        self.client.play(tone, after=lambda fault: loop.call_soon_threadsafe(done.set))
        await done.wait()


def load_opus() -> None:
    spec = find_spec("opuslib_next")
    assert spec is not None
    assert spec.origin is not None
    discord.opus.load_opus(str(Path(spec.origin).parent / "_native" / "libopus.so"))


@asynccontextmanager
async def seated(fake: FakeDiscord | None = None) -> AsyncGenerator[Table]:
    """A table whose bot may be heard."""
    async with table(SmallBot(INTENTS), fake) as t:
        voice_without_tls(t.bot.http, yarl.URL(t.fake.gateway_url))
        yield t


async def joined(t: Table, there: Channel) -> discord.VoiceClient:
    found = await t.fake.until(lambda: t.bot.get_channel(there.id))
    assert isinstance(found, discord.VoiceChannel | discord.StageChannel)
    return await found.connect(timeout=20.0)


@asynccontextmanager
async def called() -> AsyncGenerator[Call]:
    load_opus()
    async with seated() as t:
        there = t.guild.voice("Table talk")
        ana = t.fake.voice.enter(t.ana, there)
        client = await joined(t, there)
        await t.fake.until(lambda: t.fake.voice.ready(t.guild))
        yield Call(t, t.fake.voice, there, ana, client)


async def test_what_is_played_is_heard_frame_for_frame() -> None:
    async with called() as call:
        tone = Tone(25)
        await call.play(tone)
        await call.table.fake.until(lambda: len(call.ana.frames) == len(tone.sent) + TRAILING_SILENCE)
        frames = call.ana.frames
        first = frames[0]
        assert [one.sequence - first.sequence for one in frames] == list(range(len(frames)))
        assert [one.timestamp - first.timestamp for one in frames] == [
            n * SAMPLES for n in range(len(frames))
        ]
        assert [one.silent for one in frames] == [False] * len(tone.sent) + [True] * TRAILING_SILENCE
        heard = pcm(frames)
        assert min(likeness(tone.sent, heard)) > ALIKE
        assert min(likeness(tone.sent, heard[:9] + heard[10:])) < ALIKE / 2
        assert (call.voice.violations, call.ana.undecryptable) == ([], [])


async def test_people_and_the_bot_see_the_same_privacy_code_and_the_bot_leaves_it() -> None:
    async with called() as call:
        assert call.client.voice_privacy_code == call.ana.code
        assert [one.name for one in call.voice.members(call.channel)] == ["Ana", "Sutradhar"]
        await call.client.disconnect()
        assert call.voice.place(call.table.guild) is None
        assert call.voice.violations == []
