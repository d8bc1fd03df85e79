"""Measures what takes up space: tables with their indexes, and the folders. Only reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from storage.copying import vectors_in_postgres
from storage.copying.databases import Addresses, Databases, at_one_moment
from storage.files import FOLDERS
from storage.postgres_vectors import TABLE

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from storage.copying.databases import Part
    from storage.files import Files

UsageKind = Literal[
    "table", "engine", "vectors", "originals", "incoming", "files", "log", "models", "free", "other"
]


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """The size in bytes of a table, file or folder. `rows` is None if it is no table. The kind "free" is unused space
    within the database file.
    """

    kind: UsageKind
    name: str
    bytes: int
    rows: int | None = None


def disk_usage(addresses: Addresses, data: Path, models: Path) -> list[DiskUsage]:
    """The sizes of all tables and folders, the largest first. Raises StorageFault if the database does not exist or
    does not answer.
    """
    usages = [*_tables(addresses), *_folders(data, models, addresses)]
    return sorted(usages, key=lambda usage: (-usage.bytes, usage.name))


async def file_store_usage(files: Files, where: str) -> list[DiskUsage]:
    """The sizes of the folders in a file store. Raises StorageFault."""
    usages = []
    for kind in FOLDERS:
        size, n = await files.size(kind)
        usages.append(DiskUsage(kind, f"{where.rstrip('/')}/{kind}", size, n))
    return usages


def _tables(addresses: Addresses) -> Iterator[DiskUsage]:
    with at_one_moment(addresses) as databases:
        for part, shapes in databases.shapes.items():
            sizes = _sizes(databases, part)
            for name, shape in shapes.items():
                label, kind = (f"engine/{name}", "engine") if part == "engine" else (name, "table")
                yield DiskUsage(kind, label, sizes.pop(name, 0), shape.rows)  # type: ignore[arg-type]
            if part == "storage" and vectors_in_postgres.used(databases.connections[part]):
                connection = databases.connections[part]
                size = connection.exec_driver_sql(f"SELECT pg_total_relation_size('{TABLE}')").scalar()
                yield DiskUsage("vectors", TABLE, int(size or 0), vectors_in_postgres.count(connection))
            if not addresses.server:
                yield DiskUsage(
                    "free", databases.addresses.files[part].name, _free(databases.connections[part])
                )


def _sizes(databases: Databases, part: Part) -> dict[str, int]:
    from sqlalchemy.exc import OperationalError

    connection = databases.connections[part]
    if not databases.addresses.server:
        query = (
            "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_master USING (name)"
            " WHERE aggregate = TRUE GROUP BY tbl_name"
        )
        try:
            return {name: int(size) for name, size in connection.exec_driver_sql(query)}
        except OperationalError:  # an SQLite that was built without dbstat
            return {name: _content(connection, name) for name in databases.shapes[part]}
    sizes = {}
    for name, table in databases.tables[part].items():
        quoted = str(connection.dialect.identifier_preparer.format_table(table)).replace("'", "''")
        sizes[name] = int(
            connection.exec_driver_sql(f"SELECT pg_total_relation_size('{quoted}')").scalar() or 0
        )
    return sizes


def _content(connection: Connection, table: str) -> int:
    """The size of a table's values in bytes, without indexes."""
    names = [row[1] for row in connection.exec_driver_sql(f'PRAGMA table_info("{table}")')]
    lengths = " + ".join(f'coalesce(length(CAST("{name}" AS BLOB)), 0)' for name in names)
    return int(connection.exec_driver_sql(f'SELECT coalesce(sum({lengths}), 0) FROM "{table}"').scalar() or 0)


def _free(connection: Connection) -> int:
    pages, size = (
        connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("freelist_count", "page_size")
    )
    return int(pages or 0) * int(size or 0)


def _folders(data: Path, models: Path, addresses: Addresses) -> Iterator[DiskUsage]:
    databases = {file.resolve() for file in addresses.files.values()}
    kinds: dict[str, UsageKind] = {
        "chroma": "vectors",
        "originals": "originals",
        "incoming": "incoming",
        "files": "files",
        "sutradhar.log": "log",
    }
    for path in sorted(data.iterdir()) if data.exists() else ():
        resolved = path.resolve()
        if resolved in databases or resolved == models.resolve():
            continue
        kind = kinds.get(path.name, "other")
        yield DiskUsage(
            kind, path.name, _size(path), _count(path) if kind in ("originals", "incoming", "files") else None
        )
    yield DiskUsage("models", str(models), _size(models))


def _size(path: Path) -> int:
    try:
        if not path.is_dir():
            return path.lstat().st_size
        return sum(_size(file) for file in path.iterdir() if not file.is_symlink())
    except OSError:  # deleted meanwhile
        return 0


def _count(path: Path) -> int:
    return sum(file.is_file() for file in path.rglob("*"))
