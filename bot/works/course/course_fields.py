"""The fields of a course in the lines of a document: its title, link and instructor, and addresses in general.

Pure. They are written as in `Course Title: …`, `Course Link: …` and `Course Instructor: …`, in English or Portuguese,
or in front matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.readers.document import one_line
from bot.readers.lines import Line, split_lines
from bot.readers.text import plain

LINK_CHARS: Final = 2_000
"""The maximum length of an address: browsers refuse longer ones."""
HEADER_LINES: Final = 60
"""How many non-empty lines at the document's beginning are searched for the course's own fields."""
WRAPPED: Final = 3
"""How many lines one field, or one title, may be broken into on a narrow page."""

MARK: Final = r"[\s>#*_`~|•\ufeff-]*"
"""The markup that may precede a field or a lesson's name on its line, as a pattern."""
_FIELDS: Final = {
    "title": r"course\s+(?:title|name)|title\s+of\s+the\s+course|(?:t[íi]tulo|nome)\s+d[oe]\s+curso",
    "bare": r"course|curso",
    "link": r"course\s+(?:link|url|page|website)|(?:link|url|p[áa]gina|endere[çc]o)\s+d[oe]\s+curso",
    "instructor": r"(?:course\s+)?(?:instructors?|teachers?|lecturers?)|taught\s+by"
    r"|(?:instrutor(?:es|a|as)?|professor(?:es|a|as)?|docentes?)(?:\(a\))?(?:\s+d[oe]\s+curso)?|ministrado\s+por",
    "lesson": r"(?:lesson\s+)?(?:link|url|video)|(?:link|url|v[íi]deo|endere[çc]o)\s+da\s+(?:aula|li[çc][ãa]o)",
}
FIELD: Final = {
    name: re.compile(rf"{MARK}(?:{words})[*_`~]*\s*[:：=][*_`~]*\s*(.*)$", re.IGNORECASE)
    for name, words in _FIELDS.items()
}
"""A line with each field; the group is its value."""
_MATTER = re.compile(r"(\w+)\s*:\s*(\S.*)$")
_MATTER_FIELDS: Final = {
    "title": "title", "link": "link", "url": "link", "video": "link",
    **dict.fromkeys(("instructor", "instructors", "teacher", "lecturer", "professor"), "instructor"),
    **dict.fromkeys(("instrutor", "instrutora", "professora"), "instructor"),
}  # fmt: skip
_JOINED = re.compile(
    rf"(?:\s+|(?<=/))(?=(?:{_FIELDS['title']}|{_FIELDS['link']}|course\s+instructors?|lesson\s+link|link\s+da\s+aula"
    r"|instrutor(?:es|a|as)?)\s*:\s)|(?<=[.!?…”\"])\s+(?=(?:lesson|aula)\s+\d{1,6}\s*:\s)",
    re.IGNORECASE,
)
LINKED: Final = {
    name: re.compile(rf"{MARK}\[(?:{_FIELDS[name]})\]\(([^)\s]+)\)", re.IGNORECASE)
    for name in ("link", "lesson")
}
"""Addresses equal to their name, in Markdown."""
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"'\]|]+", re.IGNORECASE)
_ADDRESS_PART = re.compile(r"[\w\-./?=&#~%+:@!$,;()]+$")
_BROKEN = 50
"""The length from which an address may be broken at the edge of a page."""


@dataclass(slots=True)
class Header:
    """The course's fields. `lines` are the lines with fields; `titled` says whether one of them names a course's
    title.
    """

    title: str = ""
    link: str = ""
    instructor: str = ""
    titled: bool = False
    lines: set[int] = field(default_factory=set)


def names_course(text: str) -> bool:
    """Whether a text has a line with a course's title near its beginning."""
    lines = split_lines(text[:100_000])
    return any(
        FIELD["title"].match(line.text)
        for line in [line for line in lines if line.text.strip()][:HEADER_LINES]
    )


def unjoined(text: str) -> list[Line]:
    """The lines of a paged document: fields that were joined into one paragraph are on separate lines again."""
    lines = []
    for line in split_lines(text):
        at = 0
        for match in _JOINED.finditer(line.text):
            lines.append(Line(line.start + at, line.start + match.start(), line.text[at : match.start()]))
            at = match.end()
        lines.append(Line(line.start + at, line.end, line.text[at:]) if at else line)
    return lines


def header_of(lines: Sequence[Line], before: int, *, paged: bool) -> Header:
    """The course's fields in the lines up to `before`, where its lessons begin."""
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
            match = FIELD[name].match(text[:100_000])
            if match or (name in LINKED and (match := LINKED[name].match(text))):
                _take(header, name, lines, at, match[1], before, paged=paged)
                break
    return header


def _matter(lines: Sequence[Line], before: int) -> Header:
    """What front matter says about a course; it counts only if it names an instructor."""
    header = Header()
    if not lines or lines[0].text.strip("\ufeff ") != "---":
        return header
    last = next((at for at in range(1, min(before, 200)) if lines[at].text.rstrip() in ("---", "...")), 0)
    found: dict[str, str] = {}
    for at in range(1, last):
        if (match := _MATTER.match(lines[at].text)) and (name := _MATTER_FIELDS.get(match[1].casefold())):
            found.setdefault(name, match[2].strip("\"' "))
    if last and "instructor" in found:
        header.title, header.titled = one_line(found.get("title", "")), bool(found.get("title"))
        header.link = address(found.get("link", ""))
        header.instructor = one_line(found["instructor"].strip("[]"))
        header.lines.update(range(last + 1))
    return header


def _take(
    header: Header, name: str, lines: Sequence[Line], at: int, value: str, before: int, *, paged: bool
) -> None:
    """Store one field, if it is the first of its name."""
    header.lines.add(at)
    if name == "link":
        link, after, _ = address_at(lines, at, value, paged=paged)
        header.link = header.link or link
        header.lines.update(range(at, after))
        return
    more, after = _goes_on(lines, at + 1, before)
    words = words_of(" ".join([value, *more]))
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
        if any(pattern.match(text) for pattern in FIELD.values()):
            return more, below
        more.append(text.strip())
    return [], at


def words_of(markup: str) -> str:
    """The words of a line, without the closing mark of bold text that begins the line."""
    return plain(markup).strip("*_`~ ")


def address_at(lines: Sequence[Line], at: int, value: str, *, paged: bool) -> tuple[str, int, int]:
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
