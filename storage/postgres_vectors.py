"""The vectors of chunks in a Postgres that has the extension `vector` (pgvector).

They are in the table `chunk_vectors`, which no migration makes, because only some servers can have it. Where it exists,
the vectors are there and nowhere else.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from storage.faults import StorageFault
from storage.vectors import Key

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from storage.db import Database

TABLE: Final = "chunk_vectors"

OLDEST: Final = (0, 8)
"""The oldest version of pgvector: the first that goes on searching an index until a filter leaves enough."""

LARGE = 10_000
"""From how many vectors a shelf has an index of its own (see benchmarks/vectors.py). A search of fewer reads them all,
and is exact.
"""

WIDEST: Final = 4_000
"""The most dimensions that an index takes."""

BATCH: Final = 512

_BUILDING: Final = 0x7665_6374
"""The advisory lock of the process that makes indexes; any number, if every process uses the same one."""

_log = logging.getLogger(__name__)

_OF = "space = :space AND shelf = :shelf AND embedder = :embedder"
_FILTERED = "document_id <> ALL(:without)"

# Half precision takes half the room and memory, and changes a cosine by less than 0.001. A row stays within one page
# (storage MAIN), because rows of a search are all read.
_CREATE = (
    f"""CREATE TABLE {TABLE} (
      space text COLLATE "C" NOT NULL, shelf text COLLATE "C" NOT NULL, document_id text COLLATE "C" NOT NULL,
      embedder text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, vector halfvec NOT NULL,
      PRIMARY KEY (space, shelf, document_id, embedder, id))""",
    f"ALTER TABLE {TABLE} ALTER COLUMN vector SET STORAGE MAIN",
)

_ADD = f"""INSERT INTO {TABLE} (space, shelf, document_id, embedder, id, vector)
    SELECT :space, :shelf, :document, :embedder, id, CAST(vector AS halfvec)
    FROM unnest(CAST(:ids AS text[]), CAST(:vectors AS text[])) AS new (id, vector)
    ON CONFLICT (space, shelf, document_id, embedder, id) DO UPDATE SET vector = excluded.vector"""

_EXACT = f"""WITH near AS MATERIALIZED (
      SELECT id, vector <=> CAST(:vector AS halfvec) AS far FROM {TABLE} WHERE {_OF} AND {_FILTERED}
      AND (:everywhere OR document_id = ANY(:among)))
    SELECT id, 1 - far AS cosine FROM near ORDER BY far, id LIMIT :k"""

# A shelf's index is on this expression.
_NEAREST = f"""SELECT id, 1 - (CAST(vector AS halfvec({{n}})) <=> CAST(:vector AS halfvec({{n}}))) AS cosine
    FROM {TABLE} WHERE {_OF} AND {_FILTERED}
    ORDER BY CAST(vector AS halfvec({{n}})) <=> CAST(:vector AS halfvec({{n}})) LIMIT :k"""

# A plan that is made without the shelf's name could not use its index. One that may sort would not use it as long
# as the server has no statistics, or takes the shelf for small. Before Postgres 18 a forbidden sort seems so
# expensive that such a plan would be compiled.
_SETTINGS = """SELECT set_config('hnsw.ef_search', :ef, true), set_config('hnsw.iterative_scan', 'strict_order', true),
    set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true),
    set_config('jit', 'off', true)"""

_STATE = f"""SELECT
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS installed,
    (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS available,
    to_regtype('halfvec') IS NOT NULL AS reachable,
    EXISTS (SELECT 1 FROM pg_attribute
            WHERE attrelid = to_regclass('{TABLE}') AND attname = 'vector' AND NOT attisdropped) AS used"""

_DOCUMENTS = """UPDATE documents SET {column} = 0{rest} WHERE {column} > 0 AND {maker} IS NOT NULL AND {column} > (
    SELECT count(*) FROM chunk_vectors AS v WHERE v.space = documents.space AND v.shelf = documents.shelf
    AND v.document_id = documents.id AND v.embedder = documents.{maker})"""

_ELSEWHERE = f"""SELECT NOT EXISTS (SELECT 1 FROM {TABLE}) AND EXISTS (SELECT 1 FROM documents WHERE
    embedded > 0 AND embedder IS NOT NULL OR other_embedded > 0 AND other_embedder IS NOT NULL)"""


@dataclass(frozen=True, slots=True)
class Extension:
    """What a server has of pgvector: the installed and the available version ("" for none), and whether its types are
    found. `used`: whether the vectors are there already.
    """

    installed: str
    available: str
    reachable: bool
    used: bool

    @property
    def usable(self) -> bool:
        return self.used or (self.reachable and _new_enough(self.installed))

    @property
    def creatable(self) -> bool:
        """Whether a user with the right to do so may create it."""
        return not self.installed and _new_enough(self.available)


class PostgresVectors:
    """`Vectors` in Postgres."""

    shared: Final = True

    def __init__(self, db: Database) -> None:
        self._db = db
        self.folders = 0
        self._added = True
        self._indexing: asyncio.Task[None] | None = None

    async def add(
        self,
        space: str,
        shelf: str,
        embedder: str,
        ids: Sequence[str],
        vectors: NDArray[float32],
        document_id: str,
    ) -> None:
        from sqlalchemy import text

        of = {"space": space, "shelf": shelf, "embedder": embedder, "document": document_id}
        self._added = True
        for first in range(0, len(ids), BATCH):
            past = first + BATCH
            written = await asyncio.to_thread(texts, vectors[first:past])
            given = {**of, "ids": list(ids[first:past]), "vectors": written}
            async with self._db.write() as connection:
                await connection.execute(text(_ADD), given)

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
        from sqlalchemy import text

        of = {"space": space, "shelf": shelf, "embedder": embedder}
        k = max(1, k)
        (wanted,) = texts(vector.reshape(1, -1))
        given = {**of, "vector": wanted, "without": sorted(without), "k": k}
        rows: Sequence[Any] = ()
        if not among:
            async with self._db.read() as connection:
                await connection.execute(text(_SETTINGS), {"ef": str(min(max(100, 2 * k), 1000))})
                rows = (await connection.execute(text(_NEAREST.format(n=len(vector))), given)).all()
        if len(rows) < k:  # an index may find too few through a filter
            given |= {"everywhere": not among, "among": sorted(among)}
            rows = (await self._db.execute(text(_EXACT), **given)).all()
        if not rows:
            there = text(f"SELECT EXISTS (SELECT 1 FROM {TABLE} WHERE {_OF})")
            if not (await self._db.execute(there, **of)).scalar():
                raise StorageFault("missing", f"no vectors of {embedder} for the shelf {shelf}")
        return sorted(((row.id, row.cosine) for row in rows), key=lambda item: (-item[1], item[0]))

    async def remove(self, space: str, shelf: str, document_ids: Collection[str]) -> None:
        from sqlalchemy import text

        if not document_ids:
            return
        statement = (
            f"DELETE FROM {TABLE} WHERE space = :space AND shelf = :shelf AND document_id = ANY(:gone)"
        )
        async with self._db.write() as connection:
            given = {"space": space, "shelf": shelf, "gone": sorted(document_ids)}
            await connection.execute(text(statement), given)

    async def count(self, space: str, shelf: str, embedder: str) -> int:
        from sqlalchemy import text

        of = {"space": space, "shelf": shelf, "embedder": embedder}
        return int(
            (await self._db.execute(text(f"SELECT count(*) FROM {TABLE} WHERE {_OF}"), **of)).scalar() or 0
        )

    async def any(self) -> bool:
        from sqlalchemy import text

        return bool((await self._db.execute(text(f"SELECT EXISTS (SELECT 1 FROM {TABLE})"))).scalar())

    def untouched(self) -> bool:
        return False

    async def set_aside(self) -> str:
        """Drop the table, and create an empty one."""
        async with self._db.write(alone=TABLE) as connection:
            await connection.run_sync(created)
        self.folders += 1
        return TABLE

    async def release_memory(self) -> None:
        """Index large shelves in the background: see LARGE."""
        if self._added and (self._indexing is None or self._indexing.done()):
            self._added = False
            self._indexing = asyncio.create_task(self._index())

    async def close(self) -> None:
        if self._indexing is not None:
            self._indexing.cancel()
            with suppress(asyncio.CancelledError):
                await self._indexing

    async def _index(self) -> None:
        try:
            async with self._db.outside() as connection:
                if not await connection.run_sync(index):
                    self._added = True
        except StorageFault as fault:
            _log.warning("large shelves have no index of vectors, so searches there take longer: %s", fault)


async def settle(db: Database) -> int:
    """Mark the documents whose vectors are missing or incomplete in the table, so that they are made again; returns
    how many.
    """
    from sqlalchemy import text

    from storage.document_rows import VISIBLE

    visible = ", ".join(f"'{state}'" for state in VISIBLE)
    lexical = f", embedder = NULL, state = CASE WHEN state IN ({visible}) THEN 'lexical' ELSE state END"
    async with db.write(alone=TABLE) as connection:
        await connection.execute(
            text(_DOCUMENTS.format(column="other_embedded", maker="other_embedder", rest=""))
        )
        changed = await connection.execute(
            text(_DOCUMENTS.format(column="embedded", maker="embedder", rest=lexical))
        )
        return changed.rowcount


async def prepared(db: Database) -> bool:
    """Whether vectors can be in this database; makes the table, and the extension if it is there to be created."""
    async with db.read() as connection:
        there = await connection.run_sync(extension)
    if there.used or not (there.usable or there.creatable):
        return there.used
    try:
        async with db.write(alone=TABLE) as connection:
            return await connection.run_sync(prepare)
    except StorageFault as fault:
        if fault.away:
            raise
        _log.info("vectors cannot be in this Postgres: %s", fault.detail)
        return False


def prepare(connection: Connection) -> bool:
    """Make the table if there is none, and the extension; False if it is too old or not found by its name. Raises
    what the driver does if the user may not create it.
    """
    from sqlalchemy import text

    if extension(connection).creatable:
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    there = extension(connection)
    if there.usable and not there.used:
        created(connection)
    return there.usable


async def used(db: Database) -> bool:
    """Whether the table exists."""
    async with db.read() as connection:
        return (await connection.run_sync(extension)).used


async def filled(db: Database) -> bool:
    """Whether the table exists and has vectors."""
    return await used(db) and await PostgresVectors(db).any()


async def elsewhere(db: Database) -> bool:
    """Whether documents have vectors, but none is in the table, because another store was used before."""
    from sqlalchemy import text

    async with db.read() as connection:
        return bool((await connection.execute(text(_ELSEWHERE))).scalar())


async def drop(db: Database) -> None:
    """Drop the table, after the vectors have got another place."""
    from sqlalchemy import text

    async with db.write(alone=TABLE) as connection:
        await connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))


def extension(connection: Connection) -> Extension:
    from sqlalchemy import text

    row = connection.execute(text(_STATE)).one()
    return Extension(row.installed or "", row.available or "", row.reachable, row.used)


def created(connection: Connection) -> None:
    """Make an empty table, in the place of one that is there."""
    from sqlalchemy import text

    connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))
    for statement in _CREATE:
        connection.execute(text(statement))


def index(connection: Connection) -> bool:
    """Give each large shelf an index, and drop the indexes of shelves that are no longer large; in no transaction.
    False if another process is building indexes: it may have counted before the last vectors were added, or be leaving.
    """
    from sqlalchemy import text

    if not connection.execute(text(f"SELECT pg_try_advisory_lock({_BUILDING})")).scalar():
        return False
    try:
        counted = f"SELECT space, shelf, embedder, count(*) AS n FROM {TABLE} GROUP BY 1, 2, 3 HAVING count(*) >= :n"
        keys: dict[str, tuple[Key, int]] = {
            _name((row.space, row.shelf, row.embedder)): ((row.space, row.shelf, row.embedder), row.n)
            for row in connection.execute(text(counted), {"n": LARGE // 2})
        }
        there = _indexes(connection)
        for name, valid in there.items():
            if not valid or name not in keys:  # one that was not finished is of no use
                connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        for name, (key, n) in keys.items():
            if n >= LARGE and not there.get(name):
                _build(connection, name, key)
        return True
    finally:
        with suppress(Exception):  # a broken connection has let go of it
            connection.execute(text(f"SELECT pg_advisory_unlock({_BUILDING})"))


def _build(connection: Connection, name: str, key: Key) -> None:
    from sqlalchemy import text

    of = dict(zip(("space", "shelf", "embedder"), key, strict=True))
    dimensions = connection.execute(
        text(f"SELECT vector_dims(vector) FROM {TABLE} WHERE {_OF} LIMIT 1"), of
    ).scalar()
    if not dimensions or dimensions > WIDEST:
        return
    where = " AND ".join(f"{column} = {_literal(value)}" for column, value in of.items())
    # With 64 MB, which is Postgres's own setting, a graph of more than about 50,000 vectors takes many times as long.
    # Parallel workers would need as much of /dev/shm, of which a container has 64 MB.
    memory = "SELECT set_config('maintenance_work_mem', greatest(setting::int, 262144)::text, false)"
    connection.exec_driver_sql(f"{memory} FROM pg_settings WHERE name = 'maintenance_work_mem'")
    connection.exec_driver_sql("SET max_parallel_maintenance_workers = 0")
    try:
        connection.exec_driver_sql(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {TABLE}"
            f" USING hnsw ((CAST(vector AS halfvec({int(dimensions)}))) halfvec_cosine_ops) WHERE {where}"
        )
    finally:
        with suppress(Exception):
            connection.exec_driver_sql("RESET maintenance_work_mem")
            connection.exec_driver_sql("RESET max_parallel_maintenance_workers")


def _indexes(connection: Connection) -> dict[str, bool]:
    """The shelves' indexes by name, and whether each is complete."""
    from sqlalchemy import text

    query = f"""SELECT c.relname, i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
        JOIN pg_am AS a ON a.oid = c.relam WHERE i.indrelid = to_regclass('{TABLE}') AND a.amname = 'hnsw'"""
    return {str(name): bool(valid) for name, valid in connection.execute(text(query))}


def _name(key: Key) -> str:
    return f"{TABLE}_{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]}"


def _literal(value: str) -> str:
    """As SQL that psycopg leaves as it is."""
    return "'" + value.replace("'", "''").replace("%", "%%") + "'"


def texts(vectors: NDArray[float32]) -> list[str]:
    """As pgvector reads them."""
    import numpy as np

    return [str(row) for row in vectors.astype(np.float16).tolist()]


def _new_enough(version: str) -> bool:
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return len(numbers) == 2 and numbers >= OLDEST
