"""The advisory locks of processes that share a database on a server: of all work on it, of leases, and of names.

A lock belongs to a session of the server, which releases it when the session ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

from storage.faults import StorageFault

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from sqlalchemy import Connection as SqlConnection
    from sqlalchemy import CursorResult, Executable

    Session: TypeAlias = AsyncConnection[tuple[Any, ...]]

_WORK = (0x5375, 0)
"""The lock of everything that works on the database: leases share it, and a process that works alone holds it
exclusively, as earlier releases did.
"""

PROCESS = 0x5376
"""The first number of the leases' locks: neither that of `Database.write(alone=)` nor the migrations' single one."""

CLAIM = 0x5377
"""The first number of the locks of names that are claimed."""

MEMBER = 0x5378
"""The first number of the locks that all members of a name share."""

CHANNEL = "sutradhar"
"""The channel for LISTEN and NOTIFY, with which the processes notify each other."""

_HOLDER = (
    "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)"
    " WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = %s AND objsubid = 2"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)

_HELD = (
    "SELECT CAST(objid AS bigint) AS objid, pid FROM pg_locks"
    " WHERE locktype = 'advisory' AND granted AND CAST(classid AS bigint) = :kind AND objsubid = 2"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class DatabaseBusy(StorageFault):
    """Other processes work on the database, or one works alone; `machine` is theirs, if known."""

    def __init__(self, machine: str | None) -> None:
        super().__init__("locked", f"a process on {machine or 'another machine'} works on this database")
        self.machine = machine


def take_alone(connection: SqlConnection) -> None:
    """Work alone on the server's database for as long as `connection` is open. Raises DatabaseBusy."""
    from sqlalchemy import text

    key = {"kind": _WORK[0], "key": _WORK[1]}
    if not connection.scalar(text("SELECT pg_try_advisory_lock(:kind, :key)"), key):
        name = connection.scalar(text(_HOLDER % (":kind", ":key")), key)
        raise DatabaseBusy(_machine(name))


def application_name(process: str) -> str:
    """The prefix of the application name of a process's connections; the machine's name follows. Postgres keeps 63
    bytes.
    """
    return f"sutradhar {process}"


async def holder(session: Session) -> str | None:
    """The machine of a process that holds the lock of everything that works on the database."""
    rows = await session.execute(_HOLDER.encode(), _WORK)
    return _machine((await rows.fetchone() or (None,))[0])


def _machine(name: str | None) -> str | None:
    return (name or "").partition(" ")[2].partition(" ")[2] or None


async def lock_holders(
    execute: Callable[[Executable], Awaitable[CursorResult[*tuple[Any, ...]]]],
    kind: int,
    names: Iterable[str],
) -> dict[str, list[int]]:
    """Those of the names whose locks of a kind are held, with the backends that hold them."""
    from sqlalchemy import text

    by_key = {_key(name) % 2**32: name for name in names}
    backends: dict[str, list[int]] = {}
    for row in await execute(text(_HELD).bindparams(kind=kind)):
        if (name := by_key.get(row.objid)) is not None:
            backends.setdefault(name, []).append(row.pid)
    return backends


def _key(name: str) -> int:
    """The second number of a name's locks, with a sign, as the server's functions have it."""
    return crc32(name.encode()) - 2**31


async def share_work(session: Session) -> bool:
    """Whether the session gets a share of the lock of all work now."""
    shared = await session.execute("SELECT pg_try_advisory_lock_shared(%s, %s)", _WORK)
    return bool((await shared.fetchone() or (False,))[0])


async def try_lock(session: Session, kind: int, name: str) -> bool:
    """Whether the session gets the name's lock now."""
    return await try_locks(session, kind, [name]) == [name]


async def try_locks(session: Session, kind: int, names: Iterable[str]) -> list[str]:
    """Lock those of the names whose locks are free; returns them."""
    by_key = {_key(name): name for name in names}
    rows = await session.execute(
        "SELECT key FROM unnest(%s::int[]) AS key WHERE pg_try_advisory_lock(%s, key)", (list(by_key), kind)
    )
    return [by_key[key] for (key,) in await rows.fetchall()]


async def unlock(session: Session, kind: int, name: str) -> None:
    await session.execute("SELECT pg_advisory_unlock(%s, %s)", (kind, _key(name)))


async def share(session: Session, name: str) -> bool:
    """Wait for a share of the name's lock of members; always true."""
    await session.execute("SELECT pg_advisory_lock_shared(%s, %s)", (MEMBER, _key(name)))
    return True


async def unshare(session: Session, name: str) -> None:
    await session.execute("SELECT pg_advisory_unlock_shared(%s, %s)", (MEMBER, _key(name)))


def broken() -> tuple[type[Exception], ...]:
    """The exceptions that a broken connection raises."""
    import psycopg

    return psycopg.Error, OSError
