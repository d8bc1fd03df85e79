"""Backups and moves from either kind of database to either keep every row, and happen completely or not at
all.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import threading
import traceback
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bot.runs.engine_database import prepare
from storage import postgres_vectors
from storage.advisory_locks import DatabaseBusy
from storage.chroma_vectors import ChromaVectors
from storage.copying import STAGING, backup
from storage.copying.archive import Manifest, opened
from storage.copying.databases import Addresses, at_one_moment
from storage.copying.fill import compare
from storage.copying.move import move, put_aside, set_aside
from storage.copying.restore import Occupied, restore
from storage.copying.vectors_in_postgres import count_in
from storage.db import Database, new_id
from storage.disk_usage import disk_usage
from storage.faults import StorageFault
from storage.lease import Lease
from storage.migrations.migrate import HEAD
from storage.postgres_vectors import PostgresVectors
from storage.vectors import Vectors
from tests.fakes import migrated
from tests.storage import filled
from tests.storage.test_migrations import upgraded_to


def quiet(what: str, done: int, whole: int) -> None:
    """Progress that is not shown."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def new_url(kind: str, request: pytest.FixtureRequest, data: Path) -> str:
    """The URL of an empty database; no file is created."""
    data.mkdir(parents=True, exist_ok=True)
    if kind == "sqlite":
        return f"sqlite+aiosqlite:///{data}/sutradhar.db"
    return filled.another(request.getfixturevalue("postgres"), "t" + new_id().replace("-", ""))


async def full(kind: str, request: pytest.FixtureRequest, data: Path) -> Addresses:
    """Databases with rows in every table."""
    url = new_url(kind, request, data)
    if kind == "sqlite":
        migrated.database(data / "sutradhar.db")
    else:
        await (await Database.open(url)).close()
    where = filled.where(url, data)
    await asyncio.to_thread(filled.fill, where)
    return where


def backed_up(where: Addresses, data: Path, file: Path) -> Manifest:
    return asyncio.run(backup.write(where, data, None, file, "0", quiet))


def restored(
    file: Path, where: Addresses, data: Path, progress: Callable[[str, int, int], None] = quiet
) -> None:
    with opened(file) as archive:
        archive.verify(progress)
        asyncio.run(restore(archive, where, data, None, prepare, progress))


def assert_same(one: Addresses, other: Addresses) -> None:
    with at_one_moment(one) as here, at_one_moment(other) as there:
        assert here.versions == there.versions
        assert here.shapes["storage"].keys() == there.shapes["storage"].keys()
        for part in ("storage", "engine"):
            compare(here, there, part)
        numbers = {name: shape.last_number for name, shape in here.shapes["storage"].items()}
        assert numbers == {name: shape.last_number for name, shape in there.shapes["storage"].items()}
        assert max(numbers.values()) == filled.ROWS  # though that row is gone


@asynccontextmanager
async def vectors_of(where: Addresses, data: Path) -> AsyncIterator[Vectors]:
    """The vector store that a bot would use."""
    async with AsyncExitStack() as stack:
        vectors: Vectors = ChromaVectors.embedded(data / "chroma")
        if where.server:
            database = await Database.open(where.storage)
            stack.push_async_callback(database.close)
            assert await postgres_vectors.prepared(database)
            vectors = PostgresVectors(database)
        stack.push_async_callback(vectors.close)
        yield vectors


async def some_vectors(where: Addresses, data: Path, *documents: str) -> None:
    async with vectors_of(where, data) as vectors:
        for n, document in enumerate(documents):
            made = np.eye(8, dtype=np.float32)[: n + 2]
            await vectors.add("s", "rules", "tiny", [f"{document}-{i}" for i in range(n + 2)], made, document)


async def assert_vectors(where: Addresses, data: Path) -> None:
    async with vectors_of(where, data) as vectors:
        assert await vectors.count("s", "rules", "tiny") == 5
        made = np.eye(8, dtype=np.float32)[2]
        ((nearest, cosine), *_) = await vectors.search("s", "rules", "tiny", made, 3)
        assert (nearest, round(cosine, 3)) == ("two-2", 1)
        await vectors.remove("s", "rules", ["one"])
        assert await vectors.count("s", "rules", "tiny") == 3


async def test_a_backup_of_either_kind_of_database_restores_into_either(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    source = await full(kind, request, data)
    await some_vectors(source, data, "one", "two")
    for name in ("originals/one.md", "incoming/run-1/file-0.pdf", "sutradhar.log", "lock"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(name.encode() * 1000)
    file = tmp_path / "backup.zip"
    await asyncio.to_thread(backed_up, source, data, file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["backup.zip", "data"]
    with pytest.raises(FileExistsError):
        await asyncio.to_thread(backed_up, source, data, file)

    for to in ("sqlite", "postgres"):
        there = tmp_path / to
        target = filled.where(new_url(to, request, there), there)
        await asyncio.to_thread(restored, file, target, there)
        await asyncio.to_thread(assert_same, source, target)
        assert (there / "incoming/run-1/file-0.pdf").read_bytes() == b"incoming/run-1/file-0.pdf" * 1000
        assert (there / "originals/one.md").exists()
        assert not (there / "sutradhar.log").exists()
        assert not list(there.glob(f"{STAGING}*"))
        assert (there / "chroma").exists() is (to == "sqlite")
        await assert_vectors(target, there)
        with pytest.raises(Occupied):  # a second time there is something
            await asyncio.to_thread(restored, file, target, there)


async def test_a_book_whose_vectors_were_deleted_during_the_backup_is_embedded_again(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    where = filled.where(migrated.database(data / "sutradhar.db"), data)
    with closing(sqlite3.connect(data / "sutradhar.db")) as connection:
        for id in ("here", "gone"):
            connection.execute(
                "INSERT INTO documents (id, space, shelf, source, title, language, sha256, size, state, section_count,"
                " chunk_count, embedded, embedder, created_at) VALUES"
                f" ('{id}', 's', 'rules', 'x', 'x', 'en', '{id}', 1, 'ready', 1, 2, 2, 'tiny', '2026-01-01')"
            )
        connection.commit()
    await some_vectors(where, data, "here")
    await asyncio.to_thread(backed_up, where, data, tmp_path / "b.zip")
    there = tmp_path / "there"
    await asyncio.to_thread(
        restored, tmp_path / "b.zip", filled.where(f"sqlite:///{there}/sutradhar.db", there), there
    )
    with closing(sqlite3.connect(there / "sutradhar.db")) as connection:
        rows = connection.execute(
            "SELECT id, state, embedded, embedder FROM documents ORDER BY id"
        ).fetchall()
    assert rows == [("gone", "lexical", 0, None), ("here", "ready", 2, "tiny")]


async def test_both_databases_of_a_backup_are_of_one_moment(tmp_path: Path) -> None:
    """Runs are received in one database and begun in the other, again and again, while backups are made."""
    data = tmp_path / "data"
    where = filled.where(migrated.database(data / "sutradhar.db"), data)
    migrated.folder(data)
    ended = threading.Event()
    written = 0

    def work() -> None:
        nonlocal written
        with (
            closing(sqlite3.connect(data / "sutradhar.db", timeout=30, isolation_level=None)) as one,
            closing(sqlite3.connect(data / "engine.db", timeout=30, isolation_level=None)) as other,
        ):
            one.execute("PRAGMA journal_mode=WAL")
            while not ended.is_set():
                one.execute("INSERT INTO marks VALUES (?, 'x', '2026-01-01')", (f"run-{written:06}",))
                other.execute(
                    "INSERT INTO workflow_status (workflow_uuid, status, created_at, updated_at)"
                    " VALUES (?, 'PENDING', 0, 0)",
                    (f"run-{written:06}",),
                )
                written += 1

    working = threading.Thread(target=work)
    working.start()
    try:
        for n in range(5):
            manifest = await asyncio.to_thread(backed_up, where, data, tmp_path / f"{n}.zip")
            received = manifest.shapes["storage"]["marks"]["rows"]
            begun = manifest.shapes["engine"]["workflow_status"]["rows"]
            assert begun <= received <= begun + 1
            assert manifest.members["storage/marks.jsonl"]["rows"] == received
            assert manifest.members["engine/workflow_status.jsonl"]["rows"] == begun
    finally:
        ended.set()
        working.join()
    assert written > begun  # it went on meanwhile


async def test_a_backup_of_an_earlier_release_is_migrated(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data = tmp_path / "old"
    url = new_url(kind, request, data)
    await asyncio.to_thread(
        upgraded_to,
        url,
        "0005",
        "INSERT INTO council_settings (space, name, value, author_id, updated_at)"
        " VALUES ('s', 'level', 'quick', 'ana', '2026-01-02 03:04:05')",
    )
    await asyncio.to_thread(backed_up, filled.where(url, data), data, tmp_path / "b.zip")
    there = tmp_path / "new"
    target = filled.where(new_url("postgres" if kind == "sqlite" else "sqlite", request, there), there)
    await asyncio.to_thread(restored, tmp_path / "b.zip", target, there)
    with at_one_moment(target) as databases:
        assert databases.versions["storage"] == HEAD
        (row,) = databases.rows("storage", "settings")
    assert row[:5] == ["s", "space", "", "council.level", "quick"]


async def test_an_incomplete_backup_changes_nothing(tmp_path: Path) -> None:
    data, there = tmp_path / "data", tmp_path / "there"
    where = filled.where(migrated.database(data / "sutradhar.db"), data)
    good = tmp_path / "good.zip"
    await asyncio.to_thread(backed_up, where, data, good)
    target = filled.where(f"sqlite:///{there}/sutradhar.db", there)

    def changed(change: Callable[[dict[str, bytes]], object]) -> Path:
        with zipfile.ZipFile(good) as zipped:
            members = {name: zipped.read(name) for name in zipped.namelist()}
        change(members)
        bad = tmp_path / "bad.zip"
        with zipfile.ZipFile(bad, "w") as zipped:
            for name, data in members.items():
                zipped.writestr(name, data)
        return bad

    def manifest(**values: object) -> Callable[[dict[str, bytes]], object]:
        def change(members: dict[str, bytes]) -> None:
            members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | values).encode()

        return change

    escaping = {"files/../../evil": {"size": 0, "sha256": "", "rows": None}}
    for kind, change in (
        ("damaged", lambda members: members.update({"storage/inbox.jsonl": b"[]\n"})),
        ("damaged", lambda members: members.pop("storage/inbox.jsonl")),
        ("damaged", lambda members: members.update(more=b"")),
        ("damaged", lambda members: members.pop("manifest.json")),
        ("damaged", manifest(members=escaping)),
        ("newer", manifest(format=99)),
        ("newer", manifest(versions={"storage": "9999"})),
    ):
        with pytest.raises(StorageFault) as caught:
            await asyncio.to_thread(restored, changed(change), target, there)
        assert caught.value.kind == kind
        assert not list(there.glob("*.db"))
    await asyncio.to_thread(restored, good, target, there)  # and the failed tries left nothing in the way


async def test_after_a_move_there_and_back_every_row_is_the_same(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    here = await full("sqlite", request, data)
    server = filled.where(new_url("postgres", request, data), data)
    back = Addresses(
        f"sqlite:///{tmp_path}/back.db",
        f"sqlite:///{tmp_path}/engine.db",
        *(here.schema, here.versions, here.runs),
    )
    await some_vectors(here, data, "one", "two")
    for source, target in ((here, server), (server, back)):
        folder = tmp_path / "chroma" if target is back else data / "chroma"
        await asyncio.to_thread(move, source, target, prepare, quiet, folder)
        await asyncio.to_thread(
            move, source, target, prepare, quiet, folder
        )  # the second time finds everything there
        await asyncio.to_thread(assert_same, here, target)
        assert count_in(target) == (5 if target.server else None)
    usages = await asyncio.to_thread(disk_usage, server, data, data / "models")
    assert {(usage.name, usage.rows) for usage in usages if usage.kind == "vectors" and usage.bytes} == {
        ("chunk_vectors", 5),
        ("chroma", None),
    }
    await assert_vectors(server, data)
    await assert_vectors(back, tmp_path)
    (moved,) = put_aside(data / "chroma")
    assert moved.name.startswith("chroma.moved-")
    assert put_aside(data / "chroma") == []
    aside = set_aside(here)
    assert [path.name.partition(".moved-")[0] for path in aside] == ["sutradhar.db", "engine.db"]
    assert not (data / "sutradhar.db").exists()

    with closing(sqlite3.connect(tmp_path / "back.db")) as connection:
        connection.execute("DELETE FROM marks")
        connection.commit()
    with pytest.raises(Occupied):  # something else is there by now
        await asyncio.to_thread(move, server, back, prepare, quiet)
    lock = Lease(server.storage)
    await lock.take()
    with pytest.raises(DatabaseBusy):
        await asyncio.to_thread(move, server, back, prepare, quiet)
    await lock.release()


@pytest.mark.slow
async def test_a_kill_leaves_nothing_half_done(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The kill is in the middle of a restore and of a move; the next try ends as if nothing had happened."""
    data = tmp_path / "data"
    source = await full("sqlite", request, data)
    (data / "originals").mkdir()
    (data / "originals" / "one.md").write_text("one")
    file = tmp_path / "b.zip"
    await asyncio.to_thread(backed_up, source, data, file)
    steps: list[str] = []
    trial = tmp_path / "trial"
    await asyncio.to_thread(
        restored,
        file,
        filled.where(f"sqlite:///{trial}/a.db", trial),
        trial,
        lambda what, *_: steps.append(what),
    )
    for n, strike in enumerate((steps.index("files"), steps.index("rows") + 40, len(steps) - 1)):
        there = tmp_path / f"restored-{n}"
        target = filled.where(new_url(kind, request, there), there)
        killed(strike, partial(restored, file, target, there))
        assert (there / STAGING).exists()
        await asyncio.to_thread(restored, file, target, there)
        await asyncio.to_thread(assert_same, source, target)
        assert [name for name in names(there) if ".db" not in name] == ["originals"]
    there = tmp_path / "moved"
    target = filled.where(new_url(kind, request, there), there)
    for strike in (0, 40, steps.count("rows") - 1):
        killed(strike, partial(move, source, target, prepare))
    await asyncio.to_thread(move, source, target, prepare, quiet)
    await asyncio.to_thread(assert_same, source, target)


def killed(strike: int, call: Callable[[Callable[[str, int, int], None]], object]) -> None:
    """Run it in a process that is killed at its `strike`-th progress report."""
    reports = 0

    def progress(what: str, done: int, whole: int) -> None:
        nonlocal reports
        if reports == strike:
            os.kill(os.getpid(), signal.SIGKILL)
        reports += 1

    if not (child := os.fork()):
        try:
            call(progress)
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
