"""The verbs of the work "course". Files are imported by the library's jobs, which read, shape, cut and embed them.

A title is a course's identity: a second file with the same title replaces the first one, or is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from bot.events import Attachment, Event, Failed, Stage, Status, Text, UserError
from bot.markdown import harmless, harmless_link
from bot.readers.archive import Archive
from bot.readers.bundle import CONFIGS
from bot.readers.decode import decode
from bot.readers.kinds import BUNDLE, PLAIN, SUFFIXES, suffix_of
from bot.readers.sandbox import Sandbox
from bot.retrieval.files import Candidate, Refused
from bot.retrieval.intake import IntakeResult, Item, Shape, Shaped
from bot.runs.requests import ONLY
from bot.words import Words, words
from bot.work import Run
from bot.works.course.catalogue import BOOK, COURSE, FOLDER, SHELF
from bot.works.course.course_document import read_book, read_course, read_folder
from bot.works.course.course_fields import names_course
from bot.works.course.course_names import course_named
from bot.works.course.folder import add_options, pack
from bot.works.library.files import failures, files_of, left_out, named_paths
from bot.works.library.intake_job import IntakeJob

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.readers.document import Document
    from bot.retrieval.intake import Intake
    from bot.works.course.answer import CourseQuestions
    from bot.works.course.catalogue import Catalogues, Course
    from bot.works.course.course_names import CourseNames
    from bot.works.course.quiz import Quiz
    from bot.works.course.quiz_answers import QuizAnswers
    from storage.document_rows import Outline
    from storage.jobs import Jobs
    from storage.quizzes import Quizzes

OVERLAP: Final = 100
"""The number of characters that two windows of one lesson share; their size is [retrieval]'s."""
OUTLINE_LESSONS: Final = 100
"""The maximum number of lessons in an outline's message; a longer one comes as a file as well."""

KINDS: Final = (*SUFFIXES, BUNDLE)
TITLES_NAMED: Final = 20
"""How many titles the message at a job's end names; `course list` names all."""


@dataclass(frozen=True, slots=True)
class Courses:
    """The verbs of courses. Imported files have at most `max_bytes`, and are read and cut by `shapes`."""

    catalogues: Catalogues
    names: CourseNames
    questions: CourseQuestions
    quiz: Quiz
    quiz_answers: QuizAnswers
    quizzes: Quizzes
    intake: Intake
    jobs: Jobs
    incoming: Incoming
    sandbox: Sandbox
    max_bytes: int
    shapes: Mapping[str, Shape]

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "add": self._import,
            "replace": self._import,
            "remove": self._remove,
            "ask": self.questions.run,
            "list": self._list,
            "outline": self._outline,
            "quiz": self.quiz.quiz,
            "lesson": self.quiz.lesson,
            "answer": self.quiz_answers.answer,
            "finish": self.quiz_answers.finish,
            "score": self.quiz_answers.score,
        }
        return verbs[run.request.verb](run)

    async def _import(self, run: Run) -> AsyncGenerator[Event, None]:
        """Import the named or attached files."""
        request, say = run.request, words(run.request.locale)
        paths = named_paths(request)
        if not paths and not request.files:
            raise UserError("course.no_files", kinds=", ".join(KINDS))
        if request.files:
            yield Status(say("library.fetching"))
        files, refused = await files_of(run, self.incoming, paths, self.max_bytes, KINDS)
        if not files and not refused:
            yield Stage("job", say("course.adding", n=0))
            kinds = ", ".join(KINDS)
            yield Failed(say("library.nothing_there", paths=", ".join(paths), kinds=kinds), retry=False)
            return

        async def gather() -> list[tuple[Item, int]]:
            return await self._items(run, paths, files)

        courses = await run.step("courses", gather, list[tuple[Item, int]])
        items, sizes = [item for item, _ in courses], [size for _, size in courses]
        yield Stage("job", say("course.adding", n=len(items) + len(refused)))
        job = IntakeJob(self.intake, self.jobs, run, SHELF, self.shapes, _outcome)
        replace = request.verb == "replace" or bool(request.options.get("replace"))
        async with aclosing(job.events(items, sizes, refused, replace=replace)) as events:
            async for event in events:
                yield event
        async for notice in left_out(run, paths, CONFIGS):
            yield notice

    async def _items(
        self, run: Run, paths: Sequence[str], files: Sequence[Candidate]
    ) -> list[tuple[Item, int]]:
        """The courses that the files make, with their sizes in bytes.

        A folder of lessons, or a zip of one, is one course, and so are several files with a given title.
        """
        options = run.request.options
        kind = BOOK if options.get("book") else COURSE
        about = {name: str(options[name]) for name in ("title", "instructor", "link") if options.get(name)}
        items: list[tuple[Item, int]] = []

        async def add_packed(name: str, root: Path, group: Sequence[Candidate], kind: str) -> None:
            target = f"course-{len(items)}{BUNDLE}"
            async with self.incoming.writing(run, target) as path:
                size = await pack(
                    root, group, about, path, partial(self.incoming.read, max_bytes=self.max_bytes)
                )
            stored = self.incoming.path(run, target)
            items.append((Item(f"{name}{BUNDLE}", stored, max_bytes=self.max_bytes, kind=kind), size))

        single_files = [file for file in files if suffix_of(file.name) != BUNDLE]
        for file in files:
            if suffix_of(file.name) == BUNDLE:
                path, size = await self._zip_with_options(run, file, about, f"course-{len(items)}{BUNDLE}")
                name = f"{PurePath(file.name).stem}{BUNDLE}"
                items.append((Item(name, path, max_bytes=self.max_bytes, kind=FOLDER), size))
        for path in paths if ONLY not in options else ():
            root = await asyncio.to_thread(_folder, path)
            group = [file for file in single_files if root and Path(file.path).is_relative_to(root)]
            if root and group and (kind == BOOK or about or not await self._holds_courses(group)):
                await add_packed(root.name, root, group, FOLDER)
                single_files = [file for file in single_files if file not in group]
        if about.get("title") and (len(items) > 1 or (items and single_files)):
            raise UserError("course.one_title")
        if about.get("title") and len(single_files) > 1:
            await add_packed(about["title"][:80], Path(), single_files, FOLDER)
        elif about:
            for file in single_files:
                await add_packed(PurePath(file.name).stem, Path(), [file], kind)
        else:
            items += [
                (Item(file.name, file.path, max_bytes=self.max_bytes, kind=kind), file.size)
                for file in single_files
            ]
        return items

    async def _zip_with_options(
        self, run: Run, file: Candidate, about: Mapping[str, str], target: str
    ) -> tuple[str, int]:
        """The path and the size of an existing zip, with the command's options added if there are any.

        It is not unpacked; a broken one is left unchanged, and the reader refuses it.
        """
        if not about:
            return file.path, file.size
        try:
            data = await self.incoming.read(file.path, self.max_bytes)
            await asyncio.to_thread(Archive, file.name, data)
        except UserError:
            return file.path, file.size
        async with self.incoming.writing(run, target) as path:
            size = await asyncio.to_thread(add_options, data, about, path)
        return self.incoming.path(run, target), size

    async def _holds_courses(self, files: Sequence[Candidate]) -> bool:
        """Whether a folder's files are separate courses: a text, or without texts the first file, names a course."""
        texts = [file for file in files if suffix_of(file.name) in PLAIN]
        for file in texts or files[:1]:
            try:
                data = await self.incoming.read(file.path, self.max_bytes)
                if texts:
                    text = await asyncio.to_thread(decode, file.name, data)
                else:
                    text = (await self.sandbox.read(file.name, data)).text
            except UserError:
                continue
            if names_course(text):
                return True
        return False

    async def _remove(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space = request.place.space

        # The choice comes first and is stored: after a crash the name may mean no course, or another one.
        async def course() -> tuple[str, str]:
            course = await self._course_named(space, request.text)
            return course.document, course.title

        async def removed() -> bool:
            await self.intake.remove(space, document)  # with everything that was derived from it
            await self.quizzes.forget(space, title)
            return True

        document, title = await run.step("course", course, tuple[str, str])
        await run.step("remove", removed, bool)
        yield Stage("remove", "")
        yield Text(say("course.removed", title=title))

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)

        async def list_text() -> tuple[int, str]:
            courses = (await self.catalogues.of(run.request.place.space)).courses
            lines = [_list_line(course, say) for course in courses]
            return len(courses), "\n".join(lines) or say("course.none")

        n, text = await run.step("list", list_text, tuple[int, str])
        yield Stage("list", say("course.list", n=n))
        yield Text(text)

    async def _outline(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)

        async def outlines() -> tuple[str, str, str]:
            course = await self._course_named(request.place.space, request.text)
            whole = outline(course, say) if len(course.lessons) > OUTLINE_LESSONS else ""
            return course.title, outline(course, say, OUTLINE_LESSONS), whole

        title, text, file_text = await run.step("outline", outlines, tuple[str, str, str])
        yield Stage("outline", title)
        yield Text(text)
        if file_text:
            yield Attachment("outline.md", "text/markdown", file_text.encode())

    async def _course_named(self, space: str, name: str) -> Course:
        return await course_named(self.names, await self.catalogues.of(space), name)


def outline(course: Course, say: Words, most: int | None = None) -> str:
    """A course as Markdown: its address, its instructor, and at most `most` of its lessons, each with its link."""
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


def _list_line(course: Course, say: Words) -> str:
    title = harmless(course.title)
    name = f"[{title}]({harmless_link(course.link)})" if course.link else f"**{title}**"
    by = f" · {harmless(course.instructor)}" if course.instructor else ""
    return f"- {name}: {say('course.lessons', n=len(course.lessons))}{by}"


def shapes(*, windows: bool) -> Mapping[str, Shape]:
    """How each kind of document is read and cut: at headings and paragraphs, or as `windows` of sentences."""
    overlap = OVERLAP if windows else None
    return {kind: partial(_shape, read, overlap) for kind, read in _READERS.items()}


_READERS: Final = {COURSE: read_course, BOOK: read_book, FOLDER: read_folder}


def _folder(path: str) -> Path | None:
    """The folder that a path names; blocking."""
    root = Path(path).expanduser().absolute()
    return root if root.is_dir() else None


def _shape(
    read: Callable[[str, Document], tuple[Document, Outline]],
    overlap: int | None,
    name: str,
    document: Document,
) -> Shaped:
    return Shaped(*read(name, document), overlap)


def _outcome(shelf: str, results: list[IntakeResult], bad: list[Refused], say: Words) -> list[Event]:
    """The imported titles, those that existed already, and the failures."""
    added = [result.title for result in results if result.document and not result.known]
    known_count = sum(1 for result in results if result.known)
    lines = []
    if added:
        passages = sum(result.chunks for result in results if result.document and not result.known)
        lines += [say("course.added", n=len(added), passages=passages)]
        lines += [f"- {title}" for title in added[:TITLES_NAMED]]
        if more := len(added[TITLES_NAMED:]):
            lines.append(say("course.more", n=more))
    if known_count:
        lines.append(say("course.known", n=known_count))
    events: list[Event] = [Text("\n".join(lines))] if lines else []
    return events + failures(bad, len(added) + known_count + len(bad), say)
