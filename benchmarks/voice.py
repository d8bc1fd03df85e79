"""Measures the cost of speech: the embedded English voice, sentence by sentence, and a clip of a minute.

Processor times include this process and the engine's. discord.py's own Opus and both encryptions (DAVE, and the voice
server's) are used, in a group of two on the loopback voice gateway.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import discord
import nacl.secret
import psutil

from benchmarks.figures import Figure
from benchmarks.times import ms, p95, spread
from bot.adapters.discord.voice.connection import load_opus
from bot.config import Config, SpeechConfig
from bot.speech.engines.embedded import Hibari
from bot.speech.sound import FRAME_MS, PAUSE_MS, RATE, joined, mp3
from bot.speech.speech import Speech, SpokenSentence
from bot.speech.voices import Manner, Voice
from tests.fakes.discord.voice_group import Group
from tests.fakes.discord.voice_heard import Listener
from tests.fakes.discord.world import World

RUNS = 40
SENTENCES = (
    "The lighthouse stands at the end of a long road of stones.",
    "Nobody has lit its lamp since the storm of last winter, and the boats go by another way.",
    "Mira climbs the stairs, {n} of them, one hand on the cold wall.",
    "At the top there is a door, and behind the door somebody is breathing.",
    "She waits, and counts to ten, and knocks.",
)
"""Sentences of a tale, 6 to 17 words long; the number keeps each saying from being a known one."""
MANNER = Manner((Voice("hibari"),))


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_figures())


async def _figures() -> list[Figure]:
    engine = Hibari()
    speech = Speech(
        Config(Path(), Path(), speech=SpeechConfig(voices=("hibari",), cache_mb=0)), {"hibari": engine}
    )
    began = time.perf_counter()
    await _said(speech, "Ready.")
    cold = time.perf_counter() - began
    assert engine.pid is not None
    child = psutil.Process(engine.pid)

    def spent() -> float:
        times = child.cpu_times()
        return time.process_time() + times.user + times.system

    first = [await _first_frame(speech, n) for n in range(RUNS)]
    before, seconds, heard = spent(), 0.0, list[SpokenSentence]()
    for n in range(RUNS):
        sounds = await _said(speech, _tale(n), frames=True)
        heard += sounds
        seconds += sum(sound.seconds + PAUSE_MS / 1000 for sound in sounds)
    share = (spent() - before) / seconds
    sending = await _sending(heard[: len(SENTENCES) * 10])
    memory = child.memory_info().rss / 1e6
    leads = [_lead_s(sound.pcm) for sound in heard]
    gaps = [
        _tail_s(sound.pcm) + PAUSE_MS / 1000 + _lead_s(next_sound.pcm)
        for sound, next_sound in itertools.pairwise(heard)
    ]
    before, parts, minute = spent(), list[bytes](), 0.0
    for n in range(1_000):
        for sound in await _said(speech, _tale(1_000 + n)):
            parts.append(sound.pcm)
            minute += sound.seconds + PAUSE_MS / 1000
        if minute >= 60:
            break
    data = await asyncio.to_thread(mp3, joined(parts))
    clip_s = spent() - before
    await speech.close()
    return [
        Figure(
            "first frame after the first full sentence",
            spread(first),
            "≤ 400 ms",
            "200 ms",
            p95(first) <= 0.4,
        ),
        Figure("… with the engine's start", ms(cold)),
        Figure(
            "processor per narrated second, frames included", f"{share:.3f}", "≤ 0.10", "0.06", share <= 0.1
        ),
        Figure(
            "… with Opus and both encryptions",
            f"{share + sending:.3f} ({share:.3f} + {sending:.3f})",
            "≤ 0.10",
            "0.06",
            share + sending <= 0.1,
        ),
        Figure(
            "silence in front of a sentence, the longest", ms(max(leads)), "≤ 60 ms", "", max(leads) <= 0.06
        ),
        Figure(
            "silence between two sentences",
            f"{ms(min(gaps))} to {ms(max(gaps))} (median {ms(statistics.median(gaps))})",
            "200–350 ms",
            "",
            min(gaps) >= 0.2 and max(gaps) <= 0.35,
        ),
        Figure(
            f"a clip of {minute:.0f} s, MP3, {len(data) / 1e3:.0f} kB: processor",
            f"{clip_s:.2f} s",
            "≤ 2 s",
            "",
            clip_s <= 2,
        ),
        Figure("the engine's process: memory", f"{memory:.0f} MB"),
    ]


async def _sending(heard: list[SpokenSentence]) -> float:
    """Processor seconds per second of speech for what happens to a frame before it is sent."""
    load_opus()
    group, world = Group(1, print), World()
    hall = world.guild("Table", None, True, "en-US").voice("Hall")
    sender, listener = (Listener(world.user(name, "en-US"), hall) for name in ("Narrator", "Ana"))
    for member in (sender, listener):
        member.join(group)
    async with asyncio.timeout(10):
        while not (sender.ready and listener.ready):  # noqa: ASYNC110 - the group tells nobody
            await asyncio.sleep(0.01)
    frames = [frame for sound in heard for frame in sound.frames()]
    encoder = discord.opus.Encoder(application="voip", signal_type="voice")
    box, header, nonce = nacl.secret.Aead(bytes(32)), bytes(12), bytes(24)
    before = time.process_time()
    for frame in frames:
        opus = encoder.encode(frame, encoder.SAMPLES_PER_FRAME)
        box.encrypt(bytes(sender._session.encrypt_opus(opus)), header, nonce)
    return (time.process_time() - before) / (len(frames) * FRAME_MS / 1000)


def _tale(n: int) -> str:
    return " ".join(SENTENCES).format(n=n + 2)


async def _said(speech: Speech, text: str, *, frames: bool = False) -> list[SpokenSentence]:
    async with aclosing(speech.say(text, MANNER)) as sentences:
        heard = [sound async for sound in sentences]
    assert all(sound.pcm for sound in heard), "the voice reads English"
    if frames:
        for sound in heard:
            sum(map(len, sound.frames()))
    return heard


async def _first_frame(speech: Speech, n: int) -> float:
    began = time.perf_counter()
    async with aclosing(speech.say(_tale(n), MANNER)) as sentences:
        next((await anext(sentences)).frames())
        return time.perf_counter() - began


def _lead_s(pcm: bytes) -> float:
    return _heard(pcm)[0]


def _tail_s(pcm: bytes) -> float:
    return _heard(pcm)[1]


def _heard(pcm: bytes) -> tuple[float, float]:
    """Seconds of silence, below a hundredth of the loudest, in front and behind."""
    import numpy as np

    samples = np.abs(np.frombuffer(pcm, "<i2").astype(float))
    loud = np.flatnonzero(samples >= samples.max() / 100)
    return loud[0] / RATE, (samples.size - 1 - loud[-1]) / RATE
