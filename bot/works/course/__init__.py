"""Courses: imported with their lessons, listed, outlined, asked about, and practised by quizzes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from bot.check import Check
from bot.config.settings import choice, in_range
from bot.events import UserError
from bot.kind import Complete, Kind, Runs, Setting, Typed, of_channel, one_line
from bot.verb import LAST, PRIVATE, SHARE, Argument, Option, Verb

if TYPE_CHECKING:
    from bot.config import Config
    from bot.events import Place, Request
    from bot.resources import Resources
    from bot.retrieval.intake import Shape
    from bot.words import Words
    from bot.work import Work
    from bot.works.library.watch import Watch

MEMORY: Final = "course.memory"
"""The setting for how many exchanges of a thread are remembered."""
COMPLETIONS: Final = 25
"""The maximum number of suggestions in one autocomplete: Discord's limit."""
MOST_MEMORY: Final = 20
OVERVIEW: Final = 12
"""The maximum number of courses in an overview."""

_FILES = Argument("paths", "verbs.arg_paths", many=True, completes="path")
_COURSE = Argument("course", "verbs.arg_course", completes="course")
_ABOUT = (
    Option("book", "verbs.option_book", "flag"),
    Option("title", "verbs.option_course_title", most=200),
    Option("instructor", "verbs.option_instructor", most=200),
    Option("link", "verbs.option_course_link", "link"),
)

_verb = partial(Verb, "course")

VERBS: tuple[Verb, ...] = (
    _verb("add", "course1.txt course2.docx", _FILES, _ABOUT, background=True, admin=True),
    _verb("replace", "course1.txt", _FILES, _ABOUT, background=True, admin=True),
    _verb("remove", "Keeping Bees", _COURSE, admin=True),
    _verb(
        "ask",
        "When does a colony swarm?",
        Argument("question", "verbs.arg_question", most=4_000),
        (
            Option("course", "verbs.option_course", completes="course"),
            Option("lesson", "verbs.option_lesson", completes="lesson"),
            LAST,
            PRIVATE,
        ),
        ordered=True,
        plain=True,
        asks=True,
    ),
    _verb("list", options=(PRIVATE,)),
    _verb("outline", "Keeping Bees", _COURSE, (PRIVATE,)),
    _verb(
        "quiz",
        "Keeping Bees --lesson 3",
        Argument("course", "verbs.arg_course", required=False, completes="course"),
        (
            Option("lesson", "verbs.option_quiz_lesson", completes="lesson"),
            Option("questions", "verbs.option_questions", "number", most=8),
            PRIVATE,
        ),
        ordered=True,
        asks=True,
    ),
    _verb(
        "answer",
        "2 the old queen",
        Argument("answer", "verbs.arg_answer", most=300),
        personal=True,
        outside="where they may ask",
    ),
    _verb("score", options=(SHARE,), personal=True, outside="where they may ask"),
    _verb("lesson", inner=True),
    _verb("finish", outside="where they may ask"),
)

HEADINGS: Final = {
    "verbs.heading_course_ask": "ask list outline",
    "verbs.heading_course_quiz": "quiz answer score finish",
    "verbs.heading_course_files": "add replace remove",
}


@dataclass(frozen=True, slots=True)
class CourseConfig:
    """`folder` is kept in sync with the courses of the space `space`.

    Passages are cut at headings and paragraphs, as books are, or as overlapping `windows` of sentences. A model may use
    tools for `rounds` rounds before the answer, and `memory` exchanges of a thread are remembered.
    """

    folder: Path | None = None
    space: str = "local"
    chunks: Literal["headings", "windows"] = choice("headings", "windows")
    rounds: int = in_range(2, 1, 10)
    memory: int = in_range(2, 0, MOST_MEMORY)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.readers.sandbox import Sandbox
    from bot.works.course.answer import CourseQuestions, course_and_lesson
    from bot.works.course.catalogue import Catalogues
    from bot.works.course.course_names import CourseNames
    from bot.works.course.quiz import Quiz
    from bot.works.course.quiz_answers import QuizAnswers
    from bot.works.course.work import Courses
    from bot.works.library import LibraryConfig

    catalogues = Catalogues(resources.outlines, resources.shelves)
    section, names = resources.config.section(CourseConfig), CourseNames(resources.embedding)

    async def memory(request: Request) -> int:
        setting = await resources.settings.nearest(request.place, request.author.id, MEMORY)
        return int(setting[0].value) if setting else section.memory

    questions = CourseQuestions(
        resources.library,
        catalogues,
        names,
        resources.models,
        resources.prompts,
        resources.conversations,
        resources.settings.roles,
        memory,
        section.rounds,
    )
    quiz = Quiz(
        catalogues,
        names,
        partial(course_and_lesson, names),
        resources.passages,
        resources.quizzes,
        resources.records.sessions,
        resources.models,
        resources.prompts,
        resources.settings.roles,
    )
    return Courses(
        catalogues,
        names,
        questions,
        quiz,
        QuizAnswers(resources.quizzes, runs.request_of),
        resources.quizzes,
        resources.intake,
        resources.jobs,
        resources.incoming,
        Sandbox(),
        resources.config.section(LibraryConfig).max_bytes,
        _shapes(resources.config),
    )


def _shapes(config: Config) -> Mapping[str, Shape]:
    from bot.works.course.work import shapes

    return shapes(windows=config.section(CourseConfig).chunks == "windows")


def _watch(resources: Resources, runs: Runs, work: Work | None) -> Watch:
    from bot.works.course.catalogue import SHELF
    from bot.works.library.watch import Watch

    section = resources.config.section(CourseConfig)
    folders = () if section.folder is None else (section.folder,)
    documents, refused = resources.records.documents, resources.jobs.refused
    return Watch(
        folders, section.space, documents, runs.perform, runs.goes_on, refused, work="course", shelf=SHELF
    )


def _examine(config: Config, say: Words) -> Iterator[Check]:
    """Check the folder from which courses are imported."""
    from bot.works.library.watch import folder_stamps

    section = config.section(CourseConfig)
    if (folder := section.folder) is None:
        return
    try:
        n = len(folder_stamps(folder))
    except OSError as error:
        yield Check(False, say("course.folder_gone", folder=folder, reason=error.strerror))
    else:
        yield Check(True if n else None, say("course.folder", folder=folder, n=n, space=section.space))


def _completions(kind: str) -> Complete:
    async def names(resources: Resources, typed: Typed) -> list[str]:
        from bot.works.course.catalogue import Catalogues

        catalogues = Catalogues(resources.outlines, resources.shelves)
        complete = catalogues.course_names if kind == "course" else catalogues.lesson_names
        return await complete(typed.space, typed.prefix, COMPLETIONS)

    return names


def _checked_memory(resources: Resources, typed: str) -> str:
    number = typed.strip()
    if not (number.isascii() and number.isdigit() and int(number[:3]) <= MOST_MEMORY):
        raise UserError("course.memory_range", value=typed[:40], most=MOST_MEMORY)
    return str(int(number))


async def _overview(
    resources: Resources, space: str, say: Words, name: Callable[[str], str]
) -> AsyncIterator[str]:
    from bot.works.course.catalogue import Catalogues

    courses = (await Catalogues(resources.outlines, resources.shelves).of(space)).courses
    if courses:
        yield say("slack_home.courses")
    for course in courses[:OVERVIEW]:
        yield say("slack_home.course", course=name(course.title), n=len(course.lessons))
    if more := len(courses[OVERVIEW:]):
        yield say("slack_home.more_courses", n=more)


async def _plain(resources: Resources, place: Place, author: str, text: str) -> str:
    from bot.works.course.quiz_answers import answers_quiz

    return "answer" if await answers_quiz(resources.quizzes, place, author, text) else ""


async def _knows(resources: Resources, request: Request) -> bool:
    """Whether the courses can answer the question, or it answers a quiz."""
    if request.verb != "ask":  # an answer to a quiz
        return True
    from bot.works.course.answer import course_and_lesson, knows
    from bot.works.course.catalogue import Catalogues
    from bot.works.course.course_names import CourseNames
    from bot.works.course.tools import CourseTools

    space, names = request.place.space, CourseNames(resources.embedding)
    catalogue = await Catalogues(resources.outlines, resources.shelves).of(space)
    if not catalogue.courses:
        return False
    try:
        course, lesson = await course_and_lesson(names, catalogue, request)
    except UserError:  # a name that matches none of them
        return False
    tools = CourseTools(resources.library, catalogue, names, space, course=course, lesson=lesson)
    return await knows(tools, request.text)


KIND = Kind(
    "course",
    VERBS,
    make,
    completes={kind: _completions(kind) for kind in ("course", "lesson")},
    settings=(
        Setting(
            MEMORY,
            "verbs.setting_course_memory",
            ("channel", "space"),
            check=_checked_memory,
            default=lambda resources: str(resources.config.section(CourseConfig).memory),
            values=lambda resources: tuple(map(str, range(6))),
        ),
        of_channel("course", one_line),
    ),
    overview=_overview,
    sections={"course": CourseConfig},
    examine=_examine,
    service=_watch,
    shapes=_shapes,
    plain=_plain,
    knows=_knows,
    headings=HEADINGS,
)
