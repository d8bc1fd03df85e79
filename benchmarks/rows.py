"""Measures questions about rows of tables: prices ("How much does a dagger cost?") and other cells of two rulebooks.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR python -m benchmarks.rows

The questions are made from the books' own tables. Prints a table for the search by words, and with SUTRADHAR_MODELS
for the default configuration (bge-small); SUTRADHAR_BENCH_CACHE=DIR stores the vectors.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cached_vectors import CachedVectors
from benchmarks.figures import data
from benchmarks.retrieval import Corpus, ask, build, handed, kept_model
from bot.retrieval.evaluate import Gold, Question, score
from bot.retrieval.ranking import Options

SETS = ("rules-en-srd51", "cross-pt-en-cfi")
CELLS = 170
_PRICE = re.compile(r"[\d,/.]+\s*[gscp]p", re.IGNORECASE)
_COLUMN = re.compile(r"[A-Z][A-Za-z ]{2,20}")
_MARKS = re.compile(r"[*_\\]|\s*\(.*?\)")


def rows(text: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """(line, cells, column headings) for each row of the pipe tables."""
    lines = text.split("\n")
    head: list[str] = []
    for at, line in enumerate(lines):
        if not line.lstrip().startswith("|"):
            head = []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if set(line) <= set("|-: "):
            head = [_MARKS.sub("", cell) for cell in lines[at - 1].strip().strip("|").split("|")]
            head = [cell.strip() for cell in head]
        elif head:
            yield line.strip(), cells, head


def questions(folder: Path) -> tuple[list[Question], list[Question]]:
    """Questions about every price, and about CELLS other cells, drawn at random; each thing and column once."""
    prices: dict[str, Question] = {}
    others: dict[str, Question] = {}
    for file in sorted((folder / "corpus").iterdir()):
        for line, cells, head in rows(file.read_text(encoding="utf-8")):
            name = _MARKS.sub("", cells[0]).strip()
            if not re.search(r"[A-Za-z]{3}", name) or re.search(r"\d", name) or len(name) > 40:
                continue
            thing = f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name[0].lower()}{name[1:]}"
            gold = (Gold(file.name, line),)
            if any(_PRICE.fullmatch(_MARKS.sub("", cell)) for cell in cells[1:]):
                query = f"How much does {thing} cost?"
                prices.setdefault(query, Question(query, query, gold))
            for column, cell in zip(head[1:], cells[1:], strict=False):
                if _COLUMN.fullmatch(column) and cell.strip("—–- ") and not _PRICE.fullmatch(cell):
                    query = f"What is the {column.lower()} of {thing}?"
                    others.setdefault(query, Question(query, query, gold))
    drawn = random.Random(5).sample(list(others.values()), min(CELLS, len(others)))
    return list(prices.values()), drawn


def figures(corpus: Corpus, asked: list[Question], model: CachedVectors | None) -> str:
    """Recall at 3 and 5, MRR, refused and guessed, as cells of a table."""
    options = Options(model_languages=model.languages if model else None)
    vectors = model.queries([question.query for question in asked]) if model else [None] * len(asked)
    found, refused, guessed = [], 0, 0
    for question, vector in zip(asked, vectors, strict=True):
        ranked, _ = ask(corpus, question.query, vector, options)
        found.append(score(question.gold, handed(corpus, ranked.hits, 0)))
        refused += not ranked.confident
        guessed += ranked.doubtful
    first = [row.ranks[0] or len(corpus.ids) + 99 for row in found]
    count = len(asked) or 1
    shares = (
        sum(rank <= 3 for rank in first) / count,
        sum(rank <= 5 for rank in first) / count,
        sum(row.reciprocal_rank for row in found) / count,
        refused / count,
        guessed / count,
    )
    return " | ".join(f"{share:.3f}" for share in shares)


def main() -> int:
    """Print the table."""
    model = kept_model()
    print("| set | n | configuration | recall@3 | recall@5 | MRR | refused | … of them guessed |")
    print("|---|---|---|---|---|---|---|---|")
    for name in SETS:
        folder = data(name)
        if folder is None:
            print(f"{name}: skipped (no such set in SUTRADHAR_BENCH_DATA)")
            continue
        for configured in (None, model) if model else (None,):
            corpus = build(folder, configured)
            for kind, asked in zip(("prices", "cells"), questions(folder), strict=True):
                configuration = "default (bge-small)" if configured else "words"
                shown = figures(corpus, asked, configured)
                print(f"| {kind}, {name} | {len(asked)} | {configuration} | {shown} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
