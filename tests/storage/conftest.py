"""Real databases for the storage tests: SQLite in a file, and one Postgres server for the whole session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from storage.db import Database
from tests.fakes import migrated
from tests.fakes.postgres import created, emptied
from tests.fakes.postgres import migrated as migrated_on


@pytest.fixture(scope="session")
def template(postgres: str) -> tuple[str, str]:
    """The server, and the name of a migrated database on it from which others are copied."""
    return postgres, migrated_on(postgres)


@pytest.fixture(scope="session")
def spare() -> list[str]:
    """The URLs of migrated databases on the server that tests have finished with."""
    return []


@pytest.fixture
def server(template: tuple[str, str], spare: list[str]) -> Iterator[str]:
    """The URL of a database on the server that has only empty tables."""
    url = spare.pop() if spare else created(*template)
    yield url
    spare.append(emptied(url))


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, on each kind in turn."""
    if kind == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/sutradhar.db"
    return created(request.getfixturevalue("postgres"), "template1")


@pytest.fixture
async def db(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty database with its tables, on each kind in turn."""
    sqlite = kind == "sqlite"
    url = migrated.database(tmp_path / migrated.STORAGE) if sqlite else request.getfixturevalue("server")
    database = await Database.open(url)
    yield database
    await database.close()
