"""Databases with rows in every table, the engine's included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, Column, DateTime, Float, Integer, LargeBinary, create_engine, insert
from sqlalchemy.engine import make_url

from bot.runs.engine_database import SCHEMA, addresses, prepare
from storage.columns import Dollars
from storage.copying.databases import Addresses
from storage.tables import metadata

ROWS = 3
HOSTILE = "naïve ‮ 🜁 line\nbreak \"quoted\" \\ 'n' \t %s {x} ~"


def value(column: Column[Any], n: int) -> Any:
    """A value for this column in the `n`-th row; a reference to another row gets that row's value."""
    for key in column.foreign_keys:
        return value(key.column, n)
    if column.name in ("embedded", "other_embedded"):
        return 0  # no vectors that would have to be there
    if isinstance(column.type, Dollars):
        return Decimal(n) / 3
    if isinstance(column.type, DateTime) or "Moment" in type(column.type).__name__:
        return datetime(2026, 1, 2, 3, 4, 5, 678, UTC) + timedelta(days=n)
    if isinstance(column.type, Boolean):
        return bool(n % 2)
    if isinstance(column.type, LargeBinary):
        return bytes(range(256)) * n
    if isinstance(column.type, Float):
        return n / 7
    if isinstance(column.type, Integer) or "BigInteger" in repr(column.type):
        return n
    if column.nullable and n == 1:
        return None
    # These sort differently by bytes and by the rules of a language.
    return f"{'aÄB'[n % 3]}-{column.name}-{HOSTILE}"[: getattr(column.type, "length", None)]


def fill(where: Addresses) -> None:
    """Put rows into every table of an existing empty database, and an unfinished run into the engine's."""
    engine = create_engine(where.storage)
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            numbered = any(column.identity is not None for column in table.primary_key.columns)
            for n in range(1, ROWS + 1):
                row = {column.name: value(column, n) for column in table.columns}
                if numbered:  # so that the database numbers the rows
                    row.pop(next(iter(table.primary_key.columns)).name)
                connection.execute(insert(table).values(row))
            if numbered:  # this number must not be used again
                key = next(iter(table.primary_key.columns))
                connection.execute(table.delete().where(key == ROWS))
    engine.dispose()
    prepare(where.engine)
    engine = create_engine(where.engine)
    name = f"{SCHEMA}.workflow_status" if where.server else "workflow_status"
    with engine.begin() as connection:
        for n in range(ROWS):
            connection.exec_driver_sql(
                f"INSERT INTO {name} (workflow_uuid, status, name, executor_id, created_at, updated_at,"
                " was_forked_from)"
                f" VALUES ('run-{n}', 'PENDING', 'run', 'embedded', {n}, {n}, {'true' if n else 'false'})"
            )
    engine.dispose()


def where(url: str, data: Path) -> Addresses:
    return addresses(url, data)


def another(server: str, name: str) -> str:
    """The URL of a new, empty database on the server."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return make_url(server).set(database=name).render_as_string(hide_password=False)
