"""Chroma, embedded in a folder or on a server: its client, its collections, and its faults.

Knows no model: vectors are always passed in, so Chroma never fetches one of its own. Knows no shelf either.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

from storage.faults import FaultKind, StorageFault, fault_of

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection
    from chromadb.base_types import Where
    from numpy import float32
    from numpy.typing import NDArray

T = TypeVar("T")

_SIGNS: tuple[tuple[str, FaultKind], ...] = (
    ("disk is full", "full"),
    ("no space left", "full"),
    ("database is locked", "locked"),
    ("not a database", "damaged"),
    ("malformed", "damaged"),
)


class Shard:
    """One collection: vectors by id, each with the id of its document."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    @property
    def about(self) -> Mapping[str, Any]:
        """The metadata with which it was created."""
        return self._collection.metadata or {}

    @property
    def name(self) -> str:
        return self._collection.name

    def count(self) -> int:
        return self._collection.count()

    def all(self, page: int) -> Iterator[tuple[str, str, NDArray[float32]]]:
        """All entries, read `page` by page: an id, its document and its vector."""
        for first in range(0, self.count(), page):
            got = self._collection.get(limit=page, offset=first, include=["embeddings", "metadatas"])
            vectors: Any = got["embeddings"]
            for id, about, vector in zip(got["ids"], got["metadatas"] or (), vectors, strict=True):
                yield id, str(about["document"]), vector

    def present(self, ids: list[str]) -> set[str]:
        """The ids among `ids` (at least one) that the shard contains. Loads its graph into memory."""
        return set(self._collection.get(ids=ids, include=[])["ids"])

    def put(self, ids: list[str], vectors: NDArray[float32], document_id: str) -> None:
        """Store `vectors` [n, dimensions] under `ids`; existing ids get the new vectors."""
        if ids:
            self._collection.upsert(
                ids=ids, embeddings=vectors, metadatas=[{"document": document_id} for _ in ids]
            )

    def nearest(
        self, vector: NDArray[float32], k: int, without: Sequence[str] = (), among: Sequence[str] = ()
    ) -> list[tuple[str, float]]:
        """The `k` nearest ids, each with its cosine similarity: none of the documents in `without`, and only those in
        `among` if it is not empty.
        """
        if among:
            where: Where | None = _documents("$in", [id for id in among if id not in without] or [""])
        else:
            where = _documents("$nin", without) if without else None
        result = self._collection.query(
            query_embeddings=vector.reshape(1, -1),
            n_results=max(1, k),
            where=where,
            include=["distances"],
        )
        distances = result["distances"]
        if not distances:
            return []
        # Chroma's cosine distance is one minus the similarity.
        return [(id, 1.0 - distance) for id, distance in zip(result["ids"][0], distances[0], strict=True)]

    def forget(self, document_ids: Sequence[str]) -> None:
        """Delete the vectors of these documents."""
        self._collection.delete(where=_documents("$in", document_ids))


def _documents(operator: Literal["$in", "$nin"], document_ids: Sequence[str]) -> Where:
    ids: list[str | int | float | bool] = list(document_ids)
    return {"document": {operator: ids}}


class Chroma:
    """A client that is opened on first use. Get and use its shards only within `run`."""

    def __init__(self, where: Path | str) -> None:
        """`where` is a folder for the embedded store, or a server's address (http or https)."""
        self._where = where
        self.embedded = isinstance(where, Path)
        self._client: Client | None = None
        # The embedded client is synchronous and used from one thread; a server accepts several calls at a time.
        self._threads = ThreadPoolExecutor(1 if self.embedded else 8, thread_name_prefix="vectors")

    async def run(self, call: Callable[[], T]) -> T:
        """Run `call` in a thread. Its errors are raised as StorageFault."""

        def guarded() -> T:
            with _faults(embedded=self.embedded):
                return call()

        return await asyncio.get_running_loop().run_in_executor(self._threads, guarded)

    def untouched(self) -> bool:
        """Whether there is no folder yet, so that the store is known to be empty without opening it."""
        return isinstance(self._where, Path) and not self._where.exists()

    def shard(self, name: str) -> Shard | None:
        from chromadb.errors import NotFoundError

        try:
            # Without an embedding function a collection can never download a model.
            return Shard(self._opened().get_collection(name, embedding_function=None))
        except NotFoundError:
            return None

    def begin(self, name: str, about: Mapping[str, str | int]) -> Shard:
        """Create a shard, or return the one that has this name. A name has 3 to 512 characters of [a-zA-Z0-9._-]."""
        return Shard(
            self._opened().get_or_create_collection(
                name,
                configuration={"hnsw": {"space": "cosine"}},
                metadata=dict(about),
                embedding_function=None,
            )
        )

    def shards(self) -> list[Shard]:
        return [Shard(collection) for collection in self._opened().list_collections()]

    def release_memory(self) -> None:
        """Free the client's memory; the next call opens it again.

        Its shards become useless and must be dropped before.
        """
        client, self._client = self._client, None
        if client is None:
            return
        client.close()
        del client
        if self.embedded:
            gc.collect()
            _trim()

    def set_aside(self) -> Path:
        """Rename the folder, and begin an empty one with the next call; returns the new name. Raises OSError."""
        from chromadb.errors import ChromaError

        assert isinstance(self._where, Path), "a server's folder is the server's"
        with suppress(ChromaError, ValueError, RuntimeError, OSError):  # it is damaged, after all
            self.release_memory()
        aside = self._where.with_name(f"{self._where.name}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}")
        return self._where.rename(aside)

    def close(self) -> None:
        """Release the client and end the threads."""
        self._threads.shutdown()

    def _opened(self) -> Client:
        if self._client is None:
            where = self._where
            self._client = _in_folder(where) if isinstance(where, Path) else _at_server(where)
        return self._client


def vectors_fault() -> str | None:
    """Why the vector store cannot be loaded, or None."""
    try:
        import chromadb  # noqa: F401
    except (ImportError, RuntimeError, OSError) as error:  # a missing wheel, an old sqlite, a lost library
        return str(error).splitlines()[0]
    return None


def _in_folder(folder: Path) -> Client:
    import chromadb

    _return_large_blocks()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        client = chromadb.PersistentClient(str(folder), settings=_settings())
    except AttributeError:
        # Opening a damaged folder leaves a dead system in Chroma's cache. This failure has removed it.
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
            # A failure for any other reason means that the folder's files are damaged. An error of the system (rights,
            # too many open files) does not.
            default_kind: FaultKind = "damaged" if embedded and not isinstance(error, OSError) else "other"
            fault = StorageFault(
                next((kind for sign, kind in _SIGNS if sign in words), default_kind), fault.detail
            )
        raise fault from error


def _from_chroma(error: Exception) -> bool:
    """Whether Chroma or its network raised the error. Imports Chroma only now, because a process may never need it."""
    import httpx
    from chromadb.errors import ChromaError

    return isinstance(error, ChromaError | httpx.HTTPError)


def _return_large_blocks() -> None:
    """Make glibc give blocks of 64 KiB and more back as soon as they are freed.

    Otherwise Chroma's growing graphs make it raise this threshold and keep the blocks (mallopt(3), M_MMAP_THRESHOLD).
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
