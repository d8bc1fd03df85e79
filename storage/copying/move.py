"""Moves both databases to other addresses, from SQLite to Postgres or back, while no process works on them.

Files and vectors stay where they are. The source is only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from storage.advisory_locks import take_alone
from storage.copying.databases import (
    Addresses,
    Databases,
    at_one_moment,
    file_connection,
    server_connection,
)
from storage.copying.fill import compare, fill
from storage.copying.restore import Occupied, Prepare, made_beside, moves_of, place
from storage.faults import StorageFault

if TYPE_CHECKING:
    from storage.copying.archive import Progress


def move(source: Addresses, target: Addresses, prepare: Prepare, progress: Progress) -> Databases:
    """Copy all rows and compare each, completely or not at all. Returns the filled databases, to count their rows.

    The caller holds the data folder's lock. Raises StorageFault, Occupied, DatabaseBusy.
    """
    with _alone(source) as rows_from:
        if _there(rows_from, target):
            return rows_from
        with _empty(target, prepare, engine="engine" in rows_from.versions) as rows_to:
            filled = fill(rows_from, rows_to, progress)
            filled.shapes  # noqa: B018  (counted while it can be)
        if not target.server:
            place(moves_of(target))
        return filled


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
    """Open the empty target."""
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
