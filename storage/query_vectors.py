"""Embeddings of questions asked before, so that the same question is not embedded twice.

Knows no model: a vector is the caller's bytes under the embedder's name. Texts are kept only as hashes.
"""

from __future__ import annotations

import hashlib

from storage.db import Database


class QueryVectors:
    """At most `limit` per space; the oldest go first."""

    def __init__(self, db: Database, *, limit: int = 2000) -> None:
        self._db = db
        self._limit = limit

    async def get(self, space: str, embedder: str, text: str) -> bytes | None:
        from sqlalchemy import select

        from storage.tables import query_vectors as t

        query = select(t.c.vector).where(
            t.c.space == space, t.c.embedder == embedder, t.c.text_hash == _hash(text)
        )
        return (await self._db.execute(query)).scalar()

    async def put(self, space: str, embedder: str, text: str, vector: bytes) -> None:
        from sqlalchemy import select

        from storage.tables import query_vectors as t

        new = self._db.insert(t).values(space=space, embedder=embedder, text_hash=_hash(text), vector=vector)
        oldest_kept = (
            select(t.c.seq)
            .where(t.c.space == space)
            .order_by(t.c.seq.desc())
            .offset(self._limit - 1)
            .limit(1)
            .scalar_subquery()
        )
        async with self._db.write() as connection:
            await connection.execute(
                new.on_conflict_do_update(
                    index_elements=["space", "embedder", "text_hash"], set_={"vector": vector}
                )
            )
            await connection.execute(t.delete().where(t.c.space == space, t.c.seq < oldest_kept))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
