"""Clears away what nobody reads any more: books that were removed or replaced, and half-made ones.

Knows neither how books are read nor how they are made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from storage.faults import StorageFault

if TYPE_CHECKING:
    from storage.documents import Documents
    from storage.vectors import Vectors

GRACE = timedelta(minutes=10)
"""How long a book that was replaced can still be read by questions that have found passages of it."""

_log = logging.getLogger(__name__)


class Clearing:
    """`originals` is the folder of the kept files, each named by its document's id."""

    def __init__(self, documents: Documents, vectors: Vectors, originals: Path) -> None:
        self._documents = documents
        self._vectors = vectors
        self._originals = originals
        self._later: asyncio.Task[None] | None = None

    async def clear(self, grace: timedelta = GRACE) -> None:
        """Remove what was taken off its shelf, what was replaced longer than `grace` ago, and what was being built
        for runs that have ended; with vectors and kept files, and also that of before a crash.
        """
        await self._documents.sweep(datetime.now(UTC) - grace)
        shelves: dict[tuple[str, str], list[str]] = {}
        for left in await self._documents.leftovers():
            shelves.setdefault((left.space, left.shelf), []).append(left.document_id)
        for (space, shelf), gone in shelves.items():
            await self._vectors.remove(space, shelf, gone)
            await asyncio.to_thread(self._forget_originals, frozenset(gone))
            await self._documents.cleared(space, gone)

    def _forget_originals(self, documents: Collection[str]) -> None:
        for file in self._originals.glob("*"):
            if file.name.partition(".")[0] in documents:
                file.unlink(missing_ok=True)

    def later(self) -> None:
        """Something was replaced just now: clear once its grace is over."""
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.create_task(self._clear_later())

    async def _clear_later(self) -> None:
        await asyncio.sleep(GRACE.total_seconds() + 1)
        try:
            await self.clear()
        except StorageFault as fault:  # tried again after the next job, and at the next start
            _log.warning("what was replaced could not be cleared away: %s", fault)

    async def close(self) -> None:
        """Leave; what was to be cleared later is at the next start."""
        if self._later is not None:
            self._later.cancel()
            await asyncio.wait({self._later})
