"""Real databases for the storage tests: SQLite in a file, and one Postgres server for the whole session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.db import Database
from tests.fakes import migrated
from tests.fakes.postgres import created
from tests.fakes.postgres import migrated as migrated_on


@pytest.fixture(scope="session")
def template(postgres: str) -> tuple[str, str]:
    """The server, and the name of a migrated database on it that others are copied from."""
    return postgres, migrated_on(postgres)


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
    if kind == "sqlite":
        url = migrated.database(tmp_path / migrated.STORAGE)
    else:
        server, template = request.getfixturevalue("template")
        url = created(server, template)
    database = await Database.open(url)
    yield database
    await database.close()
