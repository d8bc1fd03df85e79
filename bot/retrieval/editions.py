"""Shelves in memory: built from their rows on first use, rebuilt after a change, and pinned for a request.

Independent of search. Each shelf has one edition at a time; a request that has pinned an older one keeps it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from bot.retrieval.contents import ShelvedDocument
from bot.retrieval.lexical import Segment
from bot.retrieval.shelf import Shelf

if TYPE_CHECKING:
    from storage.shelves import ShelvedRow, Shelves

KEPT = 8
"""How many shelves' statistics stay in memory; the least recently searched is dropped first."""

SEE_ALSO = 8
"""The most references that are followed from one answer or section."""


class OpenShelf:
    """A shelf's statistics and titles, with the references of its authors."""

    def __init__(self, version: int, rows: Sequence[ShelvedRow]) -> None:
        self.version = version
        self._sections: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        self._links: dict[tuple[str, int], list[str]] = {}
        documents: list[ShelvedDocument] = []
        vector_counts: Counter[str] = Counter()
        for row in rows:
            segment = Segment.from_bytes(row.segment)
            documents.append(
                ShelvedDocument(row.id, row.title, row.language, row.sections, row.chunk_sections, segment)
            )
            self._sections[row.id] = row.sections
            for section, target in row.links:
                self._links.setdefault((row.id, section), []).append(target)
            if row.embedder is not None:
                vector_counts[row.embedder] += row.embedded
        self.embedder = max(vector_counts, key=lambda name: (vector_counts[name], name), default=None)
        """The embedder that made most of its vectors, among those that existed when it was opened."""
        self.shelf = Shelf(documents)
        self.documents = frozenset(self._sections)

    def see_also(self, sections: Iterable[tuple[str, int]]) -> list[str]:
        """Existing titles that the authors of these sections refer to."""
        titles: dict[str, None] = {}
        for section in sections:
            for target in self._links.get(section, ()):
                for match in self.shelf.lookup(target, 1):
                    titles[match.title] = None
        return list(titles)[:SEE_ALSO]

    def children(self, document: str, path: tuple[str, ...]) -> list[str]:
        """Titles of the sections directly below `path`; none for a document that has left the shelf."""
        below = [title for title, steps in self._sections.get(document, ()) if path and steps[:-1] == path]
        return list(dict.fromkeys(below))


Pins: TypeAlias = dict[tuple[str, str], OpenShelf]
"""The editions that all searches of one request use, by space and shelf, each as first read."""


class Editions:
    """Every shelf in its present edition, or as it is pinned."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self._open: OrderedDict[tuple[str, str], OpenShelf] = OrderedDict()
        self._loading = asyncio.Lock()

    async def open(
        self, space: str, shelf: str, pins: Pins | None = None, *, newest: bool = False
    ) -> OpenShelf:
        """A shelf as pinned in `pins`; a missing one is read and pinned. `newest`: the present edition is read and
        pinned.
        """
        key = (space, shelf)
        if pins is not None and key in pins and not newest:
            return pins[key]
        async with self._loading:
            version = await self._shelves.version(space, shelf)
            opened = self._open.get(key)
            if opened is None or opened.version != version:
                version, rows = await self._shelves.contents(space, shelf)
                opened = await asyncio.to_thread(OpenShelf, version, rows)
                self._open[key] = opened
                while len(self._open) > KEPT:
                    self._open.popitem(last=False)
            self._open.move_to_end(key)
        if pins is None:
            return opened
        if newest:
            pins[key] = opened
        # If several searches began together, the first to arrive here decides.
        return pins.setdefault(key, opened)
