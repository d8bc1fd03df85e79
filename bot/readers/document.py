"""The result of every reader: a file's text, its sections, and its authors' own references.

References ("see X", "ver X", "[text](#anchor)") are kept as written, because similarity finds fewer than half of them.
Pure; independent of file formats, other documents and storage.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from bot.readers.screenplay.elements import SPOKEN, Screenplay, numbered
from bot.readers.screenplay.elements import plain as unemphasised

Progress = Callable[[int, int], None]
"""Called with the pages (or parts) read so far and their total."""

TITLE_CHARS: Final = 300
"""The longest title, in characters. It precedes each passage in a prompt, so it must not be a text of its own."""

_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and characters that change the reading direction."""

Unread = tuple[str, Mapping[str, str | int]]
"""The end of a sentence's key, `library.unread_…`, and its values."""

Mark = tuple[int, int, str, tuple[str, ...]]
"""A section's beginning (a character offset), its level, its title, and its headings from the outermost
to the title.
"""

_MARKDOWN = re.compile(r"(?<!!)\[[^\]\n]{1,200}\]\(([^)\s]{1,300})(?:\s+\"[^\"\n]*\")?\)")
_WIKI = re.compile(r"\[\[([^\]|\n]{1,120})(?:\|[^\]\n]*)?\]\]")
_SEE = re.compile(
    r"\b(?:[Ss]ee(?: also)?|[Vv]e(?:r|ja)(?: também)?|[Cc]onsulte|[Vv]éase(?: también)?)[:\s]+"
    r"(?:the |o |a |os |as )?(?:[“\"«](?P<quoted>[^“”\"«»\n]{2,80})[”\"»]"
    r"|(?P<mark>\*{1,3}|_)(?P<marked>[^*_\n]{2,80})(?P=mark))"
)
_SEE_BARE = re.compile(
    r"\b(?:[Ss]ee(?: also)?|[Vv]e(?:r|ja)(?: também)?|[Vv]éase(?: también)?)[*_]*[:\s]\s*[*_]*"
    r"(?P<list>[^.;:()\n]{2,200})"
)
_BETWEEN = re.compile(r",\s*(?:and |or |e |ou |y |o )?|\s(?:and|or|e|ou|y)\s")
_ARTICLES = {"see": ("the",), "ver": ("o", "a", "os", "as", "el", "la", "los", "las")}
_TITLE_WORDS = 8
_MARKUP: Final = re.compile(r"^(?=#{1,6}(?:\s|$)|```|~~~)", re.MULTILINE)
NO_LANGUAGE: Final = "zxx"
"""ISO 639-2's code for content without a language, so that none is detected."""
_DEEPEST: Final = 6


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its own body, up to the next heading of any level.

    `start` and `end` are characters of `Document.text`; the heading's line is inside. `path` is the breadcrumb, the
    title last; it is empty for text before the first heading. `level` is 0 there, else 1 to 6. A section that a boxed
    aside interrupts continues afterwards under the same title.
    """

    ordinal: int
    level: int
    title: str
    path: tuple[str, ...]
    start: int
    end: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """An author's reference: from a section (its ordinal) to a title or an anchor, as written."""

    section: int
    target: str


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file. `language` is ISO 639-1; a parsed file's is detected last and is "" until then.

    `text` is a text file's own text with uniform newlines; for other formats, their words as Markdown. `pages` are the
    offsets of the pages' first characters, if the format has pages. `screenplay` has the elements of a script. `unread`
    lists the parts of the file that are not in the text.
    """

    title: str
    text: str
    language: str
    sections: tuple[Section, ...]
    links: tuple[Link, ...] = ()
    pages: tuple[int, ...] = ()
    screenplay: Screenplay | None = None
    unread: tuple[Unread, ...] = ()


def sectioned(
    text: str, marks: Sequence[Mark], start: int = 0, pages: Sequence[int] = ()
) -> tuple[Section, ...]:
    """The sections that `marks` (in order) begin, each up to the next one; the last to the end of `text`.

    The text before the first mark, from `start` on, is a section without a title, as is a text without marks. `pages`
    are the offsets of the pages.
    """
    first = marks[0][0] if marks else len(text)
    if text[start:first].strip() or not marks:
        marks = [(start if text[start:].strip() else 0, 0, "", ()), *marks]
    ends = [mark[0] for mark in marks[1:]] + [len(text)]
    return tuple(
        Section(
            ordinal, level, one_line(words), tuple(map(one_line, path)), begin, end, page_at(pages, begin)
        )
        for ordinal, ((begin, level, words, path), end) in enumerate(zip(marks, ends, strict=True))
    )


def screenplay_document(name: str, screenplay: Screenplay) -> Document:
    """A screenplay's words as Markdown, a section for each scene below the writer's own sections.

    Its title comes from the title page, else from the name. Notes and synopses are left out, because they are not part
    of the script.
    """
    elements = screenplay.elements
    deepest = max((element.level for element in elements if element.kind == "section"), default=0)
    numbers = iter(numbered(elements))
    parts: list[str] = []
    length = 0
    marks: list[Mark] = []
    trail: list[tuple[int, str]] = []

    def write(text: str, gap: str = "\n\n") -> None:
        nonlocal length
        for part in (gap if parts else "", text):
            parts.append(part)
            length += len(part)

    if screenplay.title_page:
        write("\n".join(f"{key}: {' '.join(text.split())}" for key, text in screenplay.title_page))
    for element in elements:
        if element.kind in ("heading", "section"):
            heading = element.kind == "heading"
            level = min(deepest + 1 if heading else element.level, _DEEPEST)
            words = " ".join(unemphasised(element.text).split())
            words = f"{next(numbers)}. {words}" if heading else words
            trail = [*(step for step in trail if step[0] < level), (level, words)]
            write(f"{'#' * level} {words}")
            marks.append((length - len(words) - level - 1, level, words, tuple(step[1] for step in trail)))
        elif element.kind == "page_break" or element.kind in ("note", "synopsis"):
            continue
        else:
            write(_MARKUP.sub(r"\\", element.text), "\n" if element.kind in SPOKEN else "\n\n")
    text = "".join(parts)
    title = screenplay.title or title_from_name(name)
    return Document(title, text, "", sectioned(text, marks), screenplay=screenplay)


def one_line(title: str) -> str:
    """A title on one line of at most TITLE_CHARS characters, without invisible characters."""
    return _UNSEEN.sub("", " ".join(title.split()))[:TITLE_CHARS].rstrip()


def title_from_name(name: str) -> str:
    """A readable title from a file's name."""
    return re.sub(r"[_\s]+", " ", PurePath(name).stem).strip() or name


def page_at(pages: Sequence[int], offset: int) -> int | None:
    """The page (from 1) of a character, by the offsets of the pages' first characters; None if there are no pages.

    A page without characters begins where the next one does, and contains nothing.
    """
    return bisect_right(pages, offset) or 1 if pages else None


def links(text: str, sections: tuple[Section, ...]) -> tuple[Link, ...]:
    """Every reference in `text`, in order, each once per section.

    A target is a title as written, or "#anchor" / "file.md#anchor" as in a link; web links are left out.
    """
    starts = [section.start for section in sections]
    located: list[tuple[int, str]] = []
    for match in _MARKDOWN.finditer(text):
        target = match.group(1)
        if "://" not in target and not target.startswith(("mailto:", "/")):
            located.append((match.start(), target))
    located.extend((match.start(), match.group(1).strip()) for match in _WIKI.finditer(text))
    for match in _SEE.finditer(text):
        target = (match.group("quoted") or match.group("marked")).strip(" .,;:")
        if target:
            located.append((match.start(), target))
    titles = {_plain(section.title): section.title for section in sections if section.title}
    for match in _SEE_BARE.finditer(text):
        articles = _ARTICLES["see" if match[0][0] in "Ss" else "ver"]
        named = (_named(part, titles, articles) for part in _BETWEEN.split(match["list"]))
        located.extend((match.start(), title) for title in named if title)
    located.sort()
    places = ((max(0, bisect_right(starts, at) - 1), target) for at, target in located)
    return tuple(Link(section, target) for section, target in dict.fromkeys(places))


def _named(part: str, titles: dict[str, str], articles: tuple[str, ...]) -> str | None:
    """The longest title that `part` begins with. Words without quotation marks count only if a heading has them."""
    words = _plain(part).split()[:_TITLE_WORDS]
    words = words[1:] if words and words[0] in articles else words
    prefixes = (" ".join(words[:length]) for length in range(len(words), 0, -1))
    return next((titles[name] for name in prefixes if name in titles), None)


def _plain(title: str) -> str:
    return " ".join(re.sub(r"[*_“”\"«»]", "", title.casefold()).split())
