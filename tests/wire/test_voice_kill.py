"""kill -9 while the bot reads aloud in a voice channel: only the interrupted sentence is repeated, nothing is lost."""

from __future__ import annotations

import pytest

from bot.adapters.discord.text.page import MARK
from tests.wire.aloud import SENTENCES, heard, spoken
from tests.wire.on_discord import OnDiscord
from tests.wire.story import ANA

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]


async def test_a_kill_within_a_sentence_repeats_only_that_sentence(driver: OnDiscord) -> None:
    d, guild = driver, driver.guilds[0]
    channel = guild.voice("Table talk")
    d.discord.gateway.emit("CHANNEL_CREATE", channel.payload(), guild=guild)
    ana = d.discord.voice.enter(d.people[ANA], channel)
    sentences = await spoken()
    joined = await d.command(ANA, "voice join")
    await d.until(lambda: any("in **Table talk**" in text for text in joined.said()))
    await d.command(ANA, "voice say", text=" ".join(SENTENCES))
    # In the middle of the second sentence.
    await d.until(lambda: len(ana.spoken) > len(sentences[0]) + len(sentences[1]) // 2)
    await d.restart()
    await d.until(lambda: d.discord.voice.ready(guild))
    least = sum(map(len, sentences)) + len(sentences[1]) // 3
    await d.until(lambda: len(ana.spoken) > least and ana.frames[-1].silent)
    await d.until(lambda: not any(MARK in message.text for message in d.everything()))
    assert heard(ana, sentences) == [0, 1, 2]
    assert d.discord.voice.violations == []
    assert ana.undecryptable == []
