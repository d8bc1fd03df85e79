"""The store of the vectors of chunks, wherever they are.

Knows no model: vectors are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

Key = tuple[str, str, str]
"""Space, shelf, embedder."""


class Vectors(Protocol):
    """The vectors of all shelves. Those of a space, shelf and embedder are apart from all others."""

    folders: int
    """How often this process has set damaged vectors aside."""

    @property
    def shared(self) -> bool:
        """Whether several processes can use them."""

    async def add(
        self,
        space: str,
        shelf: str,
        embedder: str,
        ids: Sequence[str],
        vectors: NDArray[float32],
        document_id: str,
    ) -> None:
        """Keep `vectors` [n, dimensions] under `ids`; ids that are there already get the new ones.

        In an embedded store that holds for ids of the newest collection, and for the first batch of a process;
        a search never returns an id twice.
        """

    async def search(
        self,
        space: str,
        shelf: str,
        embedder: str,
        vector: NDArray[float32],
        k: int,
        *,
        without: Collection[str] = (),
        among: Collection[str] = (),
    ) -> list[tuple[str, float]]:
        """The `k` nearest chunks, nearest first, each with its cosine similarity (-1 … 1).

        None of the documents `without` takes a place among them, nor one that is not `among` those named, if any are.
        Raises StorageFault, "missing" if there are no such vectors at all.
        """

    async def remove(self, space: str, shelf: str, document_ids: Collection[str]) -> None:
        """Delete the vectors of documents, of every embedder."""

    async def count(self, space: str, shelf: str, embedder: str) -> int: ...

    async def any(self) -> bool:
        """Whether there are any vectors, or a place that was begun for some."""

    def untouched(self) -> bool:
        """Whether it is known, without opening the store, that it contains no vectors; blocking."""

    async def set_aside(self) -> str:
        """Put damaged vectors out of the way, and begin an empty store; returns what was put aside.

        Raises StorageFault if that is not possible.
        """

    async def release_memory(self) -> None:
        """Free what adding has taken. Call it when a library job ends."""

    async def close(self) -> None: ...
