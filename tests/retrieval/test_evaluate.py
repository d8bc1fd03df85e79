"""The figures of `evaluate`: a passage counts only if it is from the right source and within the first ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.adapters.terminal.one_shot import report_lines
from bot.events import UserError
from bot.retrieval.evaluate import Gold, Passage, Question, SearchOutcome, evaluate, read_questions, score
from bot.words import words
from bot.works.story.command_line import read_queries


def test_a_quote_matches_letters_and_digits_from_its_own_source() -> None:
    gold = [Gold("a.md", "Two  words!")]
    assert (
        score(gold, [Passage("b.md", "two words"), Passage("a.md", "so two-WORDS.")]).reciprocal_rank == 0.5
    )
    assert score(gold, [Passage("b.md", "two words")]).recall_10 == 0


def test_recall_4k_leaves_out_words_after_4000_characters() -> None:
    one = score([Gold("a", "needle")], [Passage("a", "x " * 1999 + "needle")])
    assert (one.recall_5, one.recall_4k) == (1, 0)


async def test_a_file_of_questions_is_evaluated(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(
        '{"id": "1", "query": "q", "gold": [{"source": "a", "quote": "x"}]}\n\n', encoding="utf-8"
    )

    async def search(question: Question) -> SearchOutcome:
        return SearchOutcome([Passage("a", f"{question.query} x")], confident=False)

    report = await evaluate(read_questions(file), search)
    figures = report.figures
    assert (figures["recall@5"], figures["recall@4k"], figures["mrr"], figures["n"]) == (1, 1, 1, 1)
    assert figures["refused"] == 1
    assert [(failure.id, failure.refused, failure.ranks) for failure in report.failures] == [
        ("1", True, (1,))
    ]


async def test_failed_questions_are_named_and_unrelated_ones_counted_separately(tmp_path: Path) -> None:
    gold = '"gold": [{"source": "a", "quote": "x"}]'
    lines = [
        f'{{"id": "{name}", "query": "{name}", {gold}}}' for name in ("found", "late", "lost", "half", "shy")
    ]
    lines += [f'{{"id": "{name}", "query": "{name}", "gold": []}}' for name in ("silent", "loud")]
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    right, wrong = Passage("a", "x"), Passage("a", "y")
    found = {"found": [right], "late": [wrong] * 6 + [right], "lost": [wrong], "half": [right]}
    found["shy"] = [right]

    async def search(question: Question) -> SearchOutcome:
        sure, guessed = question.query not in ("shy", "half", "silent"), question.query in ("half", "silent")
        return SearchOutcome(found.get(question.query, [wrong]), sure, doubtful=guessed)

    report = await evaluate(read_questions(file), search)
    assert [failure.id for failure in report.failures] == ["loud", "shy", "half", "late", "lost"]
    assert report.figures["n"] == 5  # strangers are none of them
    assert report.figures["recall@5"] == 0.6
    assert report.figures["refused"] == pytest.approx(0.2)
    assert (report.figures["strangers"], report.figures["strangers_answered"]) == (2, 0.5)
    assert (report.figures["guessed"], report.figures["strangers_guessed"]) == (0.2, 0.5)

    lines = report_lines(report, words("en"), None)
    assert [line.strip() for line in lines[-10:]] == [
        part
        for name, why in [
            ("loud", "answered, although the books do not answer it"),
            ("shy", "refused, although its passages were found (places: 1)"),
            ("half", "shown as a guess only (places: 1)"),
            ("late", "not all of its passages are in the first five (places: 7)"),
            ("lost", "its passages were not found"),
        ]
        for part in (f"{name}  {name}", why)
    ]
    assert report_lines(report, words("en"), 1)[-1] == "… and 4 more; --all names every one."


def test_a_missing_file_and_an_unreadable_one_are_different_errors(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    for read in (read_questions, read_queries):
        with pytest.raises(UserError, match=r"eval\.no_file"):
            read(tmp_path / "no.jsonl")
        file.write_bytes(b"\xff\n")
        with pytest.raises(UserError, match=r"eval\.unreadable"):
            read(file)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "q"}\n', encoding="utf-8")
    with pytest.raises(UserError) as refused:
        read_questions(file)
    assert refused.value.values["line"] == 1
