"""A document read as a course: its title, link and instructor, and its lessons with their numbers and links.

Pure; knows no file format and no storage. The format is `Course Title:`, `Course Link:`, `Course Instructor:`, then
`Lesson N: title` with `Lesson Link:` below it, in English or Portuguese, as lines or as headings.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from bot.events import UserError
from bot.readers.document import Document, Section, one_line, page_at, title_from_name
from bot.readers.kinds import suffix_of
from bot.readers.lines import Line, split_lines
from bot.readers.text import plain
from bot.retrieval.titles import normal
from bot.works.course.moments import TIME
from storage.document_rows import Lesson, Outline

LINK_CHARS: Final = 2_000
"""The maximum length of an address: browsers refuse longer ones."""
HEADER_LINES: Final = 60
"""How many non-empty lines at the document's beginning are searched for the course's own fields."""
WRAPPED: Final = 3
"""How many lines one field, or one title, may be broken into on a narrow page."""

_MARK = r"[\s>#*_`~|•\ufeff-]*"
_FIELDS: Final = {
    "title": r"course\s+(?:title|name)|title\s+of\s+the\s+course|(?:t[íi]tulo|nome)\s+d[oe]\s+curso",
    "bare": r"course|curso",
    "link": r"course\s+(?:link|url|page|website)|(?:link|url|p[áa]gina|endere[çc]o)\s+d[oe]\s+curso",
    "instructor": r"(?:course\s+)?(?:instructors?|teachers?|lecturers?)|taught\s+by"
    r"|(?:instrutor(?:es|a|as)?|professor(?:es|a|as)?|docentes?)(?:\(a\))?(?:\s+d[oe]\s+curso)?|ministrado\s+por",
    "lesson": r"(?:lesson\s+)?(?:link|url|video)|(?:link|url|v[íi]deo|endere[çc]o)\s+da\s+(?:aula|li[çc][ãa]o)",
}
_FIELD: Final = {
    name: re.compile(rf"{_MARK}(?:{words})[*_`~]*\s*[:：=][*_`~]*\s*(.*)$", re.IGNORECASE)
    for name, words in _FIELDS.items()
}
_UNITS = r"week|unit|module|lecture|chapter|session|semana|unidade|m[óo]dulo|cap[íi]tulo"
_NAMED = (
    rf"{_MARK}(%s)\s+(?:n[.ºo°]+\s*|#\s*)?(\d{{1,6}})\s*[*_`~]*\s*"
    r"(?:$|[:：.)–—-]+[*_`~]*(?:\s+(.*))?$)"
)
_LESSON = re.compile(_NAMED % r"lesson|aula|li[çc][ãa]o", re.IGNORECASE)
_UNIT = re.compile(_NAMED % _UNITS, re.IGNORECASE)
"""Words that mean a lesson if nothing else is called a lesson."""
_MATTER = re.compile(r"(\w+)\s*:\s*(\S.*)$")
_MATTER_FIELDS: Final = {
    "title": "title", "link": "link", "url": "link", "video": "link",
    **dict.fromkeys(("instructor", "instructors", "teacher", "lecturer", "professor"), "instructor"),
    **dict.fromkeys(("instrutor", "instrutora", "professora"), "instructor"),
}  # fmt: skip
_WHOLE: Final = (".zip", ".srt", ".vtt")
"""Types of files that are a single lesson if they name none."""
_JOINED = re.compile(
    rf"(?:\s+|(?<=/))(?=(?:{_FIELDS['title']}|{_FIELDS['link']}|course\s+instructors?|lesson\s+link|link\s+da\s+aula"
    r"|instrutor(?:es|a|as)?)\s*:\s)|(?<=[.!?…”\"])\s+(?=(?:lesson|aula)\s+\d{1,6}\s*:\s)",
    re.IGNORECASE,
)
_LINKED: Final = {
    name: re.compile(rf"{_MARK}\[(?:{_FIELDS[name]})\]\(([^)\s]+)\)", re.IGNORECASE)
    for name in ("link", "lesson")
}
"""Addresses equal to their name, in Markdown."""
_NUMBERED = re.compile(r"(\d{1,6})\s*[:：.)–—-]+\s+(\S.*)$")
_HEADING = re.compile(r"[\s>]*#{1,6}\s")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"'\]|]+", re.IGNORECASE)
_ADDRESS_PART = re.compile(r"[\w\-./?=&#~%+:@!$,;()]+$")
_PROSE_ENDS = re.compile(r"[.!?…:;\"”’)\]*_]\s*$")
_BROKEN = 50
"""The length from which an address may be broken at the edge of a page."""
_LONG = 80
"""The length from which a line inside a paragraph is a sentence rather than a title."""


@dataclass(slots=True)
class _Lesson:
    """A lesson. `line` is where it is named, `body` the line after its fields, `start` where its text begins (a
    character index); `skip` is how many characters of that line still belong to the address.
    """

    line: int
    number: int
    title: str
    link: str = ""
    body: int = 0
    skip: int = 0
    start: int = 0


@dataclass(slots=True)
class _Header:
    """The course's fields. `lines` are the lines with fields; `titled` says whether one of them names a course's
    title.
    """

    title: str = ""
    link: str = ""
    instructor: str = ""
    titled: bool = False
    lines: set[int] = field(default_factory=set)


def read_course(name: str, document: Document) -> tuple[Document, Outline]:
    """The document with a section for each lesson and each heading within one, and its outline.

    Paths begin with the course's title; text before the first lesson belongs to none. With a title's line but no
    lessons' lines, headings are the lessons. Raises UserError ("course.no_course") for a document with none of these.
    """
    paged = bool(document.pages)
    lines = _unjoined(document.text) if paged else split_lines(document.text)
    lessons = list(_lessons(lines, paged=paged))
    header = _header(lines, lessons[0].line if lessons else len(lines), paged=paged)
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
    return _outlined(document, lines, title, header, lessons)


def read_book(name: str, document: Document) -> tuple[Document, Outline]:
    """The same for an ordinary book: the headings of its outermost level with several are the lessons.

    Raises UserError ("course.no_headings") if no level has several.
    """
    lines = split_lines(document.text)
    lessons = _headings(lines, document, _Header(), numbered=False)
    if not lessons:
        raise UserError("course.no_headings", name=name)
    return _outlined(document, lines, one_line(document.title), _Header(), lessons)


def read_folder(name: str, document: Document) -> tuple[Document, Outline]:
    """The same for a folder, as `readers.bundle` reads it: its files are the lessons."""
    lines = split_lines(document.text)
    tops = [section for section in document.sections if section.level == 1]
    if not tops or not all(_NUMBERED.match(section.title) for section in tops):
        return read_course(name, document)  # a single file
    before = next(at for at, line in enumerate(lines) if line.start == tops[0].start)
    header = _header(lines, before, paged=False)
    return _outlined(document, lines, one_line(header.title), header, _of_sections(lines, document, tops))


def names_course(text: str) -> bool:
    """Whether a text has a line with a course's title near its beginning."""
    lines = split_lines(text[:100_000])
    return any(
        _FIELD["title"].match(line.text)
        for line in [line for line in lines if line.text.strip()][:HEADER_LINES]
    )


def _whole(name: str, lines: Sequence[Line], document: Document, header: _Header) -> _Lesson:
    """A transcript's only lesson: the whole text."""
    at = next(
        (at for at, line in enumerate(lines) if line.text.strip() and at not in header.lines), len(lines) - 1
    )
    title = header.title or one_line(document.title) or title_from_name(name)
    return _Lesson(at, 1, title, header.link, at)


def _timed(lines: Sequence[Line]) -> bool:
    """Whether this is a recording's transcript: most of its lines begin with a time."""
    times = sum(bool(TIME.match(line.text)) for line in lines)
    return times > 1 and 2 * times > sum(bool(line.text.strip()) for line in lines)


def lesson_id(course: str, number: int, nth: int) -> str:
    """The id of a lesson in every edition of its course: from the title, the number, and its index among lessons with
    that number.
    """
    return hashlib.sha256(f"{normal(course)}\0{number}\0{nth}".encode()).hexdigest()[:16]


def _unjoined(text: str) -> list[Line]:
    """The lines of a paged document: fields that were joined into one paragraph are on separate lines again."""
    lines = []
    for line in split_lines(text):
        at = 0
        for match in _JOINED.finditer(line.text):
            lines.append(Line(line.start + at, line.start + match.start(), line.text[at : match.start()]))
            at = match.end()
        lines.append(Line(line.start + at, line.end, line.text[at:]) if at else line)
    return lines


def _lessons(lines: Sequence[Line], *, paged: bool) -> list[_Lesson]:
    """The lines called lessons; or else other parts of a course, by the first word for them that occurs several
    times.
    """
    if lessons := [lesson for _, lesson in _named(lines, _LESSON, paged=paged)]:
        return lessons
    units = list(_named(lines, _UNIT, paged=paged))
    times = Counter(word for word, _ in units)
    chosen = next((word for word, _ in units if times[word] > 1), "")
    return [lesson for word, lesson in units if word == chosen]


def _named(lines: Sequence[Line], pattern: re.Pattern[str], *, paged: bool) -> Iterator[tuple[str, _Lesson]]:
    """The lines that name a lesson, with the word used for it."""
    for at, line in enumerate(lines):
        if len(line.text) > 100_000 or not (named := pattern.match(line.text)):
            continue
        title = _words(named[3] or "")
        below = _below(lines, at + 1, paged=paged)
        if not below.body and _within_prose(lines, at):
            continue
        title = one_line(" ".join([title, *below.more]))
        lesson = _Lesson(at, int(named[2]), title, below.link, below.body or at + 1, below.skip)
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
        if match := _FIELD["lesson"].match(text) or _LINKED["lesson"].match(text):
            link, after, left = _address(lines, below, match[1], paged=paged)
            if left:
                return _Below(link, after - 1, len(lines[after - 1].text) - left, tuple(more))
            return _Below(link, after, 0, tuple(more))
        if len(more) == WRAPPED - 1 or _begins_lesson(text) or (more and not lines[below - 1].text.strip()):
            break
        more.append(_words(text))
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


def _header(lines: Sequence[Line], before: int, *, paged: bool) -> _Header:
    header = _matter(lines, before)
    lines_with_words = 0
    for at in range(before):
        text = lines[at].text
        if at in header.lines or not text.strip():
            continue
        lines_with_words += 1
        if lines_with_words > HEADER_LINES:
            break
        for name in ("title", "link", "instructor", *(("bare",) if lines_with_words <= 5 else ())):
            match = _FIELD[name].match(text[:100_000])
            if match or (name in _LINKED and (match := _LINKED[name].match(text))):
                _take(header, name, lines, at, match[1], before, paged=paged)
                break
    return header


def _matter(lines: Sequence[Line], before: int) -> _Header:
    """What front matter says about a course; it counts only if it names an instructor."""
    header = _Header()
    if not lines or lines[0].text.strip("\ufeff ") != "---":
        return header
    last = next((at for at in range(1, min(before, 200)) if lines[at].text.rstrip() in ("---", "...")), 0)
    found: dict[str, str] = {}
    for at in range(1, last):
        if (match := _MATTER.match(lines[at].text)) and (name := _MATTER_FIELDS.get(match[1].casefold())):
            found.setdefault(name, match[2].strip("\"' "))
    if last and "instructor" in found:
        header.title, header.titled = one_line(found.get("title", "")), bool(found.get("title"))
        header.link, header.instructor = (
            address(found.get("link", "")),
            one_line(found["instructor"].strip("[]")),
        )
        header.lines.update(range(last + 1))
    return header


def _take(
    header: _Header, name: str, lines: Sequence[Line], at: int, value: str, before: int, *, paged: bool
) -> None:
    """Store one field, if it is the first of its name."""
    header.lines.add(at)
    if name == "link":
        link, after, _ = _address(lines, at, value, paged=paged)
        header.link = header.link or link
        header.lines.update(range(at, after))
        return
    more, after = _goes_on(lines, at + 1, before)
    words = _words(" ".join([value, *more]))
    header.lines.update(range(at, after))
    if name == "instructor":
        header.instructor = header.instructor or one_line(words)
    elif words:
        header.title = header.title or words
        header.titled = True


def _goes_on(lines: Sequence[Line], at: int, before: int) -> tuple[list[str], int]:
    """The continuation of a field: the lines up to the next field, if that follows directly."""
    more: list[str] = []
    for below in range(at, min(at + WRAPPED, before)):
        text = lines[below].text
        if not text.strip():
            break
        if any(pattern.match(text) for pattern in _FIELD.values()):
            return more, below
        more.append(text.strip())
    return [], at


def _words(markup: str) -> str:
    """The words of a line, without the closing mark of bold text that begins the line."""
    return plain(markup).strip("*_`~ ")


def _address(lines: Sequence[Line], at: int, value: str, *, paged: bool) -> tuple[str, int, int]:
    """The address in a field's value, the line after it, and how many characters at the end of the previous line are
    text again.

    Paged documents break lines: a long address continues after the blank, or on the next line, and if it fills its
    line, text may follow it there.
    """
    after = at + 1
    if not value.strip() and after < len(lines) and _ADDRESS.search(lines[after].text):
        value, after = lines[after].text, after + 1
    if not paged or not _ADDRESS.match(value.strip()):
        return address(value), after, 0
    first, *rest = value.split()
    if len(rest) > WRAPPED:
        return address(first), after, len(value.rstrip()) - len(first) - 1
    if len(first) >= _BROKEN and all(map(_ADDRESS_PART.match, rest)):
        first += "".join(rest)
    while first and after < len(lines) and after - at <= WRAPPED:
        part = lines[after].text.strip()
        cut = first.endswith(("-", "/", "?", "=", "&", "_", ".")) or bool(re.search(r"[/\\-]", part))
        if len(first) < _BROKEN or not (part and cut and _ADDRESS_PART.match(part)):
            break
        first, after = first + part, after + 1
    return address(first), after, 0


def address(text: str) -> str:
    """The web address in a text, "" for none."""
    match = _ADDRESS.search(re.sub(r"\\([^a-zA-Z0-9\s])", r"\1", text))
    if match is None:
        return ""
    link = match[0]
    while link.endswith(tuple(".,;:!*`")) or (link.endswith(")") and link.count(")") > link.count("(")):
        link = link[:-1]
    link = link if "://" in link[:8] else f"https://{link}"
    return link if len(link) <= LINK_CHARS else ""


def _headings(
    lines: Sequence[Line], document: Document, header: _Header, *, numbered: bool = True
) -> list[_Lesson]:
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
) -> list[_Lesson]:
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
        lessons.append(_Lesson(line, number, title, below.link, body, below.skip))
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


def _outlined(
    document: Document, lines: Sequence[Line], title: str, header: _Header, lessons: Sequence[_Lesson]
) -> tuple[Document, Outline]:
    size = len(document.text)
    for lesson in lessons:
        lesson.start = lines[lesson.body].start + lesson.skip if lesson.body < len(lines) else size
    ends = [*(lines[lesson.line].start for lesson in lessons), size][1:]
    sections: list[Section] = []
    first = next((at for at, line in enumerate(lines) if line.text.strip() and at not in header.lines), 0)
    before = lines[lessons[0].line].start if lessons else size
    if document.text[lines[first].start : before].strip() or not lessons:
        _add(sections, document, min(lines[first].start, before), before, (title,))
    outline_lessons: list[Lesson] = []
    nth: Counter[int] = Counter()
    inner = _Inner(document.sections)
    for lesson, end in zip(lessons, ends, strict=True):
        from_section = len(sections)
        path = (title, shown(lesson.number, lesson.title))
        _add(sections, document, lesson.start, max(end, lesson.start), path)
        inner.add_to(sections, document, lesson.start, end, path)
        id = lesson_id(title, lesson.number, nth[lesson.number])
        nth[lesson.number] += 1
        outline_lessons.append(
            Lesson(id, lesson.number, lesson.title, lesson.link, from_section, len(sections))
        )
    outlined = replace(document, title=title, sections=tuple(sections))
    return outlined, Outline(header.link, header.instructor, tuple(outline_lessons))


class _Inner:
    """The headings of a document, consumed in order: those within each lesson."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._headings = [section for section in sections if section.level and section.title]
        self._at = 0

    def add_to(
        self, sections: list[Section], document: Document, start: int, end: int, path: tuple[str, ...]
    ) -> None:
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
            _add(sections, document, heading.start, end, (*path, *(name for _, name in trail)))


def _add(sections: list[Section], document: Document, start: int, end: int, path: tuple[str, ...]) -> None:
    page = page_at(document.pages, start)
    sections.append(Section(len(sections), len(path), path[-1], path, start, end, page))


def shown(number: int, title: str) -> str:
    """A lesson's heading, under which its passages appear."""
    return f"{number}. {title}" if title else f"{number}."
