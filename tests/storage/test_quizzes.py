"""Answers to quizzes: each learner's first answer counts, and nothing is stored after a quiz has ended."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from storage.db import Database
from storage.quizzes import QuizQuestion, Quizzes, SubjectScore

NOW = datetime(2026, 2, 3, tzinfo=UTC)
QUESTION = QuizQuestion(0, "Knots", "1. The Bowline", "knots.txt", "", "What?", ["a", "b"], 1, "a quote")


def remembered(memory: str, right: bool) -> tuple[str, datetime]:
    return memory + "+-"[not right], NOW + timedelta(days=len(memory))


async def test_only_the_first_answer_counts_and_its_run_may_repeat_it(db: Database) -> None:
    quizzes = Quizzes(db)
    await quizzes.ask("s", "quiz", "c", "t", [QUESTION], NOW)
    await quizzes.ask("s", "quiz", "c", "t", [replace(QUESTION, text="Another?")], NOW)
    assert [(question.text, question.first) for question in await quizzes.questions("s", "quiz")] == [
        ("What?", "quiz:0")
    ]

    async def answer(run: str, chosen: int, author: str = "ana", quiz: str = "quiz") -> bool | None:
        return await quizzes.answer("s", quiz, 0, author, run, chosen, remembered, NOW)

    assert await answer("r1", 0) is True
    assert await answer("r1", 0) is True
    assert await answer("r2", 1) is False
    assert [(card.run_id, card.right) for card in await quizzes.cards("s", "quiz", "ana")] == [("r1", False)]
    # Two presses at the same moment.
    counted = await asyncio.gather(answer("r3", 1, "bia"), answer("r4", 0, "bia"))
    assert sorted(map(str, counted)) == ["False", "True"]

    assert await quizzes.close("s", "quiz", "end")
    assert await quizzes.close("s", "quiz", "end")
    assert not await quizzes.close("s", "quiz", "again")
    assert await answer("r5", 1, "caio") is None
    assert await answer("r6", 1) is None
    assert await answer("r1", 0) is True
    assert await quizzes.learners("s", "quiz") == 2


async def test_a_question_is_remembered_from_quiz_to_quiz_and_due_once(db: Database) -> None:
    quizzes = Quizzes(db)
    await quizzes.ask("s", "one", "c", "t", [QUESTION], NOW)
    await quizzes.answer("s", "one", 0, "ana", "r1", 0, remembered, NOW)
    (due,) = await quizzes.due("s", "ana", "Knots", NOW, 9)
    await quizzes.ask("s", "two", "c", "t", [due], NOW + timedelta(hours=1))
    await quizzes.ask("s", "three", "c", "another", [QUESTION], NOW + timedelta(hours=1))
    assert await quizzes.latest("s", "c") == ["two", "three", "one"]
    assert await quizzes.latest("s", "c", "t") == ["two", "one"]
    await quizzes.answer("s", "two", 0, "ana", "r2", 1, remembered, NOW + timedelta(hours=1))
    # The second time continued from the first one's memory.
    assert await quizzes.due("s", "ana", "Knots", NOW + timedelta(hours=23), 9) == []
    assert [
        question.first for question in await quizzes.due("s", "ana", "Knots", NOW + timedelta(days=1), 9)
    ] == ["one:0"]
    assert await quizzes.score("s", "ana", NOW + timedelta(days=1)) == [SubjectScore("Knots", 2, 1, 1)]
    for space, author in (("other", "ana"), ("s", "bia")):
        assert await quizzes.score(space, author, NOW) == []
        assert await quizzes.due(space, author, "Knots", NOW + timedelta(days=9), 9) == []
    await quizzes.forget("s", "Knots")
    assert await quizzes.questions("s", "one") == []
    assert await quizzes.score("s", "ana", NOW) == []
