"""Coordinates the processes that share a database on a server: each holds a lease, and takes over what an ended one has
left.

A lease is an advisory lock of a separate session, and a row whose time is renewed every second. The lock is released as
soon as its process dies. A process that is frozen or disconnected is recognised by its time, and all its connections
are closed before another takes over. Processes notify each other over the same connection.

Knows nothing of the database's contents. A transaction pooler (PgBouncer's "transaction" mode) does not work, because
it loses the locks.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import platform
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from storage.advisory_locks import (
    CHANNEL,
    CLAIM,
    PROCESS,
    DatabaseBusy,
    application_name,
    broken,
    holder,
    share,
    share_work,
    try_lock,
    try_locks,
    unlock,
    unshare,
)
from storage.faults import StorageFault, fault_of
from storage.patience import network_limits

if TYPE_CHECKING:
    from psycopg import Connection

    from storage.advisory_locks import Session

BEAT_S = 1.0
"""Seconds between two renewals, and between two looks at the other processes."""

LEASE_S = 15.0
"""A process that has not renewed its lease for this many seconds has lost it: others take over its work."""

GRACE_S = 2.5
"""How many seconds a process may take to replace a broken connection before it counts as gone. After their own
connection broke, others wait as long before they judge, because a restarted server breaks all connections.
"""

ANSWER_S = 5.0
"""How many seconds the server may take for a renewal: a busy machine is not a lost connection."""

JOIN_S = 3.0
"""How many seconds a process with a new connection tries to get its locks back; less than ANSWER_S."""

RETRY_S = 0.05

_KEEPALIVE = ("tcp_keepalives_idle=15", "tcp_keepalives_interval=5", "tcp_keepalives_count=3")
"""TCP keep-alive (seconds, count): how soon the server drops a process whose machine is gone; by default two hours."""

_SILENT = "seen_at < clock_timestamp() - %s * interval '1 second'"

_log = logging.getLogger(__name__)

Heard = Callable[..., None]


class LeaseLost(StorageFault):
    """Other processes have taken over, or may have: this process must not write any more."""

    def __init__(self) -> None:
        super().__init__("other", "this process has lost its lease on the database")


class Lease:
    """The lease of this process. `take` it, `keep` it in a task until that returns, then `release` it."""

    def __init__(
        self, url: str, *, beat_s: float = BEAT_S, lease_s: float = LEASE_S, grace_s: float = GRACE_S
    ) -> None:
        """`url` is SQLAlchemy's: postgresql+psycopg://…"""
        import uuid_utils
        from sqlalchemy.engine import make_url

        self.id = str(uuid_utils.uuid7())
        self.name = f"{application_name(self.id)} {platform.node()}"[:63]
        """The application name of this process's connections; all of them must be opened with it."""
        self._network: dict[str, Any] = dict(network_limits(url))
        self._address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._beat_s = beat_s
        self._lease_s = lease_s
        self._grace_s = grace_s
        self._connected = 0.0
        self._connection: Session | None = None
        self._renewed: float | None = None
        self._claims: list[str] = []
        self._joins: list[str] = []
        self._again = -grace_s
        """When its connection was replaced; others then need a moment to get their locks back."""
        self._heard: dict[str, Heard] = {}
        self._missed: list[Callable[[], None]] = []
        self._taking: asyncio.Task[None] | None = None
        self.leave: Callable[[], None] = lambda: None
        """Called as soon as the lease is found to be lost, before anything else; in any thread."""

    def hear(self, topic: str, heard: Heard, missed: Callable[[], None] | None = None) -> None:
        """Call `heard` with the values of each notice of this topic from another process, and `missed` if some may have
        been missed.
        """
        self._heard[topic] = heard
        if missed is not None:
            self._missed.append(missed)

    async def take(self) -> None:
        """Join the other processes. Raises DatabaseBusy if one works alone, StorageFault if the server does not
        answer.
        """
        import psycopg

        try:
            connection = await self._connect()
            if not await self._joined(connection):
                raise DatabaseBusy(await holder(connection))
            self._renewed = time.monotonic()
            await connection.execute(
                "INSERT INTO processes (id, machine, seen_at) VALUES (%s, %s, clock_timestamp())",
                (self.id, f"{platform.node()[:200]}:{os.getpid()}"),
            )
        except (psycopg.Error, OSError) as error:
            self._renewed = None
            raise fault_of(error) from error

    async def other_machines(self) -> list[str]:
        """The machines and process numbers of the other processes now connected. Call it before `keep`."""
        assert self._connection is not None
        rows = await self._connection.execute("SELECT id, machine FROM processes WHERE id <> %s", (self.id,))
        machines = []
        for other, machine in await rows.fetchall():
            if await try_lock(self._connection, PROCESS, other):
                await unlock(self._connection, PROCESS, other)
            else:
                machines.append(str(machine))
        return machines

    @property
    def backend(self) -> int:
        """The number of the server's process at which this one has its locks; 0 while its connection is broken."""
        connection = self._connection
        return connection.info.backend_pid if connection is not None and not connection.closed else 0

    async def join(self, name: str) -> None:
        """Become a member of the name, as long as the lease is kept."""
        if name not in self._joins:
            self._joins.append(name)
        if (connection := self._connection) is not None:
            with suppress(*broken()):  # a new connection has it, too
                await share(connection, name)

    async def part(self, name: str) -> None:
        """Stop being a member of the name."""
        if name in self._joins:
            self._joins.remove(name)
            if (connection := self._connection) is not None:
                with suppress(*broken()):  # then it has left already
                    await unshare(connection, name)

    async def try_claim(self, names: Collection[str]) -> list[str]:
        """Claim names for this process alone, as long as its lease lasts; returns those that it got. None just after
        its connection broke, because others may not have their locks back yet.
        """
        connection, late = self._connection, time.monotonic() - self._again < self._grace_s
        if connection is None or late or not names:
            return []
        claimed: list[str] = []
        with suppress(*broken()):  # `keep` replaces it
            claimed = await try_locks(connection, CLAIM, [name for name in names if name not in self._claims])
        if connection is not self._connection:
            return []
        self._claims += claimed
        return claimed

    async def unclaim(self, name: str) -> None:
        """Release the name, so that another process can claim it."""
        self._claims.remove(name)
        if (connection := self._connection) is not None:
            with suppress(*broken()):  # then it is free already
                await unlock(connection, CLAIM, name)

    def check(self) -> None:
        """Raise LeaseLost if others may have taken over already. Checks nothing before `take`."""
        if self._renewed is not None and time.monotonic() - self._renewed > self._lease_s:
            self.leave()
            raise LeaseLost

    async def confirmed(self) -> None:
        """Wait until no other process can have taken over: until the lease was renewed recently enough, even if the
        connection has broken since.
        """
        while self._renewed is not None and time.monotonic() - self._renewed > self._grace_s:
            with suppress(LeaseLost):
                self.check()
            await asyncio.sleep(RETRY_S)

    def admit(self, connection: Connection[tuple[Any, ...]], _record: object) -> None:
        """Check the lease for a new SQLAlchemy connection, because others close the old ones before they take over.

        Raises LeaseLost.
        """
        if self._renewed is not None:
            cursor = connection.cursor()
            cursor.execute("SELECT 1 FROM processes WHERE id = %s", (self.id,))
            row = cursor.fetchone()
            cursor.close()
            connection.rollback()
            if row is None:
                self.leave()
                raise LeaseLost

    async def keep(self, gone: Callable[[str], Awaitable[None]]) -> None:
        """Renew the lease until it is lost. `gone` is awaited with the id of each process that has ended, one after
        another; what it leaves undone is tried again, here or by another process. Never raises.
        """
        try:
            await self._keep(gone)
        finally:
            if self._taking is not None:
                self._taking.cancel()
                await asyncio.wait({self._taking})

    async def _keep(self, gone: Callable[[str], Awaitable[None]]) -> None:
        import psycopg

        while True:
            began = time.monotonic()
            try:
                connection = self._connection
                if connection is None:
                    async with asyncio.timeout(ANSWER_S):
                        connection = await self._connected_again()
                taking = self._taking is not None and not self._taking.done()
                # Waiting for notices blocks the connection, which a take-over needs, too.
                async for notice in connection.notifies(timeout=RETRY_S if taking else self._beat_s):
                    self._hear(notice.payload)
                if taking and time.monotonic() - (self._renewed or 0.0) < self._beat_s:
                    continue
                began = time.monotonic()
                async with asyncio.timeout(ANSWER_S):
                    if not await self._renew(connection):
                        return
                self._renewed = began
                if (
                    (self._taking is None or self._taking.done())
                    and began - self._connected > self._grace_s
                    and (silent := await self._silent(connection))
                ):
                    # In parallel with the renewals, because on a busy machine it may take longer than a lease.
                    self._taking = asyncio.create_task(self._take_over(connection, silent, gone))
            except LeaseLost:
                return
            except (psycopg.Error, OSError, StorageFault) as error:  # TimeoutError is one of these
                line = str(error).partition("\n")[0]
                _log.warning("the connection that keeps the lease on the database is lost: %s", line)
                await self._close()
                if began - (self._renewed or began) > self._lease_s:
                    return
                await asyncio.sleep(self._beat_s)

    async def release(self) -> None:
        """Release the lease: others take over unfinished work at once."""
        import psycopg

        if (connection := self._connection) is not None and not connection.closed:
            with suppress(psycopg.Error, OSError):
                async with asyncio.timeout(ANSWER_S):
                    await connection.execute("SELECT pg_advisory_unlock_all()")
        await self._close()
        self._renewed = None

    async def _connect(self) -> Session:
        from psycopg import AsyncConnection

        self._connection = connection = await AsyncConnection.connect(
            self._address, autocommit=True, application_name=self.name, **self._network
        )
        self._connected = time.monotonic()
        for setting in _KEEPALIVE:
            await connection.execute(f"SET {setting}")
        await connection.execute(f"LISTEN {CHANNEL}")
        return connection

    async def _connected_again(self) -> Session:
        """A new connection that holds the lock. Raises LeaseLost."""
        connection, locked = await self._connect(), False
        try:
            # What the server still has of the broken connection.
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)"
                " WHERE locktype = 'advisory' AND application_name = %s AND pid <> pg_backend_pid()",
                (self.name,),
            )
            locked = await self._locked_again(connection)
        finally:
            if not locked:
                await self._close()
        if not locked:
            raise LeaseLost
        self._again = time.monotonic()
        _log.warning("the lease on the database is kept again")
        for missed in self._missed:
            missed()
        return connection

    async def _locked_again(self, connection: Session) -> bool:
        """Whether the connection gets all locks within JOIN_S: the server may end the broken one late, and another
        process may hold a lock briefly to check it.
        """
        missing: list[Callable[[Session], Awaitable[bool]]]
        missing = [
            self._joined,
            *(partial(try_lock, kind=CLAIM, name=name) for name in self._claims),
            *(partial(share, name=name) for name in self._joins),
        ]
        ends = time.monotonic() + JOIN_S
        while await self._renew(connection):  # others delete the row of a process when they take over
            while missing and await missing[0](connection):
                del missing[0]
            if not missing:
                return True
            if time.monotonic() > ends:
                return False
            await asyncio.sleep(RETRY_S)
        return False

    async def _joined(self, connection: Session) -> bool:
        """Whether the connection holds the lease's locks now."""
        return await share_work(connection) and await try_lock(connection, PROCESS, self.id)

    async def _renew(self, connection: Session) -> bool:
        renewed = await connection.execute(
            "UPDATE processes SET seen_at = clock_timestamp() WHERE id = %s", (self.id,)
        )
        return renewed.rowcount == 1

    def _hear(self, payload: str) -> None:
        try:
            sender, topic, *values = json.loads(payload)
        except ValueError:
            return
        if sender != self.id and (listener := self._heard.get(topic)) is not None:
            listener(*values)

    async def _silent(self, connection: Session) -> list[str]:
        """The other processes that have not renewed their lease recently; the connections of late ones are closed."""
        rows = await connection.execute(
            f"SELECT id, {_SILENT} FROM processes WHERE id <> %s AND {_SILENT}",
            (self._lease_s, self.id, self._least_s),
        )
        silent = []
        for other, late in await rows.fetchall():
            if late:
                await connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s",
                    (f"{application_name(other)}%",),
                )
            silent.append(other)
        return silent

    @property
    def _least_s(self) -> float:
        return min(self._grace_s, self._lease_s)

    async def _take_over(
        self,
        connection: Session,
        others: Collection[str],
        gone: Callable[[str], Awaitable[None]],
    ) -> None:
        """Take over those of the others that hold no lock."""
        for other in others:
            with suppress(*broken()):  # then the lock is free already, and `keep` replaces the connection
                # One at a time: a process that only lost its connection takes its own lock again.
                if not await try_lock(connection, PROCESS, other):
                    continue
                try:
                    row = await connection.execute(
                        f"SELECT 1 FROM processes WHERE id = %s AND {_SILENT}", (other, self._least_s)
                    )
                    if await row.fetchone() is not None:  # otherwise it is back, or another process did it
                        _log.warning("process %s is gone: taking over", other)
                        began = time.monotonic()
                        await gone(other)
                        await connection.execute("DELETE FROM processes WHERE id = %s", (other,))
                        _log.info("process %s is taken over, in %.1f s", other, time.monotonic() - began)
                except StorageFault as fault:
                    _log.warning("process %s could not be taken over: %s", other, fault)
                finally:
                    await unlock(connection, PROCESS, other)

    async def _close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(Exception):
                async with asyncio.timeout(ANSWER_S):
                    await connection.close()
