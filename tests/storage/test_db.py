"""Transactions lose no write, and database errors have names."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.runs.engine_database import sqlite_engine
from storage.db import Database, StorageFault
from storage.documents import Documents
from storage.settings import SettingsStore
from storage.shelves import Shelves
from storage.sqlite_connection import Connection
from storage.sqlite_connection import connection as connection_to
from tests.storage.books import book


def sqlite(folder: Path) -> str:
    return f"sqlite+aiosqlite:///{folder}/sutradhar.db"


async def test_forty_concurrent_counters_lose_no_update(tmp_path: Path) -> None:
    first, second = [await Database.open(sqlite(tmp_path)) for _ in range(2)]
    await SettingsStore(first).set("local", "count", "0", "me")

    async def count_up(db: Database) -> None:
        async with db.write() as connection:
            seen = int((await connection.exec_driver_sql("SELECT value FROM settings")).scalar_one())
            await connection.exec_driver_sql(f"UPDATE settings SET value = '{seen + 1}'")

    await asyncio.gather(*(count_up(db) for db in [first, second] * 20))
    found = await SettingsStore(first).get("local", "count")
    await first.close()
    await second.close()
    assert found is not None
    assert found.value == "40"


async def test_no_connection_to_sqlite_caches_more_than_half_a_megabyte(tmp_path: Path) -> None:
    database = await Database.open(f"sqlite+aiosqlite:///{tmp_path / 'a.db'}")
    engine = sqlite_engine(f"sqlite:///{tmp_path / 'engine.db'}", 1.0)
    try:
        async with database.write() as connection:
            assert (await connection.exec_driver_sql("PRAGMA cache_size")).scalar_one() == -512
        with engine.connect() as of_engine:
            assert of_engine.exec_driver_sql("PRAGMA cache_size").scalar_one() == -512
    finally:
        engine.dispose()
        await database.close()


async def test_a_write_that_raises_leaves_no_trace(db: Database) -> None:
    async def break_off() -> None:
        async with db.write() as connection:
            await connection.exec_driver_sql(
                "INSERT INTO shelves (space, name, version) VALUES ('a', 'b', 1)"
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await break_off()
    assert await Shelves(db).version("a", "b") == 0


async def test_a_write_cancelled_at_any_moment_leaves_the_next_one_its_turn(tmp_path: Path) -> None:
    db = await Database.open(sqlite(tmp_path), busy_timeout_s=1.0)

    async def write() -> None:
        async with db.write() as connection:
            await connection.exec_driver_sql("SELECT count(*) FROM ledger")

    gc.disable()  # it would now and then collect what is left behind
    try:
        for turn in range(40):
            cut_off = [asyncio.create_task(write()) for _ in range(8)]
            await asyncio.sleep(turn / 4_000)
            for one in cut_off:
                one.cancel()
            await asyncio.gather(*cut_off, return_exceptions=True)
            await write()
    finally:
        gc.enable()
        await db.close()


async def test_statements_cost_one_trip_to_the_thread_each_and_a_commit_one_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = await Database.open(sqlite(tmp_path))
    store, trips = SettingsStore(db), 0
    await store.set("local", "name", "text", "me")

    async def counted(connection: Connection, call: Callable[[], object]) -> object:
        nonlocal trips
        trips += 1
        return await to_thread(connection, call)

    to_thread: Callable[[Connection, Callable[[], object]], Awaitable[object]] = Connection._execute
    monkeypatch.setattr(Connection, "_execute", counted)
    await store.get("local", "name")
    assert trips == 1
    async with db.write() as connection:
        await connection.exec_driver_sql("UPDATE settings SET value = 'other'")
        assert (await connection.exec_driver_sql("SELECT value FROM settings")).all() == [("other",)]
    assert trips == 4
    async with db.write():
        pass
    assert trips == 4
    await db.close()


async def test_closing_waits_for_running_transactions(tmp_path: Path) -> None:
    db = await Database.open(sqlite(tmp_path))
    reading, found = asyncio.Event(), []

    async def read() -> None:
        async with db.read() as connection:
            reading.set()
            await asyncio.sleep(0.05)
            found.append((await connection.exec_driver_sql("SELECT 1")).scalar_one())

    under_way = asyncio.create_task(read())
    await reading.wait()
    await db.close()
    assert found == [1]
    await under_way


async def test_a_full_disk_is_reported_and_nothing_is_half_written(tmp_path: Path) -> None:
    db = await Database.open(sqlite(tmp_path), max_page_count=170)
    documents = Documents(db)
    await documents.add(book())
    with pytest.raises(StorageFault) as caught:
        await documents.add(book(chunks=500, chunk_chars=800))
    assert caught.value.kind == "full"
    assert [row.chunk_count for row in await documents.list("local")] == [3]
    assert await Shelves(db).version("local", "rules") == 1
    assert await documents.add(book())
    await db.close()


async def test_a_database_locked_by_another_program_is_reported_after_the_timeout(tmp_path: Path) -> None:
    db = await Database.open(sqlite(tmp_path), busy_timeout_s=0.05)
    other = sqlite3.connect(tmp_path / "sutradhar.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageFault) as caught:
        await SettingsStore(db).set("local", "name", "text", "me")
    assert caught.value.kind == "locked"
    assert await SettingsStore(db).get("local", "name") is None
    other.execute("ROLLBACK")
    other.close()
    await SettingsStore(db).set("local", "name", "text", "me")
    await db.close()


async def test_a_file_that_is_no_database_is_reported_as_damaged(tmp_path: Path) -> None:
    (tmp_path / "sutradhar.db").write_bytes(b"not a database, " * 500)
    with pytest.raises(StorageFault) as caught:
        await Database.open(sqlite(tmp_path))
    assert caught.value.kind == "damaged"


async def test_a_database_in_memory_works(tmp_path: Path) -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    await asyncio.gather(*(SettingsStore(db).set("local", f"name {n}", "text", "me") for n in range(10)))
    assert len(await SettingsStore(db).of_space("local", "name ")) == 10
    await db.close()


async def test_no_connection_is_opened_after_the_close(tmp_path: Path) -> None:
    db = await Database.open(sqlite(tmp_path))
    await db.close()
    with pytest.raises(StorageFault, match="closed"):
        await SettingsStore(db).get("local", "name")
    with pytest.raises(StorageFault, match="closed"):
        await SettingsStore(db).set("local", "name", "text", "me")


async def test_no_rows_stay_in_memory_after_a_statement(tmp_path: Path) -> None:
    connection = connection_to(str(tmp_path / "rows.db"))
    await connection
    try:
        cursor = connection.cursor()
        await cursor.execute("SELECT zeroblob(1000)")
        ((blob,),) = await cursor.fetchall()
        del cursor
        await asyncio.sleep(0.05)  # the connection's thread waits for the next statement
        assert len(blob) == 1000
        assert sys.getrefcount(blob) == 2, "the variable's, and the argument's"
    finally:
        await connection.close()
