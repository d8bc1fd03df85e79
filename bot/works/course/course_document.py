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
    LINKED,
    MARK,
    WRAPPED,
    Header,
    address_at,
    header_of,
    unjoined,
    words_of,
)
from bot.works.course.moments import TIME
from bot.works.course.outline import LessonLine, outlined
from storage.document_rows import Outline

_UNITS = r"week|unit|module|lecture|chapter|session|semana|unidade|m[óo]dulo|cap[íi]tulo"
_NAMED = (
    rf"{MARK}(%s)\s+(?:n[.ºo°]+\s*|#\s*)?(\d{{1,6}})\s*[*_`~]*\s*"
    r"(?:$|[:：.)–—-]+[*_`~]*(?:\s+(.*))?$)"
)
_LESSON = re.compile(_NAMED % r"lesson|aula|li[çc][ãa]o", re.IGNORECASE)
_UNIT = re.compile(_NAMED % _UNITS, re.IGNORECASE)
"""Words that mean a lesson if nothing else is called a lesson."""
_WHOLE: Final = (".zip", ".srt", ".vtt")
"""Types of files that are a single lesson if they name none."""
_NUMBERED = re.compile(r"(\d{1,6})\s*[:：.)–—-]+\s+(\S.*)$")
_HEADING = re.compile(r"[\s>]*#{1,6}\s")
_PROSE_ENDS = re.compile(r"[.!?…:;\"”’)\]*_]\s*$")
_LONG = 80
"""The length from which a line inside a paragraph is a sentence rather than a title."""


def read_course(name: str, document: Document) -> tuple[Document, Outline]:
    """The document with a section for each lesson and each heading within one, and its outline.

    Paths begin with the course's title; text before the first lesson belongs to none. With a title's line but no
    lessons' lines, headings are the lessons. Raises UserError ("course.no_course") for a document with none of these.
    """
    paged = bool(document.pages)
    lines = unjoined(document.text) if paged else split_lines(document.text)
    lessons = list(_lessons(lines, paged=paged))
    header = header_of(lines, lessons[0].line if lessons else len(lines), paged=paged)
    whole = suffix_of(name) in _WHOLE or _timed(lines)
    if not header.titled and not lessons and not whole:
        raise UserError("course.no_course", name=name)
    if not lessons and header.titled:
        lessons = _headings(lines, document, header) or [
            lesson for _, lesson in _named(lines, _UNIT, paged=paged)
        ]
    if not lessons and whole:
        lessons = [_whole(name, lines, document, header)]
    before = lessons[0].line if lessons else len(lines)
    title = one_line(header.title) or _title(name, lines, document, before)
    return outlined(document, lines, title, header, lessons)


def read_book(name: str, document: Document) -> tuple[Document, Outline]:
    """The same for an ordinary book: the headings of its outermost level with several are the lessons.

    Raises UserError ("course.no_headings") if no level has several.
    """
    lines = split_lines(document.text)
    lessons = _headings(lines, document, Header(), numbered=False)
    if not lessons:
        raise UserError("course.no_headings", name=name)
    return outlined(document, lines, one_line(document.title), Header(), lessons)


def read_folder(name: str, document: Document) -> tuple[Document, Outline]:
    """The same for a folder, as `readers.bundle` reads it: its files are the lessons."""
    lines = split_lines(document.text)
    tops = [section for section in document.sections if section.level == 1]
    if not tops or not all(_NUMBERED.match(section.title) for section in tops):
        return read_course(name, document)  # a single file
    before = next(at for at, line in enumerate(lines) if line.start == tops[0].start)
    header = header_of(lines, before, paged=False)
    return outlined(document, lines, one_line(header.title), header, _of_sections(lines, document, tops))


def _whole(name: str, lines: Sequence[Line], document: Document, header: Header) -> LessonLine:
    """A transcript's only lesson: the whole text."""
    at = next(
        (at for at, line in enumerate(lines) if line.text.strip() and at not in header.lines), len(lines) - 1
    )
    title = header.title or one_line(document.title) or title_from_name(name)
    return LessonLine(at, 1, title, header.link, at)


def _timed(lines: Sequence[Line]) -> bool:
    """Whether this is a recording's transcript: most of its lines begin with a time."""
    times = sum(bool(TIME.match(line.text)) for line in lines)
    return times > 1 and 2 * times > sum(bool(line.text.strip()) for line in lines)


def _lessons(lines: Sequence[Line], *, paged: bool) -> list[LessonLine]:
    """The lines called lessons; or else other parts of a course, by the first word for them that occurs several
    times.
    """
    if lessons := [lesson for _, lesson in _named(lines, _LESSON, paged=paged)]:
        return lessons
    units = list(_named(lines, _UNIT, paged=paged))
    times = Counter(word for word, _ in units)
    chosen = next((word for word, _ in units if times[word] > 1), "")
    return [lesson for word, lesson in units if word == chosen]


def _named(
    lines: Sequence[Line], pattern: re.Pattern[str], *, paged: bool
) -> Iterator[tuple[str, LessonLine]]:
    """The lines that name a lesson, with the word used for it."""
    for at, line in enumerate(lines):
        if len(line.text) > 100_000 or not (named := pattern.match(line.text)):
            continue
        title = words_of(named[3] or "")
        below = _below(lines, at + 1, paged=paged)
        if not below.body and _within_prose(lines, at):
            continue
        title = one_line(" ".join([title, *below.more]))
        lesson = LessonLine(at, int(named[2]), title, below.link, below.body or at + 1, below.skip)
        yield named[1].casefold(), lesson


@dataclass(frozen=True, slots=True)
class _Below:
    """A lesson's address, the line after it (0 for none) with the number of its characters that belong to the address,
    and the parts of the title on lines before.
    """

    link: str = ""
    body: int = 0
    skip: int = 0
    more: tuple[str, ...] = ()


def _below(lines: Sequence[Line], at: int, *, paged: bool) -> _Below:
    more: list[str] = []
    for below in range(at, min(at + 2 * WRAPPED, len(lines))):
        text = lines[below].text
        if not text.strip():
            continue
        if match := FIELD["lesson"].match(text) or LINKED["lesson"].match(text):
            link, after, left = address_at(lines, below, match[1], paged=paged)
            if left:
                return _Below(link, after - 1, len(lines[after - 1].text) - left, tuple(more))
            return _Below(link, after, 0, tuple(more))
        if len(more) == WRAPPED - 1 or _begins_lesson(text) or (more and not lines[below - 1].text.strip()):
            break
        more.append(words_of(text))
    return _Below()


def _begins_lesson(text: str) -> bool:
    return bool(_LESSON.match(text) or _UNIT.match(text))


def _within_prose(lines: Sequence[Line], at: int) -> bool:
    """Whether a line that begins like a lesson's is inside a sentence of a paragraph."""
    before = lines[at - 1].text if at else ""
    text = lines[at].text
    if not before.strip() or _HEADING.match(text) or _HEADING.match(before) or _PROSE_ENDS.search(before):
        return False
    return len(text) > _LONG or text.rstrip().endswith((".", ",", ";"))


def _headings(
    lines: Sequence[Line], document: Document, header: Header, *, numbered: bool = True
) -> list[LessonLine]:
    """The headings of the outermost level that has several, as lessons; with their own numbers if all have one."""
    starts = {line.start: at for at, line in enumerate(lines)}
    last: dict[int, tuple[str, ...]] = {}
    levels: dict[int, list[Section]] = {}
    for section in document.sections:
        for inner in [level for level in last if level > section.level]:
            del last[inner]
        continues = last.get(section.level) == section.path  # after an aside in a box
        last[section.level] = section.path
        if (
            section.level
            and section.title
            and not continues
            and starts.get(section.start) not in header.lines
        ):
            levels.setdefault(section.level, []).append(section)
    level = min((level for level, sections in levels.items() if len(sections) > 1), default=0)
    found_sections = levels.get(level, [])
    return _of_sections(lines, document, found_sections, numbered=numbered)


def _of_sections(
    lines: Sequence[Line], document: Document, found_sections: Sequence[Section], *, numbered: bool = True
) -> list[LessonLine]:
    """These sections as lessons; with their own numbers if all have one."""
    starts = {line.start: at for at, line in enumerate(lines)}
    own = [_NUMBERED.match(section.title) for section in found_sections] if numbered else []
    if own and all(own):
        named = [(int(match[1]), match[2]) for match in own if match]
    else:
        named = [(number, section.title) for number, section in enumerate(found_sections, 1)]
    lessons = []
    for section, (number, title) in zip(found_sections, named, strict=True):
        line = starts[section.start]
        below = _below(lines, line + 1, paged=bool(document.pages))
        below = _Below() if below.more else below
        body = below.body or _behind(lines, line)
        lessons.append(LessonLine(line, number, title, below.link, body, below.skip))
    return lessons


def _behind(lines: Sequence[Line], at: int) -> int:
    """The line after a heading and the rule that may underline it."""
    below = lines[at + 1].text.strip() if at + 1 < len(lines) else ""
    ruled = bool(below) and not _HEADING.match(lines[at].text) and not below.strip("=-")
    return at + 2 if ruled else at + 1


def _title(name: str, lines: Sequence[Line], document: Document, before: int) -> str:
    """The first heading before the lessons, or else the document's title, or the file's name."""
    past = lines[before].start if before < len(lines) else len(document.text)
    above = [
        section.title
        for section in document.sections
        if section.level and section.title and section.start < past
    ]
    title = (above or [one_line(document.title)])[0]
    return title_from_name(name) if not title or _begins_lesson(title) else title
