"""The bot in voice channels of a loopback Discord: what people there hear, decrypted and decoded, and what it says of
what is in the way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.discord.service import Sutradhar
from bot.events import Event, Run, Speak, Stage, Text
from bot.speech import sound
from bot.speech.speech import Heard
from tests.adapters.discord.wire import bot
from tests.fakes.discord import Channel, FakeDiscord, Guild, User
from tests.fakes.discord.voice_heard import Listener, likeness, pcm
from tests.fakes.melody import Melody, melody

ALIKE = 0.6
SCENE = "The door opens, slowly. Mira waits outside in the rain."
FIRST, SECOND = "The door opens, slowly.", "Mira waits outside in the rain."


def frames(*sentences: str) -> list[bytes]:
    """The frames in which these are heard, one after another."""
    made = [Heard(words, sound.pcm(melody(words), "hibari")) for words in sentences]
    return [frame for heard in made for frame in heard.frames()]


async def scene(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("scene", "Scene 1")
    yield Text(SCENE)
    yield Speak(SCENE, "scene", "narrator")


@dataclass
class Hall:
    """Ana and Bia at a server with a text channel and a voice channel; Bia is in charge."""

    fake: FakeDiscord
    client: Sutradhar
    guild: Guild
    text: Channel
    voice: Channel
    ana: User
    bia: User

    async def slash(self, command: str, user: User | None = None, **options: Any) -> str:
        """What is answered to `/voice …`, whole."""
        before = len(self.text.posts)
        await self.fake.slash(user or self.ana, self.text, command, **options)

        def answer() -> str:
            return next((str(one.text) for one in [*self.text.posts.values()][before:] if one.text), "")

        return str(await self.until(answer))

    async def until(self, met: Any, seconds: float = 20.0) -> Any:
        return await self.fake.until(met, seconds)

    @property
    def waiting(self) -> int:
        assert self.client.voice is not None
        return sum(room.queue.waiting for room in self.client.voice._rooms.values())

    async def hears(self, listener: Listener, *sentences: str) -> None:
        """Wait until all that was heard; then each was heard whole, once, in this order."""
        await self.until(lambda: listener.spoken and self.waiting == 0 and listener.frames[-1].silent)
        assert [words for words, _ in heard(listener, *sentences)] == list(sentences)
        assert self.fake.voice.violations == []
        assert listener.undecryptable == []


def loud(pcm_frames: list[bytes]) -> list[bytes]:
    return [frame for frame in pcm_frames if max(frame[1::2]) > 8]


def heard(listener: Listener, *sentences: str) -> list[tuple[str, int]]:
    """Which of them were heard whole, and from which frame on, in order."""
    got = pcm(listener.spoken)
    found: list[tuple[int, str]] = []
    for words in sentences:
        sent = loud(frames(words))
        starts = range(len(got) - len(sent) + 1)
        found += [(at, words) for at in starts if min(likeness(sent, got[at : at + len(sent) + 1])) > ALIKE]
    return [(words, at) for at, words in sorted(found)]


@asynccontextmanager
async def opened(data: Path, **settings: Any) -> AsyncIterator[Hall]:
    async with FakeDiscord() as fake:
        guild = fake.guild("Table")
        ana, bia = fake.user("Ana"), fake.user("Bia")
        guild.join(ana)
        guild.join(bia, manage=True)
        text, voice = guild.text("general"), guild.voice("Table talk")
        async with bot(fake, data, {"scene": scene}, **settings) as client:
            client.app.house.speech._engines["hibari"] = Melody(name="hibari")
            yield Hall(fake, client, guild, text, voice, ana, bia)


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    async with opened(tmp_path) as made:
        yield made


async def test_what_is_to_be_said_is_heard_in_the_voice_channel_frame_for_frame(hall: Hall) -> None:
    assert "You are in no voice channel" in await hall.slash("voice join")
    ana = hall.fake.voice.enter(hall.ana, hall.voice)
    assert "I'm in **Table talk** now" in await hall.slash("voice join")
    assert "I'm in **Table talk** already" in await hall.slash("voice join")
    assert "In **Table talk**:" in await hall.slash("voice say", text=FIRST)
    await hall.slash("voice say", text=SECOND)
    await hall.hears(ana, FIRST, SECOND)
    assert "I've left **Table talk**" in await hall.slash("voice leave")
    await hall.until(lambda: hall.fake.voice.place(hall.guild) is None)
