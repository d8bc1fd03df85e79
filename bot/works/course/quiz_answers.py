"""Stores learners' answers to quizzes, sums a quiz up at its end, and decides when a question comes again.

Only the learner sees how they have answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from bot.commands import FOLLOW_UP, OPENLY
from bot.events import Changed, Citation, Event, Notice, Place, Request, Stage, Text, UserError
from bot.markdown import harmless
from bot.words import Words, words
from bot.work import Run
from bot.works.course.questions import option_meant, option_named
from bot.works.course.quiz import END, LETTERS, choices_of, stage_of, text_of
from storage.quizzes import QuizQuestion

if TYPE_CHECKING:
    from storage.quizzes import Quizzes

_NUMBERED_ANSWER = re.compile(r"(\d{1,2})[.:)]?\s+(.+)", re.DOTALL)
"""A question's number, then an answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an answer. `answered` and `right` count the learner's answers to the quiz's `total` questions."""

    question: QuizQuestion
    chosen: int
    answered: int
    right: int
    total: int


@dataclass(frozen=True, slots=True)
class Result:
    """A quiz that has ended: for each question the number of learners, and of right answers."""

    quiz: str
    questions: list[QuizQuestion]
    learners: int
    right: list[int]


@dataclass(frozen=True, slots=True)
class QuizAnswers:
    """The verbs answer, finish and score. `_request_of` returns the request of an earlier run."""

    _quizzes: Quizzes
    _request_of: Callable[[str, str], Awaitable[Request | None]]

    async def answer(self, run: Run) -> AsyncGenerator[Event, None]:
        """Store a learner's answer and say whether it is right; in public, say only that it is stored."""
        say, openly = words(run.request.locale), bool(run.request.options.get(OPENLY))
        outcome = await run.step("answered", partial(self._store_answer, run), Outcome)
        question, open_questions = outcome.question, outcome.total - outcome.answered
        if openly:
            yield Stage("answer", say("course.quiz_kept", n=question.n + 1))
            letter, answer = LETTERS[outcome.chosen], harmless(question.options[outcome.chosen])
            yield Text(say("course.quiz_kept_answer", letter=letter, answer=answer))
        else:
            right = outcome.chosen == question.answer
            yield Stage("answer", say("course.quiz_right" if right else "course.quiz_wrong"))
            yield Text(_solution(question, say))
            yield _source(question, 1)
        if open_questions:
            yield Notice(say("course.quiz_left", n=open_questions))
        elif not openly:
            yield Notice(say("course.quiz_score", right=outcome.right, total=outcome.total))

    async def finish(self, run: Run) -> AsyncGenerator[Event, None]:
        """End a quiz: everybody sees the right answers, and how many gave them, but nobody's own score.

        A question that cannot be edited is not posted again, since the result repeats its answer.
        """
        say = words(run.request.locale)
        result = await run.step("finished", partial(self._close, run), Result)
        for question in result.questions:
            title = say("course.quiz_question", n=question.n + 1, total=len(result.questions))
            yield Changed(
                result.quiz,
                stage_of(question),
                title,
                (Text(text_of(question)), choices_of(question, say, chosen=question.answer)),
                in_place=True,
            )
        ended = (Text(say("course.quiz_ended")),)
        yield Changed(result.quiz, END, result.questions[0].subject, ended, in_place=True)
        heading = "course.quiz_results" if result.learners else "course.quiz_unanswered"
        yield Stage("results", say(heading, n=result.learners))
        for question, right in zip(result.questions, result.right, strict=True):
            count = say("course.quiz_had_right", right=right, n=result.learners) if right else ""
            if result.learners and not right:
                count = say("course.quiz_none_right")
            yield Text(f"**{question.n + 1}.** {_solution(question, say, question.n + 1)}\n{count}\n\n")
        for question in result.questions:
            yield _source(question, question.n + 1)

    async def score(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show a learner's own score, course by course."""
        request, say = run.request, words(run.request.locale)

        async def score_lines() -> str:
            standings = await self._quizzes.score(request.place.space, request.author.id, datetime.now(UTC))
            lines = [
                "- "
                + say(
                    "course.score_line",
                    course=standing.subject,
                    right=standing.right,
                    n=standing.answered,
                    due=standing.due,
                )
                for standing in standings
            ]
            return "\n".join(lines) or say("course.score_none")

        text = await run.step("score", score_lines, str)
        yield Stage("score", say("course.score", name=request.author.name))
        yield Text(text)

    async def _store_answer(self, run: Run) -> Outcome:
        request, space = run.request, run.request.place.space
        quiz, questions = await self._find_quiz(request)
        answered = {card.n for card in await self._quizzes.cards(space, quiz, request.author.id)}
        question, chosen = _chosen(request, questions, answered)
        counts = await self._quizzes.answer(
            space, quiz, question.n, request.author.id, run.id, chosen, _review, datetime.now(UTC)
        )
        if counts is None:
            raise UserError("course.quiz_over")
        if not counts:
            raise UserError("course.quiz_answered", n=question.n + 1)
        own_cards = await self._quizzes.cards(space, quiz, request.author.id)
        return Outcome(
            question, chosen, len(own_cards), sum(card.right for card in own_cards), len(questions)
        )

    async def _find_quiz(self, request: Request) -> tuple[str, list[QuizQuestion]]:
        """The quiz whose button was pressed, or else the newest one here that this person may see. Raises UserError."""
        space, channel, thread = request.place.space, request.place.channel, request.place.thread
        quizzes = [request.answers] if request.answers else await self._quizzes.latest(space, channel, thread)
        for quiz in quizzes or await self._quizzes.latest(space, channel):
            request_of_quiz = await self._request_of(space, quiz)
            private = request_of_quiz is not None and bool(request_of_quiz.options.get("private"))
            own = request_of_quiz is not None and request_of_quiz.author.id == request.author.id
            if private and not own and not request.answers:
                continue
            if questions := await self._quizzes.questions(space, quiz):
                return quiz, questions
        raise UserError("course.quiz_none")

    async def _close(self, run: Run) -> Result:
        request, space = run.request, run.request.place.space
        quiz, questions = await self._find_quiz(request)
        request_of_quiz = await self._request_of(space, quiz)
        if not request.author.admin and (
            request_of_quiz is None or request_of_quiz.author.id != request.author.id
        ):
            raise UserError("course.quiz_not_yours")
        if not await self._quizzes.close(space, quiz, run.id):
            raise UserError("course.quiz_over")
        cards = await self._quizzes.cards(space, quiz)
        right = [sum(card.right for card in cards if card.n == question.n) for question in questions]
        return Result(quiz, questions, await self._quizzes.learners(space, quiz), right)


async def answers_quiz(quizzes: Quizzes, place: Place, author: str, text: str) -> bool:
    """Whether a person's plain text answers the newest quiz of the thread, perhaps one that has ended.

    A question never does. If the learner has answered everything, or the quiz has ended, only a text that is one of the
    options does.
    """
    newest = (await quizzes.latest(place.space, place.channel, place.thread))[:1]
    if not newest or text.rstrip().endswith("?"):
        return False
    questions = await quizzes.questions(place.space, newest[0])
    answered = await quizzes.cards(place.space, newest[0], author)
    if not questions[0].closed_by and len(answered) < len(questions):
        return True
    return any(option_named(text, question.options) is not None for question in questions)


def _chosen(
    request: Request, questions: Sequence[QuizQuestion], answered: Set[int]
) -> tuple[QuizQuestion, int]:
    """The question that is answered, and the chosen option. Raises UserError.

    Plain text without a question's number means the first question that is not `answered`.
    """
    text, open_question = request.text.strip(), None
    if request.options.get(FOLLOW_UP) or len(questions) == 1:
        open_question = next(
            (question for question in questions if question.n not in answered), questions[-1]
        )
    numbered = _NUMBERED_ANSWER.fullmatch(text)
    if numbered is not None and (open_question is None or option_named(text, open_question.options) is None):
        number, text = int(numbered[1]), numbered[2]
        question = next((question for question in questions if question.n == number - 1), None)
        if question is None:
            raise UserError("course.quiz_no_question", n=number, total=len(questions))
    elif open_question is None:
        raise UserError("course.quiz_number", total=len(questions))
    else:
        question = open_question
    if (option := option_meant(text, question.options)) is None:
        raise UserError("course.quiz_unclear", options=", ".join(LETTERS[: len(question.options)]))
    return question, option


def _review(memory: str, right: bool) -> tuple[str, datetime]:
    """The state of a card (FSRS, as JSON) after an answer, and when it is due again; `memory` is its state before."""
    from fsrs import Card, Rating, Scheduler

    # In days, not in minutes, since learners do not wait for the next question. Without randomness, so that a
    # replay gives the same.
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    now = datetime.now(UTC)
    card = Card.from_dict(json.loads(memory)) if memory else Card(card_id=0, due=now)
    card, _ = scheduler.review_card(card, Rating.Good if right else Rating.Again, now)
    return json.dumps(card.to_dict()), card.due


def _solution(question: QuizQuestion, say: Words, n: int = 1) -> str:
    right = question.options[question.answer]
    solution = say("course.quiz_solution", letter=LETTERS[question.answer], answer=harmless(right))
    return f"{solution} [{n}]\n\n> {harmless(' '.join(question.quote.split()))}\n"


def _source(question: QuizQuestion, n: int) -> Citation:
    course = question.subject
    heading = question.lesson or course
    if question.lesson and question.source != course:
        heading = f"{course} › {heading}"
    return Citation(n, question.source, heading, question.quote, link=question.link)
