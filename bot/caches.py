"""What is kept in memory of spaces, dropped in every process where a person's words were erased."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from storage.db import Database

DROP: Final = "drop"
"""What processes tell each other."""


class Caches:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._drops: list[Callable[[str], None]] = []
        if database.lease is not None:
            database.lease.hear(DROP, self._dropped, lambda: self._dropped(""))

    def add(self, drop: Callable[[str], None]) -> None:
        """`drop` drops what a cache has of a space, "" for all of them."""
        self._drops.append(drop)

    async def drop(self, space: str) -> None:
        """Keep nothing of the space in memory, here and in other processes. Raises StorageFault."""
        self._dropped(space)
        if self._database.lease is not None:
            await self._database.lease.tell(self._database, DROP, space)

    def _dropped(self, space: str) -> None:
        for drop in self._drops:
            drop(space)
