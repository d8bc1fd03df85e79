"""kill -9 while the bot reads aloud in a voice channel: people hear nothing twice, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bot.adapters.discord.text.page import MARK
from bot.config import Config
from bot.config.settings import Secrets
from bot.speech.speech import Speech, SpokenSentence
from bot.speech.voices import Voice
from tests.fakes.discord.voice_heard import Listener, likeness, pcm
from tests.wire.on_discord import OnDiscord
from tests.wire.stories import ANA

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

SENTENCES = (
    "The old door opens slowly, and a cold wind comes into the house.",
    "Mira stands outside in the rain, with a lantern in her hand, and waits until somebody asks her in.",
    "Nobody does, and so she goes away again.",
)
ALIKE = 0.7


async def spoken() -> list[list[bytes]]:
    """The frames of each sentence, as the embedded voice says it."""
    speech = Speech(Config(Path(), Path(), secrets=Secrets({}, {})))
    try:
        sentences = [await speech.sentence(words, Voice("hibari"), 1.0, "en") for words in SENTENCES]
    finally:
        await speech.close()
    return [
        [*SpokenSentence(words, pcm).frames()][:-8] for words, pcm in zip(SENTENCES, sentences, strict=True)
    ]


def heard(listener: Listener, sentences: list[list[bytes]]) -> list[int]:
    """Which sentences were heard whole, in order."""
    received = pcm(listener.frames)
    places = []
    for n, sent in enumerate(sentences):
        at = 0
        while at + len(sent) < len(received):
            if np.mean(likeness(sent[:10], received[at : at + 11])) > ALIKE and (
                np.mean(likeness(sent, received[at : at + len(sent) + 1])) > ALIKE
            ):
                places.append((at, n))
                at += len(sent) // 2
            at += 1
    return [n for _, n in sorted(places)]


async def test_a_kill_in_mid_sentence_says_that_one_again_and_no_other(driver: OnDiscord) -> None:
    d, guild = driver, driver.guilds[0]
    channel = guild.voice("Table talk")
    d.discord.gateway.emit("CHANNEL_CREATE", channel.payload(), guild=guild)
    ana = d.discord.voice.enter(d.people[ANA], channel)
    sentences = await spoken()
    joined = await d.command(ANA, "voice join")
    await d.until(lambda: any("in **Table talk**" in text for text in joined.said()))
    await d.command(ANA, "voice say", text=" ".join(SENTENCES))
    # In the middle of the second one, once the first is behind.
    await d.until(lambda: len(ana.spoken) > len(sentences[0]) + len(sentences[1]) // 2)
    await d.restart()
    await d.until(lambda: d.discord.voice.ready(guild))
    least = sum(map(len, sentences)) + len(sentences[1]) // 3
    await d.until(lambda: len(ana.spoken) > least and ana.frames[-1].silent)
    await d.until(lambda: not any(MARK in message.text for message in d.everything()))
    assert heard(ana, sentences) == [0, 1, 2]
    assert d.discord.voice.violations == []
    assert ana.undecryptable == []
