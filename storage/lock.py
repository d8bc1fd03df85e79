"""One process per data folder, and one per database on a server: exclusive locks that die with their holder.

Knows nothing of what the folder and the database hold.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from storage.faults import StorageFault, fault_of

if TYPE_CHECKING:
    from filelock import BaseFileLock
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

CHECK_S = 5.0
"""Seconds between two checks whether the server still holds the lock."""

ANSWER_S = 5.0
"""How long the server may take for a look, or for taking the lock again: a busy machine is not a lost connection."""

_KEY = (0x5375, 0)
"""A lock of two numbers is never the migrations', which has one; the first is not that of `Database.alone`."""

_KEEPALIVE = ("tcp_keepalives_idle=15", "tcp_keepalives_interval=5", "tcp_keepalives_count=3")
"""TCP keep-alive (seconds, count): how soon the server drops a holder whose machine is gone; by default two hours."""

_log = logging.getLogger(__name__)


class StorageBusy(StorageFault):
    """Another process holds the data folder; `pid` is its process id, if it could be read."""

    def __init__(self, path: Path, pid: int | None) -> None:
        super().__init__("locked", f"{path.parent} is in use by process {pid or 'unknown'}")
        self.path = path
        self.pid = pid


class Lock:
    """A held lock; `release` it, or use it as a context manager."""

    def __init__(self, lock: BaseFileLock, note: Path) -> None:
        self._lock = lock
        self._note = note

    def release(self) -> None:
        if self._lock.is_locked:
            self._note.unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def hold(path: Path) -> Lock:
    """Take the lock file at `path` (made with its folder if need be), at once or not at all.

    Raises StorageBusy if another process, or another part of this one, holds it. The operating system frees it
    when the holder dies, however it dies.
    """
    from filelock import FileLock, Timeout

    # The pid lies beside the lock: on Windows a locked file cannot be read by others.
    note = path.with_name(path.name + ".pid")
    # Taken on a worker thread and released on another: the lock belongs to the process.
    lock = FileLock(path, thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
        try:
            note.write_text(str(os.getpid()), encoding="ascii")
        except OSError:
            lock.release()
            raise
    except Timeout as error:
        raise StorageBusy(path, _pid(note)) from error
    except OSError as error:
        raise fault_of(error) from error
    return Lock(lock, note)


def _pid(note: Path) -> int | None:
    try:
        return int(note.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


class DatabaseBusy(StorageFault):
    """Another process works on the database; `machine` is where, if that could be told."""

    def __init__(self, machine: str | None) -> None:
        super().__init__("locked", f"a process on {machine or 'another machine'} works on this database")
        self.machine = machine


class ServerLock:
    """A lock in Postgres, held on a connection of its own. Once `lost` has returned it is somebody else's.

    The connection has to be a session's: a pooler that hands out transactions (PgBouncer's "transaction" mode)
    would let go of it.
    """

    def __init__(self, url: str, *, check_s: float = CHECK_S) -> None:
        """`url` is SQLAlchemy's: postgresql+psycopg://…"""
        self._url = url
        self._check_s = check_s
        # By this we know a connection of ours that the server has not given up yet. At most 63 bytes.
        self._name = f"sutradhar {secrets.token_hex(4)} {platform.node()[:32]}"
        self._connection: AsyncConnection | None = None

    async def hold(self) -> None:
        """Take it at once or not at all. Raises DatabaseBusy, or StorageFault where the server does not answer."""
        from sqlalchemy.exc import DBAPIError

        try:
            if not await self._take():
                raise DatabaseBusy(None)
        except (DBAPIError, OSError) as error:
            raise fault_of(error) from error

    async def lost(self) -> None:
        """Wait until another process has it, for ever where none ever does. A lost connection is made anew."""
        from sqlalchemy.exc import DBAPIError

        while True:
            await asyncio.sleep(self._check_s)
            try:
                async with asyncio.timeout(ANSWER_S):
                    if self._connection is not None:
                        await self._connection.exec_driver_sql("SELECT 1")
                    elif await self._take():
                        _log.warning("the lock on the database is held again")
            except DatabaseBusy:
                return
            except (DBAPIError, OSError) as error:  # TimeoutError is one of these
                # Nobody else can take it either while the server is away.
                _log.warning(
                    "the connection that holds the lock on the database is lost: %s", fault_of(error)
                )
                await self._close()

    async def release(self) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        if self._connection is not None:
            # By its end it lets go, too, only a moment later; a statement that was cancelled leaves it unusable.
            with suppress(SQLAlchemyError, OSError):
                async with asyncio.timeout(ANSWER_S):
                    await self._connection.exec_driver_sql("SELECT pg_advisory_unlock_all()")
            await self._close()

    async def _take(self) -> bool:
        """False where what holds it is on its way out. Raises DatabaseBusy."""
        from sqlalchemy import text
        from sqlalchemy.ext.asyncio import create_async_engine
        from sqlalchemy.pool import NullPool

        key = {"kind": _KEY[0], "key": _KEY[1]}
        engine = create_async_engine(
            self._url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            connect_args={"application_name": self._name, "connect_timeout": 10},
        )
        locked = False
        self._connection = await engine.connect()
        try:
            for setting in _KEEPALIVE:
                await self._connection.exec_driver_sql(f"SET {setting}")
            if await self._connection.scalar(text("SELECT pg_try_advisory_lock(:kind, :key)"), key):
                locked = True
                return True
            for pid, name in (await self._connection.execute(text(_HOLDER), key)).all():
                if name != self._name:
                    raise DatabaseBusy(name.partition(" ")[2].partition(" ")[2] or None)
                # What the server still has of a connection of ours that broke.
                await self._connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
            return False
        finally:
            if not locked:
                await self._close()

    async def _close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.invalidate()  # says nothing more to a server that may be gone
            await connection.close()


_HOLDER = (
    "SELECT pid, application_name FROM pg_locks JOIN pg_stat_activity USING (pid)"
    " WHERE locktype = 'advisory' AND granted AND classid = :kind AND objid = :key AND objsubid = 2"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def take(connection: Connection) -> None:
    """Take the lock of a server's database for as long as `connection` is open. Raises DatabaseBusy."""
    from sqlalchemy import text

    key = {"kind": _KEY[0], "key": _KEY[1]}
    if not connection.scalar(text("SELECT pg_try_advisory_lock(:kind, :key)"), key):
        holder = connection.execute(text(_HOLDER), key).first()
        raise DatabaseBusy(holder.application_name.partition(" ")[2].partition(" ")[2] if holder else None)
