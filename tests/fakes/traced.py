"""A config with a collector of traces, and a minimal run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bot.config import Config, Secrets, TracingConfig, load
from bot.events import Author, Place, Request
from bot.tracing import Tracing

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ASKED = Request("r1", Place("terminal", "local", "c", "t"), Author("a", "A"), "rules", "ask")


def config(endpoint: str | None = None, **environ: str) -> Config:
    """A config with `endpoint` in the file, and these environment variables."""
    config = load(data=Path("nowhere"), environ={})
    return replace(config, tracing=TracingConfig(endpoint), secrets=Secrets(environ, {}))


async def traced(tracing: Tracing, since: datetime = NOW) -> None:
    with tracing.run(ASKED, since, resumed=False) as run:
        run.outcome = "done"
