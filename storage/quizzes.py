"""Quizzes: which questions were asked, who has answered them how, and when each is due for a learner again.

Knows nothing of how questions are made or when they should come back: `memory` is the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from storage.db import Database

if TYPE_CHECKING:
    from sqlalchemy import Row

LATEST = 5
"""The newest quizzes of a channel among which a typed answer is placed."""


@dataclass(frozen=True, slots=True)
class QuizQuestion:
    """One question of a quiz. `quote` stands word for word in the `source`; `link` is its lesson's address.

    `subject` is what it is about, such as a course; `answer` is the index of the right one of the `options`. `first`
    names its first asking, "" for this one. `closed_by` is the run that has ended the quiz, "" while it is open.
    """

    n: int
    subject: str
    lesson: str
    source: str
    link: str
    text: str
    options: list[str]
    answer: int
    quote: str
    first: str = ""
    closed_by: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """What a learner has answered to a question of a quiz, in the run `run_id`."""

    n: int
    run_id: str
    chosen: int
    right: bool


@dataclass(frozen=True, slots=True)
class SubjectScore:
    """A learner's answers to a subject's questions, how many were right, and how many questions are due again."""

    subject: str
    answered: int
    right: int
    due: int


class Quizzes:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def ask(
        self,
        space: str,
        quiz: str,
        channel: str,
        thread: str,
        questions: Sequence[QuizQuestion],
        now: datetime,
    ) -> None:
        """Keep a quiz's questions, once: kept again they stay as they were."""
        from storage.tables import quiz_questions as t

        rows = [
            {
                "space": space,
                "run_id": quiz,
                "n": question.n,
                "first": question.first or f"{quiz}:{question.n}",
                "channel": channel,
                "thread": thread,
                "subject": question.subject,
                "lesson": question.lesson,
                "source": question.source,
                "link": question.link,
                "text": question.text,
                "options": json.dumps(question.options, ensure_ascii=False),
                "answer": question.answer,
                "quote": question.quote,
                "created_at": now,
            }
            for question in questions
        ]
        await self._db.run(self._db.insert(t).values(rows).on_conflict_do_nothing())

    async def questions(self, space: str, quiz: str) -> list[QuizQuestion]:
        """A quiz's questions in order; none where there is no such quiz in the space."""
        from storage.tables import quiz_questions as t

        query = t.select().where(t.c.space == space, t.c.run_id == quiz).order_by(t.c.n)
        return [_question(row) for row in await self._db.execute(query)]

    async def latest(self, space: str, channel: str, thread: str | None = None) -> list[str]:
        """The newest quizzes of a channel, or of one of its threads, the newest first."""
        from sqlalchemy import func, select

        from storage.tables import quiz_questions as t

        in_channel = (t.c.space == space, t.c.channel == channel)
        query = (
            select(t.c.run_id)
            .where(*in_channel if thread is None else (*in_channel, t.c.thread == thread))
            .group_by(t.c.run_id)
            .order_by(func.max(t.c.created_at).desc(), t.c.run_id.desc())
            .limit(LATEST)
        )
        return await self._db.column(query)

    async def close(self, space: str, quiz: str, run: str) -> bool:
        """End a quiz for everybody; returns whether this run ended it."""
        from sqlalchemy import select

        from storage.tables import quiz_questions as t

        this_quiz = (t.c.space == space, t.c.run_id == quiz)
        async with self._db.write() as connection:
            await connection.execute(t.update().where(*this_quiz, t.c.closed_by == "").values(closed_by=run))
            return await connection.scalar(select(t.c.closed_by).where(*this_quiz).limit(1)) == run

    async def answer(
        self,
        space: str,
        quiz: str,
        n: int,
        author: str,
        run: str,
        chosen: int,
        remember: Callable[[str, bool], tuple[str, datetime]],
        now: datetime,
    ) -> bool | None:
        """Keep a learner's answer: whether it is the one that counts, their first; None where the quiz has ended.

        Asked again by the same run, it says the same. `remember` gives what is remembered next and when the question is
        due, from what was remembered before ("" for nothing) and whether the answer is right.
        """
        from sqlalchemy import select

        from storage.tables import quiz_cards as c
        from storage.tables import quiz_questions as q

        by_author = (c.c.space == space, c.c.author_id == author)
        async with self._db.write(alone=f"quiz:{space}:{author}") as connection:
            earlier_run = select(c.c.run_id).where(*by_author, c.c.quiz == quiz, c.c.n == n)
            if (before := await connection.scalar(earlier_run)) == run:
                return True
            asked_question = (
                q.select().where(q.c.space == space, q.c.run_id == quiz, q.c.n == n).with_for_update()
            )
            question = (await connection.execute(asked_question)).one()
            if question.closed_by:
                return None
            if before is not None:
                return False
            same_question = (*by_author, c.c.first == question.first)
            last = select(c.c.memory).where(*same_question).order_by(c.c.answered_at.desc()).limit(1)
            right = chosen == question.answer
            memory, due = remember(await connection.scalar(last) or "", right)
            await connection.execute(c.update().where(*same_question).values(due=None))
            row = {"space": space, "quiz": quiz, "n": n, "author_id": author, "run_id": run}
            row |= {"first": question.first, "subject": question.subject, "chosen": chosen, "right": right}
            await connection.execute(c.insert().values(**row, memory=memory, due=due, answered_at=now))
            return True

    async def cards(self, space: str, quiz: str, author: str | None = None) -> list[Card]:
        """What was answered in a quiz, by everybody or by one learner."""
        from sqlalchemy import select

        from storage.tables import quiz_cards as c

        query = select(c.c.n, c.c.run_id, c.c.chosen, c.c.right).where(c.c.space == space, c.c.quiz == quiz)
        if author is not None:
            query = query.where(c.c.author_id == author)
        return await self._db.rows(query.order_by(c.c.n), Card)

    async def learners(self, space: str, quiz: str) -> int:
        """How many people have answered something."""
        from sqlalchemy import func, select

        from storage.tables import quiz_cards as c

        counted = select(func.count(c.c.author_id.distinct())).where(c.c.space == space, c.c.quiz == quiz)
        return int((await self._db.column(counted))[0])

    async def due(
        self, space: str, author: str, subject: str, now: datetime, limit: int
    ) -> list[QuizQuestion]:
        """A learner's questions of a subject that should come back by now, the longest due first."""
        from sqlalchemy import and_, select

        from storage.tables import quiz_cards as c
        from storage.tables import quiz_questions as q

        same_question = and_(q.c.space == c.c.space, q.c.run_id == c.c.quiz, q.c.n == c.c.n)
        due_cards = (c.c.space == space, c.c.author_id == author, c.c.subject == subject, c.c.due <= now)
        query = (
            select(q).join(c, same_question).where(*due_cards).order_by(c.c.due, c.c.quiz, c.c.n).limit(limit)
        )
        return [_question(row) for row in await self._db.execute(query)]

    async def quotes(self, space: str, subject: str) -> set[str]:
        """The quotes that questions about a subject were made of."""
        from sqlalchemy import select

        from storage.tables import quiz_questions as t

        query = select(t.c.quote).where(t.c.space == space, t.c.subject == subject)
        return set(await self._db.column(query))

    async def score(self, space: str, author: str, now: datetime) -> list[SubjectScore]:
        """A learner's score in each subject that they have answered questions of, by title."""
        from sqlalchemy import case, func, select

        from storage.tables import quiz_cards as c

        query = (
            select(
                c.c.subject,
                func.count().label("answered"),
                func.sum(case((c.c.right, 1), else_=0)).label("right"),
                func.sum(case((c.c.due <= now, 1), else_=0)).label("due"),
            )
            .where(c.c.space == space, c.c.author_id == author)
            .group_by(c.c.subject)
            .order_by(c.c.subject)
        )
        return await self._db.rows(query, SubjectScore)

    async def forget(self, space: str, subject: str) -> None:
        """Delete all questions about a subject, and everybody's answers to them."""
        from storage.tables import quiz_cards, quiz_questions

        async with self._db.write() as connection:
            for t in (quiz_cards, quiz_questions):
                await connection.execute(t.delete().where(t.c.space == space, t.c.subject == subject))


def _question(row: Row[Any]) -> QuizQuestion:
    return QuizQuestion(
        row.n,
        row.subject,
        row.lesson,
        row.source,
        row.link,
        row.text,
        json.loads(row.options),
        row.answer,
        row.quote,
        row.first,
        row.closed_by,
    )
