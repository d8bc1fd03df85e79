"""The figures: a passage counts only from its source, and only within what is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.events import Sorry
from bot.retrieval.evaluate import Gold, Passage, Searched, evaluate, read_questions, score


def test_a_quote_matches_letters_and_digits_from_its_own_source() -> None:
    gold = [Gold("a.md", "Two  words!")]
    assert (
        score(gold, [Passage("b.md", "two words"), Passage("a.md", "so two-WORDS.")]).reciprocal_rank == 0.5
    )
    assert score(gold, [Passage("b.md", "two words")]).recall_10 == 0


def test_size_buys_no_recall() -> None:
    one = score([Gold("a", "needle")], [Passage("a", "x " * 1999 + "needle")])
    assert (one.recall_5, one.recall_4k) == (1, 0)


async def test_a_file_of_questions_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(
        '{"id": "1", "query": "q", "gold": [{"source": "a", "quote": "x"}]}\n\n', encoding="utf-8"
    )

    async def search(query: str) -> Searched:
        return Searched([Passage("a", f"{query} x")], confident=False)

    figures = await evaluate(read_questions(file), search)
    assert (figures["recall@5"], figures["recall@4k"], figures["mrr"], figures["n"]) == (1, 1, 1, 1)
    assert figures["refused"] == 1


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "q"}\n', encoding="utf-8")
    with pytest.raises(Sorry) as refused:
        read_questions(file)
    assert refused.value.values["line"] == 1
