"""The library's results: search results, passages, sections and books, as plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from bot.retrieval.chunk import SEPARATOR

ATTACHED: Final = "attached-"
"""The prefix of the ids of a question's own files; once their question is answered, no look-up finds them."""

UnreadPart: TypeAlias = tuple[str, dict[str, str | int]]
"""A part of a file that is not in its text: the end of a sentence's key, `library.unread_…`, and its values."""

NOTHING_UNREAD: Final = "[]"
"""The column's value for a document that was read completely."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the answerer gets it. `heading` is the breadcrumb; `text` is verbatim.

    It belongs to the section with this ordinal, and begins on `page`. `turns` are the pages that begin within it, each
    with the character of `text` where it begins. `link` is its address on the web, "" for none. `unread` are the parts
    of its document that are not in its text, as in the document's row.
    """

    chunk: str
    document: str
    source: str
    title: str
    heading: str
    page: int | None
    text: str
    score: float
    turns: tuple[tuple[int, int], ...] = ()
    section: int = 0
    link: str = ""
    unread: str = NOTHING_UNREAD

    @property
    def section_title(self) -> str:
        """The innermost of its headings."""
        return self.heading.rsplit(SEPARATOR, 1)[-1]

    def page_of(self, quote: str) -> int | None:
        """The page on which a quotation from the text begins; the passage's own page if the text does not contain it.

        Differences in white space do not matter.
        """
        if not self.turns:
            return self.page
        words = quote.split()
        match = re.search(r"\s+".join(map(re.escape, words)), self.text) if words else None
        position = match.start() if match else -1
        return next((page for start, page in reversed(self.turns) if start <= position), self.page)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search. Without `confident`, nothing on the shelf answers the question; if it is `doubtful`, the
    passages are still a guess worth showing.

    `titled`: the question consists of a heading's words. `notices` are catalogue keys for what was not available;
    `nearest` are headings to try.
    """

    passages: list[Passage]
    confident: bool
    titled: bool = False
    nearest: list[str] = field(default_factory=list)
    see_also: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    doubtful: bool = False


def unread_parts(stored: str) -> list[UnreadPart]:
    """The unread parts in a document's row."""
    return [(key, values) for key, values in json.loads(stored)]


def unread_of(passages: Iterable[Passage]) -> list[tuple[str, str, dict[str, str | int]]]:
    """The unread parts of the passages' documents, each with its file's name."""
    unread, documents = list[tuple[str, str, dict[str, str | int]]](), set[str]()
    for passage in passages:
        if passage.unread != NOTHING_UNREAD and passage.document not in documents:
            documents.add(passage.document)
            unread += [(passage.source, *part) for part in unread_parts(passage.unread)]
    return unread


def recognized(stored: str) -> bool:
    """Whether words of a document were recognized in pictures."""
    return any(key == "recognized" for key, _ in unread_parts(stored))


@dataclass(frozen=True, slots=True)
class Book:
    """One document, for people to look at. `percent` of its passages have vectors.

    `other_percent` have vectors for questions in another language; None if they are not needed.
    """

    id: str
    title: str
    source: str
    shelf: str
    language: str
    sections: int
    passages: int
    percent: int
    other_percent: int | None = None
    unread: tuple[UnreadPart, ...] = ()

    @property
    def ready(self) -> bool:
        return self.percent == 100


@dataclass(frozen=True, slots=True)
class SectionText:
    """A whole section with the references of its author."""

    source: str
    heading: str
    page: int | None
    text: str
    see_also: list[str] = field(default_factory=list)
