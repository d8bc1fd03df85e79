"""EPUB 2 and 3 into a Document: the chapters in order, with headings from the table of contents.

It follows the container to the package, and its spine to the chapters (EPUB 3.3, 4 and 5). It unpacks in memory,
follows no address out of the book, and runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.readers.archive import Archive
from bot.readers.document import Document, Progress, title_from_name
from bot.readers.web.epub_contents import (
    Contents,
    address,
    counted,
    from_navigation,
    from_ncx,
    places,
    titles_by_place,
)
from bot.readers.web.html import text_of, title_of
from bot.readers.web.markup import Attributes, Label, kinds_of, parse, tree
from bot.readers.web.survey import Survey, SurveyHandler
from bot.readers.web.walker import Walker
from bot.readers.writer import Writer

if TYPE_CHECKING:
    from lxml.etree import _Element as Element


_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_OBFUSCATED: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Methods that protect fonts from extraction (EPUB 3.3, 4.4, and Adobe's); they do not lock the text."""
_CHAPTERS: Final = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "image/svg+xml")
_NCX: Final = "application/x-dtbncx+xml"
_HTML: Final = (".xhtml", ".html", ".htm")
_PICTURES: Final = (".jpg", ".jpeg", ".png", ".gif", ".svg", ".webp")
_PROLOGUE: Final = 8192
"""Characters at the beginning of a chapter that may declare entities."""
_SUBSET = re.compile(r"<!DOCTYPE[^\[>]{0,500}\[[^\]]{0,7000}\]\s*>", re.IGNORECASE)
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2})(?:[-_]\w{1,20})*\s*")


@dataclass(slots=True)
class Package:
    """The book's metadata; `spine` has the chapters' files in reading order."""

    title: str = ""
    language: str = ""
    spine: list[str] = field(default_factory=list)
    contents: Contents = field(default_factory=Contents)


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The book in `data`; `progress` is called with the number of chapters written.

    `pages` are those of the printed edition, if the book lists them from 1 without a gap. A chapter that is missing or
    damaged is left out. Raises UserError: "library.file_locked", "library.file_bomb", "library.file_damaged" if no
    chapter can be read, "library.file_scanned" or "library.file_empty" if none has words.
    """
    archive = Archive(name, data)
    if _locked(archive):
        raise UserError("library.file_locked", name=name)
    package = _package(archive)
    pages = package.contents.pages
    chapters: list[tuple[str, Survey]] = []
    for file, page in _pages_of(archive, name, package.spine):
        handler = SurveyHandler(_label(file, pages), partial(_still, progress, 0, len(package.spine)))
        parse(page, handler)
        chapters.append((file, handler.survey))
    if not chapters:
        raise UserError("library.file_damaged", name=name)
    printed = counted(
        label
        for file, survey in chapters
        for label in (*filter(None, [pages.get((file, ""))]), *survey.pages)
    )
    stand = places(chapters, package.contents.entries)
    titles = titles_by_place(chapters, stand)
    writer = Writer()
    page_lists = _pages_of(Archive(name, data), name, [file for file, _ in chapters])
    for number, ((file, page), (_, survey), place) in enumerate(
        zip(page_lists, chapters, stand, strict=True)
    ):
        progress(number, len(chapters))
        if printed and pages.get((file, "")):
            writer.page()
        for level, title in place.before:
            writer.heading(level, title)
        walker = Walker(
            writer,
            survey,
            partial(_see, titles, file),
            furniture=False,
            shift=place.shift,
            title=place.before[-1][1] if place.before else "",
            named=place.named,
            label=_label(file, pages) if printed else None,
            progress=partial(_still, progress, number, len(chapters)),
        )
        parse(page, walker)
    progress(len(chapters), len(chapters))
    if not any(survey.words for _, survey in chapters):
        pictures = any(member.lower().endswith(_PICTURES) for member in archive.names)
        raise UserError("library.file_scanned" if pictures else "library.file_empty", name=name)
    title = package.title or next(filter(None, (title_of(survey) for _, survey in chapters)), "")
    return writer.document(title or title_from_name(name), package.language)


def _see(titles: Mapping[tuple[str, str], str], file: str, href: str) -> str:
    return titles.get(address(file, href), "")


def _still(progress: Progress, chapters_done: int, total: int, elements: int) -> None:
    progress(chapters_done, total)


def _pages_of(archive: Archive, name: str, files: list[str]) -> Iterator[tuple[str, bytes]]:
    """The markup of the readable files, as UTF-8."""
    for file in files:
        try:
            yield file, _markup(name, archive.read(file))
        except UserError as error:
            if error.key == "library.file_bomb":
                raise


def _markup(name: str, data: bytes) -> bytes:
    """XHTML in a form that an HTML parser can read."""
    text = text_of(name, data)
    text = _SUBSET.sub("", text[:_PROLOGUE], count=1) + text[_PROLOGUE:]
    first, *rest = text.split("<![CDATA[")
    parts = (part.partition("]]>") for part in rest)
    return "".join((first, *(escape(words, quote=False) + after for words, _, after in parts))).encode(
        "utf-8", "replace"
    )


def _label(file: str, pages: dict[tuple[str, str], str]) -> Label:
    """Where pages begin in a chapter: from the book's list of pages if it has one, else from the
    chapter's own marks.
    """

    def listed(attributes: Attributes) -> str | None:
        return pages.get((file, attributes["id"])) if "id" in attributes else None

    def marked(attributes: Attributes) -> str | None:
        if kinds_of(attributes).isdisjoint(("pagebreak", "doc-pagebreak")):
            return None
        return (attributes.get("title") or attributes.get("aria-label") or "").strip()

    return listed if pages else marked


def _locked(archive: Archive) -> bool:
    if _ENCRYPTION not in archive:
        return False
    methods = archive.xml(_ENCRYPTION).iter("{*}EncryptionMethod")
    return any(method.get("Algorithm") not in _OBFUSCATED for method in methods)


def _package(archive: Archive) -> Package:
    """The book's package; for a book without one, its pages in the order in which they were packed."""
    try:
        root = archive.xml(_CONTAINER).find("{*}rootfiles/{*}rootfile")
        opf = root.get("full-path", "") if root is not None else ""
    except UserError as error:
        opf = _damaged(error)
    opf = opf if opf in archive else next((member for member in archive.names if member.endswith(".opf")), "")
    try:
        package = _parsed_package(archive, opf)
    except UserError as error:
        _damaged(error)
        package = Package()
    package.spine = package.spine or [member for member in archive.names if member.lower().endswith(_HTML)]
    return package


def _parsed_package(archive: Archive, opf: str) -> Package:
    package = archive.xml(opf)
    parsed = Package()
    parsed.title = next(filter(None, _metadata(package, "title")), "")
    codes = (_LANGUAGE.fullmatch(words) for words in _metadata(package, "language"))
    parsed.language = next((match[1].lower() for match in codes if match), "")
    if parsed.language == "en":  # default value of programs without a given language
        parsed.language = ""
    items = {entry.get("id", ""): entry for entry in package.iterfind("{*}manifest/{*}item")}
    members = {member.lower(): member for member in archive.names}
    files = {}
    for name, item in items.items():
        file = address(opf, item.get("href", ""))[0]
        files[name] = file if file in archive else members.get(file.lower(), file)
    aside: list[str] = []
    for reference in package.iterfind("{*}spine/{*}itemref"):
        name = reference.get("idref", "")
        if name in items and (items[name].get("media-type") in _CHAPTERS or files[name].endswith(_HTML)):
            (aside if reference.get("linear") == "no" else parsed.spine).append(files[name])
    parsed.spine = list(dict.fromkeys((*parsed.spine, *aside)))
    navigation = [files[name] for name, item in items.items() if "nav" in item.get("properties", "").split()]
    listed = [files[name] for name, item in items.items() if item.get("media-type") == _NCX]
    parsed.contents = _contents(archive, navigation, listed)
    return parsed


def _metadata(package: Element, name: str) -> Iterator[str]:
    """The values of one of Dublin Core's 15 elements."""
    for element in package.iterfind(f"{{*}}metadata//{{http://purl.org/dc/elements/1.1/}}{name}"):
        yield " ".join("".join(element.itertext()).split())[:1000]


def _contents(archive: Archive, navigation: list[str], listed: list[str]) -> Contents:
    """The table of contents from the navigation documents, else from the NCX."""
    for file, page in _pages_of(archive, "", navigation):
        contents = from_navigation(file, tree(page))
        if contents.entries:
            return contents
    for file in listed:
        try:
            return from_ncx(file, archive.xml(file))
        except UserError as error:
            _damaged(error)
    return Contents()


def _damaged(error: UserError) -> str:
    """Returns "" for a damaged part, so that reading continues; raises any other error."""
    if error.key != "library.file_damaged":
        raise error
    return ""
