"""Measures passage-finding over the sets in SUTRADHAR_BENCH_DATA: recall, confidence across sets, time.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR python -m benchmarks.retrieval [SET ...]

Without SUTRADHAR_MODELS the search is by words alone. With SUTRADHAR_BENCH_CACHE=DIR vectors are kept there between
runs; "embed CPU s" is then that of the texts that were not there. Knows no storage: documents go straight onto a Shelf.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.kept_vectors import KeptVectors
from bot.readers import Document, read
from bot.retrieval.chunk import Chunk, chunks
from bot.retrieval.embed import embedder
from bot.retrieval.evaluate import Passage, Question, bare, read_questions, score, summary
from bot.retrieval.lexical import Segment
from bot.retrieval.shelf import Options, Ranked, Shelf, ShelvedDocument

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETS = ("rules-en-srd51", "rules-en-srd51-bare", "rules-pt-fate", "faquad-pt", "hotpot-en")
_NEAREST = 50


@dataclass
class Corpus:
    """One set on a shelf, with what a library would keep in its database."""

    name: str
    questions: list[Question]
    shelf: Shelf
    texts: dict[str, str]
    ids: list[str]
    vectors: NDArray[np.float32] | None
    lexical_s: float
    embedding_cpu_s: float


def build(folder: Path, model: KeptVectors | None) -> Corpus:
    """A set's corpus, read, cut, indexed and, where a model speaks its language, embedded."""
    began = time.perf_counter()
    shelved: list[ShelvedDocument] = []
    cut: list[tuple[str, Document, list[Chunk]]] = []
    for file in sorted((folder / "corpus").iterdir()):
        document = read(file.name, file.read_bytes())
        made = chunks(document, child_chars=800, parent_chars=2000)
        sections = [(section.title, section.path) for section in document.sections]
        places = [chunk.section for chunk in made]
        segment = Segment.build(made, document.language)
        shelved.append(
            ShelvedDocument(file.name, document.title, document.language, sections, places, segment)
        )
        cut.append((file.name, document, made))
    shelf = Shelf(shelved)
    lexical = time.perf_counter() - began
    texts = {f"{name}:{chunk.ordinal}": chunk.text for name, _, made in cut for chunk in made}
    vectors, ids = None, []
    cpu = time.process_time()
    if model is not None:
        mine = [
            (f"{name}:{chunk.ordinal}", f"{chunk.breadcrumb}\n{chunk.text}")
            for name, document, made in cut
            if model.languages is None or document.language in model.languages
            for chunk in made
        ]
        if mine:
            ids = [chunk_id for chunk_id, _ in mine]
            vectors = model.passages([text for _, text in mine])
    spent = time.process_time() - cpu
    questions = read_questions(folder / "questions.jsonl")
    return Corpus(folder.name, questions, shelf, texts, ids, vectors, lexical, spent)


def ask(
    corpus: Corpus, query: str, vector: NDArray[np.float32] | None, options: Options
) -> tuple[Ranked, float]:
    """What the shelf ranks, and the seconds its own part took."""
    dense = None
    if corpus.vectors is not None and vector is not None:
        cosines = corpus.vectors @ vector
        dense = [(corpus.ids[at], float(cosines[at])) for at in np.argsort(-cosines)[:_NEAREST]]
    began = time.perf_counter()
    ranked = corpus.shelf.search(query, dense, options)
    return ranked, time.perf_counter() - began


def passages(corpus: Corpus, ranked: Ranked) -> list[Passage]:
    return [Passage(hit.document_id, corpus.texts[hit.chunk_id]) for hit in ranked.hits]


def main(names: list[str]) -> int:
    """Prints two tables: each set on its own corpus, and each set's questions put to the others'."""
    root = Path(os.environ.get("SUTRADHAR_BENCH_DATA", ""))
    models = os.environ.get("SUTRADHAR_MODELS")
    cache = os.environ.get("SUTRADHAR_BENCH_CACHE")
    made = embedder("bge-small", Path(models)) if models else None
    model = KeptVectors(made, Path(cache) if cache else None) if made else None
    corpora: list[Corpus] = []
    for name in names or SETS:
        if not os.environ.get("SUTRADHAR_BENCH_DATA") or not (root / name / "questions.jsonl").is_file():
            print(f"{name}: skipped (no such set in SUTRADHAR_BENCH_DATA)")
            continue
        corpora.append(build(root / name, model))
    queries = sorted({question.query for corpus in corpora for question in corpus.questions})
    vectors = dict(zip(queries, model.queries(queries), strict=True)) if model and queries else {}
    spoken = model.languages if model else None
    print(
        "| set | look-up | recall@5 | recall@10 | recall@4k | mrr | chars@5 | refused | p50 ms | p95 ms "
        "| lexical s | embed CPU s |"
    )
    print("|" + "---|" * 12)
    for corpus in corpora:
        for lookup in (True, False):
            options = Options(model_languages=spoken, lookup=lookup)
            rows = []
            for question in corpus.questions:
                ranked, seconds = ask(corpus, question.query, vectors.get(question.query), options)
                sure = ranked.confident
                rows.append(score(question.gold, passages(corpus, ranked), seconds, confident=sure))
            cells = [
                f"{value:.3f}" if value <= 1 else f"{value:.1f}"
                for value in list(summary(rows).values())[:-1]
            ]
            extra = f"{corpus.lexical_s:.2f} | {corpus.embedding_cpu_s:.0f}"
            print(
                f"| {corpus.name} | {'yes' if lookup else 'no'} | {' | '.join(cells)} | {extra} |", flush=True
            )
    across(corpora, vectors, Options(model_languages=spoken))
    return 0


def across(corpora: list[Corpus], vectors: dict[str, NDArray[np.float32]], options: Options) -> None:
    """Prints how often questions find confidence in each corpus; golds truly there are left out."""
    print("\n| questions of | " + " | ".join(f"asked of {corpus.name}" for corpus in corpora) + " |")
    print("|---|" + "---|" * len(corpora))
    for asking in corpora:
        cells = []
        for corpus in corpora:
            whole = bare(" ".join(corpus.texts.values())) if asking is not corpus else ""
            put = [
                question.query
                for question in asking.questions
                if asking is corpus or not any(bare(gold.quote) in whole for gold in question.gold)
            ]
            sure = [ask(corpus, query, vectors.get(query), options)[0].confident for query in put]
            cells.append(f"{np.mean(sure):.3f} of {len(sure)}" if sure else "–")
        print(f"| {asking.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
