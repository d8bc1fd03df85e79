"""Measures a search in a long prose story with one vector per sentence: memory, disk space and time.

    SUTRADHAR_BENCH_DATA=DIR python -m benchmarks.prose [PIECES]

The words are CRD3's, repeated, four paragraphs a scene. The vectors are random, as many as there are sentences, and
stored as a story's are: the model's time is left out, and what it finds is measured elsewhere.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from json import dumps, loads
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.figures import Figure, skipped, table
from benchmarks.memory import MANY, MEGABYTE, SPACE, Made, resident
from benchmarks.memory_sets import play
from benchmarks.times import p95
from bot.heap import share_heap
from bot.retrieval.language import detect
from bot.works.story.command_line import read_queries
from bot.works.story.config import RecallConfig
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.memory.memory import Memory, by_sentence
from bot.works.story.memory.pieces import paragraphs, texts_to_embed
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.vectors import encode
from storage.db import Database
from storage.stories import Spot, Stories
from storage.story_vectors import StoryVectors
from tests.works.story.tale import Line

SENTENCE, SENTENCES, PARAGRAPHS = 60, 4, 4
"""Characters of a sentence at least, sentences of a paragraph, paragraphs of a scene."""
NODES = 2_000


def figures(pieces: int = MANY) -> Iterator[Figure]:
    if not (episodes := play()):
        yield skipped(f"recall over {pieces:,} pieces of prose")
        return
    share_heap()  # as the program does
    lines = [loads(line)["text"] for log, _ in episodes for line in log.read_text("utf-8").splitlines()]
    queries = [query.query for _, file in episodes for query in read_queries(file)]
    story = _story(lines, pieces)
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(_searched(story, queries, Path(folder) / "sutradhar.db"))


def _story(lines: list[str], pieces: int) -> Story:
    """A story of about `pieces` pieces."""
    spoken, nodes, count = cycle(lines), [Line(1, "n1", "set", "n1", dumps({"premise": "A sea."}))], 0

    def sentence() -> str:
        words = ""
        while len(words) < SENTENCE:
            words += re.sub(r"[.?!…]+", ",", next(spoken)).rstrip(", ") + ", "
        return words.rstrip(", ") + "."

    def paragraph() -> str:
        return " ".join(sentence() for _ in range(SENTENCES))

    while count < pieces:
        act, seq = f"run-{count}/act", len(nodes) + 1
        scene = "\n\n".join(paragraph() for _ in range(PARAGRAPHS))
        said = {"mode": "act", "text": sentence(), "name": "Ana"}
        nodes.append(Line(seq, act, "act", act, dumps(said)))
        nodes.append(Line(seq + 1, f"run-{count}/scene", "scene", act, dumps({"text": scene, "at": seq})))
        count += 1 + len(paragraphs(scene))
    return fold([Part("main")], nodes)


def _stored(story: Story, file: Path, name: str) -> tuple[int, int]:
    """Store a vector for each sentence; returns the number of vectors, and their bytes."""
    chance, path, vectors = np.random.default_rng(3), story.path[: story.length], 0
    some = encode(chance.standard_normal((10_000, Made.dimensions)).astype(np.float32) / Made.dimensions**0.5)
    with sqlite3.connect(file) as connection:
        before = _bytes(connection)
        for first in range(0, len(path), NODES):
            rows = []
            for at in range(first, min(first + NODES, len(path))):
                for id, texts in texts_to_embed(story, path, at).items():
                    counts = list(map(len, texts))
                    own = some[chance.integers(0, len(some), sum(counts))].copy()
                    # No two are alike: the first numbers of each are its own.
                    own[:, 2:26] = chance.integers(0, 256, (len(own), 24), dtype=np.uint8)
                    run = id.rpartition("/")[0]
                    rows.append((SPACE, "story", id, name, run, "ana", bytes(counts) + own.tobytes()))
                    vectors += len(own)
            connection.executemany("insert into story_vectors values (?, ?, ?, ?, ?, ?, ?)", rows)
        return vectors, _bytes(connection) - before


def _bytes(connection: sqlite3.Connection) -> int:
    return int(
        connection.execute(
            "select page_count * page_size from pragma_page_count, pragma_page_size"
        ).fetchone()[0]
    )


async def _searched(story: Story, queries: list[str], file: Path) -> list[Figure]:
    database = await Database.open(f"sqlite+aiosqlite:///{file}")
    try:
        await Stories(database).create(Spot(SPACE, "terminal", "terminal", "t"), "story", "A story", "ana")
        vectors, size = await asyncio.to_thread(_stored, story, file, by_sentence(Made.name))
        stand_in = Made()
        memory = Memory(StoryVectors(database), stand_in, RecallConfig())  # type: ignore[arg-type]
        detect("This sentence loads the model that detects languages, before anything is measured.")

        async def grown(by: RecallConfig) -> float:
            before = resident()
            await memory.recall(SPACE, "story", "main", story, Query(queries[0]), 60, by=by)
            return resident() - before

        began, first = time.perf_counter(), resident()
        words = await grown(RecallConfig().without(["meaning"]))
        indexed, began = time.perf_counter() - began, time.perf_counter()
        meaning = await grown(RecallConfig())
        loaded = time.perf_counter() - began
        pieces = len(memory._stories[SPACE, "story"].pieces)
        spent = []
        for query in queries:
            start = time.process_time()
            await memory.recall(SPACE, "story", "main", story, Query(query), 60)
            spent.append((time.process_time() - start) * 1_000)
        both = resident() - first
    finally:
        await database.close()
    label, slow = f"recall over {pieces:,} pieces of prose, {vectors:,} vectors (by chance)", p95(spent)
    return [
        Figure(f"{label}, processor p50", f"{median(spent):.0f} ms"),
        Figure(f"{label}, processor p95", f"{slow:.0f} ms", "≤ 50 ms", "", slow <= 50),
        Figure("… memory after all searches", f"{both:.0f} MB", "≤ 60 MB", "", both <= 60),
        Figure("… of it taken by its words; its vectors, once loaded", f"{words:.0f} MB; {meaning:.0f} MB"),
        Figure("… its vectors on disk", f"{size / MEGABYTE:.0f} MB", "≤ 150 MB", "", size <= 150 * MEGABYTE),
        Figure("… once a process: its words indexed; its vectors loaded", f"{indexed:.1f} s; {loaded:.1f} s"),
        Figure("… five million additions on this machine", f"{_additions():.2f} s"),
    ]


def _additions() -> float:
    """Measure how fast the machine is now."""
    began, total = time.process_time(), 0
    for number in range(5_000_000):
        total += number
    return time.process_time() - began


if __name__ == "__main__":
    print(table(list(figures(*map(int, sys.argv[1:])))))
