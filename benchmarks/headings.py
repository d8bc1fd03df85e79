"""Removes headings from books and asks for them: measures what is found and refused if no title helps.

    SUTRADHAR_MODELS=DIR SUTRADHAR_BENCH_CACHE=DIR python -m benchmarks.headings BOOK.md …

Each file is one book. Up to 150 headings that only one section has are asked as bare phrases; the gold is the start of
the text below them. Without SUTRADHAR_MODELS the search is by words alone.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.retrieval import ask, asked, build, kept_model, passages
from bot.readers import read
from bot.retrieval.chunk import body_start
from bot.retrieval.evaluate import bare, score
from bot.retrieval.ranking import Options
from bot.retrieval.titles import normal

MOST = 150
QUOTE = 110
"""Characters of a section that have to be found."""
_LEAST = 60  # letters and digits of a section that says something


def without_headings(book: Path, folder: Path) -> None:
    """Write a data set into the folder: the book without the headings in the questions, and the questions."""
    document = read(book.name, book.read_bytes())
    text = document.text
    times = Counter(normal(section.title) for section in document.sections)
    questions, cuts = list[dict[str, object]](), list[tuple[int, int]]()
    for section in document.sections:
        start = body_start(text, section)
        quote = text[start : section.end].strip()[:QUOTE]
        if section.title and times[normal(section.title)] == 1 and len(bare(quote)) >= _LEAST:
            gold = [{"source": book.name, "quote": quote}]
            questions.append({"id": str(len(questions)), "query": section.title, "gold": gold})
            cuts.append((section.start, start))
    chosen = sorted(random.Random(5).sample(range(len(questions)), min(MOST, len(questions))))
    left = text
    for at in reversed(chosen):
        left = left[: cuts[at][0]] + left[cuts[at][1] :]
    (folder / "corpus").mkdir(parents=True)
    (folder / "corpus" / book.name).write_text(left, encoding="utf-8")
    lines = [json.dumps(questions[at]) for at in chosen]
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")


def main(books: list[str]) -> int:
    """Print the table."""
    model = kept_model()
    options = Options(model_languages=model.languages if model else None)
    print("| book | n | among the first five | refused | … of them guessed | refused of those found |")
    print("|---|---|---|---|---|---|")
    for book in map(Path, books):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / book.stem
            without_headings(book, folder)
            corpus = build(folder, model)
        vectors = asked([corpus], model)
        told = []
        for question in corpus.questions:
            ranked, _ = ask(corpus, question.query, vectors.get(question.query), options)
            found = score(question.gold, passages(corpus, ranked)).recall_5 > 0
            told.append((found, not ranked.confident, ranked.doubtful))
        count = len(told)
        shares = [sum(one[at] for one in told) / count for at in range(3)]
        of_found = [refused for found, refused, _ in told if found]
        cells = [f"{share:.3f}" for share in (*shares, sum(of_found) / (len(of_found) or 1))]
        print(f"| {book.stem} | {count} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
