"""Empty databases of the newest schema: they are copied, because a migration takes ten times as long as a copy.

tests/storage/test_migrations.py migrates for real, and so does every bot that a test starts as a separate process;
the shared bots of tests/wire get copies.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path

from storage.db import Database

STORAGE, ENGINE = "sutradhar.db", "engine.db"


def database(file: Path) -> str:
    """The URL of the database in `file`, which is created if it does not exist."""
    _put(file, _storage)
    return f"sqlite+aiosqlite:///{file}"


def folder(data: Path) -> Path:
    """`data` with a data folder's databases, copied if necessary."""
    _put(data / STORAGE, _storage)
    _put(data / ENGINE, _engine)
    return data


def _put(file: Path, make: Callable[[], bytes]) -> None:
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(make())


@cache
def _storage() -> bytes:
    async def migrate(file: Path) -> None:
        await (await Database.open(f"sqlite+aiosqlite:///{file}")).close()

    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(1) as own_loop:
        file = Path(place) / STORAGE
        own_loop.submit(asyncio.run, migrate(file)).result()
        return file.read_bytes()


@cache
def _engine() -> bytes:
    from dbos import run_dbos_database_migrations

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / ENGINE
        run_dbos_database_migrations(f"sqlite:///{file}")
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        return file.read_bytes()
