"""Makes and posts quizzes about a course or a lesson, by a model or by code, and the lesson of the day.

A quiz is stored completely before it is shown. The buttons do not contain the right answer.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import untrusted
from bot.conversation import session_for
from bot.events import Choice, Choices, Event, Notice, Request, Stage, Status, Text, TransientError, UserError
from bot.llm.base import Message, Prompt, room
from bot.markdown import harmless, harmless_link
from bot.prompts import PromptText
from bot.readers.lines import flowing
from bot.strategies.base import LANGUAGES
from bot.strategies.base import ROLE as WRITER
from bot.words import Words, words
from bot.work import Run
from bot.works.course.course_names import course_named
from bot.works.course.outline import lesson_heading
from bot.works.course.questions import WRONG, SupportedQuestion, Written, gap_question, supported
from storage.quizzes import QuizQuestion

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from bot.works.course.catalogue import Catalogue, Catalogues, Course
    from bot.works.course.course_names import CourseNames
    from storage.passages import Passages
    from storage.quizzes import Quizzes
    from storage.sessions import Sessions

PROMPT: Final = "quiz"
QUESTIONS: Final = 3
"""The default number of questions in a quiz."""
MOST_QUESTIONS: Final = 8
PASSAGES: Final = 4_000
"""How many passages of a course or a lesson a quiz reads, from the beginning: a limit for very long ones."""
TRIES: Final = 3
"""How many passages are tried for each question."""
OTHERS: Final = 40
"""How many passages of the course give wrong options for questions by code."""
ANSWER_WORDS: Final = 150
"""The maximum words of a model's reply."""
LETTERS: Final = "ABCD"
END: Final = "end"
"""The key of the stage that ends a quiz."""
BEGINNING_CHARS: Final = 500
"""How many characters of the lesson of the day are shown."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage to make a question of, and its lesson."""

    text: str
    lesson: str
    link: str


@dataclass(frozen=True, slots=True)
class QuizPlan:
    """What a quiz's run decides first. `wanted` is the number of questions, `back` are those due for the asker again.

    Wrong options for gaps come from `others`, passages of the whole course. All random choices follow from `seed`, so
    that a replay makes the same ones; the seed cannot be guessed from a quiz.
    """

    course: str
    source: str
    language: str
    wanted: int
    excerpts: list[Excerpt]
    others: list[str]
    back: list[QuizQuestion]
    writer: str | None
    prompt: PromptText
    seed: str
    roles: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Today:
    """The lesson of the day."""

    course: str
    number: int
    title: str
    link: str
    beginning: str


@dataclass(frozen=True, slots=True)
class Quiz:
    """The verb "quiz", and the lesson of the day.

    `_course_and_lesson` gives the title and number that a request's options name.
    """

    _catalogues: Catalogues
    _names: CourseNames
    _course_and_lesson: Callable[[Catalogue, Request], Awaitable[tuple[str | None, int | None]]]
    _passages: Passages
    _quizzes: Quizzes
    _sessions: Sessions
    _models: Models
    _prompts: Prompts
    _roles: Callable[[Request], Awaitable[dict[str, list[str]]]]

    async def lesson(self, run: Run) -> AsyncGenerator[Event, None]:
        """Post the next lesson of a course, the first after the last: its beginning, its link, and one question."""
        request = run.request
        today = await run.step("lesson", partial(self._today, request), Today)
        yield Stage("lesson", f"{today.course}: {today.title}")
        yield Text("\n".join(f"> {line}" for line in harmless(today.beginning).splitlines()))
        if today.link:
            yield Text(f"\n\n[{harmless(today.title)}]({harmless_link(today.link)})")
        lesson_request = replace(request, options={"lesson": str(today.number), "questions": 1})
        async with aclosing(self.quiz(run, lesson_request)) as events:
            async for event in events:
                yield event

    async def quiz(self, run: Run, lesson_request: Request | None = None) -> AsyncGenerator[Event, None]:
        """Make the questions, store them, and post them; `lesson_request` replaces the run's own request."""
        request, place, say = lesson_request or run.request, run.request.place, words(run.request.locale)
        plan = await run.step("plan", partial(self._plan, request), QuizPlan)
        yield Stage("quiz", plan.course)
        chance = random.Random(plan.seed)
        questions_made = [_reshuffled(n, question, chance) for n, question in enumerate(plan.back)]
        gap_count = 0
        for at, excerpt in enumerate(plan.excerpts if plan.writer is not None else ()):
            if len(questions_made) == plan.wanted:
                break
            yield Status(say("course.quiz_writing", n=len(questions_made) + 1, total=plan.wanted))
            try:
                model_question = supported(
                    await self._model_question(run, plan, at), excerpt.text, plan.language
                )
            except UserError as error:
                yield Notice(say(error.key, **error.values))
                break
            if model_question is not None and model_question.quote not in {
                question.quote for question in questions_made
            }:
                questions_made.append(
                    _quiz_question(len(questions_made), plan, excerpt, model_question, chance)
                )
        # With few passages, each gives more than one question.
        for excerpt in plan.excerpts * plan.wanted:
            if len(questions_made) == plan.wanted:
                break
            used = {question.quote for question in questions_made}
            gap = await asyncio.to_thread(
                gap_question, excerpt.text, plan.others, used, plan.language, chance
            )
            if gap is not None:
                questions_made.append(_quiz_question(len(questions_made), plan, excerpt, gap, chance))
                gap_count += 1

        async def store() -> list[QuizQuestion]:
            if questions_made:
                await self._quizzes.ask(
                    place.space, run.id, place.channel, place.thread, questions_made, datetime.now(UTC)
                )
            return await self._quizzes.questions(place.space, run.id)

        questions = await run.step("kept", store, list[QuizQuestion])
        if not questions:
            raise TransientError("course.quiz_empty", course=plan.course)
        if plan.back:
            yield Notice(say("course.quiz_back", n=len(plan.back)))
        if gap_count:
            yield Notice(say("course.quiz_by_code", n=gap_count))
        for question in questions:
            yield Stage(
                stage_of(question), say("course.quiz_question", n=question.n + 1, total=len(questions))
            )
            yield Text(text_of(question))
            yield choices_of(question, say)
        yield Stage(END, plan.course)
        yield Text(say("course.quiz_how"))
        yield Choices("", (Choice(say("course.quiz_end"), "/course finish"),))

    async def _today(self, request: Request) -> Today:
        """The next lesson, by how often the schedule has fired. Raises UserError."""
        catalogue = await self._catalogues.of(request.place.space)
        if not catalogue.courses:
            raise TransientError("course.none")
        course, _ = await self._requested_part(catalogue, request)
        lessons = {lesson.number: lesson for lesson in course.lessons}
        if not lessons:
            raise UserError("course.quiz_empty", course=course.title)
        number = list(lessons)[int(str(request.options.get("fired") or 0)) % len(lessons)]
        lesson, beginning, last_chunk = lessons[number], "", -1
        while not beginning and (
            chunks := await self._passages.chunks_of(request.place.space, course.document, last_chunk)
        ):
            first = next((chunk for chunk in chunks if lesson.first <= chunk.section < lesson.past), None)
            beginning, last_chunk = flowing(first.text) if first is not None else "", chunks[-1].ordinal
        if len(beginning) > BEGINNING_CHARS:
            beginning = beginning[:BEGINNING_CHARS].rsplit(" ", 1)[0] + " …"
        return Today(
            course.title, number, lesson_heading(number, lesson.title), course.link_to(lesson), beginning
        )

    async def _plan(self, request: Request) -> QuizPlan:
        space, count = request.place.space, int(str(request.options.get("questions") or QUESTIONS))
        if count > MOST_QUESTIONS:
            raise UserError("course.quiz_many", most=MOST_QUESTIONS)
        catalogue = await self._catalogues.of(space)
        if not catalogue.courses:
            raise TransientError("course.none")
        course, number = await self._requested_part(catalogue, request)
        parts = (
            [course.part(lesson) for lesson in course.numbered(number)]
            if number is not None
            else [course.part()]
        )
        excerpts: list[Excerpt] = []
        others: list[str] = []
        last_chunk = -1
        while chunks := await self._passages.chunks_of(space, course.document, last_chunk):
            texts = await asyncio.to_thread(lambda chunks: [flowing(chunk.text) for chunk in chunks], chunks)
            others += texts if len(others) < PASSAGES else []
            for chunk, text in zip(chunks, texts, strict=True):
                if any(first <= chunk.section < past for _, first, past in parts):
                    lesson = course.lesson_at(chunk.section)
                    title = lesson_heading(lesson.number, lesson.title) if lesson is not None else ""
                    excerpts.append(Excerpt(text, title, course.link_to(lesson)))
            last_chunk = chunks[-1].ordinal
            if len(excerpts) >= PASSAGES:
                break
        if not excerpts:
            raise UserError("course.quiz_empty", course=course.title)
        due = await self._quizzes.due(space, request.author.id, course.title, datetime.now(UTC), 4 * count)
        # If a lesson was changed, questions that it no longer supports are not repeated.
        repeated = [
            question for question in due if any(question.quote in excerpt.text for excerpt in excerpts)
        ][:count]
        quotes_asked, seed = await self._quizzes.quotes(space, course.title), secrets.token_hex(16)
        chance = random.Random(seed)
        chance.shuffle(excerpts)
        candidates = excerpts[: 2 * TRIES * count]
        candidates.sort(key=lambda excerpt: any(quote in excerpt.text for quote in quotes_asked))
        # From now on plain text here answers the quiz, unless a schedule posted it where another work is active.
        await session_for(self._sessions, request, course.title, over=request.verb == "quiz")
        roles = await self._roles(request)
        models = self._models.with_roles(roles)
        writer = models.describe(WRITER)
        if (
            writer is not None
            and (capabilities := models.capabilities(WRITER)) is not None
            and (capabilities.demo or not capabilities.cites)
        ):
            writer = None
        prompt = (await self._prompts.texts(space, (PROMPT,)))[PROMPT]
        return QuizPlan(
            course.title,
            course.source,
            course.language,
            count,
            candidates[: TRIES * count],
            chance.sample(others, min(OTHERS, len(others))),
            repeated,
            writer,
            prompt,
            seed,
            roles,
        )

    async def _requested_part(self, catalogue: Catalogue, request: Request) -> tuple[Course, int | None]:
        """The requested course, and the number of its lesson. Raises UserError."""
        name = request.text.strip()
        lesson_request = replace(request, options={**request.options, "course": name})
        title, number = await self._course_and_lesson(catalogue, lesson_request)
        if title is None and len(catalogue.courses) > 1:
            raise UserError(
                "course.quiz_which", names="; ".join(course.title for course in catalogue.courses[:5])
            )
        course = await course_named(self._names, catalogue, title or catalogue.courses[0].title)
        return course, number

    async def _model_question(self, run: Run, plan: QuizPlan, at: int) -> Written:
        system, user = plan.prompt.fill(
            language=LANGUAGES.get(plan.language, "the language of the passage"),
            passage=untrusted.data(plan.excerpts[at].text),
        )
        most = room(ANSWER_WORDS, "low")
        prompt = Prompt(system, (Message("user", user),), max_tokens=most, effort="low")
        return await self._models.with_roles(plan.roles).json(run, WRITER, f"question-{at}", prompt, Written)


def _reshuffled(n: int, question: QuizQuestion, chance: random.Random) -> QuizQuestion:
    """The question again, with its options in another order."""
    right, options = question.options[question.answer], chance.sample(question.options, len(question.options))
    return replace(question, n=n, options=options, answer=options.index(right), closed_by="")


def _quiz_question(
    n: int, plan: QuizPlan, excerpt: Excerpt, supported_question: SupportedQuestion, chance: random.Random
) -> QuizQuestion:
    options = chance.sample([supported_question.right, *supported_question.wrong], WRONG + 1)
    at = options.index(supported_question.right)
    return QuizQuestion(
        n,
        plan.course,
        excerpt.lesson,
        plan.source,
        excerpt.link,
        supported_question.text,
        options,
        at,
        supported_question.quote,
    )


def stage_of(question: QuizQuestion) -> str:
    """The key of the stage that shows a question."""
    return f"question-{question.n}"


def text_of(question: QuizQuestion) -> str:
    """A question and its options as Markdown."""
    options = zip(LETTERS, question.options, strict=False)
    lines = [f"**{letter}.** {harmless(option)}" for letter, option in options]
    return "\n".join([f"{harmless(question.text)}\n", *(f"- {line}" for line in lines)])


def choices_of(question: QuizQuestion, say: Words, chosen: int | None = None) -> Choices:
    """The buttons of a question's options; with `chosen`, an option's index, the question is closed."""
    command = f"/course answer {question.n + 1}"
    letters = [Choice(letter, f"{command} {letter}") for letter in LETTERS[: len(question.options)]]
    in_words = Choice(say("course.quiz_in_words"), command, say("course.quiz_your_answer"))
    return Choices(say("course.quiz_choose"), (*letters, in_words), taken=chosen)
