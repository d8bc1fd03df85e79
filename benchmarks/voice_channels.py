"""Measures reading aloud on ten servers at once while one core is busy: what each voice channel hears, and
how long other people wait for an acknowledgement.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from pathlib import Path

import numpy as np
import psutil

from benchmarks.figures import Figure
from benchmarks.times import ms, p99
from bot.config import Config
from bot.speech.engines.embedded import Hibari
from bot.speech.speech import Speech
from bot.speech.voices import Manner, Voice
from tests.fakes.discord import FakeDiscord
from tests.fakes.discord.voice_heard import FRAME_SECONDS, QUIET, Frame, Listener, pcm
from tests.wire.busy import busy_core
from tests.wire.on_discord import OnDiscord
from tests.wire.process import UnforkedProcess
from tests.wire.shared_bot import SharedBot
from tests.wire.story import ANA

SERVERS = 10
TALE = (
    "The lighthouse stands at the end of a long road of stones.",
    "Nobody has lit its lamp since the storm of last winter, and the boats go by another way.",
    "Mira climbs the stairs, {n} of them, one hand on the cold wall.",
    "At the top there is a door, and behind the door somebody is breathing.",
    "She waits, and counts to {n}, and knocks.",
    "Nothing answers but the wind, which has blown here for {n} years.",
)
SENTENCES = 18
SILENT_S = 6.0
"""Of nothing new to be heard, behind the last word."""
OTHERS, EVERY_S = 5, 0.25


class Drive(OnDiscord):
    process_of = UnforkedProcess


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_figures())


async def _figures() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        shared = SharedBot(Path(folder), FakeDiscord, Drive, tables=SERVERS)
        try:
            tables = [await shared.table() for _ in range(SERVERS)]
            listeners = [await _joined(table) for table in tables]
            process = psutil.Process(tables[0].process.pid)
            processes = [process, *process.children(recursive=True)]
            before = _spent(processes)
            with busy_core():
                for n, table in enumerate(tables):
                    await table.command(ANA, "voice say", text=_tale(n))
                acks = await _acks(tables[0], listeners)
            processes = [process, *process.children(recursive=True)]
            spent = _spent(processes) - before
        finally:
            await shared.close()
    said = await _said()
    heard = [_audible(pcm(listener.frames)) for listener in listeners]
    seconds = sum(map(len, heard)) * FRAME_SECONDS
    waits = [
        (len(there) - len(_audible(frames))) * FRAME_SECONDS
        for there, frames in zip(heard, said, strict=True)
    ]
    lost = sum(_lost(listener) for listener in listeners)
    late = [_lateness(listener.frames) for listener in listeners]
    return [
        Figure(f"{SERVERS} servers at once: seconds heard", f"{seconds:.0f}"),
        Figure("… frames lost", f"{lost}", "0", good=lost == 0),
        Figure(
            f"… silence beside that of the {SENTENCES} sentences, the longest of a server",
            ms(max(waits)),
            "0",
            good=max(waits) < 2 * FRAME_SECONDS,
        ),
        Figure("… how late a frame was, the latest", ms(max(late))),
        Figure("… processor per narrated second, synthesis included", f"{spent / seconds:.3f}"),
        Figure(
            f"{OTHERS} others acknowledged meanwhile",
            f"p99 {ms(p99(acks))} (n {len(acks)})",
            "p99 < 300 ms",
            good=p99(acks) < 0.3,
        ),
        Figure("load of the machine", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"),
    ]


async def _joined(table: OnDiscord) -> Listener:
    listener = table.voice(ANA)
    await table.command(ANA, "voice join")
    await table.discord.until(lambda: table.discord.voice.ready(table.guilds[0]))
    return listener


def _tale(server: int) -> str:
    """A tale with its own numbers, so that no sentence is in the cache from another server."""
    return " ".join(TALE[n % len(TALE)].format(n=100 * server + n) for n in range(SENTENCES))


async def _acks(table: OnDiscord, listeners: Sequence[Listener]) -> list[float]:
    """Seconds until each acknowledgement of commands that people give until everything is read."""
    took: list[float] = []
    counted, since = 0, time.monotonic()
    while counted == 0 or time.monotonic() - since < SILENT_S:
        interactions = await asyncio.gather(
            *(
                table.discord.slash(user, table.channels[0], "rules roll", expression="1d1")
                for user in table.crowd(OTHERS)
            )
        )
        await table.discord.until(lambda given=interactions: all(one.response for one in given))  # type: ignore[misc]
        took += [interaction.acked for interaction in interactions if interaction.acked is not None]
        await asyncio.sleep(EVERY_S)
        if (heard := sum(len(listener.spoken) for listener in listeners)) > counted:
            counted, since = heard, time.monotonic()
    return took


def _spent(processes: Sequence[psutil.Process]) -> float:
    """Seconds of processor time, including processes started since."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


async def _said() -> list[list[bytes]]:
    """For each server, the frames that the voice makes of its tale."""
    speech = Speech(Config(Path(), Path()), {"hibari": Hibari()})
    said = []
    for server in range(SERVERS):
        async with aclosing(speech.say(_tale(server), Manner((Voice("hibari"),)))) as sentences:
            said.append([frame async for sentence in sentences for frame in sentence.frames()])
    await speech.close()
    return said


def _audible(frames: Sequence[bytes]) -> Sequence[bytes]:
    """From the first to the last frame in which there is sound."""
    loudness = [np.linalg.norm(np.frombuffer(frame, "<i2").astype(np.float32)[::2]) for frame in frames]
    loud = [bool(norm > QUIET) for norm in loudness]
    return frames[loud.index(True) : len(loud) - loud[::-1].index(True)]


def _lateness(frames: Sequence[Frame]) -> float:
    """The most seconds behind the stream while sentences are read, counted from the earliest frame."""
    ahead = [frame.at - frame.timestamp / 48_000 for frame in frames]
    return max(ahead) - min(ahead)


def _lost(listener: Listener) -> int:
    numbers = [frame.sequence for frame in listener.frames]
    return len(listener.undecryptable) + (numbers[-1] - numbers[0] + 1) % 65_536 - len(set(numbers))
