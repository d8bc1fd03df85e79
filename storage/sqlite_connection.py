"""aiosqlite's connection as SQLAlchemy uses it, with one trip to its thread for a statement in place of four.

A trip costs more than most statements. SQLAlchemy asks for a cursor, executes, fetches and closes, with a BEGIN before
and a ROLLBACK behind: here the rows come with the execution, BEGIN goes along with the first statement, and a
transaction that is not open is not ended. Knows no table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiosqlite

_CHUNK = 64  # rows, where they are not fetched all at once; the driver's own default


def connection(*place: Any, **options: Any) -> Connection:
    """A connection, to be awaited. The arguments are those of `sqlite3.connect`."""
    return Connection(lambda: sqlite3.connect(*place, **options), _CHUNK)


class Connection(aiosqlite.Connection):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._thread.daemon = True  # SQLAlchemy does the same: a process that ends does not wait for it
        self.begins = ""
        """The BEGIN that the next statement takes along."""
        self._open = False
        """Whether a transaction is open. True also where nobody knows: a call was cancelled, or has failed."""

    def cursor(self) -> Cursor:  # type: ignore[override]
        return Cursor(self)

    async def executed(
        self, statement: str, parameters: Any, *, many: bool
    ) -> tuple[sqlite3.Cursor, Sequence[Any]]:
        """The cursor of a statement, which has been read to its end, and the rows."""
        connection, begin = self._conn, self.begins
        self.begins, self._open = "", True
        # What a trip returns the connection's thread keeps until the next one: rows may take megabytes.
        done = list[tuple[sqlite3.Cursor, Sequence[Any]]]()

        def trip() -> bool:
            cursor = connection.cursor()
            if begin:
                cursor.execute(begin)
            (cursor.executemany if many else cursor.execute)(statement, parameters)
            done.append((cursor, cursor.fetchall() if cursor.description else ()))
            return connection.in_transaction

        self._open = await self._execute(trip)  # type: ignore[no-untyped-call]
        return done.pop()

    async def commit(self) -> None:
        self.begins = ""
        if self._open:
            await super().commit()
            self._open = False

    async def rollback(self) -> None:
        self.begins = ""
        if self._open:
            await super().rollback()
            self._open = False


@dataclass(slots=True, eq=False)
class Cursor:
    """As much of aiosqlite's as SQLAlchemy asks for: it reads all rows of a statement at once."""

    connection: Connection
    description: Any = None
    rowcount: int = -1
    lastrowid: int | None = None
    arraysize: int = 1
    _rows: Sequence[Any] = ()

    async def __aenter__(self) -> Cursor:
        return self

    async def execute(self, statement: str, parameters: Any = (), *, many: bool = False) -> None:
        done, self._rows = await self.connection.executed(statement, parameters, many=many)
        self.description, self.rowcount, self.lastrowid = done.description, done.rowcount, done.lastrowid

    async def executemany(self, statement: str, parameters: Any) -> None:
        await self.execute(statement, parameters, many=True)

    async def fetchall(self) -> Sequence[Any]:
        rows, self._rows = self._rows, ()
        return rows

    async def close(self) -> None:
        """Nothing to do: the statement is over."""
