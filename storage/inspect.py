"""Looks at the stores without opening them for use: nothing is locked, migrated or written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Literal

from storage.faults import StorageFault, fault_of


def state(url: str) -> Literal["none", "due", "ready"]:
    """Whether the database is there and of this release's revision. Raises StorageFault.

    Only SQLite files can be looked at from outside; a server counts as ready once it is opened.
    """
    from pathlib import Path

    from storage.migrations.migrate import HEAD

    if not url.startswith("sqlite"):
        return _server(url, HEAD)
    file = Path(url.split("///", 1)[1])
    if not file.exists():
        return "none"
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            if not connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone():
                return "due"
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        raise fault_of(error) from error
    return _compared(row[0] if row else None, HEAD)


def _server(url: str, head: str) -> Literal["none", "due", "ready"]:
    from sqlalchemy import create_engine, inspect, text
    from sqlalchemy.exc import DBAPIError

    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return "none"
            return _compared(
                connection.execute(text("SELECT version_num FROM alembic_version")).scalar(), head
            )
    except DBAPIError as error:
        raise fault_of(error) from error
    finally:
        engine.dispose()


def _compared(stored: str | None, head: str) -> Literal["due", "ready"]:
    if stored is not None and stored > head:
        raise StorageFault("newer", f"revision {stored}, this release knows {head}")
    return "ready" if stored == head else "due"
