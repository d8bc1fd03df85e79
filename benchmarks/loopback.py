"""Shared by the benchmarks over a loopback platform: the bot as a user starts it, and a model with an even
pace.

Uses no platform itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.times import p95
from tests.wire.model import settings
from tests.wire.process import UnforkedProcess
from tests.wire.stock import stock


@dataclass(frozen=True)
class Answered:
    """Seconds for one answer: from event to acknowledgement, from the model's first token to the first
    visible words, and so on.
    """

    ack: float
    first: float
    last: float


BURST, BURST_S, OWED_S = 65, 40.0, 15.0
"""Questions at the same moment, in how many seconds all their answers are there; and how long one may be owed while
somebody asks each second.
"""
BURST_WORDS = 10
"""At a time from the model, or a burst measures this machine."""
STEADY_S = 90


@dataclass(frozen=True)
class Owed:
    """Seconds until one answer was complete: from the question, and from the model's last token."""

    whole: float
    owed: float


def of_a_burst(answers: list[Owed]) -> list[Figure]:
    whole = [answer.whole for answer in answers]
    soon = sum(seconds <= BURST_S for seconds in whole)
    return [
        Figure(
            f"{len(whole)} questions at once: the last answer is there, whole",
            f"after {max(whole):.1f} s; {soon} within {BURST_S:.0f} s",
            f"≤ {BURST_S:.0f} s",
            good=max(whole) <= BURST_S,
        )
    ]


def of_steady_questions(answers: list[Owed]) -> list[Figure]:
    owed = [answer.owed for answer in answers]
    return [
        Figure(
            f"a question a second for {STEADY_S} s: owed after the model's last token",
            f"p95 {p95(owed):.1f} s, at most {max(owed):.1f} s",
            f"≤ {OWED_S:.0f} s",
            good=max(owed) <= OWED_S,
        )
    ]


class Stage:
    """A folder, and the model that runs there."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self._port = port

    async def bot(
        self, platform: str, books: Mapping[str, list[Path]], environ: Mapping[str, str]
    ) -> UnforkedProcess:
        """A bot that is not yet started, with books on its spaces' shelves; `platform` is the platform's part
        of its config.toml.
        """
        config, data = self.folder / "config.toml", self.folder / "data"
        config.write_text(settings(f"http://127.0.0.1:{self._port}/v1") + platform, encoding="utf-8")
        await stock(data, config, books)
        return UnforkedProcess(data, config, environ)

    def noted(self) -> dict[int, dict[str, float]]:
        """The times of the first and last token of each question's answer."""
        lines = _times(self.folder).read_text(encoding="utf-8").splitlines()
        return {row["question"]: row for row in map(json.loads, lines)}


@asynccontextmanager
async def staged(words: int = 1) -> AsyncIterator[Stage]:
    """The model sends `words` at a time."""
    with tempfile.TemporaryDirectory() as name:
        model = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.paced_model", "--log", str(_times(Path(name)))),
            *("--words", str(words)),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert model.stdout is not None
            yield Stage(Path(name), int(await model.stdout.readline()))
        finally:
            model.kill()
            await model.wait()


def _times(folder: Path) -> Path:
    return folder / "times.jsonl"
