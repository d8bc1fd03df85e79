"""Measures the time of a council of eight against the longest call of each stage, with the app in one process.

The council benchmark uses it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from bot.app import App
from bot.config import load
from bot.events import Author, Place, Request
from bot.platforms import Platform
from tests.fakes.scripted_app import Recorder
from tests.wire.council_model import (
    ANSWERS,
    CATEGORIES,
    QUESTION,
    Call,
    CouncilModel,
    CouncilService,
    settings,
)

STAGES_S = {"research": 1.2, "answer": 2.5, "ballot": 2.2, "synthesis": 0.8}
"""How long the slowest call of each stage takes."""

SLOWEST = {"answer": "m5", "ballot": "m2"}
"""Who makes it; each of the others takes an eighth less than another."""


class Timing(NamedTuple):
    """`wall_s` from the request to the end of its run; `slowest_s` the sum over the stages' longest calls."""

    wall_s: float
    slowest_s: float

    @property
    def ratio(self) -> float:
        return self.wall_s / self.slowest_s


async def timed(folder: Path) -> Timing:
    """Hold a council without latency first, then one with the latencies above, in an empty folder."""
    council = CouncilModel()
    async with sitting(folder, council) as app:
        await convene(app, "practice")
        council.latency_s |= latencies()
        began = time.perf_counter()
        await convene(app, "timed")
        return Timing(time.perf_counter() - began, sum(STAGES_S.values()))


@asynccontextmanager
async def sitting(folder: Path, council: CouncilModel) -> AsyncIterator[App]:
    """An app in an empty folder whose council has these eight members."""
    async with CouncilService(council=council) as service:
        file = folder / "config.toml"
        file.write_text(settings(service.base_url, members=len(ANSWERS), words=False), encoding="utf-8")
        app = await App.open(load(file, folder / "data", {}))
        try:
            app.attach(Platform("terminal", Recorder().view))
            await app.start()
            yield app
        finally:
            await app.close()


def latencies() -> dict[Call, float]:
    """The latency of every call of the council."""
    stages = {Call("chair", "synthesis"): STAGES_S["synthesis"]}
    for n, name in enumerate(CATEGORIES, 1):
        stages[Call("scout", f"research-{name}")] = STAGES_S["research"] * n / len(CATEGORIES)
    for task, slowest in SLOWEST.items():
        for n, name in enumerate(ANSWERS):
            stages[Call(name, task)] = STAGES_S[task] * (1 if name == slowest else n / len(ANSWERS))
    return stages


async def convene(app: App, name: str) -> None:
    place = Place("terminal", "local", "terminal", name)
    options = {"research": "all", "level": "full"}
    request = Request(name, place, Author("ana", "Ana"), "council", "ask", options, QUESTION)
    assert await (await app.perform(request)).wait() == "done"
