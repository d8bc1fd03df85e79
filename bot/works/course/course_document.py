"""A document read as a course: its title, link and instructor, and its lessons with their numbers and links.

Pure; knows no file format and no storage. The format is `Course Title:`, `Course Link:`, `Course Instructor:`, then
`Lesson N: title` with `Lesson Link:` below it, in English or Portuguese, as lines or as headings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bot.events import UserError
from bot.readers.document import Document, Section, one_line, title_from_name
from bot.readers.kinds import suffix_of
from bot.readers.lines import Line, split_lines
from bot.works.course.course_fields import (
    FIELD,
    LINK_FIELD,
    MARK,
    WRAPPED,
    Header,
    address_at,
    header_of,
    lines_of_pages,
    words_of,
)
from bot.works.course.moments import TIME
from bot.works.course.outline import LessonLine, with_outline
from storage.document_rows import Outline

_UNITS = r"week|unit|module|lecture|chapter|session|semana|unidade|m[óo]dulo|cap[íi]tulo"
_LESSON_LINE = (
    rf"{MARK}(%s)\s+(?:n[.ºo°]+\s*|#\s*)?(\d{{1,6}})\s*[*_`~]*\s*"
    r"(?:$|[:：.)–—-]+[*_`~]*(?:\s+(.*))?$)"
)
_LESSON = re.compile(_LESSON_LINE % r"lesson|aula|li[çc][ãa]o", re.IGNORECASE)
_UNIT = re.compile(_LESSON_LINE % _UNITS, re.IGNORECASE)
"""Lines with other words for a part of a course, which count if no line names a lesson."""
_SINGLE_LESSON_SUFFIXES: Final = (".zip", ".srt", ".vtt")
"""Types of files that are a single lesson if they name no lessons."""
_NUMBERED = re.compile(r"(\d{1,6})\s*[:：.)–—-]+\s+(\S.*)$")
_HEADING = re.compile(r"[\s>]*#{1,6}\s")
_PROSE_ENDS = re.compile(r"[.!?…:;\"”’)\]*_]\s*$")
_TITLE_CHARS = 80
"""The length from which a line inside a paragraph is a sentence rather than a title."""


def read_course(name: str, document: Document) -> tuple[Document, Outline]:
    """The document with a section for each lesson and each heading within one, and its outline.

    Paths begin with the course's title; text before the first lesson belongs to none. With a title's line but no
    lessons' lines, headings are the lessons. Raises UserError ("course.no_course") for a document with none of these.
    """
    paged = bool(document.pages)
    lines = lines_of_pages(document.text) if paged else split_lines(document.text)
    lessons = list(_lessons(lines, paged=paged))
    header = header_of(lines, lessons[0].line if lessons else len(lines), paged=paged)
    single = suffix_of(name) in _SINGLE_LESSON_SUFFIXES or _is_transcript(lines)
    if not header.titled and not lessons and not single:
        raise UserError("course.no_course", name=name)
    if not lessons and header.titled:
        lessons = _heading_lessons(lines, document, header) or [
            lesson for _, lesson in _named_lessons(lines, _UNIT, paged=paged)
        ]
    if not lessons and single:
        lessons = [_only_lesson(name, lines, document, header)]
    before = lessons[0].line if lessons else len(lines)
    title = one_line(header.title) or _title(name, lines, document, before)
    return with_outline(document, lines, title, header, lessons)


def read_book(name: str, document: Document) -> tuple[Document, Outline]:
    """A book as a course: the headings of its outermost level with several are the lessons.

    Raises UserError ("course.no_headings") if no level has several.
    """
    lines = split_lines(document.text)
    lessons = _heading_lessons(lines, document, Header(), numbered=False)
    if not lessons:
        raise UserError("course.no_headings", name=name)
    return with_outline(document, lines, one_line(document.title), Header(), lessons)


def read_folder(name: str, document: Document) -> tuple[Document, Outline]:
    """A folder, as `readers.bundle` reads it, as a course: its files are the lessons."""
    lines = split_lines(document.text)
    tops = [section for section in document.sections if section.level == 1]
    if not tops or not all(_NUMBERED.match(section.title) for section in tops):
        return read_course(name, document)  # a single file
    before = next(at for at, line in enumerate(lines) if line.start == tops[0].start)
    header = header_of(lines, before, paged=False)
    return with_outline(
        document, lines, one_line(header.title), header, _section_lessons(lines, document, tops)
    )


def _only_lesson(name: str, lines: Sequence[Line], document: Document, header: Header) -> LessonLine:
    """A transcript's only lesson: the whole text."""
    at = next(
        (at for at, line in enumerate(lines) if line.text.strip() and at not in header.lines), len(lines) - 1
    )
    title = header.title or one_line(document.title) or title_from_name(name)
    return LessonLine(at, 1, title, header.link, at)


def _is_transcript(lines: Sequence[Line]) -> bool:
    """Whether most lines begin with a time, as in the transcript of a recording."""
    times = sum(bool(TIME.match(line.text)) for line in lines)
    return times > 1 and 2 * times > sum(bool(line.text.strip()) for line in lines)


def _lessons(lines: Sequence[Line], *, paged: bool) -> list[LessonLine]:
    """The lines that name lessons; without any, those with the first other word for a part that occurs twice."""
    if lessons := [lesson for _, lesson in _named_lessons(lines, _LESSON, paged=paged)]:
        return lessons
    units = list(_named_lessons(lines, _UNIT, paged=paged))
    times = Counter(word for word, _ in units)
    chosen = next((word for word, _ in units if times[word] > 1), "")
    return [lesson for word, lesson in units if word == chosen]


def _named_lessons(
    lines: Sequence[Line], pattern: re.Pattern[str], *, paged: bool
) -> Iterator[tuple[str, LessonLine]]:
    """The lines that name a lesson, with the word used for it."""
    for at, line in enumerate(lines):
        if len(line.text) > 100_000 or not (match := pattern.match(line.text)):
            continue
        title = words_of(match[3] or "")
        fields = _lesson_fields(lines, at + 1, paged=paged)
        if not fields.body and _is_prose(lines, at):
            continue
        title = one_line(" ".join([title, *fields.more]))
        lesson = LessonLine(at, int(match[2]), title, fields.link, fields.body or at + 1, fields.skip)
        yield match[1].casefold(), lesson


@dataclass(frozen=True, slots=True)
class _LessonFields:
    """The lines below a lesson's name: its address, and `more`, the parts of its title before the address.

    `body` is the line after the address, 0 without one; `skip` as in `LessonLine`.
    """

    link: str = ""
    body: int = 0
    skip: int = 0
    more: tuple[str, ...] = ()


def _lesson_fields(lines: Sequence[Line], at: int, *, paged: bool) -> _LessonFields:
    title_parts: list[str] = []
    for index in range(at, min(at + 2 * WRAPPED, len(lines))):
        text = lines[index].text
        if not text.strip():
            continue
        if match := FIELD["lesson"].match(text) or LINK_FIELD["lesson"].match(text):
            link, next_line, left = address_at(lines, index, match[1], paged=paged)
            if left:
                return _LessonFields(
                    link, next_line - 1, len(lines[next_line - 1].text) - left, tuple(title_parts)
                )
            return _LessonFields(link, next_line, 0, tuple(title_parts))
        if (
            len(title_parts) == WRAPPED - 1
            or _begins_lesson(text)
            or (title_parts and not lines[index - 1].text.strip())
        ):
            break
        title_parts.append(words_of(text))
    return _LessonFields()


def _begins_lesson(text: str) -> bool:
    return bool(_LESSON.match(text) or _UNIT.match(text))


def _is_prose(lines: Sequence[Line], at: int) -> bool:
    """Whether a line that begins like a lesson's name is part of a sentence in a paragraph."""
    before = lines[at - 1].text if at else ""
    text = lines[at].text
    if not before.strip() or _HEADING.match(text) or _HEADING.match(before) or _PROSE_ENDS.search(before):
        return False
    return len(text) > _TITLE_CHARS or text.rstrip().endswith((".", ",", ";"))


def _heading_lessons(
    lines: Sequence[Line], document: Document, header: Header, *, numbered: bool = True
) -> list[LessonLine]:
    """The headings of the outermost level that has several, as lessons; with their own numbers if all have one."""
    starts = {line.start: at for at, line in enumerate(lines)}
    last_paths: dict[int, tuple[str, ...]] = {}
    levels: dict[int, list[Section]] = {}
    for section in document.sections:
        for deeper in [level for level in last_paths if level > section.level]:
            del last_paths[deeper]
        continues = last_paths.get(section.level) == section.path  # after an aside in a box
        last_paths[section.level] = section.path
        if (
            section.level
            and section.title
            and not continues
            and starts.get(section.start) not in header.lines
        ):
            levels.setdefault(section.level, []).append(section)
    level = min((level for level, sections in levels.items() if len(sections) > 1), default=0)
    lesson_sections = levels.get(level, [])
    return _section_lessons(lines, document, lesson_sections, numbered=numbered)


def _section_lessons(
    lines: Sequence[Line], document: Document, sections: Sequence[Section], *, numbered: bool = True
) -> list[LessonLine]:
    """The sections as lessons, with their own numbers if all have one."""
    starts = {line.start: at for at, line in enumerate(lines)}
    own_numbers = [_NUMBERED.match(section.title) for section in sections] if numbered else []
    if own_numbers and all(own_numbers):
        numbered_titles = [(int(match[1]), match[2]) for match in own_numbers if match]
    else:
        numbered_titles = [(number, section.title) for number, section in enumerate(sections, 1)]
    lessons = []
    for section, (number, title) in zip(sections, numbered_titles, strict=True):
        line = starts[section.start]
        fields = _lesson_fields(lines, line + 1, paged=bool(document.pages))
        fields = _LessonFields() if fields.more else fields
        body = fields.body or _body_line(lines, line)
        lessons.append(LessonLine(line, number, title, fields.link, body, fields.skip))
    return lessons


def _body_line(lines: Sequence[Line], at: int) -> int:
    """The index of the line after a heading and the rule that may underline it."""
    next_text = lines[at + 1].text.strip() if at + 1 < len(lines) else ""
    underlined = bool(next_text) and not _HEADING.match(lines[at].text) and not next_text.strip("=-")
    return at + 2 if underlined else at + 1


def _title(name: str, lines: Sequence[Line], document: Document, before: int) -> str:
    """The first heading before the lessons, or else the document's title, or the file's name."""
    end = lines[before].start if before < len(lines) else len(document.text)
    headings = [
        section.title
        for section in document.sections
        if section.level and section.title and section.start < end
    ]
    title = (headings or [one_line(document.title)])[0]
    return title_from_name(name) if not title or _begins_lesson(title) else title
