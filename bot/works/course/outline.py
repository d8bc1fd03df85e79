"""Makes a course's outline, and the sections of its document, from the lines that name its lessons.

Pure; knows no format of these lines.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.readers.document import Document, Section, page_at
from bot.readers.lines import Line
from bot.retrieval.titles import normal
from bot.works.course.course_fields import Header
from storage.document_rows import Lesson, Outline


@dataclass(frozen=True, slots=True)
class LessonLine:
    """A lesson in a document's lines, by their indexes. `line` names it, `body` is the first line after its fields.

    `skip` is how many characters of `body` still belong to the lesson's address.
    """

    line: int
    number: int
    title: str
    link: str = ""
    body: int = 0
    skip: int = 0


def with_outline(
    document: Document, lines: Sequence[Line], title: str, header: Header, lessons: Sequence[LessonLine]
) -> tuple[Document, Outline]:
    """The document with a section for each lesson and each heading within one, and its outline.

    Text before the first lesson is a section under the title alone.
    """
    size = len(document.text)
    ends = [*(lines[lesson.line].start for lesson in lessons), size][1:]
    sections: list[Section] = []
    first = next((at for at, line in enumerate(lines) if line.text.strip() and at not in header.lines), 0)
    before = lines[lessons[0].line].start if lessons else size
    if document.text[lines[first].start : before].strip() or not lessons:
        _add_section(sections, document, min(lines[first].start, before), before, (title,))
    outline_lessons: list[Lesson] = []
    same_number: Counter[int] = Counter()
    inner_headings = _InnerHeadings(document.sections)
    for lesson, end in zip(lessons, ends, strict=True):
        from_section = len(sections)
        path = (title, lesson_heading(lesson.number, lesson.title))
        start = lines[lesson.body].start + lesson.skip if lesson.body < len(lines) else size
        start = _past_title(document.text, start, end, lesson.title)
        _add_section(sections, document, start, max(end, start), path)
        inner_headings.add_to(sections, document, start, end, path)
        id = lesson_id(title, lesson.number, same_number[lesson.number])
        same_number[lesson.number] += 1
        outline_lessons.append(
            Lesson(id, lesson.number, lesson.title, lesson.link, from_section, len(sections))
        )
    outline = Outline(header.link, header.instructor, tuple(outline_lessons))
    return replace(document, title=title, sections=tuple(sections)), outline


class _InnerHeadings:
    """Adds the sections of the headings within each lesson, consuming a document's headings in order."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._headings = [section for section in sections if section.level and section.title]
        self._at = 0

    def add_to(
        self, sections: list[Section], document: Document, start: int, end: int, path: tuple[str, ...]
    ) -> None:
        """Add a section for each heading from `start` to `end`, below `path`."""
        trail: list[tuple[int, str]] = []
        while self._at < len(self._headings) and self._headings[self._at].start < start:
            self._at += 1
        while self._at < len(self._headings) and (heading := self._headings[self._at]).start < end:
            self._at += 1
            trail = [
                *(ancestor for ancestor in trail if ancestor[0] < heading.level),
                (heading.level, heading.title),
            ]
            last = sections[-1]
            sections[-1] = replace(last, end=max(heading.start, last.start))
            _add_section(sections, document, heading.start, end, (*path, *(name for _, name in trail)))


def _past_title(text: str, start: int, end: int, title: str) -> int:
    """Where a lesson's text begins: after its first line, with its underline, if that repeats the lesson's title."""
    first = re.compile(r"\s*([^\n]+)(?:\n[=\-~]{3,}[ \t]*(?=\n|$))?").match(text, start, max(end, start))
    return first.end() if first is not None and _repeats(first[1], title) else start


def _repeats(heading: str, title: str) -> bool:
    """Whether a heading is the lesson's title, perhaps after its number: "Lesson 2: The hive" is "The hive"."""
    words, title_words = normal(heading).split(), normal(title).split()
    prefix = words[: len(words) - len(title_words)]
    return words[len(prefix) :] == title_words != [] and (
        not prefix or (len(prefix) < 4 and prefix[-1].isdigit())
    )


def _add_section(
    sections: list[Section], document: Document, start: int, end: int, path: tuple[str, ...]
) -> None:
    page = page_at(document.pages, start)
    sections.append(Section(len(sections), len(path), path[-1], path, start, end, page))


def lesson_heading(number: int, title: str) -> str:
    """The heading of a lesson: "3. Swarming"."""
    return f"{number}. {title}" if title else f"{number}."


def lesson_id(course: str, number: int, nth: int) -> str:
    """The id of a lesson in every edition of its course; `nth` is its index among the lessons with its number."""
    return hashlib.sha256(f"{normal(course)}\0{number}\0{nth}".encode()).hexdigest()[:16]
