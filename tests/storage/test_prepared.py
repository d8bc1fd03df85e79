"""Statements are built once in a process for each kind of database, and never from what one database has of its own."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
from sqlalchemy.ext.asyncio import create_async_engine

from storage.db import Database
from storage.ledger import Ledger
from storage.passages import Passages
from storage.sessions import Sessions, Threads
from storage.shelves import Shelves
from storage.stories import Stories


def database(url: str) -> Database:
    """Not yet connected to."""
    return Database(create_async_engine(url))


@pytest.mark.parametrize("owner", [Ledger, Passages, Sessions, Shelves, Stories, Threads])
def test_a_second_database_of_a_kind_gets_the_statements_of_the_first(owner: Any) -> None:
    first, second = (database(f"sqlite+aiosqlite:///{name}.db") for name in "ab")
    one, other = vars(owner(first)), vars(owner(second))
    assert one.keys() == other.keys()
    assert one.pop("_db") is first
    assert other.pop("_db") is second
    assert [name for name in one if one[name] is not other[name]] in ([], ["cards"])
    assert len(one) > 1


def test_each_kind_of_database_has_its_own_statements() -> None:
    on_server = Stories(database("postgresql+psycopg://nowhere/db"))
    in_file = Stories(database("sqlite+aiosqlite:///a.db"))
    assert isinstance(on_server._play, PostgresInsert)
    assert isinstance(in_file._play, SqliteInsert)
