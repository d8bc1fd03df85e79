"""Chooses the store of vectors: Chroma's server if the settings name one, else Postgres if it has pgvector, else a
folder.

No setting chooses between the last two, so that several processes on one Postgres need nothing else.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from storage import postgres_vectors
from storage.chroma_vectors import ChromaVectors
from storage.postgres_vectors import PostgresVectors

if TYPE_CHECKING:
    from bot.config import Config
    from storage.db import Database
    from storage.documents import Documents
    from storage.vectors import Vectors

_log = logging.getLogger(__name__)


async def vector_store(config: Config, database: Database) -> Vectors:
    """The store of vectors for these settings. Raises StorageFault."""
    if config.storage.chroma_url:
        return ChromaVectors.remote(config.storage.chroma_url)
    if database.shared and await postgres_vectors.prepared(database):
        return PostgresVectors(database)
    return ChromaVectors.embedded(config.data_dir / "chroma")


def store_name(config: Config, vectors: Vectors) -> str:
    """The name by which processes compare their stores, without a password; "" if this one is not shared."""
    if not vectors.shared:
        return ""
    if not config.storage.chroma_url:
        return "postgres"
    address = urlsplit(config.storage.chroma_url)
    return f"chroma {address.hostname}:{address.port}"


async def why_alone(config: Config, database: Database, vectors: Vectors) -> str:
    """Why no other process may work on a shared database, as the key of a message; "" if others may."""
    in_postgres = isinstance(vectors, PostgresVectors)
    # Without an embedding model, too: `settle` would forget the vectors of the other processes.
    if await (postgres_vectors.elsewhere(database) if in_postgres else postgres_vectors.filled(database)):
        return "storage.vectors_elsewhere"
    return "" if vectors.shared or config.embedding.model == "none" else "storage.several"


async def settle(database: Database, documents: Documents, vectors: Vectors) -> None:
    """At a start, note which documents have no vectors in this store: another one was used before, or vectors are
    lost. They are made again in the background. Raises StorageFault.
    """
    if not database.shared:
        return
    if isinstance(vectors, PostgresVectors):
        if n := await postgres_vectors.settle(database):
            _log.warning("%d documents have no vectors in Postgres yet: they are made in the background", n)
        await vectors.release_memory()
    elif await postgres_vectors.used(database):
        # A process that was refused, or a command without `chroma_url`, leaves an empty table.
        if await postgres_vectors.filled(database):
            await documents.forget_vectors()
            _log.warning("Postgres no longer stores the vectors: they are made again in the background")
        await postgres_vectors.drop(database)
