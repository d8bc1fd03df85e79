"""aiosqlite's connection for SQLAlchemy, with one call to its thread per statement instead of four.

A call to the thread costs more than most statements. SQLAlchemy makes a cursor, executes, fetches and closes, with a
BEGIN before and a ROLLBACK after. Here the rows are returned with the execution, BEGIN is sent with the first
statement, and only an open transaction is ended. Knows no table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiosqlite

_CHUNK = 64  # rows, where they are not fetched all at once; the driver's own default


def connection(*place: Any, **options: Any) -> Connection:
    """Make a connection, to be awaited. The arguments are those of `sqlite3.connect`."""
    return Connection(lambda: sqlite3.connect(*place, **options), _CHUNK)


class Connection(aiosqlite.Connection):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._thread.daemon = True  # SQLAlchemy does the same: a process that ends does not wait for it
        self.begins = ""
        """The BEGIN to send with the next statement."""
        self.open = False
        """Whether a transaction is open; also True if that is unknown because a call was cancelled or failed."""

    def cursor(self) -> Cursor:  # type: ignore[override]
        return Cursor(self)

    async def commit(self) -> None:
        self.begins = ""
        if self.open:
            await super().commit()
            self.open = False

    async def rollback(self) -> None:
        self.begins = ""
        if self.open:
            await super().rollback()
            self.open = False


@dataclass(slots=True, eq=False)
class Cursor:
    """The part of aiosqlite's cursor that SQLAlchemy uses; it reads all rows of a statement at once."""

    connection: Connection
    description: Any = None
    rowcount: int = -1
    lastrowid: int | None = None
    arraysize: int = 1
    _rows: Sequence[Any] = ()

    async def __aenter__(self) -> Cursor:
        return self

    async def execute(self, statement: str, parameters: Any = (), *, many: bool = False) -> None:
        connection, begin = self.connection, self.connection.begins
        connection.begins, connection.open = "", True
        # The connection's thread keeps a call's result until the next one, and rows may take megabytes.
        done = list[tuple[sqlite3.Cursor, Sequence[Any]]]()

        def trip() -> bool:
            cursor = connection._conn.cursor()
            if begin:
                cursor.execute(begin)
            (cursor.executemany if many else cursor.execute)(statement, parameters)
            done.append((cursor, cursor.fetchall() if cursor.description else ()))
            return connection._conn.in_transaction

        connection.open = await connection._execute(trip)  # type: ignore[no-untyped-call]
        ended, self._rows = done.pop()
        self.description, self.rowcount, self.lastrowid = ended.description, ended.rowcount, ended.lastrowid

    async def executemany(self, statement: str, parameters: Any) -> None:
        await self.execute(statement, parameters, many=True)

    async def fetchall(self) -> Sequence[Any]:
        rows, self._rows = self._rows, ()
        return rows

    async def close(self) -> None:
        """Do nothing: the statement has ended."""
