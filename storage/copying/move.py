"""Moves both databases to other addresses, from SQLite to Postgres or back, while no process works on them.

Vectors move along into or out of a Postgres that can have them; files stay where they are. The source is only read.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import aclosing, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from storage.advisory_locks import take_alone
from storage.chroma import Chroma
from storage.chroma_vectors import ChromaVectors
from storage.copying import STAGING, vectors_in_postgres
from storage.copying.databases import (
    Addresses,
    Databases,
    at_one_moment,
    file_connection,
    server_connection,
)
from storage.copying.fill import compare, fill
from storage.copying.restore import Occupied, Prepare, made_beside, moves_of, place
from storage.copying.vectors import put, shards
from storage.faults import StorageFault

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from storage.copying.archive import Progress


def move(
    source: Addresses,
    target: Addresses,
    prepare: Prepare,
    progress: Progress,
    folder: Path | None = None,
) -> Databases:
    """Copy all rows and compare each, completely or not at all. Returns the filled databases, to count their rows.

    `folder` is where vectors are that are not in Postgres; None if they are on a server, and stay there. The caller
    holds the data folder's lock. Raises StorageFault, Occupied, DatabaseBusy.
    """
    with _alone(source) as rows_from:
        if _there(rows_from, target):
            return rows_from
        with _empty(target, prepare, engine="engine" in rows_from.versions) as rows_to:
            stored = rows_to.connections["storage"]
            vectors_in_postgres.drop(stored)
            if folder is not None:
                _move_vectors(rows_from.connections["storage"], stored, folder, progress)
            filled = fill(rows_from, rows_to, progress)
            filled.shapes  # noqa: B018  (counted while it can be)
        if not target.server:
            place(moves_of(target))
        return filled


def _move_vectors(source: Connection, target: Connection, folder: Path, progress: Progress) -> None:
    """Copy the vectors if they move into or out of Postgres. The next start computes again those that cannot be
    read.
    """
    if vectors_in_postgres.begin(target):
        if vectors_in_postgres.used(source):
            with closing(vectors_in_postgres.read(source)) as rows:
                vectors_in_postgres.insert(target, rows)
        elif folder.exists():
            asyncio.run(_from_folder(folder, target, progress))
    elif vectors_in_postgres.used(source):
        asyncio.run(_into_folder(source, folder, progress))


async def _from_folder(folder: Path, target: Connection, progress: Progress) -> None:
    async with aclosing(shards(Chroma(folder), progress)) as collections:
        async for key, lines in collections:
            vectors_in_postgres.insert(target, ((key, line) for line in lines))


async def _into_folder(source: Connection, folder: Path, progress: Progress) -> None:
    new_folder = folder.with_name(f"{folder.name}.{STAGING}")
    shutil.rmtree(new_folder, ignore_errors=True)
    store = ChromaVectors.embedded(new_folder)
    total = vectors_in_postgres.count(source)
    try:
        with closing(vectors_in_postgres.read(source)) as rows:
            await put(store, rows, lambda n: progress("vectors", n, total))
    finally:
        await store.close()
    put_aside(folder)
    if new_folder.exists():
        new_folder.rename(folder)


def put_aside(folder: Path) -> list[Path]:
    """Rename the folder of vectors that are now in Postgres; returns its new path, or [] if it does not exist."""
    if not folder.exists():
        return []
    return [folder.rename(folder.with_name(f"{folder.name}.moved-{datetime.now(UTC):%Y%m%d-%H%M%S}"))]


@contextmanager
def _alone(addresses: Addresses) -> Iterator[Databases]:
    """Open the source for reading, while no other process works on it."""
    with at_one_moment(addresses) as databases:
        if addresses.server:
            take_alone(databases.connections["storage"])
        yield databases


def _there(source: Databases, target: Addresses) -> bool:
    """Whether an earlier move was completed. Raises Occupied if the target contains other data."""
    files = target.files
    engine = files.get("engine")
    if "storage" in files and not files["storage"].exists():
        if engine is not None and engine.exists():  # left by an interrupted move, or by another program
            with file_connection(engine, "BEGIN") as connection:
                _same(source, Databases(target, {"engine": connection}), engine.name)
        return False
    with at_one_moment(target) as databases:
        return _same(source, databases, target.files["storage"].name if target.files else "")


def _same(source: Databases, target: Databases, name: str) -> bool:
    """Whether the target has the same rows as the source; False if it is empty. Raises Occupied if it has others."""
    if not target.occupied:
        return False
    try:
        for part in target.connections:
            compare(source, target, part)
    except (KeyError, StorageFault) as fault:
        raise Occupied(name) from fault
    return True


@contextmanager
def _empty(addresses: Addresses, prepare: Prepare, *, engine: bool) -> Iterator[Databases]:
    """Open the target. Raises Occupied if it contains data."""
    if not addresses.server:
        with made_beside(addresses, prepare, engine=engine) as databases:
            yield databases
        return
    prepare(addresses.engine)
    with server_connection(addresses.storage) as connection:
        databases = Databases(addresses, {"storage": connection, "engine": connection})
        if databases.occupied:
            raise Occupied("")
        yield Databases(addresses, databases.connections)


def set_aside(addresses: Addresses) -> list[Path]:
    """Rename the files of a moved database, so that no bot continues with them; returns the new names."""
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    aside = []
    for file in addresses.files.values():
        for suffix in ("-wal", "-shm", ""):
            if (path := file.with_name(file.name + suffix)).exists():
                to = file.with_name(f"{file.name}.moved-{stamp}{suffix}")
                path.rename(to)
                aside += [] if suffix else [to]
    return aside
