"""Deletes data that is no longer read (removed, replaced and unfinished books) and sets damaged vectors aside.

Independent of how books are read or made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from storage.faults import StorageFault

if TYPE_CHECKING:
    from storage.documents import Documents
    from storage.files import Files
    from storage.vectors import Vectors


ORIGINALS: Final = "originals"
"""The folder of the stored files that keeps the original books."""

AWAY_S: Final = 15
"""Seconds that a run waits for the file store when it deletes something there."""

GRACE = timedelta(minutes=10)
"""How long a replaced book can still be read by questions that have found passages of it."""

_log = logging.getLogger(__name__)


class Cleanup:
    """Deletes old documents. In the folder ORIGINALS of the stored files, each file is named by its document's id."""

    def __init__(self, documents: Documents, vectors: Vectors, files: Files) -> None:
        self._documents = documents
        self._vectors = vectors
        self._files = files
        self._later: asyncio.Task[None] | None = None

    async def clear(self, grace: timedelta = GRACE) -> None:
        """Delete removed documents, those replaced longer than `grace` ago, and unfinished ones of runs that have
        ended, including leftovers from before a crash. Their vectors and kept files are deleted too.
        """
        await self._documents.sweep(datetime.now(UTC) - grace)
        shelves: dict[tuple[str, str], list[str]] = {}
        for leftover in await self._documents.leftovers():
            shelves.setdefault((leftover.space, leftover.shelf), []).append(leftover.document_id)
        for (space, shelf), document_ids in shelves.items():
            await self._vectors.remove(space, shelf, document_ids)
            await self._forget_originals(frozenset(document_ids))
            await self._documents.cleared(space, document_ids)

    async def _forget_originals(self, documents: Collection[str]) -> None:
        async def forget() -> None:
            names = await self._files.list(ORIGINALS)
            keys = [f"{ORIGINALS}/{name}" for name in names if name.partition(".")[0] in documents]
            await self._files.delete(keys)

        if not self._files.shared:
            return await forget()
        try:
            async with asyncio.timeout(AWAY_S):
                await forget()
        except TimeoutError as error:  # the remainder is noted, and shrinks each time
            raise StorageFault("files", f"not deleted within {AWAY_S} s") from error

    def later(self) -> None:
        """Schedule a clean-up for the end of the grace period of what was just replaced."""
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.create_task(self._clear_later())

    async def _clear_later(self) -> None:
        while True:
            await asyncio.sleep(GRACE.total_seconds() + 1)
            try:
                return await self.clear()
            except StorageFault as fault:
                _log.warning("what was removed or replaced could not be cleared away: %s", fault)

    async def close(self) -> None:
        """Stop; the next start deletes the remainder."""
        if self._later is not None:
            self._later.cancel()
            await asyncio.wait({self._later})


class DamagedVectors:
    """Handles vectors that cannot be read, and sets the event `detected`."""

    def __init__(self, documents: Documents, vectors: Vectors) -> None:
        self._documents = documents
        self._vectors = vectors
        self._alone = asyncio.Lock()
        self.detected = asyncio.Event()

    async def set_aside(self, folders: int) -> bool:
        """Move the folder of vectors away, so that they are made again. Returns whether that succeeded.

        `folders` is the value of `Vectors.folders` when the damage was found; another task may have moved the folder
        meanwhile.
        """
        async with self._alone:
            if self._vectors.folders != folders:
                return True
            try:
                # In this order, so that after a crash in between the vectors are detected as damaged again, not
                # trusted.
                await self._documents.forget_vectors()
                aside = await self._vectors.set_aside()
            except StorageFault as fault:
                _log.error("the vectors are damaged, and could not be set aside: %s", fault)
                return False
            _log.error("the vectors were damaged: set aside as %s, and made again", aside)
            self.detected.set()
            return True
