"""Files attached to a question, searched like a shelf: read and chunked on the first search, kept only in memory.

`Attached` stands in for the rows and vectors of the storage. Independent of runs.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from bot.events import UserError
from bot.retrieval.centred import centred
from bot.retrieval.editions import OpenShelf
from bot.retrieval.ranking import Options
from bot.retrieval.results import ATTACHED, unread_parts
from storage.document_rows import ChunkRow, PassageRow, SectionRow
from storage.shelves import ShelvedRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.editions import Pins
    from bot.retrieval.embedding import Embedder
    from bot.retrieval.intake import Intake, Item
    from storage.document_rows import NewChunk, NewDocument

NEAREST: Final = 64
"""How many of the best passages by lexical score are embedded per question, which takes two to three seconds on one
core.
"""

_log = logging.getLogger(__name__)


class Attached:
    """The files of one question. Every method raises UserError if a file cannot be read."""

    def __init__(self, intake: Intake, items: Sequence[Item]) -> None:
        self._intake = intake
        self._items = items
        self._documents: dict[str, NewDocument] = {}
        self._opened: OpenShelf | None = None
        self._opening = asyncio.Lock()
        self._vectors: dict[str, NDArray[np.float32]] = {}

    async def open(
        self, space: str, shelf: str, pins: Pins | None = None, *, newest: bool = False
    ) -> OpenShelf:
        async with self._opening:
            if self._opened is None:
                for n, item in enumerate(self._items):
                    document = await self._intake.read(space, item, f"{ATTACHED}{n}")
                    if not document.chunks:
                        raise UserError("library.file_empty", name=item.name)
                    self._documents[document.id] = document
                rows = [_shelved(document) for document in self._documents.values()]
                self._opened = await asyncio.to_thread(OpenShelf, 0, rows)
            return self._opened

    @property
    def unread(self) -> list[tuple[str, str, dict[str, str | int]]]:
        """The parts of the files that are not in their texts, as `unread_of` returns them, once the files have
        been searched.
        """
        documents = self._documents.values()
        return [(document.source, *part) for document in documents for part in unread_parts(document.unread)]

    async def all_passages(self, space: str, most: int) -> list[PassageRow]:
        """All passages in order, if their texts have at most `most` characters together; otherwise none."""
        await self.open(space, "")
        chunks = [(document, chunk) for document in self._documents.values() for chunk in document.chunks]
        if sum(len(chunk.text) for _, chunk in chunks) > most:
            return []
        return [_row(document, chunk) for document, chunk in chunks]

    async def get(self, space: str, ids: Iterable[str]) -> dict[str, PassageRow]:
        rows = {}
        for id in ids:
            document_id, _, ordinal = id.rpartition(":")
            attached = self._documents[document_id]
            rows[id] = _row(attached, attached.chunks[int(ordinal)])
        return rows

    async def chunks_of(
        self, space: str, document_id: str, after_ordinal: int = -1, limit: int = 256
    ) -> Sequence[ChunkRow]:
        chunks = self._documents[document_id].chunks[max(0, after_ordinal + 1) :][:limit]
        return [_chunk(document_id, chunk) for chunk in chunks]

    async def span(self, space: str, document_id: str, start: int, end: int) -> str | None:
        return self._documents[document_id].text[start:end]

    async def section(self, space: str, document_id: str, ordinal: int) -> SectionRow | None:
        return None

    async def turns(
        self, space: str, spans: Collection[tuple[str, int, int]]
    ) -> dict[str, list[tuple[int, int]]]:
        turns_of: dict[str, list[tuple[int, int]]] = {}
        for document, start, end in spans:
            pages = enumerate(self._documents[document].pages, 1)
            turns_of.setdefault(document, []).extend((at, n) for n, at in pages if start < at < end)
        return {document: sorted(starts) for document, starts in turns_of.items() if starts}

    async def chunks(
        self,
        space: str,
        shelf: str,
        opened: OpenShelf,
        question: str,
        embedder: Embedder,
        notices: list[str],
        among: Collection[str] = (),
    ) -> list[tuple[str, float]] | None:
        """See `Nearest.chunks`; only the passages that rank highest by their words are compared."""
        options = Options(k=NEAREST, lookup=False)
        ranked = await asyncio.to_thread(opened.shelf.search, question, None, options)
        try:
            return await asyncio.to_thread(
                self._cosines, question, [hit.chunk_id for hit in ranked.hits], embedder
            )
        except UserError as error:  # the embedding service does not answer, so lexical search does
            _log.warning("attached files have no vectors: %s", error)
            notices.append("rules.vectors_failed")
            return None

    def _cosines(self, question: str, ids: Sequence[str], embedder: Embedder) -> list[tuple[str, float]]:
        fresh = [id for id in ids if id not in self._vectors]
        texts = []
        for id in fresh:
            document, _, ordinal = id.rpartition(":")
            chunk = self._documents[document].chunks[int(ordinal)]
            texts.append(f"{chunk.breadcrumb}\n{chunk.text}" if chunk.breadcrumb else chunk.text)
        if texts:
            self._vectors.update(zip(fresh, embedder.passages(texts), strict=True))
        vector = centred(embedder, embedder.query(question).reshape(-1))
        cosines = [(id, float(self._vectors[id] @ vector)) for id in ids]
        return sorted(cosines, key=lambda pair: -pair[1])


def _shelved(document: NewDocument) -> ShelvedRow:
    return ShelvedRow(
        document.id,
        document.title,
        document.language,
        document.segment,
        None,
        0,
        [(section.title, section.path) for section in document.sections],
        [chunk.section for chunk in document.chunks],
        [(link.section, link.target) for link in document.links],
    )


def _chunk(document_id: str, chunk: NewChunk) -> ChunkRow:
    return ChunkRow(
        document_id,
        chunk.ordinal,
        chunk.section,
        chunk.start,
        chunk.end,
        chunk.breadcrumb,
        chunk.text,
        f"{document_id}:{chunk.ordinal}",
    )


def _row(document: NewDocument, chunk: NewChunk) -> PassageRow:
    section = next((section for section in document.sections if section.ordinal == chunk.section), None)
    page = bisect_right(document.pages, chunk.start) or None
    path = section.path if section is not None else ()
    return PassageRow(
        _chunk(document.id, chunk),
        "",
        document.source,
        document.title,
        path,
        page or (section.page if section else None),
    )
