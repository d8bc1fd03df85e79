"""The vectors of chunks in Chroma: the collections that contain them, and when each is loaded into memory."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from storage.chroma import Chroma, Shard
from storage.faults import StorageFault
from storage.vectors import Key

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

SHARD = 2048
"""The number of vectors in a full embedded collection.

Chroma keeps a collection's HNSW graph in memory as long as its client lives, so a single collection would make the
process grow by about 4 MB for each MB of text. Full collections are released instead (see benchmarks/vectors.py). A
query searches each of them, at 1.3 ms apiece.
"""

_BATCH = 512


class ChromaVectors:
    """`Vectors` in Chroma. Each space, shelf and embedder has separate collections, so that no filter is needed."""

    def __init__(self, chroma: Chroma) -> None:
        self._chroma = chroma
        self._shards: dict[Key, list[Shard]] = {}
        self._looked: set[Key] = set()
        self.folders = 0

    @property
    def shared(self) -> bool:
        return not self._chroma.embedded

    @classmethod
    def embedded(cls, folder: Path) -> ChromaVectors:
        """Vectors in `folder`, which is created and opened by the first call."""
        return cls(Chroma(folder))

    @classmethod
    def remote(cls, url: str) -> ChromaVectors:
        """Vectors on the Chroma server at `url` (http or https)."""
        return cls(Chroma(url))

    async def add(
        self,
        space: str,
        shelf: str,
        embedder: str,
        ids: Sequence[str],
        vectors: NDArray[float32],
        document_id: str,
    ) -> None:
        await self._chroma.run(lambda: self._add((space, shelf, embedder), list(ids), vectors, document_id))

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
        return await self._chroma.run(
            lambda: self._search((space, shelf, embedder), vector, k, without, among)
        )

    async def remove(self, space: str, shelf: str, document_ids: Collection[str]) -> None:
        if document_ids and not await asyncio.to_thread(self._chroma.untouched):
            await self._chroma.run(lambda: self._remove(space, shelf, document_ids))

    async def count(self, space: str, shelf: str, embedder: str) -> int:
        key = (space, shelf, embedder)
        return await self._chroma.run(lambda: sum(shard.count() for shard in self._all(key)))

    async def any(self) -> bool:
        """Whether any collection exists."""
        return await self._chroma.run(lambda: bool(self._chroma.shards()))

    def untouched(self) -> bool:
        """Whether there is no folder, and so no vectors; blocking."""
        return self._chroma.untouched()

    async def set_aside(self) -> str:
        """Rename a damaged folder, and begin an empty one; returns the new path.

        Raises StorageFault if it cannot be moved, or if the vectors are on a server.
        """
        if not self._chroma.embedded:
            raise StorageFault("other", "the vectors lie on a server")
        aside = await self._chroma.run(self._set_aside)
        self.folders += 1
        return str(aside)

    async def release_memory(self) -> None:
        """Free the embedded client's memory; the next call opens it again (40 ms).

        Worth calling when a library job ends.
        """
        await self._chroma.run(self._let_go)

    async def close(self) -> None:
        await self.release_memory()
        self._chroma.close()

    def _set_aside(self) -> Path:
        self._shards.clear()
        self._looked.clear()
        return self._chroma.set_aside()

    def _let_go(self) -> None:
        self._shards.clear()
        self._chroma.release_memory()

    def _all(self, key: Key) -> list[Shard]:
        """The shards of a key in the order they were filled; a server has one."""
        shards = self._shards.setdefault(key, [])
        if self._chroma.embedded and shards:
            return shards
        shards.clear()
        while self._chroma.embedded or not shards:
            shard = self._chroma.shard(_name(key, len(shards)))
            if shard is None:
                break
            shards.append(shard)
        return shards

    def _with_room(self, key: Key) -> list[Shard]:
        """The shards of a key, of which the last has room; it is created if necessary."""
        shards = self._all(key)
        full = self._chroma.embedded and bool(shards) and shards[-1].count() >= SHARD
        if full:
            # A full shard is not written to again: release its graph before the next one grows.
            self._let_go()
            shards = self._all(key)
        if full or not shards:
            shard = len(shards)
            about = dict[str, str | int](zip(("space", "shelf", "embedder"), key, strict=True), shard=shard)
            shards.append(self._chroma.begin(_name(key, shard), about))
        return shards

    def _add(self, key: Key, ids: list[str], vectors: NDArray[float32], document_id: str) -> None:
        for first in range(0, len(ids), _BATCH):
            batch, batch_vectors = ids[first : first + _BATCH], vectors[first : first + _BATCH]
            shards = self._with_room(key)
            # A job that continues after a crash repeats its last batch, which may be in an older collection. The search
            # for it loads that collection's graph, so it is done once, and the graph is released.
            if key not in self._looked:
                self._looked.add(key)
                stored = _renewed(shards[:-1], batch, batch_vectors, document_id)
                if len(shards) > 1:
                    self._let_go()
                    shards = self._all(key)
                missing = [n for n, id in enumerate(batch) if id not in stored]
                batch, batch_vectors = [batch[n] for n in missing], batch_vectors[missing]
            shards[-1].put(batch, batch_vectors, document_id)

    def _search(
        self,
        key: Key,
        vector: NDArray[float32],
        k: int,
        without: Collection[str],
        among: Collection[str],
    ) -> list[tuple[str, float]]:
        shards = self._all(key)
        if not shards:
            raise StorageFault("missing", f"no vectors of {key[2]} for the shelf {key[1]}")
        cosines: dict[str, float] = {}
        for shard in shards:
            cosines.update(shard.nearest(vector, k, sorted(without), sorted(among)))
        return sorted(cosines.items(), key=lambda item: (-item[1], item[0]))[:k]

    def _remove(self, space: str, shelf: str, document_ids: Collection[str]) -> None:
        for shard in self._chroma.shards():
            if (shard.about.get("space"), shard.about.get("shelf")) == (space, shelf):
                shard.forget(sorted(document_ids))


def _renewed(older: list[Shard], ids: list[str], vectors: NDArray[float32], document_id: str) -> set[str]:
    """Replace the vectors that are already in `older` shards; returns their ids."""
    renewed: set[str] = set()
    for shard in older:
        stored = shard.present(ids)
        positions = [n for n, id in enumerate(ids) if id in stored]
        shard.put([ids[n] for n in positions], vectors[positions], document_id)
        renewed |= stored
    return renewed


def _name(key: Key, shard: int) -> str:
    """The name of a collection: a hash, because spaces and shelves may have names that Chroma refuses (see
    `Chroma.begin`).
    """
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:40]
    return f"chunks-{digest}-{shard}"
