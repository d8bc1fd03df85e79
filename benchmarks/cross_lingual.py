"""Measures Portuguese questions to English books: recall, refusals, and unrelated questions that get an
answer.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR SUTRADHAR_BENCH_CACHE=DIR python -m benchmarks.cross_lingual

Arguments are values of `[embedding] model`; by default "none" (words) and, with SUTRADHAR_MODELS, "e5-enpt", which the
default configuration uses between the two languages. Vectors are stored in SUTRADHAR_BENCH_CACHE: making them takes ten
minutes. The weights were fitted on the even questions, the threshold on all. A set "cross-en-pt-cfi" (English
questions to CFI's Portuguese book) is measured too if it is on this machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cached_vectors import CachedVectors
from benchmarks.retrieval import Corpus, ask, build, handed
from bot.retrieval.centred import centred
from bot.retrieval.embedding import embedder
from bot.retrieval.evaluate import Question, read_questions, score, summary
from bot.retrieval.ranking import Options

if TYPE_CHECKING:
    from benchmarks.cached_vectors import Vectors

SET = "cross-pt-en-cfi"
SHORT = Path(__file__).parent / "data" / "srd51.pt.jsonl"
"""Questions of our own, as people ask them, to the SRD; no ranking was chosen on them."""
SHORT_SET = "rules-en-srd51"
REVERSED = "cross-en-pt-cfi"
REVERSED_STRANGERS = ("hotpot-en", "rules-en-srd51")
STRANGERS = ("faquad-pt", "rules-pt-fate")
STRANGE_BOOKS = ("hotpot-en", "rules-en-srd51")
_SHOWN = ("recall@5", "recall@10", "recall@4k", "mrr", "refused", "p50_ms", "p95_ms")


def main(names: list[str]) -> int:
    """Print two tables: what is found, and how often questions get a confident answer from which book."""
    root = Path(os.environ.get("SUTRADHAR_BENCH_DATA", ""))
    if not os.environ.get("SUTRADHAR_BENCH_DATA") or not (root / SET / "questions.jsonl").is_file():
        print(f"{SET}: skipped (no such set in SUTRADHAR_BENCH_DATA)")
        return 0
    lines = [
        f"| embedder | questions | {' | '.join(_SHOWN)} |",
        "|" + "---|" * (len(_SHOWN) + 2),
    ]
    sure = ["| embedder | questions of | asked of | confident |", "|---|---|---|---|"]
    for name in names or ["none", *(["e5-enpt"] if os.environ.get("SUTRADHAR_MODELS") else [])]:
        model = _kept(name)
        corpus, books = build(root / SET, model), [build(root / book, None) for book in STRANGE_BOOKS]
        parts = {
            "CFI, even": (corpus, corpus.questions[::2]),
            "CFI, odd": (corpus, corpus.questions[1::2]),
            "CFI, all": (corpus, corpus.questions),
        }
        if (root / SHORT_SET / "questions.jsonl").is_file():
            short = build(root / SHORT_SET, model)
            parts["SRD, short"] = (short, read_questions(SHORT))
            books = [short, *(book for book in books if book.name != SHORT_SET)]
        reversed_book = None
        if (root / REVERSED / "questions.jsonl").is_file():
            reversed_book = build(root / REVERSED, model)
            parts |= {
                "to Portuguese, even": (reversed_book, reversed_book.questions[::2]),
                "to Portuguese, odd": (reversed_book, reversed_book.questions[1::2]),
            }
        for half, (asked, questions) in parts.items():
            figures = found_by(asked, questions, model)
            lines.append(f"| {name} | {half} | {' | '.join(f'{figures[figure]:.3f}' for figure in _SHOWN)} |")
        told = strangers(root, corpus, books, model)
        if reversed_book is not None:
            told += confident_of(root, REVERSED_STRANGERS, reversed_book, model)
        for asking, count, share, of in told:
            sure.append(f"| {name} | {asking} | {count} | {share:.3f} of {of} |")
    print("\n".join([*lines, "", *sure]))
    return 0


def found_by(corpus: Corpus, questions: list[Question], model: CachedVectors | None) -> dict[str, float]:
    """The figures of these questions on their own corpus."""
    options = Options(
        model_languages=model.languages if model else None, likeness=model.likeness if model else None
    )
    vectors = as_asked(model, [question.query for question in questions])
    rows = []
    for question, vector in zip(questions, vectors, strict=True):
        ranked, seconds = ask(corpus, question.query, vector, options)
        rows.append(score(question.gold, handed(corpus, ranked.hits, 0), seconds, confident=ranked.confident))
    return summary(rows)


def strangers(
    root: Path, corpus: Corpus, books: list[Corpus], model: CachedVectors | None
) -> list[tuple[str, str, float, int]]:
    """(questions of, asked of, share confident, how many): others' questions here, and ours elsewhere.

    Where a book has no vectors the words decide.
    """
    rows = confident_of(root, STRANGERS, corpus, model)
    for book in books:
        rows += confident_of(root, (SET, *STRANGERS), book, model)
    return rows


def confident_of(
    root: Path, names: Sequence[str], book: Corpus, model: CachedVectors | None
) -> list[tuple[str, str, float, int]]:
    """(questions of, asked of, share confident, how many) for these sets' first 300 questions to one book."""
    rows = []
    voter = model if book.vectors is not None else None
    options = Options(
        model_languages=voter.languages if voter else None,
        likeness=voter.likeness if voter else None,
    )
    for name in names:
        questions = read_questions(root / name / "questions.jsonl")
        queries = list(dict.fromkeys(question.query for question in questions))[:300]
        vectors = as_asked(voter, queries)
        sure = [
            ask(book, query, vector, options)[0].confident
            for query, vector in zip(queries, vectors, strict=True)
        ]
        rows.append((name, book.name, float(np.mean(sure)), len(sure)))
    return rows


def as_asked(model: CachedVectors | None, queries: list[str]) -> list[Vectors | None]:
    """The vectors of the questions, as a shelf uses them; None for each without a model."""
    return [centred(model, vector) for vector in model.queries(queries)] if model else [None] * len(queries)


def _kept(name: str) -> CachedVectors | None:
    models, cache = os.environ.get("SUTRADHAR_MODELS"), os.environ.get("SUTRADHAR_BENCH_CACHE")
    local = embedder(name, Path(models or "."))
    return CachedVectors(local, Path(cache) if cache else None) if local else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
