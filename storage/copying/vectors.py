"""Copies vectors between a backup and Chroma's folder or server, or a database that contains them.

In a backup they are lines, so that each kind of store can be filled from any other.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.chroma import Chroma
from storage.copying import vectors_in_postgres
from storage.copying.vectors_in_postgres import Line
from storage.document_rows import VISIBLE
from storage.faults import StorageFault

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from storage.copying.archive import Archive, Progress, Writer
    from storage.copying.rows import Row
    from storage.vectors import Key, Vectors

PAGE = 2_000
TRIES = 5
"""How often a folder that changes while it is copied is copied again."""

Counts = Mapping[tuple[str, str], int]
"""How many vectors an embedder has made of a document (its id)."""


async def write(writer: Writer, where: Path | str | Connection, beside: Path, progress: Progress) -> Counts:
    """Write all vectors; `where` is a folder, a server's address, or a connection to the database that contains them.
    The folder is copied to `beside` for that time.

    Raises StorageFault if the server does not answer. Unreadable parts of a folder are left out.
    """
    if isinstance(where, str):
        return await _write(writer, Chroma(where), progress)
    if not isinstance(where, Path):
        return _write_from_postgres(writer, where, progress)
    if not where.exists():  # noqa: ASYNC240  (nothing else runs meanwhile)
        return {}
    with _copy(where, beside) as folder:
        return await _write(writer, Chroma(folder), progress)


def _write_from_postgres(writer: Writer, connection: Connection, progress: Progress) -> Counts:
    counts: Counter[tuple[str, str]] = Counter()
    whole = vectors_in_postgres.count(connection)

    def counted(lines: Iterator[tuple[Key, Line]], embedder: str) -> Iterator[Line]:
        for _, line in lines:
            counts[line[1], embedder] += 1
            progress("vectors", counts.total(), whole)
            yield line

    with closing(vectors_in_postgres.read(connection)) as rows:
        for n, (key, lines) in enumerate(groupby(rows, key=itemgetter(0))):
            _put(writer, n, key, counted(lines, key[2]))
    return counts


def _put(writer: Writer, n: int, key: Key, lines: Iterator[Line]) -> None:
    """Write the vectors of a key as the `n`-th member."""
    member = f"vectors/{n}.jsonl"
    writer.rows(member, lines)
    writer.manifest.vectors.append(
        {"member": member} | dict(zip(("space", "shelf", "embedder"), key, strict=True))
    )


async def _write(writer: Writer, chroma: Chroma, progress: Progress) -> Counts:
    counts: Counter[tuple[str, str]] = Counter()
    n = 0
    async with aclosing(shards(chroma, progress)) as found:
        async for key, lines in found:
            _put(writer, n, key, iter(lines))
            counts.update((line[1], key[2]) for line in lines)
            n += 1
    return counts


async def shards(chroma: Chroma, progress: Progress) -> AsyncGenerator[tuple[Key, list[Line]], None]:
    """The vectors of each collection, those of a document together. Closes `chroma` at the end.

    Raises StorageFault if a server does not answer. Unreadable parts of a folder are left out.
    """
    try:
        names = await chroma.run(lambda: [shard.name for shard in chroma.shards()])
        for n, name in enumerate(names):
            progress("vectors", n, len(names))
            try:
                about, lines = await chroma.run(lambda name=name: _lines(chroma, name))  # type: ignore[misc]
            except StorageFault:
                if not chroma.embedded:
                    raise
                continue
            if not about:
                continue
            space, shelf, embedder = (str(about.get(part, "")) for part in ("space", "shelf", "embedder"))
            yield (space, shelf, embedder), lines
    except StorageFault as fault:
        if not chroma.embedded or fault.kind == "full":
            raise
    finally:
        await chroma.run(chroma.release_memory)
        chroma.close()


def _lines(chroma: Chroma, name: str) -> tuple[Mapping[str, Any], list[Line]]:
    """What a shard is about, and its vectors, those of a document together."""
    if (shard := chroma.shard(name)) is None:
        return {}, []
    found = {
        id: (id, of, b64encode(vector.astype("<f4").tobytes()).decode()) for id, of, vector in shard.all(PAGE)
    }
    about = shard.about
    if chroma.embedded:
        del shard
        chroma.release_memory()  # otherwise the graphs of all shards would stay in memory
    return about, sorted(found.values(), key=itemgetter(1, 0))


@contextmanager
def _copy(folder: Path, beside: Path) -> Iterator[Path]:
    """Copy Chroma's folder, which only one process may open.

    Its log, an SQLite database, comes first: what a graph holds beyond it is written there again when it is replayed.
    """
    with tempfile.TemporaryDirectory(prefix="vectors-", suffix=".part", dir=beside) as place:
        copy = Path(place) / "chroma"
        for _ in range(TRIES):
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir()
            before = _looks(folder)
            log = folder / "chroma.sqlite3"
            if log.exists():
                with closing(sqlite3.connect(log)) as source, closing(sqlite3.connect(copy / log.name)) as to:
                    source.backup(to)
            for name in before:
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                try:
                    shutil.copyfile(folder / name, copy / name)
                except FileNotFoundError:
                    break
            if _looks(folder) == before:
                break
        yield copy


def _looks(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of its graphs and their modification times."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("chroma.sqlite3"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            found[str(path.relative_to(folder))] = (status.st_size, status.st_mtime_ns)
    return found


def without_missing(rows: Iterator[Row], columns: Sequence[str], counts: Counts) -> Iterator[Row]:
    """The rows of documents, changed so that a document with missing vectors gets all of them computed again."""
    at = {name: n for n, name in enumerate(columns)}
    for row in rows:
        values = list(row)
        id, embedder = values[at["id"]], values[at["embedder"]]
        if embedder is not None and values[at["embedded"]] > counts.get((id, embedder), 0):
            values[at["embedded"]], values[at["embedder"]] = 0, None
            if values[at["state"]] in VISIBLE:
                values[at["state"]] = "lexical"
        other = values[at["other_embedder"]] if "other_embedder" in at else None
        if other is not None and values[at["other_embedded"]] > counts.get((id, other), 0):
            values[at["other_embedded"]] = 0
        yield values


async def fill(archive: Archive, vectors: Vectors, progress: Progress) -> None:
    """Put a backup's vectors into an empty store. Raises StorageFault, also where not all are there afterwards."""
    wanted: Counter[Key] = Counter()
    for n, of in enumerate(archive.vectors):
        progress("vectors", n, len(archive.vectors))
        key = (of.space, of.shelf, of.embedder)
        wanted[key] += await put(vectors, ((key, line) for line in archive.lines(of.member)))
    for key, n in wanted.items():
        if (found := await vectors.count(*key)) != n:
            raise StorageFault("damaged", f"{found} of {n} vectors of the shelf {key[1]}")


async def put(
    vectors: Vectors, rows: Iterator[tuple[Key, Line]], done: Callable[[int], None] = lambda _: None
) -> int:
    """Add vectors, those of a document one after another, to a store; returns how many."""
    import numpy as np

    n = 0
    for (key, document), group in groupby(rows, key=lambda row: (row[0], row[1][1])):
        while lines := [line for _, line in islice(group, PAGE)]:
            made = np.stack([np.frombuffer(b64decode(line[2]), dtype="<f4") for line in lines])
            space, shelf, embedder = key
            ids = [line[0] for line in lines]
            await vectors.add(space, shelf, embedder, ids, made.astype(np.float32), document)
            n += len(lines)
            done(n)
    await vectors.release_memory()
    return n


def fill_postgres(archive: Archive, connection: Connection, progress: Progress) -> None:
    """Put a backup's vectors into the empty table of a database. Raises StorageFault."""

    def lines() -> Iterator[tuple[Key, Line]]:
        for n, of in enumerate(archive.vectors):
            progress("vectors", n, len(archive.vectors))
            for id, document, vector in archive.lines(of.member):
                yield (of.space, of.shelf, of.embedder), (id, document, vector)

    vectors_in_postgres.insert(connection, lines())
