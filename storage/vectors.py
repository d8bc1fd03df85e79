"""The vectors of chunks, in Chroma: embedded in a folder, or a Chroma server.

Knows no model: vectors are made elsewhere and always passed in, so Chroma never fetches one of its own.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from storage.faults import FaultKind, StorageFault, fault_of

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection
    from numpy import float32
    from numpy.typing import NDArray

T = TypeVar("T")
Key = tuple[str, str, str]
"""Space, shelf, embedder."""

SHARD = 2048
"""How many vectors an embedded collection takes before the next one is begun.

Chroma's HNSW graph lives in memory as long as its client, so one collection would make the process grow by
about 4 MB for each MB of text. Full collections are let go instead (see benchmarks/vectors.py). A query asks
each of them, at 1.3 ms apiece.
"""

_BATCH = 512

_SIGNS: tuple[tuple[str, FaultKind], ...] = (
    ("disk is full", "full"),
    ("no space left", "full"),
    ("database is locked", "locked"),
    ("not a database", "damaged"),
    ("malformed", "damaged"),
)


class Vectors:
    """Everything is told apart by space, shelf and embedder, so that no filter is needed to keep them apart."""

    def __init__(self, connect: Callable[[], Client], folder: Path | None) -> None:
        """`folder` is the embedded store's, None for a server."""
        self._connect = connect
        self._folder = folder
        self._embedded = embedded = folder is not None
        self._client: Client | None = None
        self._shards: dict[Key, list[Collection]] = {}
        self._looked: set[Key] = set()
        # The embedded client is synchronous and used from one thread; a server takes several at a time.
        self._threads = ThreadPoolExecutor(1 if embedded else 8, thread_name_prefix="vectors")

    @classmethod
    def embedded(cls, folder: Path) -> Vectors:
        """Vectors in `folder`. Nothing is opened, made or imported before the first call."""
        return cls(lambda: _in_folder(folder), folder)

    @classmethod
    def remote(cls, url: str) -> Vectors:
        """Vectors on the Chroma server at `url` (http or https)."""
        return cls(lambda: _at_server(url), None)

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
        await self._run(lambda: self._add((space, shelf, embedder), ids, vectors, document_id))

    async def search(
        self, space: str, shelf: str, embedder: str, vector: NDArray[float32], k: int
    ) -> list[tuple[str, float]]:
        """The `k` nearest chunks, nearest first, each with its cosine similarity (-1 … 1).

        Raises StorageFault, "missing" if there is no such collection at all.
        """
        return await self._run(lambda: self._search((space, shelf, embedder), vector, k))

    async def remove_document(self, space: str, shelf: str, document_id: str) -> None:
        """Forget a document's vectors, whichever embedder made them."""
        if self._folder is None or await asyncio.to_thread(self._folder.exists):
            await self._run(lambda: self._remove(space, shelf, document_id))

    async def count(self, space: str, shelf: str, embedder: str) -> int:
        return await self._run(lambda: sum(shard.count() for shard in self._all((space, shelf, embedder))))

    async def rest(self) -> None:
        """Give back what the embedded client holds in memory; the next call opens it anew (40 ms).

        Worth calling when a library job ends.
        """
        await self._run(self._let_go)

    async def close(self) -> None:
        await self._run(self._let_go)
        self._threads.shutdown()

    async def _run(self, call: Callable[[], T]) -> T:
        def guarded() -> T:
            with _faults(embedded=self._embedded):
                return call()

        return await asyncio.get_running_loop().run_in_executor(self._threads, guarded)

    def _opened(self) -> Client:
        if self._client is None:
            self._client = self._connect()
        return self._client

    def _let_go(self) -> None:
        client, self._client = self._client, None
        self._shards.clear()
        if client is None:
            return
        client.close()
        del client
        if self._embedded:
            gc.collect()
            _trim()

    def _all(self, key: Key) -> list[Collection]:
        """The collections of a key in the order they were filled."""
        from chromadb.errors import NotFoundError

        shards = self._shards.setdefault(key, [])
        if self._embedded and shards:
            return shards
        shards.clear()
        client = self._opened()
        while self._embedded or not shards:
            try:
                name = _name(key, len(shards))
                # Without a function of its own a collection can never go and download a model.
                shards.append(client.get_collection(name, embedding_function=None))
            except NotFoundError:
                break
        return shards

    def _begin(self, key: Key, shard: int) -> Collection:
        return self._opened().get_or_create_collection(
            _name(key, shard),
            configuration={"hnsw": {"space": "cosine"}},
            metadata=dict(zip(("space", "shelf", "embedder"), key, strict=True), shard=shard),
            embedding_function=None,
        )

    def _add(self, key: Key, ids: Sequence[str], vectors: NDArray[float32], document_id: str) -> None:
        for first in range(0, len(ids), _BATCH):
            some = range(first, min(first + _BATCH, len(ids)))
            shards = self._all(key)
            full = self._embedded and bool(shards) and shards[-1].count() >= SHARD
            if full:
                # What is full is not written again: let its graph go before the next one grows.
                self._let_go()
                shards = self._all(key)
            if full or not shards:
                shards.append(self._begin(key, len(shards)))
            # A job that goes on after a crash repeats its last batch first, and that may lie in an older
            # collection. Looking there loads its graph, so it is done once and then let go.
            left = set(some)
            if key not in self._looked:
                self._looked.add(key)
                for shard in shards[:-1]:
                    known = set(shard.get(ids=[ids[n] for n in some], include=[])["ids"])
                    again = [n for n in some if ids[n] in known]
                    _upsert(shard, ids, vectors, again, document_id)
                    left.difference_update(again)
                if len(shards) > 1:
                    self._let_go()
                    shards = self._all(key)
            _upsert(shards[-1], ids, vectors, sorted(left), document_id)

    def _search(self, key: Key, vector: NDArray[float32], k: int) -> list[tuple[str, float]]:
        shards = self._all(key)
        if not shards:
            raise StorageFault("missing", f"no vectors of {key[2]} for the shelf {key[1]}")
        found: dict[str, float] = {}
        for shard in shards:
            result = shard.query(
                query_embeddings=vector.reshape(1, -1), n_results=max(1, k), include=["distances"]
            )
            distances = result["distances"]
            if distances:
                # Chroma's cosine distance is one minus the similarity.
                found.update((id, 1.0 - far) for id, far in zip(result["ids"][0], distances[0], strict=True))
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:k]

    def _remove(self, space: str, shelf: str, document_id: str) -> None:
        for shard in self._opened().list_collections():
            about = shard.metadata or {}
            if (about.get("space"), about.get("shelf")) == (space, shelf):
                shard.delete(where={"document": document_id})


def _upsert(
    shard: Collection, ids: Sequence[str], vectors: NDArray[float32], which: list[int], document_id: str
) -> None:
    if which:
        shard.upsert(
            ids=[ids[n] for n in which],
            embeddings=vectors[which],
            metadatas=[{"document": document_id} for _ in which],
        )


def _name(key: Key, shard: int) -> str:
    """Chroma allows 3 to 512 of [a-zA-Z0-9._-] in a name; spaces and shelves are called anything."""
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:40]
    return f"chunks-{digest}-{shard}"


def _in_folder(folder: Path) -> Client:
    import chromadb

    _return_large_blocks()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        client = chromadb.PersistentClient(str(folder), settings=_settings())
    except AttributeError:
        # An earlier start on a damaged folder left a dead system in Chroma's cache, and this failure has
        # thrown it out.
        client = chromadb.PersistentClient(str(folder), settings=_settings())
    return cast("Client", client)


def _at_server(url: str) -> Client:
    import chromadb

    parts = urlsplit(url)
    secure = parts.scheme == "https"
    client = chromadb.HttpClient(
        host=parts.hostname or "localhost",
        port=parts.port or (443 if secure else 8000),
        ssl=secure,
        settings=_settings(),
    )
    return cast("Client", client)


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


@contextmanager
def _faults(*, embedded: bool) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not isinstance(error, ValueError | RuntimeError | OSError) and not _from_chroma(error):
            raise
        fault = fault_of(error)
        if fault.kind == "other":
            words = str(error).casefold()
            # What a folder cannot do for any other reason, it cannot do because its files are not in order.
            rest: FaultKind = "damaged" if embedded else "other"
            fault = StorageFault(next((kind for sign, kind in _SIGNS if sign in words), rest), fault.detail)
        raise fault from error


def _from_chroma(error: Exception) -> bool:
    """Whether Chroma or its network raised it. Imported for an error only: a process may never need Chroma."""
    import httpx
    from chromadb.errors import ChromaError

    return isinstance(error, ChromaError | httpx.HTTPError)


def _return_large_blocks() -> None:
    """Make glibc give blocks of 64 KiB and more back as soon as they are freed.

    Otherwise it learns from Chroma's growing graphs to keep them (mallopt(3), M_MMAP_THRESHOLD).
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(-3, 64 * 1024)


def _trim() -> None:
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def vectors_fault() -> str | None:
    """Why the vector store cannot be loaded, or None."""
    try:
        import chromadb  # noqa: F401
    except (ImportError, RuntimeError, OSError) as error:  # a missing wheel, an old sqlite, a lost library
        return str(error).splitlines()[0]
    return None
