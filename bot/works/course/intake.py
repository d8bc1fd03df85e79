"""Files taken in as courses, by the library's jobs: read, given a course's shape, cut, embedded.

A title is a course's identity: a second file of one title takes the first one's place, or is refused.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.events import Event, Failed, Run, Stage, Status, Text, UserError
from bot.readers.kinds import SUFFIXES
from bot.retrieval.files import Refused
from bot.retrieval.intake import IntakeResult, Item, Shape, Shaped
from bot.words import Words, words
from bot.works.course.catalogue import BOOK, COURSE, SHELF
from bot.works.course.config import OVERLAP, CourseConfig
from bot.works.course.course_document import read_book, read_course
from bot.works.library.intake_job import IntakeJob, failures, files_of, named_paths

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.readers.document import Document
    from bot.retrieval.intake import Intake
    from storage.jobs import Jobs

NAMED: Final = 20
"""Titles that the message at a job's end names; `course list` names all."""


def shapes(config: CourseConfig) -> Mapping[str, Shape]:
    """How documents of our kinds are read and cut."""
    overlap = OVERLAP if config.chunks == "windows" else None
    return {COURSE: partial(_course, overlap), BOOK: partial(_book, overlap)}


def _course(overlap: int | None, name: str, document: Document) -> Shaped:
    return Shaped(*read_course(name, document), overlap)


def _book(overlap: int | None, name: str, document: Document) -> Shaped:
    return Shaped(*read_book(name, document), overlap)


class CourseIntake:
    """The verbs add and replace."""

    def __init__(
        self, intake: Intake, jobs: Jobs, incoming: Incoming, max_bytes: int, shapes: Mapping[str, Shape]
    ) -> None:
        self._intake = intake
        self._jobs = jobs
        self._incoming = incoming
        self._max_bytes = max_bytes
        self._shapes = shapes

    async def events(self, run: Run) -> AsyncGenerator[Event, None]:
        """Take in the files that were named or attached."""
        request, say = run.request, words(run.request.locale)
        named = named_paths(request)
        if not named and not request.files:
            raise UserError("course.no_files", kinds=", ".join(SUFFIXES))
        if request.files:
            yield Status(say("library.fetching"))
        files, refused = await files_of(run, self._incoming, named, self._max_bytes)
        yield Stage("job", say("course.adding", n=len(files) + len(refused)))
        if not files and not refused:
            kinds = ", ".join(SUFFIXES)
            yield Failed(say("library.nothing_there", paths=", ".join(named), kinds=kinds))
            return
        kind = BOOK if request.options.get("book") else COURSE
        items = [Item(file.name, file.path, max_bytes=self._max_bytes, kind=kind) for file in files]
        job = IntakeJob(self._intake, self._jobs, run, SHELF, self._shapes, _outcome)
        replace = request.verb == "replace" or bool(request.options.get("replace"))
        sizes = [file.size for file in files]
        async with aclosing(job.events(items, sizes, refused, replace=replace)) as events:
            async for event in events:
                yield event

    async def remove(self, space: str, document: str) -> None:
        """Take a course off, with all that was made of it."""
        await self._intake.remove(space, document)


def _outcome(shelf: str, results: list[IntakeResult], bad: list[Refused], say: Words) -> list[Event]:
    """The titles that went in, those that were there already, and what failed."""
    went_in = [result.title for result in results if result.document and not result.known]
    known_count = sum(1 for result in results if result.known)
    lines = []
    if went_in:
        passages = sum(result.chunks for result in results if result.document and not result.known)
        lines += [say("course.added", n=len(went_in), passages=passages)]
        lines += [f"- {title}" for title in went_in[:NAMED]]
        if more := len(went_in[NAMED:]):
            lines.append(say("course.more", n=more))
    if known_count:
        lines.append(say("course.known", n=known_count))
    events: list[Event] = [Text("\n".join(lines))] if lines else []
    return events + failures(bad, len(went_in) + known_count + len(bad), say)
