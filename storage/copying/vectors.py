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
    total = vectors_in_postgres.count(connection)

    def counted(lines: Iterator[tuple[Key, Line]], embedder: str) -> Iterator[Line]:
        for _, line in lines:
            counts[line[1], embedder] += 1
            progress("vectors", counts.total(), total)
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
    async with aclosing(shards(chroma, progress)) as collections:
        async for key, lines in collections:
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
    """A shard's metadata, and its vectors in the order of their documents."""
    if (shard := chroma.shard(name)) is None:
        return {}, []
    lines = {
        id: (id, document, b64encode(vector.astype("<f4").tobytes()).decode())
        for id, document, vector in shard.all(PAGE)
    }
    about = shard.about
    if chroma.embedded:
        del shard
        chroma.release_memory()  # otherwise the graphs of all shards would stay in memory
    return about, sorted(lines.values(), key=itemgetter(1, 0))


@contextmanager
def _copy(folder: Path, beside: Path) -> Iterator[Path]:
    """Copy Chroma's folder, which only one process may open.

    Its log, an SQLite database, is copied first: Chroma replays it, and writes again what a graph has beyond it.
    """
    with tempfile.TemporaryDirectory(prefix="vectors-", suffix=".part", dir=beside) as place:
        copy = Path(place) / "chroma"
        for _ in range(TRIES):
            shutil.rmtree(copy, ignore_errors=True)
            copy.mkdir()
            before = _file_states(folder)
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
            if _file_states(folder) == before:
                break
        yield copy


def _file_states(folder: Path) -> dict[str, tuple[int, int]]:
    """The size in bytes and the modification time (ns) of each file of Chroma's graphs."""
    states = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("chroma.sqlite3"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            states[str(path.relative_to(folder))] = (status.st_size, status.st_mtime_ns)
    return states


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
        other_embedder = values[at["other_embedder"]] if "other_embedder" in at else None
        if other_embedder is not None and values[at["other_embedded"]] > counts.get((id, other_embedder), 0):
            values[at["other_embedded"]] = 0
        yield values


async def fill(archive: Archive, vectors: Vectors, progress: Progress) -> None:
    """Put a backup's vectors into an empty store. Raises StorageFault, also if any are missing afterwards."""
    expected: Counter[Key] = Counter()
    for n, member in enumerate(archive.vectors):
        progress("vectors", n, len(archive.vectors))
        key = (member.space, member.shelf, member.embedder)
        expected[key] += await put(vectors, ((key, line) for line in archive.lines(member.member)))
    for key, n in expected.items():
        if (stored := await vectors.count(*key)) != n:
            raise StorageFault("damaged", f"{stored} of {n} vectors of the shelf {key[1]}")


async def put(
    vectors: Vectors, rows: Iterator[tuple[Key, Line]], done: Callable[[int], None] = lambda _: None
) -> int:
    """Add vectors, those of a document one after another, to a store; returns how many."""
    import numpy as np

    n = 0
    for (key, document), group in groupby(rows, key=lambda row: (row[0], row[1][1])):
        while lines := [line for _, line in islice(group, PAGE)]:
            vectors_of_document = np.stack([np.frombuffer(b64decode(line[2]), dtype="<f4") for line in lines])
            space, shelf, embedder = key
            ids = [line[0] for line in lines]
            await vectors.add(space, shelf, embedder, ids, vectors_of_document.astype(np.float32), document)
            n += len(lines)
            done(n)
    await vectors.release_memory()
    return n


def fill_postgres(archive: Archive, connection: Connection, progress: Progress) -> None:
    """Put a backup's vectors into the empty table of a database. Raises StorageFault."""

    def lines() -> Iterator[tuple[Key, Line]]:
        for n, member in enumerate(archive.vectors):
            progress("vectors", n, len(archive.vectors))
            for id, document, vector in archive.lines(member.member):
                yield (member.space, member.shelf, member.embedder), (id, document, vector)

    vectors_in_postgres.insert(connection, lines())
