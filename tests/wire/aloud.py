"""Three sentences to read aloud in a voice channel, and a check which of them were heard."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bot.config import Config
from bot.config.settings import Secrets
from bot.speech.speech import Speech, SpokenSentence
from bot.speech.voices import Voice
from tests.fakes.discord.voice_heard import Listener, likeness, pcm

SENTENCES = (
    "The old door opens slowly, and a cold wind comes into the house.",
    "Mira stands outside in the rain, with a lantern in her hand, and waits until somebody asks her in.",
    "Nobody does, and so she goes away again.",
)
ALIKE = 0.7


async def spoken() -> list[list[bytes]]:
    """The frames of each sentence in the embedded voice."""
    speech = Speech(Config(Path(), Path(), secrets=Secrets({}, {})))
    try:
        sentences = [await speech.sentence(words, Voice("hibari"), 1.0, "en") for words in SENTENCES]
    finally:
        await speech.close()
    return [
        [*SpokenSentence(words, pcm).frames()][:-8] for words, pcm in zip(SENTENCES, sentences, strict=True)
    ]


def heard(listener: Listener, sentences: list[list[bytes]]) -> list[int]:
    """The sentences that were heard completely, in order."""
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
