"""Writes a backup of a data folder and its databases, also while a process works on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from storage.copying import vectors, vectors_in_postgres
from storage.copying.archive import Manifest, Progress, create, row_member, shapes_of
from storage.copying.databases import Addresses, Databases, at_one_moment
from storage.files import FOLDERS, Folder

if TYPE_CHECKING:
    from storage.copying.databases import Part
    from storage.copying.rows import Row
    from storage.files import Files

BESIDE = ("files", "history", "config.toml")
"""The files of the data folder in a backup besides the databases, the vectors and FOLDERS: no logs, lock or models."""


async def write(
    addresses: Addresses,
    data: Path,
    chroma: str | None,
    target: Path,
    release: str,
    progress: Progress,
    *,
    files: Files | None = None,
) -> Manifest:
    """Write a backup to `target`, including the files in `files`, by default those of the data folder. Raises
    FileExistsError, StorageFault.

    The restored data is consistent, because the rows of both databases are from one moment, as after a kill. Vectors
    in the same Postgres are of that moment, too; others, and files, are read after it. Everything that a row refers to
    was written before, and is missing only if its book or run was removed meanwhile: missing vectors are computed again
    after the restore (see `vectors.without_missing`), and a missing file is no longer needed. No row refers to anything
    later, and a start removes it.
    """
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    with at_one_moment(addresses) as databases:
        versions = {str(part): version for part, version in databases.versions.items()}
        manifest = Manifest(release, made_at, versions, shapes_of(databases))
        with create(target, manifest) as writer:
            stored = databases.connections["storage"]
            where = stored if vectors_in_postgres.used(stored) else data / "chroma"
            counts = await vectors.write(writer, chroma or where, target.parent, progress)
            for part, name, rows in _rows(databases, progress):
                if (part, name) == ("storage", "documents"):
                    rows = vectors.without_missing(
                        rows, list(databases.shapes["storage"][name].columns), counts
                    )
                writer.rows(row_member(part, name), rows)
            store = files or Folder(data)
            stored_keys, local_files = await keys(store), list(_files(data))
            for n, key in enumerate(stored_keys):
                progress("files", n, len(stored_keys) + len(local_files))
                with suppress(FileNotFoundError):
                    async with store.reading(key) as path:
                        writer.file(f"files/{key}", path)
            for n, file in enumerate(local_files, len(stored_keys)):
                progress("files", n, len(stored_keys) + len(local_files))
                writer.file(f"files/{file.relative_to(data).as_posix()}", file)
    return manifest


async def keys(files: Files) -> list[str]:
    """The keys of all files. Raises StorageFault."""
    originals, incoming = FOLDERS
    all_keys = [f"{originals}/{name}" for name in await files.list(originals)]
    for run in await files.list(incoming):
        all_keys += [f"{incoming}/{run}/{name}" for name in await files.list(f"{incoming}/{run}")]
    return all_keys


def _rows(databases: Databases, progress: Progress) -> Iterator[tuple[Part, str, Iterator[Row]]]:
    total = sum(shape.rows for shapes in databases.shapes.values() for shape in shapes.values())
    done = 0

    def counted(rows: Iterator[Row]) -> Iterator[Row]:
        nonlocal done
        for row in rows:
            done += 1
            progress("rows", done, total)
            yield row

    for part, shapes in databases.shapes.items():
        for name in shapes:
            yield part, name, counted(databases.rows(part, name))


def _files(data: Path) -> Iterator[Path]:
    for name in BESIDE:
        path = data / name
        if path.is_file():
            yield path
        else:
            yield from sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
