"""The work "course": its verbs. What is taken in is `intake`'s."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

from bot.events import Attachment, Event, Run, Stage, Text
from bot.markdown import harmless, harmless_link
from bot.words import Words, words
from bot.works.course.course_names import course_named

if TYPE_CHECKING:
    from bot.works.course.answer import CourseQuestions
    from bot.works.course.catalogue import Catalogues, Course
    from bot.works.course.course_names import CourseNames
    from bot.works.course.intake import CourseIntake
    from bot.works.course.quiz import Quiz
    from bot.works.course.quiz_answers import QuizAnswers
    from storage.quizzes import Quizzes

LESSONS: Final = 100
"""Lessons of an outline in a message; a longer one comes as a file, too."""


class Courses:
    """The verbs of courses."""

    def __init__(
        self,
        catalogues: Catalogues,
        names: CourseNames,
        intake: CourseIntake,
        questions: CourseQuestions,
        quiz: Quiz,
        quiz_answers: QuizAnswers,
        quizzes: Quizzes,
    ) -> None:
        self._quiz = quiz
        self._quiz_answers = quiz_answers
        self._quizzes = quizzes
        self._questions = questions
        self._catalogues = catalogues
        self._names = names
        self._intake = intake

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "add": self._intake.events,
            "replace": self._intake.events,
            "remove": self._remove,
            "ask": self._questions.run,
            "list": self._list,
            "outline": self._outline,
            "quiz": self._quiz.quiz,
            "lesson": self._quiz.lesson,
            "answer": self._quiz_answers.answer,
            "finish": self._quiz_answers.finish,
            "score": self._quiz_answers.score,
        }
        return verbs[run.request.verb](run)

    async def _remove(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space = request.place.space

        # Which course comes first and is kept: after a crash its name may mean none, or another one.
        async def course() -> tuple[str, str]:
            course = await self._named(space, request.text)
            return course.document, course.title

        async def removed() -> bool:
            await self._intake.remove(space, document)
            await self._quizzes.forget(space, title)
            return True

        document, title = await run.step("course", course, tuple[str, str])
        await run.step("remove", removed, bool)
        yield Stage("remove", "")
        yield Text(say("course.removed", title=title))

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)

        async def listed() -> tuple[int, str]:
            courses = (await self._catalogues.of(run.request.place.space)).courses
            lines = [_line(course, say) for course in courses]
            return len(courses), "\n".join(lines) or say("course.none")

        n, text = await run.step("list", listed, tuple[int, str])
        yield Stage("list", say("course.list", n=n))
        yield Text(text)

    async def _outline(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)

        async def outlined() -> tuple[str, str, str]:
            course = await self._named(request.place.space, request.text)
            rest = outline(course, say) if len(course.lessons) > LESSONS else ""
            return course.title, outline(course, say, LESSONS), rest

        title, text, file_text = await run.step("outline", outlined, tuple[str, str, str])
        yield Stage("outline", title)
        yield Text(text)
        if file_text:
            yield Attachment("outline.md", "text/markdown", file_text.encode())

    async def _named(self, space: str, name: str) -> Course:
        return await course_named(self._names, await self._catalogues.of(space), name)


def outline(course: Course, say: Words, most: int | None = None) -> str:
    """A course as Markdown: where it is, whose it is, and its lessons, each with its link; `most` of them at most."""
    lines = [say("course.at", link=course.link)] if course.link else []
    if course.instructor:
        lines.append(say("course.by", instructor=harmless(course.instructor)))
    lines.append(say("course.lessons", n=len(course.lessons)))
    lines += [""] if course.lessons else []
    for lesson in course.lessons[:most]:
        name = harmless(say("course.lesson", number=lesson.number, title=lesson.title).strip(" :"))
        link = course.link_to(lesson)
        lines.append(f"- [{name}]({harmless_link(link)})" if link else f"- {name}")
    if most is not None and (more := len(course.lessons[most:])):
        lines.append(say("course.more_lessons", n=more))
    return "\n".join(lines)


def _line(course: Course, say: Words) -> str:
    title = harmless(course.title)
    named = f"[{title}]({harmless_link(course.link)})" if course.link else f"**{title}**"
    by = f" · {harmless(course.instructor)}" if course.instructor else ""
    return f"- {named}: {say('course.lessons', n=len(course.lessons))}{by}"
