"""Rows of any table in a form that is the same on SQLite and on Postgres: read, inserted, compared.

Values are JSON: bytes are base64, times are in UTC. Knows no table.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Literal

from storage.faults import StorageFault

if TYPE_CHECKING:
    from sqlalchemy import Column, Connection, Table

Kind = Literal["int", "float", "bool", "text", "bytes", "moment", "json"]
Row = Sequence[Any]

BATCH = 500
"""The number of rows that are read or inserted at a time."""


def compact(value: Any) -> str:
    """The value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a table: its columns, its number of rows, and the last number that its key generated (0: none)."""

    columns: Mapping[str, Kind]
    rows: int
    last_number: int = 0


def tables(connection: Connection, schema: str | None, ours: Callable[[str], bool]) -> list[Table]:
    """The tables of a schema whose names are `ours`, each after those that it refers to."""
    from sqlalchemy import JSON, MetaData, inspect

    reflected = MetaData(schema=schema)
    names = [name for name in inspect(connection).get_table_names(schema) if ours(name)]
    if names:  # with none to look for, SQLAlchemy would read every table that is there
        reflected.reflect(connection, schema=schema, only=names)
    for table in reflected.tables.values():
        for column in table.columns:
            if isinstance(column.type, JSON):
                column.type.none_as_null = True
    return reflected.sorted_tables


def kinds(table: Table) -> dict[str, Kind]:
    return {column.name: _kind(column) for column in table.columns}


def shape(connection: Connection, table: Table) -> Shape:
    from sqlalchemy import func, select

    rows = connection.scalar(select(func.count()).select_from(table)) or 0
    return Shape(kinds(table), rows, _last_number(connection, table))


def read(connection: Connection, table: Table, columns: Sequence[str] = ()) -> Generator[Row, None, None]:
    """The table's rows in the order of their keys, which is the same on both databases. Without `columns`, all
    columns.
    """
    from sqlalchemy import select

    names = list(columns) or list(kinds(table))
    encode = [_ENCODED[_kind(table.c[name])] for name in names]
    query = select(*(table.c[name] for name in names)).order_by(*_order(connection, table))
    with connection.execute(query.execution_options(yield_per=BATCH)) as result:
        for row in result:
            yield [
                None if value is None else to(value) if to else value
                for to, value in zip(encode, row, strict=True)
            ]


def insert(connection: Connection, table: Table, columns: Sequence[str], rows: Iterator[Row]) -> None:
    """Insert rows with these columns, in the form that `read` returns."""
    decode = [_DECODED[_kind(table.c[name])] for name in columns]
    statement = table.insert()
    while batch := list(islice(rows, BATCH)):
        connection.execute(
            statement,
            [
                {
                    name: None if value is None else to(value) if to else value
                    for name, to, value in zip(columns, decode, row, strict=True)
                }
                for row in batch
            ],
        )


def go_on_from(connection: Connection, table: Table, last_number: int) -> None:
    """Let the key's generated numbers continue after `last_number`, even if its row was deleted."""
    from sqlalchemy import text

    if not last_number:
        return
    key = next(iter(table.primary_key.columns)).name
    if connection.dialect.name == "sqlite":
        parameters = {"name": table.name, "last": last_number}
        if connection.execute(
            text("UPDATE sqlite_sequence SET seq = :last WHERE name = :name"), parameters
        ).rowcount == 0:  # fmt: skip
            connection.execute(
                text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), parameters
            )
    else:
        parameters = {"table": _quoted(connection, table), "key": key, "last": last_number}
        connection.execute(text("SELECT setval(pg_get_serial_sequence(:table, :key), :last)"), parameters)


def compare(
    connection: Connection, table: Table, columns: Mapping[str, Kind], expected: Generator[Row, None, None]
) -> int:
    """Check that all rows are as `expected`; returns how many. Raises StorageFault at the first that differs."""
    target_kinds = kinds(table)
    loose = [n for n, (name, kind) in enumerate(columns.items()) if "json" in (kind, target_kinds[name])]
    n = 0
    with closing(expected), closing(read(connection, table, list(columns))) as found_rows:
        for n, (expected_row, row) in enumerate(zip_longest(expected, found_rows), 1):
            if expected_row is None or row is None or _same(expected_row, loose) != _same(row, loose):
                raise StorageFault("damaged", f"row {n} of {table.name} is not as it was")
    return n


def _same(row: Row, loose: Sequence[int]) -> list[Any]:
    values = list(row)
    for n in loose:  # a database may format JSON differently, and store its null as SQL's NULL
        values[n] = json.dumps(json.loads(values[n] or "null"), sort_keys=True)
    return values


def _order(connection: Connection, table: Table) -> list[Any]:
    keys = sorted(table.primary_key.columns or table.columns, key=lambda column: column.name)
    postgres = connection.dialect.name == "postgresql"
    # A server sorts text by its locale; SQLite, and Postgres's "C" collation, by bytes.
    return [column.collate("C") if postgres and _kind(column) == "text" else column for column in keys]


def _last_number(connection: Connection, table: Table) -> int:
    from sqlalchemy import text

    keys = list(table.primary_key.columns)
    if len(keys) != 1 or _kind(keys[0]) != "int":
        return 0
    if connection.dialect.name == "sqlite":
        has_sequences = connection.scalar(text("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'"))
        query = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        return int((has_sequences and connection.scalar(query, {"name": table.name})) or 0)
    parameters = {"table": _quoted(connection, table), "key": keys[0].name}
    sequence = connection.scalar(text("SELECT pg_get_serial_sequence(:table, :key)"), parameters)
    if sequence is None:
        return 0
    last, called = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {sequence}").one()
    return int(last) if called else 0


def _quoted(connection: Connection, table: Table) -> str:
    return str(connection.dialect.identifier_preparer.format_table(table))


def _kind(column: Column[Any]) -> Kind:
    from sqlalchemy import JSON, Boolean, DateTime, Integer, LargeBinary, Numeric
    from sqlalchemy.types import _Binary

    kinds_by_type: tuple[tuple[Any, Kind], ...] = (
        ((LargeBinary, _Binary), "bytes"),
        (Boolean, "bool"),
        (DateTime, "moment"),
        (JSON, "json"),
        (Integer, "int"),
        (Numeric, "float"),
    )
    return next((kind for types, kind in kinds_by_type if isinstance(column.type, types)), "text")


def _moment(value: datetime) -> str:
    return (
        (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat(" ", "microseconds")
    )


_ENCODED: dict[Kind, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "text": None,
    "bytes": lambda value: b64encode(value).decode(),
    "moment": _moment,
    "json": compact,
}
_DECODED: dict[Kind, Any] = {
    "int": None,
    "float": None,
    "bool": bool,
    "text": None,
    "bytes": b64decode,
    "moment": lambda value: datetime.fromisoformat(value).replace(tzinfo=UTC),
    "json": json.loads,
}
