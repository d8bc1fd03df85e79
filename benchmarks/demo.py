"""Measures the demo model: how fast it loads and answers, how soon it stops, how much memory it takes."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import psutil

from benchmarks.figures import Figure
from bot import models
from bot.config import load
from bot.llm.base import Message, Meter, Prompt
from bot.llm.completion import Completion
from bot.llm.demo import MODEL, Demo

RUNS = 5
TOKENS = 200
TALE = "Tell a long story of a lantern keeper who enters a drowned chapel at night."
LONG = 3500
"""Words of the longest prompt: with its answer it nearly fills the context."""


def figures() -> Iterator[Figure]:
    """Loading and speaking as medians of a few runs; memory after the longest prompt."""
    folder = load(environ=os.environ).models_dir
    if not models.present(folder, MODEL):
        yield Figure("demo model", "skipped: its file is absent")
        return
    yield from asyncio.run(_measured(folder))


async def _measured(folder: Path) -> list[Figure]:
    loads, rates, stops = [], [], []
    for _ in range(RUNS):
        demo = Demo(folder)
        loads.append(await _load_s(demo))
        rates.append(await _rate(demo))
        stops.append(await _stop_s(demo, TALE))
        await demo.close()
    demo = Demo(folder)
    reading = await _rate(demo, "lantern " * 1000)
    stops.append(await _stop_s(demo, "lantern and " * (LONG // 2)))
    first_s, weight = await _long(demo)
    await demo.close()
    load_s, rate, stop_s = statistics.median(loads), statistics.median(rates), max(stops)
    return [
        Figure("process started, file checked, model loaded", f"{load_s:.2f} s", "≤ 3 s", "1 s", load_s <= 3),
        Figure(f"tokens a second, {TOKENS} after a short prompt", f"{rate:.0f}", "≥ 15", "60", rate >= 15),
        Figure("tokens a second after a prompt of 1,000", f"{reading:.0f}", "≥ 15", "40", reading >= 15),
        Figure("the slowest stop", f"{stop_s * 1000:.0f} ms", "≤ 1000 ms", "500 ms", stop_s <= 1),
        Figure(f"first token of an answer to {LONG:,} words", f"{first_s:.0f} s"),
        Figure("memory of the process (PSS) after that", f"{weight:.0f} MB", "≤ 450 MB", "250 MB", weight <= 450),
    ]  # fmt: skip


def _prompt(text: str, tokens: int) -> Prompt:
    return Prompt("You tell stories.", (Message("user", text),), max_tokens=tokens)


async def _load_s(demo: Demo) -> float:
    began = time.perf_counter()
    await demo.count(MODEL, _prompt("Hello.", 1))
    return time.perf_counter() - began


async def _rate(demo: Demo, text: str = TALE) -> float:
    """Tokens per second after the first; if the text ends early, the model is asked to continue."""
    spent = output_tokens = 0.0
    while output_tokens < TOKENS:
        began = 0.0
        async with aclosing(demo.stream(MODEL, _prompt(text, TOKENS))) as answer:
            async for piece in answer:
                began = began or time.perf_counter()
                if isinstance(piece, Completion):
                    spent += time.perf_counter() - began
                    output_tokens += piece.usage.output_tokens - 1
    return output_tokens / spent


async def _stop_s(demo: Demo, text: str) -> float:
    """Seconds from the stop until the process is idle; a long text is stopped while it is still being read."""
    meter = Meter()
    asking = asyncio.create_task(_listen(demo, text, meter))
    while not meter.usage.input_tokens:  # noqa: ASYNC110 - the meter is all that is seen of it
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    began = time.perf_counter()
    asking.cancel()
    await asyncio.wait((asking,))
    await demo.settled()
    return time.perf_counter() - began


async def _listen(demo: Demo, text: str, meter: Meter) -> None:
    async with aclosing(demo.stream(MODEL, _prompt(text, 2000), meter)) as answer:
        async for _ in answer:
            pass


async def _long(demo: Demo) -> tuple[float, float]:
    """Seconds until the first token after the longest prompt, and the process's megabytes then."""
    began = time.perf_counter()
    async with aclosing(demo.stream(MODEL, _prompt("lantern " * LONG, 50))) as answer:
        await anext(answer)
        first_s = time.perf_counter() - began
        assert demo.pid is not None
        memory = psutil.Process(demo.pid).memory_full_info()
    return first_s, getattr(memory, "pss", memory.rss) / 1e6
