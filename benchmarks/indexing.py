"""Measures indexing a rulebook and searching a large shelf through the command line: time, memory, latency."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil

from benchmarks.figures import Figure, data, skipped

MEGABYTE = 1_000_000


def figures() -> Iterator[Figure]:
    yield _idle()
    srd = data("rules-en-srd51")
    if srd is None:
        yield skipped("indexing the SRD 5.1")
        return
    book = next((srd / "corpus").iterdir())
    with tempfile.TemporaryDirectory() as folder:
        yield from _one_book(book, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from _ten_megabytes(book, Path(folder))


def _bot(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "bot", "--data", str(folder), *arguments]


def _idle() -> Figure:
    """The memory of a running bot that has loaded no model."""
    with tempfile.TemporaryDirectory() as folder:
        command = _bot(Path(folder), "chat", "--json")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as bot:
            assert bot.stdin is not None
            assert bot.stdout is not None
            bot.stdin.write("/rules roll 1d6\n")
            bot.stdin.flush()
            _ = list(_events(bot.stdout))
            megabytes = psutil.Process(bot.pid).memory_info().rss / MEGABYTE
            bot.stdin.close()
            bot.wait()
    return Figure("memory, idle before models", f"{megabytes:.0f} MB", "≤ 250 MB", "", megabytes <= 250)


def _one_book(book: Path, folder: Path) -> Iterator[Figure]:
    began = time.perf_counter()
    searchable = None
    command = _bot(folder, "chat", "--json")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as bot:
        assert bot.stdin is not None
        assert bot.stdout is not None
        bot.stdin.write("/rules roll 1d6\n")  # what is timed is the work, not the start
        bot.stdin.flush()
        _ = list(_events(bot.stdout))
        began = time.perf_counter()
        bot.stdin.write(f"/library add {book} --shelf srd\n")
        bot.stdin.flush()
        for event in _events(bot.stdout):
            if searchable is None and event["event"] == "notice":
                searchable = time.perf_counter() - began
        spent = time.perf_counter() - began
        bot.stdin.close()
        bot.wait()
    shown = f"{searchable:.1f} s" if searchable is not None else "never"
    yield Figure(
        f"indexing {book.stat().st_size / MEGABYTE:.1f} MB, 2 cores",
        f"{spent:.0f} s",
        "≤ 90 s",
        "45 s",
        spent <= 90,
    )
    yield Figure("searchable by words after", shown, "≤ 3 s", "", searchable is not None and searchable <= 3)


def _ten_megabytes(book: Path, folder: Path) -> Iterator[Figure]:
    """Copies of a book that differ, as files of one job; memory sampled by progress."""
    text = book.read_text(encoding="utf-8")
    copies = max(1, round(10 * MEGABYTE / len(text.encode())))
    for n in range(copies):
        (folder / "books").mkdir(exist_ok=True)
        (folder / "books" / f"book{n}.md").write_text(
            text.replace("creature", f"creature{n}"), encoding="utf-8"
        )
    command = _bot(folder / "data", "library", "add", str(folder / "books"), "--shelf", "big", "--json")
    samples: list[tuple[float, float]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bot:
        assert bot.stdout is not None
        process = psutil.Process(bot.pid)
        for line in bot.stdout:
            event = json.loads(line)
            if event["event"] == "status" and event.get("total"):
                samples.append((event["done"] / event["total"], _memory(process)))
    # The first tenth loads the model and warms its arena; the slope is what each megabyte then leaves behind.
    vectors = samples[len(samples) // 10 :]
    slope = _slope(vectors) / MEGABYTE / (copies * len(text.encode()) / MEGABYTE)
    yield Figure("memory slope while indexing 10 MB", f"{slope:.2f} MB per MB", "≤ 0.5", "", slope <= 0.5)
    yield from asyncio.run(_latency(folder / "data", text))


def _events(out: IO[str]) -> Iterator[dict[str, Any]]:
    """The events of one line, as they come, up to its "done"."""
    for line in out:
        event = json.loads(line)
        yield event
        if event["event"] == "done":
            return


def _memory(process: psutil.Process) -> float:
    children = process.children(recursive=True)
    return float(sum(process_or_child.memory_info().rss for process_or_child in [process, *children]))


def _slope(samples: list[tuple[float, float]]) -> float:
    xs, ys = zip(*samples, strict=True)
    return statistics.linear_regression(xs, ys).slope


async def _latency(folder: Path, text: str) -> list[Figure]:
    """The latency of new questions, so that no embedding comes from the cache."""
    from bot.config import load
    from bot.resources import Resources

    words = [line.strip("# ") for line in text.splitlines() if 20 < len(line) < 120][:400]
    resources = await Resources.open(load(data=folder, environ=os.environ))
    try:
        books = await resources.library.books("local", "big")
        passages = sum(book.passages for book in books)
        await resources.library.search("local", "big", "warm up the model")
        await resources.library.search("local", "big", "and the index, too")
        seconds, embedding = [], []
        for question in words:
            began = time.perf_counter()
            await resources.library.search("local", "big", question)
            seconds.append(time.perf_counter() - began)
        embedder = await resources.embedding.get()
        for question in words if embedder is not None else []:
            assert embedder is not None
            began = time.perf_counter()
            await asyncio.to_thread(embedder.query, question)
            embedding.append(time.perf_counter() - began)
    finally:
        await resources.close()
    p95 = statistics.quantiles(seconds, n=20)[-1] * 1000
    alone = statistics.quantiles(embedding, n=20)[-1] * 1000 if embedding else 0.0
    return [
        Figure(f"query p95 at {passages} passages", f"{p95:.0f} ms", "≤ 60 ms", "25 ms", p95 <= 60),
        Figure("of it, embedding the question p95", f"{alone:.0f} ms"),
    ]
