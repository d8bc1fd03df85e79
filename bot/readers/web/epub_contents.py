"""An EPUB's table of contents and list of pages, and the headings that its chapters lack.

EPUB 3 has both in a navigation document (EPUB 3.3, 7), EPUB 2 in an NCX (OPF 2.0.1, 2.4.1). Independent of archives.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from bot.readers.web.markup import kinds_of, tidy
from bot.readers.web.survey import Survey

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_DEEPEST: Final = 6
"""The number of heading levels in a Document."""
_SIGNS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the contents: its title after those above it, and its target ("" for none)."""

    path: tuple[str, ...]
    file: str
    fragment: str


@dataclass(slots=True)
class Contents:
    """The contents. `pages` are the printed numbers by the file and id where they begin."""

    entries: list[Entry] = field(default_factory=list)
    pages: dict[tuple[str, str], str] = field(default_factory=dict)


@dataclass(slots=True)
class Place:
    """A chapter's place in the book: the headings to write before it and at ids in it, and how many levels its own
    headings move down.
    """

    shift: int = 0
    before: list[tuple[int, str]] = field(default_factory=list)
    named: dict[str, tuple[int, str]] = field(default_factory=dict)


def address(base: str, href: str) -> tuple[str, str]:
    """The member and the fragment that `href` means within the member `base`; outside the book, no member's name."""
    path, _, fragment = href.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(path))) if path else base
    return file, unquote(fragment)


def from_navigation(base: str, root: Element) -> Contents:
    """The table of contents and the list of pages of the navigation document `base`."""
    contents = Contents()
    for nav in root.iter("nav"):
        kinds = kinds_of(dict(nav.attrib))
        pages = not kinds.isdisjoint(("page-list", "doc-pagelist"))
        if not pages and kinds.isdisjoint(("toc", "doc-toc")):
            continue
        path: list[str] = []
        for line in nav.iter("a", "span"):
            if next(line.iterancestors("a", "span", "nav")) is not nav:
                continue  # inside another line, or in another list
            title = tidy("".join(line.itertext())).replace("\n", " ")
            where = address(base, href) if (href := line.get("href")) else ("", "")
            if pages:
                contents.pages.setdefault(where, title)
            elif title:
                depth = sum(1 for _ in line.iterancestors("ol"))
                path = [*path[: min(max(depth, 1), _DEEPEST) - 1], title]
                contents.entries.append(Entry(tuple(path), *where))
    return contents


def from_ncx(base: str, root: Element) -> Contents:
    """The table of contents of the NCX `base`."""
    contents = Contents()
    path: list[str] = []
    for point in root.iter("{*}navPoint"):
        depth = sum(1 for _ in point.iterancestors("{*}navPoint"))
        if title := _label(point):
            path = [*path[: min(depth, _DEEPEST - 1)], title]
            contents.entries.append(Entry(tuple(path), *_source(base, point)))
    for target in root.iter("{*}pageTarget"):
        contents.pages.setdefault(_source(base, target), _label(target) or target.get("value") or "")
    return contents


def _label(point: Element) -> str:
    text = point.find("{*}navLabel/{*}text")
    return tidy("".join(text.itertext())).replace("\n", " ") if text is not None else ""


def _source(base: str, point: Element) -> tuple[str, str]:
    content = point.find("{*}content")
    href = content.get("src", "") if content is not None else ""
    return address(base, href) if href else ("", "")


def places(chapters: Sequence[tuple[str, Survey]], entries: Iterable[Entry]) -> list[Place]:
    """Each chapter's place in the book, in the order given; a chapter is its file and its survey.

    A chapter's highest heading gets the level that the contents give the chapter; a file that the contents do not name
    continues the previous one.
    """
    by_file: dict[str, list[Entry]] = {}
    for entry in entries:
        by_file.setdefault(entry.file, []).append(entry)
    chapter_places: list[Place] = []
    trail: tuple[str, ...] = ()
    shift = 0
    for file, survey in chapters:
        if not (own := by_file.get(file)):
            chapter_places.append(Place(shift))
            continue
        place = _place(own, survey, trail)
        trail, shift = own[-1].path, place.shift
        chapter_places.append(place)
    return chapter_places


def _place(entries: list[Entry], survey: Survey, trail: tuple[str, ...]) -> Place:
    headings = [heading for heading in survey.headings if not (heading.quoted and survey.boxed)]
    first = entries[0]
    starting = [first]
    for entry in entries[1:]:
        if entry.fragment != first.fragment or entry.path[: len(starting[-1].path)] != starting[-1].path:
            break
        starting.append(entry)
    chosen = starting[-1]
    if headings:
        chosen = next((entry for entry in starting if _alike(entry.path[-1], headings[0].title)), chosen)
    depth = len(chosen.path)
    top = min((heading.level for heading in headings), default=1)
    place = Place(depth - top)
    levels_above = [step + 1 for step in range(depth - 1) if trail[: step + 1] != chosen.path[: step + 1]]
    place.before = [(level, chosen.path[level - 1]) for level in levels_above]
    levels = {_letters(heading.title): heading.level for heading in reversed(headings)}
    if not headings or (
        headings[0].led and not any(_alike(chosen.path[-1], heading.title) for heading in headings)
    ):
        shifts = (
            len(entry.path) - levels[at] for entry in entries if (at := _letters(entry.path[-1])) in levels
        )
        place.shift = next(shifts, place.shift + 1)
        if chosen.fragment in survey.ids:
            place.named[chosen.fragment] = (depth, chosen.path[-1])
        else:
            place.before.append((depth, chosen.path[-1]))
    for entry in entries:
        lacking = entry.fragment in survey.ids and entry.fragment not in survey.titles
        if lacking and entry not in starting and _letters(entry.path[-1]) not in levels:
            place.named.setdefault(entry.fragment, (len(entry.path), entry.path[-1]))
    return place


def _letters(title: str) -> str:
    return _SIGNS.sub("", title.casefold())


def _alike(left: str, right: str) -> bool:
    """Whether two titles are the same, or one is the other with a number or a subtitle."""
    left, right = _letters(left), _letters(right)
    return bool(left and right) and (left in right or right in left)


def counted(pages: Iterable[str]) -> bool:
    """Whether these are the pages 1, 2, 3 … without a gap."""
    labels = list(pages)
    return bool(labels) and labels == [str(number) for number in range(1, len(labels) + 1)]


def titles_by_place(
    chapters: Sequence[tuple[str, Survey]], chapter_places: Sequence[Place]
) -> Mapping[tuple[str, str], str]:
    """The heading that each address leads to; a file's own address leads to its first heading."""
    titles: dict[tuple[str, str], str] = {}
    for (file, survey), place in zip(chapters, chapter_places, strict=True):
        own = [title for _, title in (*place.before[-1:], *place.named.values())]
        if starts := [heading.title for heading in survey.headings[:1]] or own:
            titles[file, ""] = starts[0]
        titles.update(((file, name), title) for name, (_, title) in place.named.items())
        titles.update(((file, name), title) for name, title in survey.titles.items())
    return titles
