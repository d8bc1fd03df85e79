"""The tools with which a model, or code in its place, looks things up in a space's courses: passages and outlines.

Plain functions; `bot.llm.tools` decides who calls them, and how often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bot.llm.base import Tool, ToolOutput
from bot.retrieval.chunk import SEPARATOR
from bot.retrieval.results import Passage
from bot.works.course.catalogue import SHELF, Catalogue, Course
from bot.works.course.outline import lesson_heading

if TYPE_CHECKING:
    from bot.retrieval.library import Library
    from bot.retrieval.ranking import Part
    from bot.words import Words
    from bot.works.course.course_names import CourseMatch, CourseNames

RESULTS: Final = 5
"""The number of passages in one search."""
OUTLINE_CHARS: Final = 12_000
"""The maximum length of an outline that a model reads; the lessons left out are counted."""
SEARCH, OUTLINE = "search_course_content", "get_course_outline"

GUESS: Final = "It is not certain that the courses answer this. The passages that may:"
_UNSURE: Final = "Nothing in the courses clearly answers this. The nearest passages:"
_SEARCH: Final = (
    "Search what is taught in the courses, and get the passages that come nearest. With a course's name, or a part of "
    "it, only that course is searched, and with a lesson's number only lessons of that number."
)
_OUTLINE: Final = (
    "Get a course's outline: its title, link and instructor, and the number, title and link of every lesson. "
    "A part of the course's title is enough."
)
_NAME: Final = {"type": "string", "description": "The course's title, or a part of it."}


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The passages of a search: `confident` if they answer it, `doubtful` if they may. `refused` is an error."""

    passages: tuple[Passage, ...] = ()
    confident: bool = False
    refused: str = ""
    notices: tuple[str, ...] = ()
    doubtful: bool = False


class CourseTools:
    """The tools for one space's courses; all searches use the same editions."""

    def __init__(
        self,
        library: Library,
        catalogue: Catalogue,
        names: CourseNames,
        space: str,
        *,
        course: str | None = None,
        lesson: int | None = None,
    ) -> None:
        """`course` and `lesson`: the limits of searches that name no others."""
        self._course = course
        self._lesson = lesson
        self._library = library.pinned()
        self.catalogue = catalogue
        self._names = names
        self._space = space

    async def search_course_content(
        self, query: str, course_name: str | None = None, lesson_number: int | None = None
    ) -> ToolOutput:
        """The nearest passages of all courses, of one course, or of the lessons of a number."""
        results = await self.search(query, course_name, lesson_number)
        if results.refused:
            return ToolOutput(results.refused, failed=True)
        unsure = GUESS if results.doubtful else _UNSURE
        return ToolOutput("" if results.confident or not results.passages else unsure, results.passages)

    async def get_course_outline(self, course_name: str) -> ToolOutput:
        """A course's outline, as a passage that can be cited."""
        resolved = await self.resolve(course_name)
        if (course := resolved.course) is None:
            return ToolOutput(_no_course(course_name, resolved), failed=True)
        return ToolOutput(passages=(_outline_passage(course),))

    async def search(
        self, query: str, course_name: str | None = None, lesson_number: int | None = None
    ) -> SearchResults:
        """The results of `search_course_content`, with the confidence."""
        courses = self.catalogue.courses
        course_name = course_name or self._course
        if lesson_number is None and course_name == self._course:
            lesson_number = self._lesson
        if course_name and course_name.strip():
            resolved = await self.resolve(course_name)
            if resolved.course is None:
                return SearchResults(refused=_no_course(course_name, resolved))
            courses = (resolved.course,)
        within: list[Part] | None = [course.part() for course in courses] if course_name else None
        if lesson_number is not None:
            within = [course.part(lesson) for course in courses for lesson in course.numbered(lesson_number)]
            if not within:
                return SearchResults(refused=_no_lesson(lesson_number, courses))
        results = await self._library.search(self._space, SHELF, query, k=RESULTS, within=within)
        passages = (self._with_lesson_link(passage) for passage in results.passages)
        return SearchResults(
            tuple(passages), results.confident, notices=tuple(results.notices), doubtful=results.doubtful
        )

    @staticmethod
    def sure(output: ToolOutput) -> bool:
        """Whether a tool's result answers the request: an outline, or a confident search."""
        return bool(output.passages) and output.text not in (GUESS, _UNSURE)

    async def resolve(self, course_name: str) -> CourseMatch:
        """The course that a name means, or the nearest ones."""
        return await self._names.resolve(self.catalogue, course_name)

    def offered(self, say: Words) -> tuple[Tool, ...]:
        """The tools in the form in which a model gets them."""
        number = {"type": "integer", "minimum": 0, "description": "The lesson's number."}
        query = {"type": "string", "description": "What to look for, in the course's own language."}
        search = {"query": query, "course_name": _NAME, "lesson_number": number}
        return (
            Tool(
                SEARCH, _SEARCH, _schema(search, "query"), self.search_course_content, say("course.searching")
            ),
            Tool(
                OUTLINE,
                _OUTLINE,
                _schema({"course_name": _NAME}, "course_name"),
                self.get_course_outline,
                say("course.outlining"),
            ),
        )

    def _with_lesson_link(self, passage: Passage) -> Passage:
        """The passage with its lesson's address, and without the course's title before its headings."""
        course = self.catalogue.course(passage.document)
        if course is None:
            return passage
        heading = passage.heading.removeprefix(f"{course.title}{SEPARATOR}")
        return replace(passage, heading=heading, link=course.link_to(course.lesson_at(passage.section)))


def _outline_passage(course: Course) -> Passage:
    lines = [f"Course: {course.title}"]
    if course.link:
        lines.append(f"Link: {course.link}")
    if course.instructor:
        lines.append(f"Instructor: {course.instructor}")
    lines.append(f"Lessons: {len(course.lessons)}")
    room = OUTLINE_CHARS - sum(len(line) + 1 for line in lines)
    for n, lesson in enumerate(course.lessons):
        link = course.link_to(lesson)
        line = f"Lesson {lesson_heading(lesson.number, lesson.title)}" + (f" ({link})" if link else "")
        room -= len(line) + 1
        if room < 0:
            lines.append(f"… and {len(course.lessons) - n} more lessons.")
            break
        lines.append(line)
    return Passage(
        chunk=f"{course.document}:outline",
        document=course.document,
        source=course.source,
        title=course.title,
        heading=course.title,
        page=None,
        text="\n".join(lines),
        score=1.0,
        section=-1,
        link=course.link,
        unread=course.unread,
    )


def _no_course(name: str, resolved: CourseMatch) -> str:
    titles = "; ".join(f"“{title}”" for title in resolved.nearest)
    if resolved.several:
        return f"“{name[:80]}” could be more than one course: {titles}. Name one."
    return (
        f"There is no course “{name[:80]}”. The nearest names are: {titles or 'none, there are no courses'}."
    )


def _no_lesson(number: int, courses: tuple[Course, ...]) -> str:
    if len(courses) != 1:
        return f"No course has a lesson {number}."
    numbers = sorted({lesson.number for lesson in courses[0].lessons})
    number_list = ", ".join(map(str, numbers[:50])) + ("…" if len(numbers) > 50 else "")
    return f"“{courses[0].title}” has no lesson {number}. Its lessons are: {number_list or 'none'}."


def _schema(properties: dict[str, Any], needed: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [needed],
        "additionalProperties": False,
    }
