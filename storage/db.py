"""One SQL database: opened and migrated, read in snapshots, written one transaction at a time.

Knows no table. SQLite (`sqlite+aiosqlite:///path`) and Postgres (`postgresql+psycopg://…`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from storage.faults import FaultKind, StorageFault, fault_of
from storage.patience import network_limits, patiently

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, CursorResult, Engine, Executable, Table, UpdateBase
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from storage.lease import Lease

__all__ = ["Database", "FaultKind", "StorageFault", "new_id"]

T = TypeVar("T")

CLOSE_S = 5.0

CACHE = "cache_size=-512"
"""A connection to SQLite caches at most 512 KB of pages, not 2 MB: a process keeps up to nine connections open,
and what it reads again is in the system's cache.
"""
SCRUBS, SCRUB_MS = 10, 200
"""The number of tries to empty a log that other connections read, and how many milliseconds each waits for them."""

# Any number, if every process of the program uses the same one.
_NAMED_LOCKS = 0x5374


def new_id() -> str:
    """A uuid7: unique, and sorts by the time it was made."""
    import uuid_utils

    return str(uuid_utils.uuid7())


class Database:
    """An open database. `read` and `write` translate every driver error into `StorageFault`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._sqlite = engine.dialect.name == "sqlite"
        reading = {} if self._sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._reading = engine.execution_options(**reading)
        # SQLite has one writer at a time. Waiting here is fair and wakes at once; SQLite's own busy handler polls and
        # may starve a writer. Postgres locks rows, so writers run in parallel.
        self._turn: AbstractAsyncContextManager[Any] = asyncio.Lock() if self._sqlite else nullcontext()
        self._writes = 0
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._deadline: float | None = None
        self._limits: set[asyncio.Timeout] = set()
        """The limits of the transactions in progress."""
        self.lease: Lease | None = None
        """This process's lease, if others share the database."""
        self.process = ""
        """The id of this process among those that share the database; "" if it has it alone."""

    @property
    def writes(self) -> int:
        """The number of finished transactions that may have written: while it stays the same, earlier results are still
        valid.

        If other processes write, too, it differs each time.
        """
        if self.lease is not None:
            self._writes += 1
        return self._writes

    @property
    def shared(self) -> bool:
        """Whether the database is on a server, where other processes can use it, too."""
        return not self._sqlite

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        busy_timeout_s: float = 30.0,
        max_page_count: int | None = None,
        lease: Lease | None = None,
    ) -> Database:
        """Open and migrate to the newest schema. `lease` is that of this process on a database that others share.

        `busy_timeout_s` bounds the wait for another process's lock; `max_page_count` caps an SQLite
        file (pages of 4 KiB). Raises StorageFault, "newer" if a later release wrote the database.
        """
        # Imported completely before other threads (the engine's) import parts of them, because concurrent partial
        # imports fail.
        from sqlalchemy.dialects import postgresql, sqlite  # noqa: F401

        from storage.migrations import migrate

        engine = _engine(url, busy_timeout_s, max_page_count, lease)
        database = cls(engine)
        if lease is not None:
            database.lease, database.process = lease, lease.id
        try:
            if engine.url.database and engine.dialect.name == "sqlite" and engine.url.database != ":memory:":
                Path(engine.url.database).parent.mkdir(parents=True, exist_ok=True)
            async with database.read() as connection:
                due = await connection.run_sync(migrate.is_due)
            if due:
                async with database.write() as connection:
                    await connection.run_sync(migrate.upgrade)
        except OSError as error:
            await engine.dispose()
            raise fault_of(error) from error
        except BaseException:
            await engine.dispose()
            raise
        return database

    def read(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A read-only transaction: all reads in it see the same moment."""
        return self._connected(self._reading.begin, "BEGIN")

    @asynccontextmanager
    async def write(self, alone: str = "") -> AsyncGenerator[AsyncConnection, None]:
        """A transaction that commits at the end, or rolls back if anything in it raises.

        Transactions that are `alone` by the same name exclude each other, and see each other's commits. Never open one
        inside another: on SQLite the inner one would wait for the outer.
        """
        async with self._turn:
            try:
                # A deferred transaction that reads first and writes later can lose another one's update or
                # fail half-way with SQLITE_BUSY, so a writer takes the lock before it reads anything.
                async with self._connected(self._engine.begin, "BEGIN IMMEDIATE") as connection:
                    if alone and not self._sqlite:  # SQLite has one writer at a time anyway
                        from zlib import crc32

                        from sqlalchemy import text

                        # A lock of two numbers is never the migrations', which has one; names that share theirs only
                        # wait.
                        key = {"kind": _NAMED_LOCKS, "key": crc32(alone.encode()) - 2**31}
                        await connection.execute(text("SELECT pg_advisory_xact_lock(:kind, :key)"), key)
                    yield connection
            finally:
                self._writes += 1

    def outside(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A connection to a server for statements that cannot be part of a transaction, such as a concurrent index."""
        return self._connected(self._engine.execution_options(isolation_level="AUTOCOMMIT").connect)

    @asynccontextmanager
    async def _connected(
        self, connecting: Callable[[], AbstractAsyncContextManager[AsyncConnection]], begins: str = ""
    ) -> AsyncGenerator[AsyncConnection, None]:
        """A connection. If the server is down, waits for it within this task's patience. On SQLite `begins` is sent
        with the first statement; without it each statement is a transaction.
        """
        import sqlite3

        from sqlalchemy.exc import DBAPIError
        from sqlalchemy.exc import TimeoutError as PoolTimeout

        if self._closed:  # a connection that is opened now would never be closed
            raise StorageFault("other", "the database has been closed")
        if self._deadline is not None and self._deadline <= asyncio.get_running_loop().time():
            raise StorageFault("locked", "the process is leaving")
        if self.lease is not None:
            self.lease.check()
        self._under_way += 1
        self._idle.clear()
        limit = asyncio.timeout_at(self._deadline)
        try:
            async with limit:
                self._limits.add(limit)
                async with AsyncExitStack() as stack:
                    if not self._sqlite:
                        yield await patiently(partial(self._entered, stack, connecting))
                        return
                    connection = await stack.enter_async_context(connecting())
                    assert connection.sync_connection is not None
                    driver: Any = connection.sync_connection.connection.driver_connection
                    driver.begins = begins
                    yield connection
        except PoolTimeout as error:
            raise StorageFault("locked", str(error)) from error
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise StorageFault("locked", "the process is leaving") from error
        except (DBAPIError, sqlite3.Error) as error:
            raise fault_of(error) from error
        finally:
            self._limits.discard(limit)
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def _entered(
        self, stack: AsyncExitStack, connecting: Callable[[], AbstractAsyncContextManager[AsyncConnection]]
    ) -> AsyncConnection:
        from sqlalchemy.exc import DBAPIError

        if self.lease is not None:
            self.lease.check()
        try:
            return await stack.enter_async_context(connecting())
        except DBAPIError as error:
            if (fault := fault_of(error)).away:
                raise fault from error
            raise

    async def execute(self, statement: Executable, /, **parameters: Any) -> CursorResult[*tuple[Any, ...]]:
        """The result of one statement, which is a transaction by itself: cheaper than `read` and `write`.

        Its rows are already fetched by both drivers. A query is repeated if the connection broke, within this task's
        patience.
        """
        if statement.is_dml or self._sqlite:
            return await self._executed(statement, parameters)
        return await patiently(partial(self._executed, statement, parameters))

    async def _executed(
        self, statement: Executable, parameters: Mapping[str, Any]
    ) -> CursorResult[*tuple[Any, ...]]:
        async with self._turn if statement.is_dml else nullcontext():
            try:
                async with self._connected(self._engine.connect) as connection:
                    result = await connection.execute(statement, parameters)
                    await connection.commit()
                    return result
            finally:
                self._writes += statement.is_dml

    async def answers(self) -> None:
        """Read something small from the database. Raises StorageFault."""
        from sqlalchemy import text

        await self.execute(text("SELECT version_num FROM alembic_version"))

    async def rows(self, query: Executable, of: Callable[..., T], /, **parameters: Any) -> list[T]:
        """The rows of a statement, each as an `of`, which has a field for each column."""
        return [of(**row._mapping) for row in await self.execute(query, **parameters)]

    async def row(self, query: Executable, of: Callable[..., T], /, **parameters: Any) -> T | None:
        """The row of a statement that returns at most one, as an `of`; None without a row, as after an INSERT that a
        conflict prevented.
        """
        row = (await self.execute(query, **parameters)).one_or_none()
        return of(**row._mapping) if row else None

    async def column(self, query: Executable, /, **parameters: Any) -> list[Any]:
        """The first column of a query's rows."""
        return list((await self.execute(query, **parameters)).scalars())

    async def run(self, statement: UpdateBase, /, **parameters: Any) -> int:
        """Run one statement as a separate transaction; returns how many rows it changed."""
        return (await self.execute(statement, **parameters)).rowcount

    def day(self, moment: ColumnElement[Any]) -> ColumnElement[str]:
        """The day of a moment in UTC, such as "2026-11-29"."""
        from sqlalchemy import func

        if self._sqlite:
            return func.date(moment)
        return func.to_char(func.timezone("UTC", moment), "YYYY-MM-DD")

    def insert(self, table: Table) -> SqliteInsert | PostgresInsert:
        """This database's INSERT with `on_conflict_do_nothing` and `on_conflict_do_update`.

        Its result's `rowcount` is 0 if a conflict prevented the insert.
        """
        if self._sqlite:
            from sqlalchemy.dialects import sqlite

            return sqlite.insert(table).execution_options(preserve_rowcount=True)
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table).execution_options(preserve_rowcount=True)

    async def scrub(self) -> None:
        """Overwrite deleted words, which stay in SQLite's log after their row is deleted. If other connections are
        reading, it does nothing, and a later call does it.

        On Postgres the server's own housekeeping does it (VACUUM, its write-ahead log).
        """
        import sqlite3

        for _ in range(SCRUBS if self._sqlite else 0):
            async with self._turn, self._engine.connect() as connection:
                raw = (await connection.get_raw_connection()).driver_connection
                assert raw is not None, "it is open"
                ((busy_ms,),) = await raw.execute_fetchall("PRAGMA busy_timeout")
                # Writers wait meanwhile.
                await raw.execute_fetchall(f"PRAGMA busy_timeout={SCRUB_MS}")
                try:
                    ((busy, *_),) = await raw.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
                except sqlite3.Error:
                    busy = 1
                finally:
                    await raw.execute_fetchall(f"PRAGMA busy_timeout={busy_ms}")
            if not busy:
                return

    def hurry(self, seconds: float) -> None:
        """End running transactions at the latest in `seconds`, and refuse later ones with StorageFault.

        Otherwise a database that hangs would keep the process from ending.
        """
        self._deadline = asyncio.get_running_loop().time() + seconds
        for limit in self._limits:
            limit.reschedule(self._deadline)

    async def close(self) -> None:
        """Close every connection; later calls raise StorageFault.

        Waits for running transactions, whose connections would otherwise stay open.
        """
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._idle.wait()
        close_when_returned(self._engine.sync_engine)
        await self._engine.dispose()


def close_when_returned(engine: Engine) -> None:
    """Close each connection that is returned to the engine's pool from now on. Call it before `dispose`, which would
    drop connections in use without closing them.
    """
    from sqlalchemy import event

    event.listen(engine, "checkin", lambda _connection, record: record.invalidate())


def _engine(url: str, busy_timeout_s: float, max_page_count: int | None, lease: Lease | None) -> AsyncEngine:
    from sqlalchemy import event
    from sqlalchemy.engine import make_url
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import AsyncAdaptedQueuePool

    from storage.sqlite_connection import connection

    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        engine = create_async_engine(
            parsed,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_timeout=busy_timeout_s,
            connect_args=network_limits(url)
            | ({"application_name": lease.name} if lease is not None else {}),
        )
        if lease is not None:
            event.listen(engine.sync_engine, "connect", lease.admit)
        return engine

    in_memory = parsed.database in (None, "", ":memory:")
    engine = create_async_engine(
        parsed,
        connect_args={"async_creator_fn": connection},
        poolclass=AsyncAdaptedQueuePool,
        pool_size=1 if in_memory else 4,
        max_overflow=0,
        hide_parameters=True,  # from errors in the log: they contain people's words and addresses
        pool_timeout=busy_timeout_s,
    )

    def connected(connection: Any, _record: object) -> None:
        # The driver's own transaction handling would begin too late (see `Database.write`): switch it off.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={int(busy_timeout_s * 1000)}")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute(f"PRAGMA {CACHE}")
        cursor.execute(
            "PRAGMA secure_delete=ON"
        )  # what a person had deleted is overwritten, not only unlinked
        if max_page_count is not None:
            cursor.execute(f"PRAGMA max_page_count={int(max_page_count)}")
        cursor.close()

    def invalidated(connection: Any, _record: object, _error: object) -> None:
        # The cursor of a cancelled call. Closed with a statement that is not read to its end, the connection would keep
        # the file's lock until it is garbage-collected.
        with suppress(Exception):
            connection.rollback()

    event.listen(engine.sync_engine, "connect", connected)
    event.listen(engine.sync_engine, "invalidate", invalidated)
    return engine
