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
_MATTER_LINE = re.compile(r"(\w+)\s*:\s*(\S.*)$")
_MATTER_FIELDS: Final = {
    "title": "title", "link": "link", "url": "link", "video": "link",
    **dict.fromkeys(("instructor", "instructors", "teacher", "lecturer", "professor"), "instructor"),
    **dict.fromkeys(("instrutor", "instrutora", "professora"), "instructor"),
}  # fmt: skip
_JOINED_FIELD = re.compile(
    rf"(?:\s+|(?<=/))(?=(?:{_FIELDS['title']}|{_FIELDS['link']}|course\s+instructors?|lesson\s+link|link\s+da\s+aula"
    r"|instrutor(?:es|a|as)?)\s*:\s)|(?<=[.!?…”\"])\s+(?=(?:lesson|aula)\s+\d{1,6}\s*:\s)",
    re.IGNORECASE,
)
LINK_FIELD: Final = {
    name: re.compile(rf"{MARK}\[(?:{_FIELDS[name]})\]\(([^)\s]+)\)", re.IGNORECASE)
    for name in ("link", "lesson")
}
"""A Markdown link with a field's name as its label; the group is the address."""
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"'\]|]+", re.IGNORECASE)
_ADDRESS_PART = re.compile(r"[\w\-./?=&#~%+:@!$,;()]+$")
_BREAKABLE_CHARS = 50
"""The least length of an address that may be broken at the edge of a page."""


@dataclass(slots=True)
class Header:
    """The course's fields. `lines` are the indexes of their lines; `titled`: one of them names the course."""

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


def lines_of_pages(text: str) -> list[Line]:
    """The lines of a paged document, with fields that a paragraph has joined on lines of their own."""
    lines = []
    for line in split_lines(text):
        at = 0
        for match in _JOINED_FIELD.finditer(line.text):
            lines.append(Line(line.start + at, line.start + match.start(), line.text[at : match.start()]))
            at = match.end()
        lines.append(Line(line.start + at, line.end, line.text[at:]) if at else line)
    return lines


def header_of(lines: Sequence[Line], before: int, *, paged: bool) -> Header:
    """The course's fields in the lines up to `before`, where its lessons begin."""
    header = _front_matter(lines, before)
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
            if match or (name in LINK_FIELD and (match := LINK_FIELD[name].match(text))):
                _add_field(header, name, lines, at, match[1], before, paged=paged)
                break
    return header


def _front_matter(lines: Sequence[Line], before: int) -> Header:
    """The fields in a document's front matter; none unless it names an instructor."""
    header = Header()
    if not lines or lines[0].text.strip("\ufeff ") != "---":
        return header
    last = next((at for at in range(1, min(before, 200)) if lines[at].text.rstrip() in ("---", "...")), 0)
    fields: dict[str, str] = {}
    for at in range(1, last):
        if (match := _MATTER_LINE.match(lines[at].text)) and (
            name := _MATTER_FIELDS.get(match[1].casefold())
        ):
            fields.setdefault(name, match[2].strip("\"' "))
    if last and "instructor" in fields:
        header.title, header.titled = one_line(fields.get("title", "")), bool(fields.get("title"))
        header.link = address(fields.get("link", ""))
        header.instructor = one_line(fields["instructor"].strip("[]"))
        header.lines.update(range(last + 1))
    return header


def _add_field(
    header: Header, name: str, lines: Sequence[Line], at: int, value: str, before: int, *, paged: bool
) -> None:
    """Store one field, if it is the first of its name."""
    header.lines.add(at)
    if name == "link":
        link, next_line, _ = address_at(lines, at, value, paged=paged)
        header.link = header.link or link
        header.lines.update(range(at, next_line))
        return
    more_lines, next_line = _continuation(lines, at + 1, before)
    words = words_of(" ".join([value, *more_lines]))
    header.lines.update(range(at, next_line))
    if name == "instructor":
        header.instructor = header.instructor or one_line(words)
    elif words:
        header.title = header.title or words
        header.titled = True


def _continuation(lines: Sequence[Line], at: int, before: int) -> tuple[list[str], int]:
    """The continuation of a field: the lines up to the next field, if that follows directly."""
    lines_taken: list[str] = []
    for index in range(at, min(at + WRAPPED, before)):
        text = lines[index].text
        if not text.strip():
            break
        if any(pattern.match(text) for pattern in FIELD.values()):
            return lines_taken, index
        lines_taken.append(text.strip())
    return [], at


def words_of(markup: str) -> str:
    """The words of a line, without the closing mark of bold text that begins the line."""
    return plain(markup).strip("*_`~ ")


def address_at(lines: Sequence[Line], at: int, value: str, *, paged: bool) -> tuple[str, int, int]:
    """The address in a field's value, the index of the line after it, and how many characters of the address's last
    line follow it as text.

    In paged documents a long address may continue after a blank or on the next line.
    """
    next_line = at + 1
    if not value.strip() and next_line < len(lines) and _ADDRESS.search(lines[next_line].text):
        value, next_line = lines[next_line].text, next_line + 1
    if not paged or not _ADDRESS.match(value.strip()):
        return address(value), next_line, 0
    link, *words_after = value.split()
    if len(words_after) > WRAPPED:
        return address(link), next_line, len(value.rstrip()) - len(link) - 1
    if len(link) >= _BREAKABLE_CHARS and all(map(_ADDRESS_PART.match, words_after)):
        link += "".join(words_after)
    while link and next_line < len(lines) and next_line - at <= WRAPPED:
        part = lines[next_line].text.strip()
        broken = link.endswith(("-", "/", "?", "=", "&", "_", ".")) or bool(re.search(r"[/\\-]", part))
        if len(link) < _BREAKABLE_CHARS or not (part and broken and _ADDRESS_PART.match(part)):
            break
        link, next_line = link + part, next_line + 1
    return address(link), next_line, 0


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
