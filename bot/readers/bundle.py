"""A folder as one Document: a zip of its files, in the author's order, each a section of level 1.

The order is that of SUMMARY.md, mkdocs.yml or _toc.yml, else of the links in an index or README, else of the numbers in
front matter and names. Each file is read by the reader of its kind and gets its title as heading. Text before the first
one names the course, its link and its instructor: `Course Title: …`.
"""

from __future__ import annotations

import importlib
import json
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from bot.events import UserError
from bot.readers.archive import Archive
from bot.readers.decode import decode
from bot.readers.document import Document, Link, Mark, Progress, one_line, sectioned, title_from_name
from bot.readers.kinds import PARSED, PLAIN, check, suffix_of

OPTIONS: Final = ".course.json"
"""The member with the command's own options: {"title", "instructor", "link"}."""
CONFIGS: Final = ("mkdocs.yml", "_toc.yml", "_config.yml")
_SUMMARY: Final = "summary.md"
_INDEX: Final = re.compile(
    r"(?:index|readme|syllabus|home)\.(?:md|markdown|rst|adoc|txt|html?)", re.IGNORECASE
)
_NO_LESSON: Final = re.compile(
    r"(?:licen[cs]e|contributing|code[_-]of[_-]conduct|changelog|security|requirements|authors|acknowledg\w*|todo|404"
    r"|glossary|references|bibliography|_sidebar|_navbar|_coverpage)(?:\.\w+)?",
    re.IGNORECASE,
)
_LINKED: Final = re.compile(
    r"\]\(\s*<?([^)\s>]{1,300})|href=\"([^\"]{1,300})\"|<([^<>\s]{1,300}\.(?:rst|md|ipynb))>"
)
_UNITS: Final = (
    r"lesson|week|unit|module|lecture|chapter|session|class|day|part"
    r"|aula|li[çc][ãa]o|semana|unidade|m[óo]dulo|cap[íi]tulo|parte"
)
_NUMBER: Final = re.compile(rf"(?:(?:{_UNITS}|lec|ch|cap|mod)[ _.-]*)?(\d{{1,4}})(?=[ _.-]|$)", re.IGNORECASE)
_TITLED: Final = re.compile(rf"(?:(?:{_UNITS})\s+)?(\d{{1,4}})\s*[:.)–—-]+\s+(?=\S)", re.IGNORECASE)
_MATTER: Final = re.compile(r"\ufeff?---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_ORDERS: Final = ("order", "nav_order", "weight", "sidebar_position", "lesson", "week", "number")
_LINKS: Final = ("link", "video", "url", "youtube", "lesson_link")
_TEACHERS: Final = (
    "instructor",
    "instructors",
    "teacher",
    "lecturer",
    "professor",
    "instrutor",
    "instrutora",
    "author",
)
_DEEPEST: Final = 6
_SHOWN: Final = 100
"""The most characters of a name."""
_DIGITS: Final = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of the folder: its name, its front matter, and its content."""

    name: str
    matter: Mapping[str, Any]
    document: Document

    @property
    def number(self) -> int | None:
        for key in _ORDERS:
            if type(value := self.matter.get(key)) is int and 0 <= value < 10_000:
                return value
        titled = _TITLED.match(self.document.title)
        named = titled or _NUMBER.match(posixpath.basename(self.name))
        return int(named[1]) if named else None

    @property
    def title(self) -> str:
        title = one_line(str(self.matter.get("title") or "")) or self.document.title
        if title == title_from_name(self.name):
            title = re.sub(r"[_-]+", " ", title)
            bare = _NUMBER.sub("", title, count=1).strip(" .:-") if _NUMBER.match(title) else title
            title = (bare or title)[:1].upper() + (bare or title)[1:]
        return _TITLED.sub("", title, count=1) or title


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The folder in `data`; blocking. A file that cannot be read is left out and named in the document's `unread`.

    Raises UserError as `Archive` does, "library.file_empty" if nothing can be read.
    """
    archive = _Folder(Archive(name, data))
    options = _mapping(archive, OPTIONS, json.loads)
    configs = {config: _mapping(archive, config, _loaded) for config in CONFIGS}
    names = [
        member
        for member in archive.names
        if suffix_of(member) in (*PLAIN, *PARSED) and not _NO_LESSON.fullmatch(posixpath.basename(member))
    ]
    parts: dict[str, _Part] = {}
    unread: list[tuple[str, Mapping[str, str | int]]] = [("file", {"file": each}) for each in archive.outside]
    for done, member in enumerate(sorted(names, key=_natural)):
        progress(done, len(names))
        if posixpath.basename(member).lower() == _SUMMARY:
            continue
        try:
            part = _part(member, archive.read(member))
        except UserError as error:
            if error.key == "library.file_bomb":
                raise
            unread.append(("file", {"file": member}))
            continue
        if part.matter.get("draft") is not True:
            parts[member] = part
            unread += [(key, {**values, "name": member}) for key, values in part.document.unread]
    if not parts:
        raise UserError("library.file_empty", name=name)
    index = next((member for member in parts if _INDEX.fullmatch(member)), None) if len(parts) > 1 else None
    order = _order(archive, configs, parts, index)
    about = _about(name, options, configs, parts[index] if index else None)
    if len(order) == 1 and not index:
        return replace(_single(about, parts[order[0]]), unread=tuple(unread))
    document = _joined(about, parts[index] if index else None, [parts[member] for member in order])
    return replace(document, unread=tuple(unread))


class _Folder:
    """The files of an archive by their names below its outermost folder. No file is ever written under such a name;
    `outside` are names that lead out of the folder.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._members: dict[str, str] = {}
        self.outside: list[str] = []
        for member in archive.names:
            name = _name(member)
            parts = name.split("/")
            if ".." in parts or name.startswith("/") or ":" in parts[0]:
                self.outside.append(one_line(name)[:_SHOWN])
            elif name == OPTIONS or not (
                parts[0] == "__MACOSX" or any(part[:1] in ("", ".") for part in parts)
            ):
                self._members[name] = member
        while len(tops := {name.partition("/")[0] for name in self._members if name != OPTIONS}) == 1 and all(
            "/" in name for name in self._members if name != OPTIONS
        ):
            top = f"{tops.pop()}/"
            self._members = {name.removeprefix(top): member for name, member in self._members.items()}
        self.names = list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises UserError as `Archive.read` does."""
        return self._archive.read(self._members[name])


def _name(member: str) -> str:
    """A member's name as its author wrote it: macOS writes UTF-8 without declaring it, Windows writes backslashes."""
    with suppress(UnicodeError):
        member = member.encode("cp437").decode()
    return unicodedata.normalize("NFC", member.replace("\\", "/"))


def _part(member: str, data: bytes) -> _Part:
    """A file of the folder as its reader reads it, with its front matter separate. Raises UserError."""
    from bot.readers.text import read_markdown, read_text

    check(member, data)
    suffix = suffix_of(member)
    base = posixpath.basename(member)
    if suffix not in PLAIN:
        return _Part(
            member, {}, importlib.import_module(PARSED[suffix]).read(base, data, lambda done, total: None)
        )
    text = decode(member, data)
    if suffix == ".txt":
        return _Part(member, {}, read_text(base, text, judge=False))
    matter = _MATTER.match(text)
    fields = _loaded(matter[1]) if matter else {}
    body = text[matter.end() :] if matter else text
    return _Part(member, fields, read_markdown(base, body, judge=False))


def _order(
    archive: _Folder, configs: Mapping[str, Mapping[str, Any]], parts: Mapping[str, _Part], index: str | None
) -> list[str]:
    """The lessons' files in order. A table of contents names all of them; the links of an index name the
    first of them.
    """
    summary = next(
        (member for member in archive.names if member.lower() in (_SUMMARY, f"src/{_SUMMARY}")), None
    )
    listed: list[str] = []
    if summary is not None:
        listed = _found(
            _targets(archive.read(summary).decode("utf-8", "replace")), parts, posixpath.dirname(summary)
        )
    for config, key, folder in (("mkdocs.yml", "nav", "docs"), ("_toc.yml", "", "")):
        listed = listed or _found(
            list(_leaves(configs[config].get(key) if key else configs[config])), parts, folder
        )
    if len(listed) > 1:
        return [member for member in listed if member != index] or listed
    unlisted = sorted(
        (member for member in parts if member != index), key=lambda member: _place(member, parts[member])
    )
    linked = _found(_targets(parts[index].document.text), parts, "") if index else []
    linked = [member for member in linked if member != index]
    return (
        [*linked, *(member for member in unlisted if member not in linked)]
        if len(linked) > 1
        else unlisted or list(parts)
    )


def _targets(text: str) -> list[str]:
    return [unquote(next(filter(None, match.groups()))).partition("#")[0] for match in _LINKED.finditer(text)]


def _leaves(tree: Any, depth: int = 0) -> Iterator[str]:
    """The files that a navigation names: its plain strings, and the values of its entries."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping) and depth < 20:
        for key, value in tree.items():
            if key not in ("format", "title", "caption", "numbered", "options", "defaults"):
                yield from _leaves(value, depth + 1)
    elif isinstance(tree, list) and depth < 20:
        for inner in tree:
            yield from _leaves(inner, depth + 1)


def _found(targets: Sequence[str], parts: Mapping[str, _Part], folder: str) -> list[str]:
    """The files that are meant, each once, including targets without a suffix."""
    members: dict[str, None] = {}
    stems = {posixpath.splitext(member)[0]: member for member in reversed(list(parts))}
    for target in targets:
        for base in dict.fromkeys((folder, "")):
            path = posixpath.normpath(posixpath.join(base, target))
            if (member := path if path in parts else stems.get(path)) is not None:
                members.setdefault(member)
                break
    return list(members)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sorts numbers in names by their value, and an index first."""
    pieces = _DIGITS.split(name.casefold())
    return [(0, int(piece[:9]), "") if piece.isdigit() else (1, 0, piece) for piece in pieces if piece]


def _place(member: str, part: _Part) -> tuple[str, int, list[tuple[int, int, str]]]:
    order = next((value for key in _ORDERS if type(value := part.matter.get(key)) is int), 10**6)
    return ("", order, _natural(member)) if order < 10**6 else ("~", 0, _natural(member))


def _about(
    name: str, options: Mapping[str, Any], configs: Mapping[str, Mapping[str, Any]], index: _Part | None
) -> list[str]:
    """The lines that name the course."""
    matter = index.matter if index else {}
    mkdocs, config = configs["mkdocs.yml"], configs["_config.yml"]
    index_title = (
        index.document.title if index and index.document.title != title_from_name(index.name) else ""
    )
    title = (
        _text(options, "title")
        or _text(mkdocs, "site_name")
        or _text(config, "title")
        or _text(matter, "title")
        or index_title
    )
    teacher = _text(options, "instructor") or _text(matter, *_TEACHERS) or _text(mkdocs, "site_author")
    teacher = teacher or _text(config, "author")
    link = (
        _text(options, "link") or _text(matter, *_LINKS) or _text(mkdocs, "site_url") or _text(config, "url")
    )
    lines = [f"Course Title: {title or title_from_name(name)}"]
    lines += [f"Course Link: {link}"] if link else []
    return [*lines, *([f"Course Instructor: {teacher}"] if teacher else [])]


def _text(values: Mapping[str, Any], *keys: str) -> str:
    """The first of these values with any text; several people become one line."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, list):
            value = ", ".join(
                str(each.get("name", "") if isinstance(each, Mapping) else each) for each in value[:20]
            )
        if isinstance(value, Mapping):
            value = value.get("name")
        if isinstance(value, str | int) and (words := one_line(str(value))):
            return words
    return ""


def _single(about: Sequence[str], part: _Part) -> Document:
    """A single file under its course's lines."""
    head = "\n".join(about) + "\n\n"
    document = part.document
    sections = tuple(
        replace(section, start=section.start + len(head), end=section.end + len(head))
        for section in document.sections
    )
    pages = tuple(page + len(head) for page in document.pages)
    title = about[0].partition(": ")[2]
    return replace(document, title=title, text=head + document.text, sections=sections, pages=pages)


def _joined(about: Sequence[str], index: _Part | None, parts: Sequence[_Part]) -> Document:
    numbers = [part.number for part in parts]
    used_numbers = [number for number in numbers if number is not None]
    if len(set(used_numbers)) < len(parts):
        used_numbers = list(range(1, len(parts) + 1))
    texts = ["\n".join(about)]
    length = len(texts[0])
    marks: list[Mark] = []
    links: list[Link] = []

    def write(text: str) -> int:
        nonlocal length
        texts.append("\n\n" + text)
        length += 2 + len(text)
        return length - len(text)

    if index is not None:
        write(index.document.text.strip("\n"))
    for number, part in zip(used_numbers, parts, strict=True):
        document = part.document
        title = f"{number}. {part.title}"
        start = write(f"# {title}")
        if link := _text(part.matter, *_LINKS):
            write(f"Lesson Link: {link}")
        first = len(marks)
        marks.append((start, 1, title, (title,)))
        at = write(document.text)
        places: dict[int, int] = {}
        for section in document.sections:
            if section.level and not (
                section.start == document.sections[0].start and section.title == part.title
            ):
                places[section.ordinal] = len(marks)
                level = min(section.level + 1, _DEEPEST)
                marks.append((at + section.start, level, section.title, (title, *section.path)))
        links += [Link(1 + places.get(each.section, first), each.target) for each in document.links]
    text = "".join(texts)
    return Document(
        about[0].partition(": ")[2], text, "", sectioned(text, marks), tuple(dict.fromkeys(links))
    )


def _mapping(archive: _Folder, member: str, load: Any) -> Mapping[str, Any]:
    if member not in archive:
        return {}
    try:
        mapping = load(archive.read(member).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return mapping if isinstance(mapping, dict) else {}


def _loaded(text: str) -> Any:
    """YAML as plain values; values with program-specific types are left out."""
    import yaml

    class Plain(yaml.SafeLoader):
        pass

    Plain.add_multi_constructor("", lambda loader, suffix, node: None)
    Plain.add_multi_constructor("!", lambda loader, suffix, node: None)
    try:
        loaded = yaml.load(text, Plain)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}
