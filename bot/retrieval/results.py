"""What the library returns: search results, passages, sections and books, as plain values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from bot.retrieval.chunk import SEPARATOR

ATTACHED: Final = "attached-"
"""What the ids of a question's own files begin with: no look-up finds them once their question is answered."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the answerer gets it. `heading` is the breadcrumb; `text` is verbatim.

    It is of the section with this ordinal, and begins on `page`; `turns` are the pages that begin within it, each with
    the character of `text` it begins at. `link` is its address on the web, "" where it has none.
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

    @property
    def section_title(self) -> str:
        """The innermost of its headings."""
        return self.heading.rsplit(SEPARATOR, 1)[-1]

    def page_of(self, quote: str) -> int | None:
        """The page that a stretch of the text begins on; the passage's own for what does not stand in it.

        White space is no difference.
        """
        if not self.turns:
            return self.page
        words = quote.split()
        match = re.search(r"\s+".join(map(re.escape, words)), self.text) if words else None
        position = match.start() if match else -1
        return next((page for start, page in reversed(self.turns) if start <= position), self.page)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search. Not `confident`: nothing on the shelf answers the question, unless it is `doubtful`:
    then the passages are a guess worth showing.

    `titled`: the question is a heading's own words.
    `notices` are keys of the catalogue for what was done without; `nearest` are headings to try.
    """

    passages: list[Passage]
    confident: bool
    titled: bool = False
    nearest: list[str] = field(default_factory=list)
    see_also: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    doubtful: bool = False


UnreadPart: TypeAlias = tuple[str, dict[str, str | int]]
"""What of a file is not in its text: the end of a sentence's key, `library.unread_…`, and its values."""


def unread_parts(written: str) -> list[UnreadPart]:
    """Those that a document's row has."""
    return [(key, values) for key, values in json.loads(written)]


def recognized(written: str) -> bool:
    """Whether words of a document were recognized on pictures."""
    return any(key == "recognized" for key, _ in unread_parts(written))


@dataclass(frozen=True, slots=True)
class Book:
    """One document, for people to look at. `percent` of its passages have vectors.

    `other_percent` have vectors for questions in another language; None where nobody needs them.
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
    """A whole section with what its author refers to."""

    source: str
    heading: str
    page: int | None
    text: str
    see_also: list[str] = field(default_factory=list)
