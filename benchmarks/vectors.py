"""Measures the cost of storing vectors: memory while adding, time to add, time to query. `python -m benchmarks.vectors
[N]`.

Knows no model: random unit vectors of 384 dimensions stand for chunks of 800 characters.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from storage.chroma_vectors import SHARD, ChromaVectors

DIMENSIONS = 384
CHUNK_CHARS = 800
BATCH = 256
SHELF = ("local", "bench", "random")


def drawn(random: np.random.Generator, n: int) -> NDArray[np.float32]:
    random_vectors = random.standard_normal((n, DIMENSIONS)).astype(np.float32)
    unit: NDArray[np.float32] = random_vectors / np.linalg.norm(random_vectors, axis=1, keepdims=True)
    return unit


async def measure(n: int, folder: Path) -> dict[str, float]:
    """Growth in MB per MB of text (least squares, over all batches and over peaks), seconds, milliseconds."""
    random, process = np.random.default_rng(0), psutil.Process()
    vectors = ChromaVectors.embedded(folder)
    await vectors.count(*SHELF)
    start, rss = time.perf_counter(), []
    for first in range(0, n, BATCH):
        ids = [f"d:{i}" for i in range(first, min(first + BATCH, n))]
        await vectors.add(*SHELF, ids, drawn(random, len(ids)), "d")
        rss.append(process.memory_info().rss / 1e6)
    added_s = time.perf_counter() - start
    text_mb = np.arange(1, len(rss) + 1) * BATCH * CHUNK_CHARS / 1e6
    # Memory goes up and down with each collection: the trend is that of the peaks of whole ones.
    per = SHARD // BATCH
    peaks = [max(rss[first : first + per]) for first in range(0, len(rss) - per + 1, per)]
    trend = np.polyfit(np.arange(len(peaks)) * SHARD * CHUNK_CHARS / 1e6, peaks, 1)[0]
    await vectors.release_memory()
    rested = process.memory_info().rss / 1e6

    took = []
    for _ in range(201):
        question = drawn(random, 1)[0]
        start = time.perf_counter()
        await vectors.search(*SHELF, question, 30)
        took.append((time.perf_counter() - start) * 1000)
    warm = took[1:]
    searching = process.memory_info().rss / 1e6
    await vectors.close()
    return {
        "vectors": n,
        "text_mb": float(text_mb[-1]),
        "add_s": added_s,
        "slope_mb_per_mb": float(np.polyfit(text_mb, rss, 1)[0]),
        "peaks_slope_mb_per_mb": float(trend),
        "peak_growth_mb": max(rss) - rss[0],
        "rested_growth_mb": rested - rss[0],
        "searching_growth_mb": searching - rss[0],
        "first_query_ms": took[0],
        "query_p50_ms": statistics.median(warm),
        "query_p95_ms": statistics.quantiles(warm, n=20)[-1],
    }


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        for name, value in asyncio.run(measure(n, Path(folder) / "chroma")).items():
            print(f"{name:>22}  {value:10.2f}")


if __name__ == "__main__":
    main()
