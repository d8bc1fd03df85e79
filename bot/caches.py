"""In-memory caches of spaces: they are dropped in every process when a person's words are erased."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from storage.processes import tell

if TYPE_CHECKING:
    from storage.db import Database

DROP: Final = "drop"
"""The topic of the messages between processes."""


class Caches:
    """The caches of one process. `drop` empties them here, and through messages in the other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._drops: list[Callable[[str], None]] = []
        if database.lease is not None:
            database.lease.hear(DROP, self._drop_here, lambda: self._drop_here(""))

    def add(self, drop: Callable[[str], None]) -> None:
        """Register a cache: `drop` removes its data of a space, "" for all spaces."""
        self._drops.append(drop)

    async def drop(self, space: str) -> None:
        """Drop the data of the space from memory, here and in other processes. Raises StorageFault."""
        self._drop_here(space)
        await tell(self._database, DROP, space)

    def _drop_here(self, space: str) -> None:
        for drop in self._drops:
            drop(space)
