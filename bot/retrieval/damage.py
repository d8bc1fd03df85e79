"""Vectors that turn out to be damaged: set aside, so that they are made again."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from storage.faults import StorageFault

if TYPE_CHECKING:
    from storage.documents import Documents
    from storage.vectors import Vectors

_log = logging.getLogger(__name__)


class Damage:
    """What is done about vectors that cannot be read. `found` is set by it."""

    def __init__(self, documents: Documents, vectors: Vectors) -> None:
        self._documents = documents
        self._vectors = vectors
        self._alone = asyncio.Lock()
        self.found = asyncio.Event()

    async def set_aside(self, folders: int) -> bool:
        """Put the folder of vectors away, so that they are made again; whether that could be done.

        `folders` is what `Vectors.folders` was when the damage was met: somebody else may have done it by now.
        """
        async with self._alone:
            if self._vectors.folders != folders:
                return True
            try:
                # In this order: after a crash in between they are found damaged once more, and not believed in.
                await self._documents.forget_vectors()
                aside = await self._vectors.set_aside()
            except StorageFault as fault:
                _log.error("the vectors are damaged, and could not be set aside: %s", fault)
                return False
            _log.error("the vectors were damaged: set aside as %s, and made again", aside)
            self.found.set()
            return True
