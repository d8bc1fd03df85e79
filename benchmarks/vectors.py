"""Measures storing vectors: memory and time to add, time to query, and what an approximate search misses.

    python -m benchmarks.vectors [N] [STORE] [KIND]

STORE is `folder` (Chroma's), `server` (a Chroma server), `postgres`, or `copied`: Postgres with all vectors copied at
once and indexed afterwards, where an operator has set `maintenance_work_mem = 2GB`. KIND: `random` unit vectors,
`clustered` ones, 50 about each of N / 50 centres, or `real` ones of bge-small, which other benchmarks have stored in
SUTRADHAR_BENCH_CACHE.
Synthetic vectors have 384 dimensions and represent chunks of 800 characters.
"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from numpy.typing import NDArray

from storage.chroma_vectors import SHARD, ChromaVectors
from storage.postgres_vectors import TABLE
from storage.vectors import Vectors

if TYPE_CHECKING:
    from storage.db import Database

DIMENSIONS = 384
CHUNK_CHARS = 800
BATCH = 256
SHELF = ("local", "bench", "random")
QUESTIONS, NEAREST, RECALL = 200, 50, 10
"""How many questions are asked, for how many chunks each (`fetch_k`), and how many of the best must be among them."""
SPREAD = 0.7
"""How far clustered vectors are from their centre, before they get length 1."""
STARTS_S = 60


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return made


def drawn(kind: str, n: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """`n` vectors, and the vectors of QUESTIONS questions."""
    random = np.random.default_rng(0)
    whole = n + QUESTIONS
    if kind == "real":
        with np.load(Path(os.environ["SUTRADHAR_BENCH_CACHE"]) / "bge-small.npz") as stored:
            found = unit(random.permutation(stored["vectors"])[:whole].astype(np.float64))
        return found[:-QUESTIONS], found[-QUESTIONS:]
    made = random.standard_normal((whole, DIMENSIONS))
    if kind == "clustered":
        centres = unit(random.standard_normal((max(1, n // 50), DIMENSIONS)))
        made = centres[random.integers(0, len(centres), whole)] + SPREAD * unit(made)
    found = unit(made)
    return found[:n], found[n:]


@asynccontextmanager
async def opened(store: str, folder: Path) -> AsyncIterator[Vectors]:
    vectors: Vectors
    if store in ("postgres", "copied"):
        from storage import postgres_vectors
        from storage.db import Database
        from storage.postgres_vectors import PostgresVectors
        from tests.fakes.postgres import running

        with running() as url:
            database = await Database.open(url)
            async with database.outside() as connection:  # tests do without
                for setting in ("fsync", "full_page_writes", "autovacuum"):
                    await connection.exec_driver_sql(f"ALTER SYSTEM SET {setting} = on")
                if store == "copied":
                    await connection.exec_driver_sql("ALTER SYSTEM SET maintenance_work_mem = '2GB'")
                await connection.exec_driver_sql("SELECT pg_reload_conf()")
            assert await postgres_vectors.prepared(database)
            vectors = PostgresVectors(database)
            if store == "copied":
                vectors.add = partial(_copied, database)  # type: ignore[method-assign]
            yield vectors
            await vectors.close()
            await database.close()
        return
    if store == "folder":
        vectors = ChromaVectors.embedded(folder)
        yield vectors
        await vectors.close()
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    chroma = str(Path(sys.executable).with_name("chroma"))
    with (folder.parent / "chroma.log").open("wb") as log:
        server = subprocess.Popen(  # noqa: ASYNC220  (nothing else runs meanwhile)
            [chroma, "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder)],
            stdout=log,
            stderr=log,
        )
    try:
        for _ in range(STARTS_S * 5):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            await asyncio.sleep(0.2)
        vectors = ChromaVectors.remote(f"http://127.0.0.1:{port}")
        yield vectors
        await vectors.close()
    finally:
        server.kill()
        server.wait()


async def _copied(
    database: Database, space: str, shelf: str, embedder: str, ids: list[str], vectors: Any, document: str
) -> None:
    """Replaces `PostgresVectors.add`: one COPY in pgvector's binary form of half precision."""

    def field(value: bytes) -> bytes:
        return struct.pack(">i", len(value)) + value

    columns = "space, shelf, document_id, embedder, id, vector"
    of = b"".join(field(value.encode()) for value in (space, shelf, document, embedder))
    async with database.outside() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        async with (
            driver.cursor() as cursor,
            cursor.copy(f"COPY {TABLE} ({columns}) FROM STDIN (FORMAT BINARY)") as copy,
        ):
            await copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for id, vector in zip(ids, vectors.astype(">f2"), strict=True):
                half = struct.pack(">hh", len(vector), 0) + vector.tobytes()
                await copy.write(struct.pack(">h", 6) + of + field(id.encode()) + field(half))
            await copy.write(struct.pack(">h", -1))


async def measure(n: int, store: str, kind: str, folder: Path) -> dict[str, float]:
    """Growth of this process in MB per MB of text (least squares, over all batches and over peaks), seconds,
    milliseconds, and the part of the best that was found.
    """
    made, questions = drawn(kind, n)
    n = len(made)
    async with opened(store, folder) as vectors:
        process = psutil.Process()
        await vectors.count(*SHELF)
        start, rss, batches = time.perf_counter(), list[float](), list[float]()
        size = max(BATCH, n // 100) if store == "copied" else BATCH
        for first in range(0, n, size):
            document = str(first // size) if store == "copied" else str(first // 1024)
            ids = [f"{document}:{i}" for i in range(first, min(first + size, n))]
            began = time.perf_counter()
            await vectors.add(*SHELF, ids, made[first : first + size], document)
            batches.append((time.perf_counter() - began) * 1000)
            rss.append(process.memory_info().rss / 1e6)
        added_s = time.perf_counter() - start
        text_mb = np.arange(1, len(rss) + 1) * BATCH * CHUNK_CHARS / 1e6
        # Memory goes up and down with each collection: the trend is that of the peaks of whole ones.
        per = SHARD // BATCH
        peaks = [max(rss[first : first + per]) for first in range(0, len(rss) - per + 1, per)]
        slope = (
            np.polyfit(np.arange(len(peaks)) * SHARD * CHUNK_CHARS / 1e6, peaks, 1)[0]
            if len(peaks) > 1
            else 0
        )
        await vectors.release_memory()
        rested = process.memory_info().rss / 1e6
        start = time.perf_counter()
        indexing = getattr(vectors, "_indexing", None)
        if indexing is not None:
            await indexing
        indexed_s = time.perf_counter() - start

        took, found = list[float](), 0
        best = [np.argpartition(-(made @ question), RECALL)[:RECALL] for question in questions]
        await vectors.search(*SHELF, questions[0], NEAREST)
        for question, wanted in zip(questions, best, strict=True):
            start = time.perf_counter()
            near = await vectors.search(*SHELF, question, NEAREST)
            took.append((time.perf_counter() - start) * 1000)
            found += len({int(id.partition(":")[2]) for id, _ in near[:RECALL]} & set(wanted.tolist()))
        searching = process.memory_info().rss / 1e6
    return {
        "vectors": n,
        "text_mb": float(text_mb[-1]),
        "add_s": added_s,
        "add_batch_p50_ms": statistics.median(batches),
        "add_batch_p95_ms": statistics.quantiles(batches, n=20)[-1],
        "index_s": indexed_s,
        "slope_mb_per_mb": float(np.polyfit(text_mb, rss, 1)[0]),
        "peaks_slope_mb_per_mb": float(slope),
        "peak_growth_mb": max(rss) - rss[0],
        "rested_growth_mb": rested - rss[0],
        "searching_growth_mb": searching - rss[0],
        "query_p50_ms": statistics.median(took),
        "query_p95_ms": statistics.quantiles(took, n=20)[-1],
        f"recall_at_{RECALL}": found / RECALL / len(questions),
    }


def main() -> None:
    n, store, kind = (*sys.argv[1:], *("20000", "folder", "random")[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        for name, value in asyncio.run(measure(int(n), store, kind, Path(folder) / "chroma")).items():
            print(f"{name:>22}  {value:10.3f}")


if __name__ == "__main__":
    main()
