"""The bot as a separate process in voice channels: people hear its voice, frame by frame.

The voice is a service with a different sound for every 20 ms of every sentence.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pytest
import pytest_asyncio

from bot.speech import sound
from bot.speech.sound import sound_of
from bot.speech.speech import SpokenSentence
from tests.fakes.discord import FakeDiscord
from tests.fakes.discord.voice import Voice
from tests.fakes.discord.voice_heard import FRAME_SECONDS, SAMPLES, Listener, distinct, pcm, placed
from tests.fakes.speech_service import SpeechService, wav
from tests.kill.remains import live
from tests.wire.on_discord import OnDiscord
from tests.wire.shared_bot import SharedBot
from tests.wire.story import ANA

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

SCENE = ("A lantern burns in the window.", "Nobody has seen who lit it.", "The wolves are silent now.")
CHARACTER_S = 0.03
RATE = 24_000
NOTE = RATE // 50


def music(words: str) -> bytes:
    """Two notes for every 20 ms, different in every sentence."""
    seed = int.from_bytes(blake2b(words.encode(), digest_size=8).digest())
    count = int(len(words) * CHARACTER_S * 50)
    notes = np.random.default_rng(seed).uniform(300, 2_500, (2, count))
    phases = np.cumsum(np.repeat(notes, NOTE, axis=1), axis=1) * 2 * np.pi / RATE
    return wav(8_000 * np.sin(phases).sum(axis=0))


class Stage:
    """Ana in a voice channel with the bot, which reads the scene aloud."""

    def __init__(self, driver: OnDiscord, ana: Listener) -> None:
        self.driver = driver
        self.ana = ana
        self.guild = driver.guilds[0]
        self.sent = [frame for words in SCENE for frame in frames(words)]

    @property
    def voice(self) -> Voice:
        return self.driver.discord.voice

    @property
    def heard(self) -> list[int]:
        """The scene's frames that Ana has heard, in order."""
        return placed(self.sent, pcm(self.ana.frames))

    @property
    def missed(self) -> list[int]:
        """The frames that Ana has not heard."""
        return sorted(distinct(self.sent) - set(self.heard))

    async def begins(self, frames: int) -> None:
        """Read the scene until Ana has heard this many frames."""
        await self.driver.command(ANA, "voice say", text=" ".join(SCENE))
        await self.driver.until(lambda: len(self.ana.spoken) >= frames)

    async def ends(self) -> None:
        """Wait until the scene has been read."""
        last = max(distinct(self.sent))
        looked_at = 0

        def met() -> bool:
            nonlocal looked_at
            if len(self.ana.frames) < looked_at + 10:
                return False
            looked_at = len(self.ana.frames)
            return last in self.heard

        await self.driver.until(met)


def frames(words: str) -> list[bytes]:
    return list(SpokenSentence(words, sound.pcm(sound_of(music(words), "tts"), "tts")).frames())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service() -> AsyncIterator[SpeechService]:
    async with SpeechService(sound=music) as service:
        yield service


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    tmp_path_factory: pytest.TempPathFactory, service: SpeechService
) -> AsyncIterator[SharedBot[OnDiscord]]:
    toml = (
        f'[providers.tts]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
        '[speech]\nvoices = ["tts:gpt-4o-mini-tts/coral"]\n'
    )
    bot = SharedBot(tmp_path_factory.mktemp("voice"), FakeDiscord, OnDiscord, toml, tables=15)
    yield bot
    await bot.close()


@pytest_asyncio.fixture(loop_scope="module")
async def stage(shared: SharedBot[OnDiscord]) -> AsyncIterator[Stage]:
    driver = await shared.table()
    stage = Stage(driver, driver.voice(ANA))
    await driver.command(ANA, "voice join")
    await driver.until(lambda: driver.discord.voice.ready(stage.guild))
    yield stage
    print(driver.story())
    driver.check()
    await driver.command(ANA, "voice leave")
    await driver.until(lambda: driver.discord.voice.place(stage.guild) is None)


async def test_every_frame_is_heard_in_order_and_20_ms_apart(stage: Stage) -> None:
    await stage.begins(1)
    await stage.ends()
    assert stage.missed == []
    assert stage.heard == sorted(set(stage.heard))
    frames = stage.ana.frames
    assert [frame.sequence - frames[0].sequence for frame in frames] == list(range(len(frames)))
    assert [frame.timestamp - frames[0].timestamp for frame in frames] == [
        SAMPLES * n for n in range(len(frames))
    ]
    voiced = stage.ana.spoken
    assert voiced[-1].at - voiced[0].at > 0.9 * (len(voiced) - 1) * FRAME_SECONDS, "no faster than speech"


async def crashes(stage: Stage) -> None:
    stage.voice.crash(stage.guild)


async def is_cut(stage: Stage) -> None:
    stage.voice.drop(stage.guild)


async def is_forgotten(stage: Stage) -> None:
    stage.voice.crash(stage.guild, resumable=False)


async def gateway_resumes(stage: Stage) -> None:
    await stage.driver.discord.drop()


async def gateway_begins_anew(stage: Stage) -> None:
    await stage.driver.discord.invalidate(resumable=False)


async def udp_loses_five(stage: Stage) -> None:
    at = stage.ana.frames[-1].sequence + 20
    stage.voice.lose(*range(at, at + 5))


async def server_moves(stage: Stage) -> None:
    await stage.voice.move_server(stage.guild)


async def server_goes_and_another_comes(stage: Stage) -> None:
    await stage.voice.move_server(stage.guild, announce=True)


async def is_dragged_along(stage: Stage) -> None:
    """Move the bot with Ana into another channel, where she continues to listen."""
    heard, other = stage.ana, stage.guild.voice("Kitchen")
    stage.ana = stage.voice.enter(stage.driver.people[ANA], other)
    stage.ana.frames += heard.frames
    stage.voice.move(stage.guild, other)


def in_a_row(heard: list[int]) -> list[int]:
    """The frames with a neighbour: a decoder distorts those behind a gap."""
    kept = {at for at, (one, other) in enumerate(pairwise(heard)) if other == one + 1}
    return [frame for at, frame in enumerate(heard) if at in kept or at - 1 in kept]


@pytest.mark.parametrize(
    ("fault", "lost", "again"),
    [
        (crashes, 0, 0),
        (is_cut, 2, 0),
        (is_forgotten, 2, 60),
        (gateway_resumes, 0, 0),
        (gateway_begins_anew, 2, 60),
        (udp_loses_five, 7, 0),
        (server_moves, 2, 30),
        (server_goes_and_another_comes, 2, 30),
        (is_dragged_along, 2, 30),
    ],
)
async def test_a_fault_within_a_sentence_loses_few_frames(
    fault: Callable[[Stage], Awaitable[None]], lost: int, again: int, stage: Stage
) -> None:
    await stage.begins(20)
    await fault(stage)
    await stage.ends()
    stage.voice.lose()
    assert len(stage.missed) <= lost, stage.missed
    back = [now - then for then, now in pairwise(in_a_row(stage.heard)) if now <= then]
    assert len(back) <= (1 if again else 0), stage.heard
    assert not back or back[0] >= -again, "only frames that may have been lost are repeated"
    assert stage.ana.undecryptable == []


async def is_sent_away(stage: Stage) -> None:
    stage.voice.kick(stage.guild)


async def is_replaced(stage: Stage) -> None:
    stage.voice.connect_elsewhere(stage.guild)


async def is_replaced_and_its_session_ended(stage: Stage) -> None:
    stage.voice.connect_elsewhere(stage.guild, code=4006)


async def loses_its_channel(stage: Stage) -> None:
    channel = stage.voice.place(stage.guild)
    assert channel is not None
    stage.driver.discord.remove_channel(channel)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (is_sent_away, "disconnected me from the voice channel"),
        (is_replaced, "Another process of this bot has taken over"),
        (is_replaced_and_its_session_ended, "Another process of this bot has taken over"),
        (loses_its_channel, "The voice channel was deleted"),
    ],
)
async def test_a_bot_removed_from_its_channel_says_so_and_ends_its_queue(
    fault: Callable[[Stage], Awaitable[None]], told: str, stage: Stage
) -> None:
    await stage.begins(20)
    await fault(stage)
    await stage.driver.until(lambda: any(told in one.text for one in stage.driver.everything()))
    nowhere = await stage.driver.command(ANA, "voice skip")
    await stage.driver.until(lambda: any("I'm in no voice channel" in text for text in nowhere.said()))
    if "replaced" in fault.__name__:
        assert stage.voice.place(stage.guild) is not None, "the other process stays there"
        stage.voice.kick(stage.guild)


async def test_a_bot_removed_from_the_server_ends_silently(stage: Stage) -> None:
    await stage.begins(20)
    stage.driver.discord.kick(stage.guild)
    left = f"SELECT seq FROM voice_readings WHERE text != '' AND space = '{stage.guild.id}'"
    waiting = partial(live, stage.driver.process.data / "sutradhar.db", left)
    await stage.driver.until(lambda: not waiting())
    told = [one.text for one in stage.driver.everything() if "🔇" in one.text]
    assert told == []
