"""Restores a backup into an empty data folder and empty databases, completely or not at all.

It is unpacked in the subfolder STAGING, which keeps a bot from starting there, and moved into place at the end. After a
kill the next restore removes what the last one moved, and begins again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from storage.chroma_vectors import ChromaVectors
from storage.copying import STAGING, vectors, vectors_in_postgres
from storage.copying.archive import Archive, Progress
from storage.copying.backup import BESIDE
from storage.copying.databases import Addresses, Databases, at_one_moment, file_connection, server_connection
from storage.copying.fill import fill
from storage.faults import StorageFault, fault_of
from storage.files import FOLDERS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from storage.copying.databases import Part
    from storage.files import Files

PLACED = "placed"
"""A file in the staging folder: the names to be moved, one per line, written before the first move."""

_LEFT = ("config.toml", "history")
"""What a folder may already contain; it stays, instead of the backup's version."""

Prepare = Callable[[str], None]
"""Makes the engine's tables in a database that has none."""


class Occupied(StorageFault):
    """The target of the copy already contains data; `name` is its file or table, "" for a server's database."""

    def __init__(self, name: str) -> None:
        super().__init__("other", f"{name or 'the database'} is not empty")
        self.name = name


async def restore(
    archive: Archive,
    addresses: Addresses,
    data: Path,
    chroma: str | None,
    prepare: Prepare,
    progress: Progress,
    *,
    files: Files | None = None,
) -> None:
    """Restore the archive; the caller holds the folder's lock, and has verified the archive. Raises StorageFault,
    Occupied.

    `files`: where books and attachments go, if not into the data folder. A kill may leave some of them there, to be
    replaced by the next restore.
    """
    staging = data / STAGING
    cut_off = staging.exists()
    try:
        if cut_off and addresses.server and (staging / PLACED).exists() and _committed(archive, addresses):
            _leave(staging)
            return
        _undo(staging)
        _check_folder(data, addresses)
        with _target(addresses, staging, prepare, archive) as target:
            if target.occupied:
                raise Occupied("")
            stored = target.connections["storage"]
            if chroma is None and vectors_in_postgres.begin(stored):
                vectors.fill_postgres(archive, stored, progress)
            else:
                vectors_in_postgres.drop(stored)
                await _restore_vectors(archive, staging, chroma, progress, cut_off=cut_off)
            await _restore_files(archive, staging, files, progress, cut_off=cut_off)
            fill(archive, target, progress)
            if addresses.server:
                place(_moves(data, staging))  # and then the rows, with the end of the transaction
        if not addresses.server:
            place(_moves(data, staging, addresses))
        _leave(staging)
    except OSError as error:
        raise fault_of(error) from error


def _committed(archive: Archive, addresses: Addresses) -> bool:
    """Whether an interrupted restore had been completed except for removing its staging folder."""
    with at_one_moment(addresses) as databases:
        target_shapes, archived_shapes = databases.shapes["storage"], archive.shapes["storage"]
        if not databases.occupied:
            return False
        if any(
            name in target_shapes and target_shapes[name].rows != shape.rows
            for name, shape in archived_shapes.items()
        ):
            raise Occupied("")
    return True


def _leave(staging: Path) -> None:
    # Renamed first: half a staging folder would look like an interrupted restore.
    done = staging.with_name(f"{STAGING}.done")
    shutil.rmtree(done, ignore_errors=True)
    staging.rename(done)
    shutil.rmtree(done)


def _undo(staging: Path) -> None:
    """Remove the files of an interrupted restore."""
    with suppress(FileNotFoundError):
        for path in (staging / PLACED).read_text(encoding="utf-8").splitlines():
            _remove(Path(path))
    if staging.exists():
        shutil.rmtree(staging)


def _check_folder(data: Path, addresses: Addresses) -> None:
    occupied = []
    for name in (*FOLDERS, *BESIDE, "chroma"):
        path = data / name
        if name not in _LEFT and path.exists() and (path.is_file() or any(path.iterdir())):
            occupied.append(name)
    for part, file in addresses.files.items():
        if file.exists():
            with file_connection(file, "BEGIN") as connection:
                if Databases(addresses, {part: connection}).occupied:
                    occupied.append(file.name)
    if occupied:
        raise Occupied(", ".join(occupied))


@contextmanager
def _target(addresses: Addresses, staging: Path, prepare: Prepare, archive: Archive) -> Iterator[Databases]:
    """Open the empty databases in transactions; a database file is created next to its final place."""
    (staging / "data").mkdir(mode=0o700, parents=True)
    with ExitStack() as stack:
        if addresses.server:
            prepare(addresses.engine)
            connection = stack.enter_context(server_connection(addresses.storage))
            yield Databases(addresses, {"storage": connection, "engine": connection})
            return
        with made_beside(addresses, prepare, engine="engine" in archive.versions) as target:
            yield target


@contextmanager
def made_beside(addresses: Addresses, prepare: Prepare, *, engine: bool) -> Iterator[Databases]:
    """Create new files for both databases, next to their final places; those of an earlier try are removed."""
    files: dict[Part, Path] = {part: _beside(file) for part, file in addresses.files.items()}
    urls = {part: f"sqlite:///{file}" for part, file in files.items()}
    for file in files.values():
        _remove(file)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        connections: dict[Part, Connection] = {}
        if engine:
            prepare(urls["engine"])
            connections["engine"] = stack.enter_context(file_connection(files["engine"]))
        connections["storage"] = stack.enter_context(file_connection(files["storage"]))
        yield Databases(replace(addresses, **urls), connections)


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.{STAGING}")


async def _restore_vectors(
    archive: Archive, staging: Path, chroma: str | None, progress: Progress, *, cut_off: bool
) -> None:
    if not archive.vectors:
        return
    store = ChromaVectors.remote(chroma) if chroma else ChromaVectors.embedded(staging / "data" / "chroma")
    try:
        # After an interrupted restore the vectors in Chroma are its own, and are replaced.
        if chroma and not cut_off and await store.any():
            raise Occupied("Chroma")
        await vectors.fill(archive, store, progress)
    finally:
        await store.close()


async def _restore_files(
    archive: Archive, staging: Path, files: Files | None, progress: Progress, *, cut_off: bool
) -> None:
    if files is not None and not cut_off:
        for folder in FOLDERS:
            if await files.list(folder):
                raise Occupied(folder)
    for n, file in enumerate(archive.files):
        progress("files", n, len(archive.files))
        if files is None or file.parts[0] not in FOLDERS:
            archive.unpack(file, staging / "data" / file)
            continue
        async with files.writing(file.as_posix()) as path:
            archive.unpack(file, path)


def _moves(data: Path, staging: Path, addresses: Addresses | None = None) -> list[tuple[Path, Path]]:
    """The moves (from, to), the databases last; they are recorded before the first move."""
    paths = sorted((staging / "data").iterdir())
    moves = [
        (path, data / path.name)
        for path in paths
        if path.name not in _LEFT or not (data / path.name).exists()
    ]
    if addresses is not None:
        moves += moves_of(addresses)
    (staging / PLACED).write_text("".join(f"{to.absolute()}\n" for _, to in moves), encoding="utf-8")
    return moves


def moves_of(addresses: Addresses) -> list[tuple[Path, Path]]:
    """The moves of the databases that `made_beside` created, the one with people's data last."""
    files = addresses.files
    moves = [(_beside(files[part]), files[part]) for part in ("engine", "storage")]
    return [(path, to) for path, to in moves if path.exists()]


def place(moves: list[tuple[Path, Path]]) -> None:
    """Carry out the moves; the targets must be missing or empty."""
    for path, to in moves:
        _remove(to)
        path.rename(to)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        for suffix in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
