"""A speech engine in this process whose sentences can be told apart: each has its own melody, with a note every
20 ms.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from bot.speech.engines.base import Sound
from tests.fakes.engine import FakeEngine

RATE = 24_000
NOTE = RATE // 50


class Melody(FakeEngine):
    async def say(self, text: str, voice: str, speed: float, language: str) -> Sound:
        await super().say(text, voice, speed, language)
        return melody(text)


def melody(text: str) -> Sound:
    """A note for each character."""
    seed = int.from_bytes(blake2b(text.encode(), digest_size=4).digest())
    notes = np.random.default_rng(seed).integers(5, 40, len(text)) * 50
    phase = np.cumsum(np.repeat(notes, NOTE)) * 2 * np.pi / RATE
    return Sound((0.5 * np.sin(phase)).astype(np.float32), RATE)
