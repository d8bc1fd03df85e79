"""A shelf made from its rows: statistics and titles in memory, and what its authors refer to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.retrieval.lexical import Segment
from bot.retrieval.shelf import Shelf, ShelvedDocument

if TYPE_CHECKING:
    from storage.shelves import ShelvedRow

SEE_ALSO = 8
"""How many references are followed from one answer or section."""


class OpenShelf:
    """A shelf's statistics and titles, with what its authors refer to."""

    def __init__(self, version: int, rows: Sequence[ShelvedRow]) -> None:
        self.version = version
        self.shelf = Shelf([_shelved(row) for row in rows])
        self.documents = frozenset(row.id for row in rows)
        self._sections = {row.id: row.sections for row in rows}
        self._links: dict[tuple[str, int], list[str]] = {}
        for row in rows:
            for section, target in row.links:
                self._links.setdefault((row.id, section), []).append(target)
        made: Counter[str] = Counter()
        for row in rows:
            if row.embedder is not None:
                made[row.embedder] += row.embedded
        self.embedder = max(made, key=lambda name: (made[name], name), default=None)
        """Who made most of its vectors, as far as they were there when it was opened."""

    def see_also(self, sections: Sequence[tuple[str, int]]) -> list[str]:
        """Titles that exist and that the authors of these sections refer to."""
        titles: dict[str, None] = {}
        for section in sections:
            for target in self._links.get(section, ()):
                for match in self.shelf.lookup(target, 1):
                    titles[match.title] = None
        return list(titles)[:SEE_ALSO]

    def children(self, document: str, path: tuple[str, ...]) -> list[str]:
        """Titles of the sections right below `path`; none of a document that has left the shelf."""
        below = [title for title, one in self._sections.get(document, ()) if path and one[:-1] == path]
        return list(dict.fromkeys(below))


def _shelved(row: ShelvedRow) -> ShelvedDocument:
    return ShelvedDocument(
        row.id, row.title, row.language, row.sections, row.chunk_sections, Segment.from_bytes(row.segment)
    )
