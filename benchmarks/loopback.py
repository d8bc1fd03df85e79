"""What the benchmarks over a loopback platform share: the bot as a user starts it, and a model of even pace beside it.

Knows no platform.
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

from tests.wire.model import settings
from tests.wire.process import UnforkedProcess
from tests.wire.stock import stock


@dataclass(frozen=True)
class Answered:
    """Seconds of one answer: event to acknowledgement, model's first token to the first words seen, and so on."""

    ack: float
    first: float
    last: float


class Stage:
    """A folder, and the model that plays there."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self._port = port

    async def bot(
        self, platform: str, books: Mapping[str, list[Path]], environ: Mapping[str, str]
    ) -> UnforkedProcess:
        """A bot with books on its spaces' shelves, still to be started; `platform` is of its config.toml."""
        config, data = self.folder / "config.toml", self.folder / "data"
        config.write_text(settings(f"http://127.0.0.1:{self._port}/v1") + platform, encoding="utf-8")
        await stock(data, config, books)
        return UnforkedProcess(data, config, environ)

    def noted(self) -> dict[int, dict[str, float]]:
        """When the "first" and the "last" token of each question's answer left the model."""
        lines = _times(self.folder).read_text(encoding="utf-8").splitlines()
        return {row["question"]: row for row in map(json.loads, lines)}


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    with tempfile.TemporaryDirectory() as name:
        model = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.paced_model", "--log", str(_times(Path(name)))),
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
