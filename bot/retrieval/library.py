"""The library as the works see it: search, sections by name, books, completion.

Brings together the shelf in memory, the vectors and the rows; writing is `intake`'s. Knows no work.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.events import Sorry
from bot.readers.document import Section
from bot.retrieval.chunk import SEPARATOR, body_start
from bot.retrieval.found import Book, Found, Passage, SectionText
from bot.retrieval.grow import grown
from bot.retrieval.language import detect_question, may_vote
from bot.retrieval.lexical import fold
from bot.retrieval.open_shelf import SEE_ALSO, OpenShelf
from bot.retrieval.shelf import Hit, Options
from storage.faults import StorageFault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.config import RetrievalConfig
    from bot.retrieval.embed import Embedder
    from bot.retrieval.embedding import Embedding
    from storage.document_rows import DocumentRow, PassageRow
    from storage.documents import Documents
    from storage.query_vectors import QueryVectors
    from storage.shelves import Shelves
    from storage.vectors import Vectors

SHELVES_KEPT = 8
"""How many shelves' statistics stay in memory; the least recently searched goes first."""

NEAREST = 3
"""How many headings are offered, and how many passages' references are followed."""

COMPLETIONS = 25
"""As many as a Discord autocomplete may show."""

_log = logging.getLogger(__name__)


class Library:
    """Reads what `Intake` wrote, one shelf of one space at a time."""

    def __init__(
        self,
        settings: RetrievalConfig,
        documents: Documents,
        shelves: Shelves,
        vectors: Vectors,
        query_vectors: QueryVectors,
        embedding: Embedding,
    ) -> None:
        self._settings = settings
        self._documents = documents
        self._shelves = shelves
        self._vectors = vectors
        self._query_vectors = query_vectors
        self._embedding = embedding
        self._open: OrderedDict[tuple[str, str], OpenShelf] = OrderedDict()
        self._loading = asyncio.Lock()

    async def shelf_for(self, space: str, wanted: str | None, default: str) -> str:
        """The shelf that a question goes to: the one named, else `default`, else the only one there is.

        Raises Sorry where there is none, or where it has to be named.
        """
        names = [one.name for one in await self._documents.shelves(space)]
        if not names:
            raise Sorry("rules.no_books")
        if wanted is not None:
            if wanted in names:
                return wanted
            raise Sorry("rules.no_shelf", shelf=wanted, shelves=", ".join(names))
        if default in names:
            return default
        if len(names) == 1:
            return names[0]
        raise Sorry("rules.which_shelf", shelves=", ".join(names), first=names[0])

    async def languages(self, space: str, shelf: str) -> list[str]:
        """The languages of a shelf's books, as ISO 639-1."""
        return (await self._shelf(space, shelf)).shelf.languages

    async def search(
        self, space: str, shelf: str, question: str, *, k: int | None = None, lookup: bool = True
    ) -> Found:
        """The best passages for a question, `k` or the configured number; `lookup` False leaves titles out.

        Works by words alone, with a notice, where vectors are missing or cannot be read.
        """
        opened = await self._shelf(space, shelf)
        embedder = await self._embedding.get()
        notices: list[str] = []
        dense = await self._nearest(space, shelf, question, opened, embedder, notices)
        options = Options(
            k=k or self._settings.k,
            lookup=lookup,
            model_languages=embedder.languages if embedder is not None else None,
        )
        ranked = await asyncio.to_thread(opened.shelf.search, question, dense, options)
        passages = await self._passages(space, ranked.hits)
        multilingual = embedder is not None and embedder.languages is None
        if ranked.language is not None and ranked.language not in opened.shelf.languages and not multilingual:
            notices.append("rules.other_language")
        return Found(
            passages=passages,
            confident=ranked.confident and bool(passages),
            titled=ranked.evidence.title,
            nearest=_titles(passages)[:NEAREST],
            see_also=opened.see_also([(hit.document_id, hit.section) for hit in ranked.hits[:NEAREST]]),
            notices=notices,
        )

    async def _passages(self, space: str, hits: Sequence[Hit]) -> list[Passage]:
        rows = await self._documents.passages(space, [hit.chunk_id for hit in hits])
        scores = {hit.chunk_id: hit.score for hit in hits}
        there = [rows[hit.chunk_id] for hit in hits if hit.chunk_id in rows]
        if self._settings.parent_chars <= self._settings.child_chars:
            return [_passage(row, row.chunk.text, scores[row.chunk.id]) for row in there]
        wide = await grown(self._documents, space, there, self._settings.parent_chars)
        return [_passage(row, text, scores[row.chunk.id]) for row, text in wide]

    async def _nearest(
        self,
        space: str,
        shelf: str,
        question: str,
        opened: OpenShelf,
        embedder: Embedder | None,
        notices: list[str],
    ) -> list[tuple[str, float]] | None:
        """The nearest chunks by vectors; None where no vote would count or none can be had."""
        if embedder is None or not any(
            may_vote(embedder.languages, None, one) for one in opened.shelf.languages
        ):
            return None
        language = await asyncio.to_thread(detect_question, question, opened.shelf.languages)
        if language is not None and embedder.languages is not None and language not in embedder.languages:
            return None
        vector = await self._query_vector(space, embedder, question)
        try:
            found = await self._vectors.search(space, shelf, embedder.name, vector, self._settings.fetch_k)
        except StorageFault as fault:
            if fault.kind == "missing":
                notices.append(await self._why_missing(space, shelf, embedder.name))
            else:
                _log.warning("vectors of %s cannot be read: %s", shelf, fault)
                notices.append("rules.vectors_broken")
            return None
        return found

    async def _why_missing(self, space: str, shelf: str, embedder: str) -> str:
        """The notice for a shelf without vectors of the present embedder: not yet made, or made by another."""
        makers = {one.embedder for one in await self._documents.list(space, shelf)} - {None}
        return "rules.vectors_other" if makers - {embedder} else "rules.vectors_pending"

    async def _query_vector(self, space: str, embedder: Embedder, question: str) -> NDArray[np.float32]:
        import numpy as np

        kept = await self._query_vectors.get(space, embedder.name, question)
        if kept is not None:
            return np.frombuffer(kept, dtype=np.float32)
        vector = await asyncio.to_thread(embedder.query, question)
        await self._query_vectors.put(space, embedder.name, question, vector.tobytes())
        return vector

    async def sections_named(self, space: str, shelf: str | None, name: str) -> list[SectionText]:
        """Sections called `name` (exactly, by an alias, or nearly), homonyms of several books all."""
        found: list[SectionText] = []
        for one in [shelf] if shelf else [row.name for row in await self._documents.shelves(space)]:
            opened = await self._shelf(space, one)
            for match in await asyncio.to_thread(opened.shelf.lookup, name, 8):
                text = await self._section(space, opened, match.document_id, match.section or 0)
                if text is not None:
                    found.append(text)
        return found

    async def section_of(self, space: str, chunk: str) -> SectionText | None:
        """The whole section that a passage stands in; None when its book has gone."""
        row = (await self._documents.passages(space, [chunk])).get(chunk)
        if row is None:
            return None
        opened = await self._shelf(space, row.shelf)
        return await self._section(space, opened, row.chunk.document_id, row.chunk.section)

    async def _section(
        self, space: str, opened: OpenShelf, document: str, ordinal: int
    ) -> SectionText | None:
        text = await self._documents.section_text(space, document, ordinal)
        row = await self._documents.get(space, document)
        if text is None or row is None:
            return None
        title, path = opened.sections(document)[ordinal]
        level = len(path) if title else 0
        start = body_start(text, Section(ordinal, level, title, path, 0, len(text)))
        see = [*opened.see_also([(document, ordinal)]), *opened.children(document, path)]
        return SectionText(
            row.source, SEPARATOR.join(path) or row.title, None, text[start:].strip(), see[:SEE_ALSO]
        )

    async def complete(self, space: str, kind: str, prefix: str, shelf: str | None = None) -> list[str]:
        """Names that begin like `prefix`, accents and capitals aside: kind "section", "book" or "shelf"."""
        if kind == "section":
            names = [shelf] if shelf else [row.name for row in await self._documents.shelves(space)]
            titles: list[str] = []
            for name in names:
                titles += (await self._shelf(space, name)).shelf.complete(prefix, COMPLETIONS)
            return list(dict.fromkeys(titles))[:COMPLETIONS]
        if kind == "book":
            found = [one.source for one in await self._documents.list(space, shelf)]
        else:
            found = [one.name for one in await self._documents.shelves(space)]
        wanted = fold(prefix)
        return [name for name in found if fold(name).startswith(wanted)][:COMPLETIONS]

    async def books(self, space: str, shelf: str | None = None) -> list[Book]:
        """What is in the library, by shelf and title."""
        return [_book(one) for one in await self._documents.list(space, shelf)]

    async def rows(self, space: str, shelf: str | None = None) -> Sequence[DocumentRow]:
        """The same as rows, for a reindex."""
        return await self._documents.list(space, shelf)

    async def find(self, space: str, shelf: str, name: str) -> Sequence[DocumentRow]:
        """Documents that a person may mean by a file name, a title or the end of an id."""
        return await self._documents.find(space, shelf, name)

    async def _shelf(self, space: str, shelf: str) -> OpenShelf:
        """The shelf in memory, made anew when it has changed since."""
        key = (space, shelf)
        async with self._loading:
            version = await self._shelves.version(space, shelf)
            opened = self._open.get(key)
            if opened is None or opened.version != version:
                version, rows = await self._shelves.contents(space, shelf)
                opened = await asyncio.to_thread(OpenShelf, version, rows)
                self._open[key] = opened
                while len(self._open) > SHELVES_KEPT:
                    self._open.popitem(last=False)
            self._open.move_to_end(key)
        return opened


def _passage(row: PassageRow, text: str, score: float) -> Passage:
    return Passage(
        chunk=row.chunk.id,
        document=row.chunk.document_id,
        source=row.source,
        title=row.title,
        heading=SEPARATOR.join(row.path) or row.title,
        page=row.page,
        text=text,
        score=score,
    )


def _titles(passages: Sequence[Passage]) -> list[str]:
    return list(dict.fromkeys(one.heading.rsplit(SEPARATOR, 1)[-1] for one in passages))


def _book(row: DocumentRow) -> Book:
    percent = 100 if row.state == "ready" or not row.chunk_count else 100 * row.embedded // row.chunk_count
    return Book(
        row.id,
        row.title,
        row.source,
        row.shelf,
        row.language,
        row.section_count,
        row.chunk_count,
        min(percent, 100),
    )
