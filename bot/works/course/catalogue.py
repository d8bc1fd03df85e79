"""The catalogue of a space's courses and their lessons, without the lessons' content.

Cached by the version of the courses' shelf.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from bot.readers.kinds import BUNDLE
from bot.retrieval.results import NOTHING_UNREAD
from bot.retrieval.titles import completed, normal
from bot.works.course.outline import lesson_heading
from storage.document_rows import Lesson

if TYPE_CHECKING:
    from bot.retrieval.ranking import Part
    from storage.shelves import OutlineRow, Outlines, Shelves

SHELF: Final = " courses"
"""The shelf of all courses. No shelf of books can have this name, since those do not begin with a space."""
COURSE, BOOK, FOLDER = "course", "book", "folder"
"""The kinds of documents: a course in its own format, a book whose headings are lessons, a folder whose files are."""
MOST_OPEN: Final = 32
"""The number of spaces whose catalogues stay in memory; the least recently used is dropped first."""


@dataclass(frozen=True)
class Course:
    """One course. `document` is its id in the library, which is different in each edition."""

    document: str
    title: str
    source: str
    language: str
    link: str
    instructor: str
    lessons: tuple[Lesson, ...]
    unread: str = NOTHING_UNREAD

    def numbered(self, number: int) -> list[Lesson]:
        """The lessons with this number: usually one, but perhaps none, or several."""
        return [lesson for lesson in self.lessons if lesson.number == number]

    def lesson_at(self, section: int) -> Lesson | None:
        """The lesson that contains a section (its ordinal); None before the first one."""
        return next((lesson for lesson in self.lessons if lesson.first <= section < lesson.past), None)

    def link_to(self, lesson: Lesson | None) -> str:
        """The lesson's address, or else the course's, or ""."""
        return (lesson.link if lesson is not None else "") or self.link

    def part(self, lesson: Lesson | None = None) -> Part:
        """The sections of a lesson, or of the whole course."""
        return (self.document, 0, 10**9) if lesson is None else (self.document, lesson.first, lesson.past)


@dataclass(frozen=True)
class Catalogue:
    """A space's courses by title, at one moment."""

    version: int
    courses: tuple[Course, ...]

    @cached_property
    def _by_document(self) -> dict[str, Course]:
        return {course.document: course for course in self.courses}

    @cached_property
    def _by_title(self) -> dict[str, Course]:
        return {normal(course.title): course for course in self.courses}

    def course(self, document: str) -> Course | None:
        """The course of a document, by its id in the library."""
        return self._by_document.get(document)

    def titled(self, title: str) -> Course | None:
        """The course with exactly this title, ignoring case and accents; or else the one from a file of this name."""
        if (exact := self._by_title.get(normal(title))) is not None:
            return exact
        from_file = [
            course for course in self.courses if course.source.casefold() == title.strip().casefold()
        ]
        return from_file[0] if len(from_file) == 1 else None


class Catalogues:
    """The catalogues of all spaces."""

    def __init__(self, outlines: Outlines, shelves: Shelves) -> None:
        self._outlines = outlines
        self._shelves = shelves
        self._open: OrderedDict[str, Catalogue] = OrderedDict()
        self._reading = asyncio.Lock()

    async def of(self, space: str) -> Catalogue:
        """The space's catalogue as it is now."""
        async with self._reading:
            version = await self._shelves.version(space, SHELF)
            catalogue = self._open.get(space)
            if catalogue is None or catalogue.version != version:
                rows = await self._outlines.of_shelf(space, SHELF)
                catalogue = self._open[space] = Catalogue(version, tuple(map(_course, rows)))
                while len(self._open) > MOST_OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(space)
            return catalogue

    async def course_names(self, space: str, prefix: str, most: int) -> list[str]:
        """Titles that begin with the typed text, then those with a word that does."""
        return completed([course.title for course in (await self.of(space)).courses], prefix, most)

    async def lesson_names(self, space: str, prefix: str, most: int) -> list[str]:
        """Lessons as people type them, beginning with their numbers."""
        courses = (await self.of(space)).courses
        names = [
            lesson_heading(lesson.number, lesson.title) for course in courses for lesson in course.lessons
        ]
        return completed(list(dict.fromkeys(names)), prefix, most)


def _course(row: OutlineRow) -> Course:
    return Course(
        row.document_id,
        row.title,
        row.source.removesuffix(BUNDLE),
        row.language,
        row.link,
        row.instructor,
        row.lessons,
        row.unread,
    )
