"""Makes missing vectors in the background, from the stored passages.

A job may end without them (no model, no room), and a folder of vectors may be damaged; lexical search answers
meanwhile. Progress is kept in the books' rows, so a start continues where the last process stopped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from bot.events import UserError
from bot.retrieval.intake import IntakeResult
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.retrieval.cleanup import DamagedVectors
    from bot.retrieval.embedding import Embedding
    from bot.retrieval.intake import Intake
    from storage.document_rows import DocumentRow
    from storage.documents import Documents
    from storage.vectors import Vectors

FIRST_S = 15.0
"""Seconds after a start, so that waiting questions are answered first."""

ROUND_S = 60.0
"""Seconds between two checks for books without vectors."""

LONGEST = 60
"""The most rounds skipped after failures: an hour, because a model may have to be downloaded."""

BATCH = 64
"""Chunks between two checks for jobs that need the processor: two to three seconds' work on one core."""

_log = logging.getLogger(__name__)


async def _never(space: str) -> bool:
    return False


class MissingVectors:
    """Makes the missing vectors; one per process."""

    def __init__(
        self,
        documents: Documents,
        vectors: Vectors,
        intake: Intake,
        embedding: Embedding,
        damage: DamagedVectors,
    ) -> None:
        self._documents = documents
        self._vectors = vectors
        self._intake = intake
        self._embedding = embedding
        self._damage = damage
        self.busy: Callable[[str], Awaitable[bool]] = _never
        """Whether jobs of a space's library run; they make vectors themselves."""
        self._task: asyncio.Task[None] | None = None

    def start(self, busy: Callable[[str], Awaitable[bool]]) -> None:
        """`busy` replaces the attribute of that name."""
        self.busy = busy
        self._task = asyncio.create_task(self._loop())

    async def close(self) -> None:
        """Stop; the next start continues."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _loop(self) -> None:
        wait, failures = FIRST_S, 0
        while True:
            try:
                async with asyncio.timeout(wait):
                    await self._damage.detected.wait()
            except TimeoutError:
                pass
            self._damage.detected.clear()
            try:
                failures = 0 if await self.round() else failures + 1
            except (StorageFault, UserError) as fault:
                failures += 1
                _log.warning("vectors that are missing could not be made: %s", fault)
            except Exception:  # whatever a model's library raises; the next round may succeed
                failures += 1
                _log.exception("vectors that are missing could not be made")
            wait = ROUND_S * min(2**failures, LONGEST) if failures else ROUND_S

    async def round(self) -> bool:
        """Make the missing vectors, except in spaces with a running library job. Returns False if no model is
        available.
        """
        if await asyncio.to_thread(self._vectors.untouched) and await self._documents.forget_vectors():
            _log.warning("the folder of vectors is gone: they are made again")
        await self._foresee()
        lacking = await self._documents.without_vectors()
        lacking_second = await self._documents.without_other_vectors(self._embedding.other_name)
        if not lacking and not lacking_second:
            return True
        try:
            if lacking and await self._intake.ready_for_vectors(lacking[0].space) == "absent":
                return False
            for row in lacking:
                await self._make(row)
            return not lacking_second or await self._make_others(lacking_second)
        finally:
            await self._intake.release_memory()

    async def _foresee(self) -> None:
        """Request the vectors that books will need if their space's language is not theirs."""
        name, languages = self._embedding.other_name, self._embedding.other_languages
        ask = self._documents.ask_other_vectors_where_set
        if languages and await ask(name, languages, ask=False):
            first = await self._embedding.get()
            if first is not None and first.languages is not None and not first.languages >= languages:
                await ask(name, languages)

    async def _make_others(self, documents: Sequence[DocumentRow]) -> bool:
        """Make the vectors for questions in another language. Returns False if their model is not available."""
        embedder = await self._embedding.other(fetch=True)
        if embedder is None:
            return not self._embedding.other_languages
        for row in documents:
            for first in range(row.other_embedded, row.chunk_count, BATCH):
                if await self.busy(row.space):
                    break
                span = (row.id, first, min(first + BATCH, row.chunk_count))
                await self._intake.embed_other(row.space, row.shelf, span, embedder)
            else:
                _log.info("%s on %s can be asked in another language now", row.source, row.shelf)
        return True

    async def _make(self, row: DocumentRow) -> None:
        document = IntakeResult(row.source, row.id, row.chunk_count, language=row.language)
        if await self.busy(row.space) or not await self._intake.do_without_vectors(row.space, [document]):
            return
        embedder = await self._embedding.get()
        start = row.embedded if embedder is not None and row.embedder == embedder.name else 0
        for first in range(start, row.chunk_count, BATCH):
            if await self.busy(row.space):
                return
            span = (row.id, first, min(first + BATCH, row.chunk_count))
            await self._intake.embed(row.space, row.shelf, [span])
        _log.info("%s on %s has its vectors now", row.source, row.shelf)
