"""Measures options of the passage search, each on and off: rerankers, variety and passage sizes.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR python -m benchmarks.variants [rerank|mmr|sizes ...] [--set SET ...]

Prints one Markdown table: figures, gains with their 95 % interval by paired bootstrap (2,000 samples), and the
extra cost of a question. SUTRADHAR_BENCH_CACHE=DIR stores vectors and scores; costs then count new ones only. Passage
sizes other than the default need their own vectors, which take hours of one core the first time.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cached_scores import CachedScores, CachedTokens
from benchmarks.cached_vectors import CachedVectors
from benchmarks.retrieval import SETS, Corpus, ask, build, handed
from bot.retrieval.embedding import embedder
from bot.retrieval.evaluate import score
from bot.retrieval.expansion import NAME_CHARS
from bot.retrieval.language import may_vote
from bot.retrieval.ranking import Hit, Options, Ranked, varied
from bot.retrieval.rerank import CrossEncoder, second_look

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

K = 12
POOL = 70
SAMPLES = 2000
SIZES = ((200, 200), (200, 800), (200, 2000), (400, 400), (400, 1200), (800, 800), (800, 2000))
WEIGHTS = ((10, None), (20, None), (30, None), (20, 0.1), (20, 0.25), (20, 0.5), (20, 1.0), (20, 1000.0))
Order = Callable[[str, Ranked], list[Hit]]


def plain(question: str, ranked: Ranked) -> list[Hit]:
    return list(ranked.hits)


def reranked(corpus: Corpus, model: CachedScores, top: int, weight: float | None) -> Order:
    """Like `bot.retrieval.rerank.Reranking`, without a time limit."""

    def order(question: str, ranked: Ranked) -> list[Hit]:
        hits = list(ranked.hits)
        if ranked.evidence.title:
            return hits
        front = [hit for hit in hits if hit.titled]
        rest = [hit for hit in hits if not hit.titled]
        pool = rest[:top]
        read = [
            at
            for at, hit in enumerate(pool)
            if hit.by != "bridge"
            and may_vote(model.languages, ranked.language, corpus.shelf.language_of(hit.document_id) or "")
        ]
        scores = model.scores(question, [corpus.headed[pool[at].chunk_id] for at in read]) if read else []
        looked = second_look(pool, dict(zip(read, scores, strict=True)), name=ranked.nameless, weight=weight)
        return [*front, *(pool[at] for at in looked), *rest[len(pool) :]]

    return order


def various(corpus: Corpus, trade: float) -> Order:
    def order(question: str, ranked: Ranked) -> list[Hit]:
        return varied(ranked.hits[: 3 * K], corpus.shelf.terms_of, K, trade)

    return order


def measured(corpus: Corpus, ranked: Sequence[Ranked], order: Order, parent_chars: int = 0) -> Floats:
    """(questions, 4): recall@5, recall@10, recall@4k, reciprocal rank."""
    rows = []
    for question, ranking in zip(corpus.questions, ranked, strict=True):
        width = max(parent_chars, NAME_CHARS if ranking.nameless else 0)
        scored = score(question.gold, handed(corpus, order(question.query, ranking)[:K], width))
        rows.append(
            (
                scored.recall_5,
                scored.recall_10,
                scored.recall_4k,
                scored.reciprocal_rank,
            )
        )
    return np.array(rows)


def line(label: str, corpus: str, values: Floats, base: Floats, cost: str = "") -> str:
    """A row of the table; an interval without 0 is bold."""
    cells = [f"{value:.3f}" for value in values.mean(axis=0)]
    chosen = np.random.default_rng(0).integers(0, len(values), (SAMPLES, len(values)))
    for at in range(4):
        gain = values[:, at] - base[:, at]
        low, high = np.percentile(gain[chosen].mean(axis=1), [2.5, 97.5])
        text = f"{gain.mean():+.3f} ({low:+.3f} to {high:+.3f})"
        cells.append("" if values is base else f"**{text}**" if low > 0 or high < 0 else text)
    return f"| {corpus} | {label} | {' | '.join(cells)} | {cost} |"


class Bench:
    """Corpora built once per size, and the models over them."""

    def __init__(self, sets: Sequence[str]) -> None:
        models = Path(os.environ["SUTRADHAR_MODELS"])
        cache = os.environ.get("SUTRADHAR_BENCH_CACHE")
        folder = Path(cache) if cache else None
        embedding_model = embedder("bge-small", models)
        assert embedding_model is not None
        self.vectors = CachedVectors(embedding_model, folder)
        self.rerankers = [
            CachedScores(reranker, folder)
            for reranker in (CrossEncoder(models / "cross-encoder"), CachedTokens(models / "colbert"))
        ]
        root = Path(os.environ["SUTRADHAR_BENCH_DATA"])
        self.folders = [root / name for name in sets if (root / name / "questions.jsonl").is_file()]

    def ranked(
        self, folder: Path, child_chars: int = 800, *, lookup: bool = True
    ) -> tuple[Corpus, list[Ranked]]:
        corpus = build(folder, self.vectors, child_chars)
        queries = [question.query for question in corpus.questions]
        options = Options(k=POOL, lookup=lookup, model_languages=self.vectors.languages)
        pairs = zip(queries, self.vectors.queries(queries), strict=True)
        return corpus, [ask(corpus, query, vector, options)[0] for query, vector in pairs]

    def rerank(self) -> Iterator[str]:
        for folder in self.folders:
            for lookup in (True, False) if folder.name == "rules-en-srd51" else (True,):
                corpus, ranked = self.ranked(folder, lookup=lookup)
                name = folder.name if lookup else f"{folder.name}, no look-up"
                base = measured(corpus, ranked, plain)
                yield line("plain order", name, base, base)
                for model in self.rerankers:
                    for top, weight in WEIGHTS:
                        before, spent = model.made, model.seconds
                        values = measured(corpus, ranked, reranked(corpus, model, top, weight))
                        fresh = model.made - before
                        cost = f"{1000 * (model.seconds - spent) / fresh:.0f} ms a pair" if fresh else ""
                        model.save()
                        how = "default weights" if weight is None else f"weight {weight:g}"
                        yield line(f"{model.name}, {top} candidates, {how}", name, values, base, cost)

    def mmr(self) -> Iterator[str]:
        for folder in self.folders:
            corpus, ranked = self.ranked(folder)
            base = measured(corpus, ranked, plain)
            yield line("plain order (λ 1)", folder.name, base, base)
            for trade in (0.9, 0.7, 0.5):
                began = time.perf_counter()
                order = various(corpus, trade)
                values = measured(corpus, ranked, order)
                spent = 1000 * (time.perf_counter() - began) / len(ranked)
                yield line(f"MMR, λ {trade}", folder.name, values, base, f"≤ {spent:.1f} ms")

    def sizes(self) -> Iterator[str]:
        for folder in self.folders:
            corpus, ranked = self.ranked(folder)
            base = measured(corpus, ranked, plain)
            for child, parent in SIZES:
                corpus, ranked = self.ranked(folder, child)
                values = measured(corpus, ranked, plain, parent)
                chunks = f"{len(corpus.texts)} passages"
                yield line(f"found {child}, handed on {parent}", folder.name, values, base, chunks)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.variants")
    parser.add_argument("parts", nargs="*", choices=("rerank", "mmr", "sizes"), default=[])
    parser.add_argument("--set", action="append", dest="sets", choices=SETS)
    chosen = parser.parse_args(arguments)
    missing = [name for name in ("SUTRADHAR_BENCH_DATA", "SUTRADHAR_MODELS") if not os.environ.get(name)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not set")
        return 0
    bench = Bench(chosen.sets or SETS)
    print(
        "| set | option | recall@5 | recall@10 | recall@4k | MRR | gain @5 | gain @10 | gain @4k | gain MRR | cost |\n"
        "|" + "---|" * 11
    )
    for part in chosen.parts or ("rerank", "mmr", "sizes"):
        for row in getattr(bench, part)():
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
