"""A speech engine in this process: returns a tone of 20 ms per character, or fails on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bot.speech.engines.base import Sound, Unspoken


@dataclass
class FakeEngine:
    """`answers` maps texts to results other than the tone; `gate` delays every answer until it is set."""

    name: str = "fake"
    languages: tuple[str, ...] = ("en",)
    voices: tuple[str, ...] = ("one", "two")
    answers: Mapping[str, Sound | Unspoken] = field(default_factory=dict)
    gate: asyncio.Event | None = None
    said: list[tuple[str, str, float, str]] = field(default_factory=list)
    closed: bool = False

    def reads(self, language: str, voice: str) -> bool:
        return language in self.languages

    def absent(self) -> None:
        return None

    async def say(self, text: str, voice: str, speed: float, language: str) -> Sound:
        self.said.append((text, voice, speed, language))
        if self.gate is not None:
            await self.gate.wait()
        answer = self.answers.get(text)
        if isinstance(answer, Unspoken):
            raise answer
        return answer or a_tone(0.02 * len(text) / speed)

    async def close(self) -> None:
        self.closed = True


def a_tone(seconds: float, rate: int = 24_000, silence_s: float = 0.0) -> Sound:
    """A tone with silence before and after it."""
    loud = 0.5 * np.sin(np.arange(int(seconds * rate)) * 2 * np.pi * 440 / rate)
    quiet = np.zeros(int(silence_s * rate))
    return Sound(np.concatenate((quiet, loud, quiet)).astype(np.float32), rate)
