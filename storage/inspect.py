"""Inspects the stores without locking, migrating or writing anything."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from storage.faults import StorageFault, fault_of

if TYPE_CHECKING:
    from storage.postgres_vectors import Extension


def state(url: str) -> Literal["none", "due", "ready"]:
    """Whether the database exists and has this release's revision. Raises StorageFault.

    Only SQLite files can be inspected; a server counts as ready once it is opened.
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


def expired_tokens(url: str, client_id: str, now: datetime) -> list[tuple[str, datetime]]:
    """The workspaces whose installation on Slack has an expired token, and when it expired; `now` is UTC without a time
    zone.

    The database must exist and have this release's revision. Raises StorageFault.
    """
    from sqlalchemy import create_engine, select
    from sqlalchemy.exc import DBAPIError

    from storage.tables_slack import slack_bots

    bots = slack_bots.c
    if url.startswith("sqlite"):
        url = f"sqlite:///file:{url.split('///', 1)[1]}?mode=ro&uri=true"
    engine = create_engine(url)
    query = select(slack_bots).where(bots.client_id == client_id).order_by(bots.installed_at, bots.id)
    try:
        with engine.connect() as connection:
            newest = {(row.enterprise_id, row.team_id): row for row in connection.execute(query)}
    except DBAPIError as error:
        raise fault_of(error) from error
    finally:
        engine.dispose()
    return [
        (row.team_name or row.enterprise_name or row.team_id or row.enterprise_id, row.bot_token_expires_at)
        for row in newest.values()
        if row.bot_token_expires_at is not None and row.bot_token_expires_at <= now
    ]


def vectors(url: str) -> Extension:
    """The state of pgvector on a Postgres server. Raises StorageFault."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import DBAPIError

    from storage.postgres_vectors import extension

    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return extension(connection)
    except DBAPIError as error:
        raise fault_of(error) from error
    finally:
        engine.dispose()


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
