"""Measures how well and how fast the courses' tools find passages of lessons, and courses by a part of their names.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR make bench ARGS=course

The four courses of the tests, with questions and names written for them, and open texts made into courses. Without
SUTRADHAR_MODELS it searches by words only; with SUTRADHAR_BENCH_CACHE=DIR it stores vectors there between runs.
`python -m benchmarks.course chunks` compares the two ways to cut lessons.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.cached_vectors import CachedVectors
from benchmarks.course_names import NAMES, STRANGE, TITLES
from benchmarks.figures import Figure, data, skipped
from benchmarks.times import p95
from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import UserError
from bot.resources import Resources
from bot.retrieval.embedding import embedder
from bot.retrieval.evaluate import Gold, Question, Report, evaluate, read_questions
from bot.retrieval.intake import IntakeResult, Item
from bot.words import words
from bot.works.course import CourseConfig
from bot.works.course.catalogue import BOOK, COURSE, SHELF, Catalogue, Catalogues, Course
from bot.works.course.command_line import search_outcome
from bot.works.course.course_names import CourseNames
from bot.works.course.tools import OUTLINE, SEARCH, CourseTools
from bot.works.course.work import shapes

OWN = Path(__file__).resolve().parents[1] / "tests" / "works" / "course"
SPACE = "local"
PAGES = 5
"""Open texts that make one course, a lesson each."""
COURSES, LESSONS = 100, 20
SAMPLES = 300
STEP = 64


@dataclass(frozen=True, slots=True)
class Set:
    """Files to add, each with its kind, and questions with the source of their gold passage."""

    name: str
    files: list[tuple[str, str, str]]
    questions: list[Question]


def own() -> Set:
    """The four courses that were written for the tests."""
    files = [
        (file.name, file.read_text(encoding="utf-8"), COURSE) for file in sorted((OWN / "courses").iterdir())
    ]
    return Set("own", files, read_questions(OWN / "questions.jsonl"))


def pages(folder: Path) -> Set:
    """Open texts as the lessons of courses."""
    texts = sorted((folder / "corpus").iterdir())
    files, course_of = [], {}
    for first in range(0, len(texts), PAGES):
        name = f"course-{first // PAGES}.txt"
        lessons = []
        for n, file in enumerate(texts[first : first + PAGES]):
            course_of[file.name] = name
            body = file.read_text(encoding="utf-8").strip()
            lessons.append(
                f"Lesson {n}: {_titled(file)}\nLesson Link: https://example.org/{first}/{n}\n{body}"
            )
        title = " · ".join(_titled(file) for file in texts[first : first + 2])
        files.append((name, "\n\n".join([f"Course Title: {title}", *lessons]), COURSE))
    questions = [
        replace(question, gold=tuple(Gold(course_of[gold.source], gold.quote) for gold in question.gold))
        for question in read_questions(folder / "questions.jsonl")
    ]
    return Set(folder.name, files, questions)


def books(folder: Path) -> Set:
    """Ordinary books as courses, by their headings."""
    files = [
        (file.name, file.read_text(encoding="utf-8"), BOOK) for file in sorted((folder / "corpus").iterdir())
    ]
    return Set(folder.name, files, read_questions(folder / "questions.jsonl"))


def _titled(file: Path) -> str:
    return " ".join(file.stem.split("_")[2:]).strip().title() or file.stem


def many(folder: Path) -> Set:
    """COURSES courses of LESSONS lessons, from short open texts."""
    texts = [file.read_text(encoding="utf-8").strip() for file in sorted((folder / "corpus").iterdir())]
    names = [*TITLES, *(f"{title}, continued" for title in TITLES)]
    files = []
    for n in range(COURSES):
        lessons = [f"Course Title: {names[n]}"]
        for lesson in range(LESSONS):
            at = n * LESSONS + lesson
            lessons.append(f"Lesson {lesson}: Part {at}\n{texts[at % len(texts)]}")
        files.append((f"course-{n}.txt", "\n\n".join(lessons), COURSE))
    return Set("many", files, read_questions(folder / "questions.jsonl"))


def model() -> CachedVectors | None:
    models, cache = os.environ.get("SUTRADHAR_MODELS"), os.environ.get("SUTRADHAR_BENCH_CACHE")
    if not models:
        return None
    try:
        local = embedder("bge-small", Path(models).expanduser())
    except UserError:
        return None
    return CachedVectors(local, Path(cache) if cache else None) if local is not None else None


@asynccontextmanager
async def opened(
    course_set: Set, vectors: CachedVectors | None, chunks: str = ""
) -> AsyncIterator[Resources]:
    """Resources with the set's courses."""
    with tempfile.TemporaryDirectory() as folder:
        name = "bge-small" if vectors is not None else "none"
        resources = await Resources.open(Config(Path(folder), Path(folder), embedding=EmbeddingConfig(name)))
        if vectors is not None:
            resources.embedding.load = lambda _: vectors
        try:
            await take_in(resources, Path(folder), course_set.files, chunks)
            yield resources
        finally:
            await resources.close()


async def take_in(
    resources: Resources, folder: Path, files: Sequence[tuple[str, str, str]], chunks: str
) -> None:
    config = CourseConfig(chunks=chunks) if chunks else CourseConfig()  # type: ignore[arg-type]
    shapes_by_kind = shapes(windows=config.chunks == "windows")
    results: list[IntakeResult] = []
    for n, (name, text, kind) in enumerate(files):
        path = folder / "file"
        await asyncio.to_thread(path.write_text, text, encoding="utf-8")
        item = Item(name, str(path), kind=kind)
        result = await resources.intake.take(
            SPACE, SHELF, item, str(n), replace=False, shape=shapes_by_kind[kind]
        )
        assert not result.key, (name, result.key)
        results.append(result)
    await resources.intake.ready_for_vectors(SPACE)
    documents = set(await resources.intake.do_without_vectors(SPACE, results))
    for result in results:
        for first in range(0, result.chunks if result.document in documents else 0, STEP):
            await resources.intake.embed(
                SPACE, SHELF, [(result.document, first, min(first + STEP, result.chunks))]
            )


async def tools_of(resources: Resources) -> CourseTools:
    catalogue = await Catalogues(resources.outlines, resources.shelves).of(SPACE)
    return CourseTools(resources.library, catalogue, CourseNames(resources.embedding), SPACE)


async def found(course_set: Set, vectors: CachedVectors | None, chunks: str = "") -> tuple[Report, Report]:
    """Searches of all courses, and searches within each question's course, which is named."""
    async with opened(course_set, vectors, chunks) as resources:
        tools = await tools_of(resources)
        search = next(tool for tool in tools.offered(words("en")) if tool.name == SEARCH)
        titles = {course.source: course.title for course in tools.catalogue.courses}
        open_ = [replace(question, more={}) for question in course_set.questions]
        named = [
            replace(question, more={"course": titles[question.gold[0].source]})
            for question in course_set.questions
            if question.gold
        ]
        return (
            await evaluate(open_, lambda question: search_outcome(search, question)),
            await evaluate(named, lambda question: search_outcome(search, question)),
        )


def sets() -> list[Set]:
    all_sets = [own()]
    if (folder := data("faquad-pt")) is not None:
        all_sets.append(pages(folder))
    all_sets += [
        books(folder) for name in ("rules-pt-fate", "rules-en-srd51") if (folder := data(name)) is not None
    ]
    return all_sets


async def resolved(
    vectors: CachedVectors | None, *, leave_out: bool
) -> list[tuple[str, str | None, str | None]]:
    """(name, the course that it means, the course that was found) for each name.

    `leave_out`: that course is missing, so no name means any course.
    """
    with tempfile.TemporaryDirectory() as folder:
        model_name = "bge-small" if vectors is not None else "none"
        resources = await Resources.open(
            Config(Path(folder), Path(folder), embedding=EmbeddingConfig(model_name))
        )
        if vectors is not None:
            resources.embedding.load = lambda _: vectors
        try:
            names, rows = CourseNames(resources.embedding), []
            courses = [_course(n, title) for n, title in enumerate(TITLES)]
            for name, title in [*NAMES, *((name, None) for name in STRANGE)]:
                left = [course for course in courses if not leave_out or course.title != title]
                match = await names.resolve(Catalogue(0, tuple(left)), name)
                right = None if leave_out else title
                rows.append((name, right, match.course.title if match.course is not None else None))
            return rows
        finally:
            await resources.close()


def _course(n: int, title: str) -> Course:
    portuguese = title in TITLES[-12:]
    return Course(f"{n}", title, f"{n}.txt", "pt" if portuguese else "en", "", "", ())


async def spent(folder: Path, vectors: CachedVectors | None) -> list[float]:
    """Processor seconds of single tool calls: searches of all courses, of one course and of one lesson, and
    outlines.
    """
    many_courses = many(folder)
    async with opened(many_courses, vectors) as resources:
        tools = await tools_of(resources)
        offered = {tool.name: tool for tool in tools.offered(words("en"))}
        search, outline = offered[SEARCH], offered[OUTLINE]
        titles = [course.title for course in tools.catalogue.courses]
        questions = [question.query for question in many_courses.questions]
        seconds = []
        assert search.call is not None
        assert outline.call is not None
        for n in range(SAMPLES + 4):
            query, title = f"{questions[n % len(questions)]} {n}", titles[n % len(titles)]
            began = time.process_time()
            if n % 4 == 0:
                await search.call(query=query)
            elif n % 4 == 1:
                await search.call(query=query, course_name=title)
            elif n % 4 == 2:
                await search.call(query=query, course_name=title, lesson_number=n % LESSONS)
            else:
                await outline.call(course_name=title)
            seconds.append(time.process_time() - began)
        return seconds[4:]


def figures() -> Iterator[Figure]:
    vectors = model()
    for course_set in sets():
        open_, named = asyncio.run(found(course_set, vectors))
        recall, within = open_.figures["recall@5"], named.figures["recall@5"]
        n = f"n {len(course_set.questions)}"
        yield Figure(
            f"{course_set.name}: recall@5 of the search tool",
            f"{recall:.3f} ({n})",
            "≥ .95",
            "",
            recall >= 0.95,
        )
        yield Figure(
            f"{course_set.name}: … with the course named", f"{within:.3f}", "≥ .97", "", within >= 0.97
        )
        yield Figure(f"{course_set.name}: called unsure", f"{open_.figures['refused']:.3f}")
    met = asyncio.run(resolved(vectors, leave_out=False))
    right = sum(wanted == two for _, wanted, two in met if wanted is not None) / len(NAMES)
    yield Figure("names: taken for the course that they mean", f"{right:.3f} (n {len(NAMES)})")
    wrong = [(wanted, two) for _, wanted, two in met if two is not None and wanted != two]
    lost = [two for _, wanted, two in asyncio.run(resolved(vectors, leave_out=True)) if two is not None]
    share = len(wrong) / len(met)
    yield Figure("names: taken for a wrong course", f"{share:.3f} (n {len(met)})", "≤ .02", "", share <= 0.02)
    share = len(lost) / len(met)
    yield Figure(
        "… where their course is not there", f"{share:.3f} (n {len(met)})", "≤ .02", "", share <= 0.02
    )
    if (folder := data("hotpot-en")) is None:
        yield skipped("time of a tool call at 100 courses of 20 lessons")
        return
    own_time = p95(asyncio.run(spent(folder, vectors))) * 1_000
    yield Figure(
        "processor time of a tool call, p95, 100 courses of 20 lessons",
        f"{own_time:.1f} ms",
        "≤ 40 ms",
        "",
        own_time <= 40,
    )


def compared() -> None:
    """Compare both ways to cut lessons."""
    vectors = model()
    for course_set in sets():
        for chunks in ("headings", "windows"):
            open_, named = (report.figures for report in asyncio.run(found(course_set, vectors, chunks)))
            shown = " ".join(f"{open_[name]:.3f}" for name in ("recall@5", "mrr", "refused"))
            print(
                f"{course_set.name:15} {chunks:9} {shown} {open_['chars@5']:.0f}  named {named['recall@5']:.3f}"
            )


if __name__ == "__main__":
    if sys.argv[1:] == ["chunks"]:
        compared()
    elif sys.argv[1:] == ["names"]:
        for leave_out in (False, True):
            for name, right, match in asyncio.run(resolved(model(), leave_out=leave_out)):
                if right != match:
                    print(leave_out, repr(name), "means", right, "taken for", match)
