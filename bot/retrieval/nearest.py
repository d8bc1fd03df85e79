"""The chunks nearest to a question by vectors, if vectors exist and their scores would count.

Uses the vectors' store and the cached question vectors; independent of how votes are weighed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from bot.events import UserError
from bot.retrieval.centred import centred
from storage.faults import StorageFault

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.cleanup import DamagedVectors
    from bot.retrieval.editions import OpenShelf
    from bot.retrieval.embedding import Embedder
    from storage.documents import Documents
    from storage.query_vectors import QueryVectors
    from storage.vectors import Vectors

ROUNDS = 4
"""How often a search is repeated because its results belong to no document of the shelf."""

_log = logging.getLogger(__name__)


class Nearest:
    """Searches the vectors of one shelf; returns at most `count` chunks."""

    def __init__(
        self,
        documents: Documents,
        vectors: Vectors,
        query_vectors: QueryVectors,
        damage: DamagedVectors,
        count: int,
    ) -> None:
        self._documents = documents
        self._damage = damage
        self._vectors = vectors
        self._query_vectors = query_vectors
        self._count = count

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
        """(chunk id, cosine), nearest first; only from the documents `among`, if given. None if there are no usable
        vectors.
        """
        folders = self._vectors.folders
        try:
            vector = await self._query_vector(space, embedder, question)
            search = partial(self._own, space, shelf, opened, embedder.name, vector, among)
            try:
                return await search()
            except StorageFault as fault:
                if fault.kind != "damaged":
                    raise
            # The store is opened again before it is considered damaged.
            with suppress(StorageFault):
                await self._vectors.release_memory()
            return await search()
        except StorageFault as fault:
            if fault.kind == "missing":
                notices.append(await self._why_missing(space, shelf, embedder.name))
            elif fault.kind == "damaged" and await self._damage.set_aside(folders):
                notices.append("rules.vectors_damaged")
            else:
                _log.warning("vectors of %s cannot be read: %s", shelf, fault)
                notices.append("rules.vectors_broken")
            return None
        except UserError as error:  # the embedding service does not answer, so lexical search does
            _log.warning("the question has no vector: %s", error)
            notices.append("rules.vectors_failed")
            return None

    async def _own(
        self,
        space: str,
        shelf: str,
        opened: OpenShelf,
        embedder: str,
        vector: NDArray[np.float32],
        among: Collection[str],
    ) -> list[tuple[str, float]]:
        """The nearest chunks of the shelf as it was opened.

        The store also holds vectors of unfinished, replaced or newer documents. These must not take up places, so if
        any appear, they are excluded and the search is repeated.
        """
        left_out: set[str] = set()
        for _ in range(ROUNDS):
            hits = await self._vectors.search(
                space, shelf, embedder, vector, self._count, without=left_out, among=among
            )
            strange = {_document(chunk) for chunk, _ in hits} - opened.documents
            if not strange:
                return hits
            if not left_out:
                left_out = await self._documents.unseen(space, shelf) - opened.documents
            left_out |= strange
        return [hit for hit in hits if _document(hit[0]) in opened.documents]

    async def _why_missing(self, space: str, shelf: str, embedder: str) -> str:
        """The notice for a shelf without vectors of the present embedder: not made yet, or made by another."""
        makers = {row.embedder for row in await self._documents.list(space, shelf)} - {None}
        return "rules.vectors_other" if makers - {embedder} else "rules.vectors_pending"

    async def _query_vector(self, space: str, embedder: Embedder, question: str) -> NDArray[np.float32]:
        import numpy as np

        cached = await self._query_vectors.get(space, embedder.name, question)
        if cached is not None:
            vector = np.frombuffer(cached, dtype=np.float32)
        else:
            vector = await asyncio.to_thread(embedder.query, question)
            await self._query_vectors.put(space, embedder.name, question, vector.tobytes())
        return await asyncio.to_thread(centred, embedder, vector)


def _document(chunk: str) -> str:
    return chunk.rpartition(":")[0]
