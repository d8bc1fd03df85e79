"""A voice channel follows its shard: the process that takes the shard joins the channel and continues to read."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from bot.adapters.discord.text.page import MARK
from tests.fakes.discord.voice_heard import Listener
from tests.wire.aloud import SENTENCES, heard, spoken
from tests.wire.inbox import rows_of
from tests.wire.process import BotProcess
from tests.wire.sharded import Fleet, Sharded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

READ_ON_S = 15.0
"""Another process takes a shard within ten seconds, and then has to enter the channel."""
SLACK = 25
"""Frames: half a second, which is said again where a connection changed."""


class Room:
    """Ana in a voice channel of the last shard's server, where she lets the bot read aloud."""

    def __init__(self, fleet: Fleet, shard: int) -> None:
        self.fleet, self.shard = fleet, shard
        self.guild, self.text = fleet.guilds[shard], fleet.channels[shard]
        self.channel = self.guild.voice("Table talk")
        self.person = fleet.driver.people["Ana"]
        self.guild.join(self.person)
        self.ana: Listener

    async def join(self) -> None:
        voice = self.fleet.discord.voice
        self.ana = voice.enter(self.person, self.channel)
        await self.command("voice join")
        await self.fleet.until(lambda: voice.ready(self.guild))

    async def command(self, verb: str, **options: Any) -> None:
        asked = await self.fleet.discord.slash(self.person, self.text, verb, **options)
        await self.fleet.until(lambda: asked.response is not None or asked.followups)

    async def say(self, text: str) -> None:
        await self.command("voice say", text=text)

    async def silent(self, least: int) -> None:
        """Wait until at least this many frames were heard, and nothing is left to read."""
        await self.fleet.until(lambda: len(self.ana.spoken) > least and self.ana.frames[-1].silent)
        await self.fleet.until(lambda: not any(MARK in text for text in self.fleet.answers(self.shard)))

    def hears(self) -> BotProcess:
        """The process that received the server's newest request, and so has the shard."""
        ((machine,),) = rows_of(
            self.fleet.data,
            "SELECT machine FROM inbox JOIN processes ON process = processes.id"
            f" WHERE space = '{self.guild.id}' ORDER BY seq DESC LIMIT 1",
        )
        pid = int(machine.rpartition(":")[2])
        return next(process for process in self.fleet.processes if process.pid == pid)


@pytest.mark.parametrize("end", ["kill", "leave"])
async def test_another_process_continues_in_the_middle_of_a_sentence(end: str, fleet: Sharded) -> None:
    f = await fleet(shards=2, max_concurrency=16)
    a, b = await asyncio.gather(f.start(), f.start())
    await f.until(lambda: f.live() == [0, 1])
    await f.until(lambda: f.holders() == {a.pid: 1, b.pid: 1})
    room, sentences = Room(f, 1), await spoken()
    await room.join()
    await room.say(" ".join(SENTENCES))
    first, second, third = map(len, sentences)
    # In the middle of the second sentence.
    await f.until(lambda: len(room.ana.spoken) > first + second // 2)
    reading = room.hears()
    other = a if reading is b else b
    ended = time.monotonic()
    leaving = asyncio.create_task(getattr(reading, end)())
    await f.until(lambda: not f.discord.voice.ready(room.guild))
    before = len(room.ana.spoken)
    await f.until(lambda: f.discord.voice.ready(room.guild))
    await f.until(lambda: len(room.ana.spoken) > before)
    print(f"{end}: read on after {time.monotonic() - ended:.1f} s")
    assert time.monotonic() - ended < READ_ON_S
    await leaving
    await room.silent(first + second + second // 3 + third)
    assert heard(room.ana, sentences) == [0, 1, 2]
    assert len(room.ana.spoken) < first + 2 * second + third + SLACK, "repeated from further back"
    await room.say("Good night.")
    assert room.hears() is other
    assert f.discord.voice.violations == []
    assert room.ana.undecryptable == []


async def test_a_shard_moves_only_after_its_reading_has_ended(fleet: Sharded) -> None:
    f = await fleet(shards=2, max_concurrency=16)
    a = await f.start()
    await f.until(lambda: f.live() == [0, 1])
    one, zero, sentences = Room(f, 1), Room(f, 0), await spoken()
    await zero.join()
    await one.join()
    for room in (zero, one):
        await room.say(" ".join(SENTENCES))
    b = await f.start()
    await f.holding(b.pid, 1)
    for room in (zero, one):
        await room.silent(sum(map(len, sentences)) - SLACK)
        assert heard(room.ana, sentences) == [0, 1, 2]
        assert len(room.ana.spoken) < sum(map(len, sentences)) + SLACK, "nothing is repeated"
    for room in (zero, one):
        await f.until(lambda room=room: f.discord.voice.ready(room.guild))  # type: ignore[misc]
        room.ana.frames.clear()
        await room.say(SENTENCES[2])
        await room.silent(len(sentences[2]) - SLACK)
    assert {zero.hears(), one.hears()} == {a, b}
    assert f.discord.voice.violations == []
