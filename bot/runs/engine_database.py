"""The database of the durable engine (DBOS): its addresses, its tables and its connections.

Its rows are copied unchanged: an unfinished run continues from them in any database.
"""

from __future__ import annotations

import logging
import re
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.db import CACHE, SCRUB_MS, SCRUBS
from storage.faults import StorageFault, fault_of
from storage.patience import network_limits

if TYPE_CHECKING:
    from sqlalchemy import Engine as SqlEngine

    from storage.copying.databases import Addresses
    from storage.lease import Lease

SCHEMA = "dbos"
VERSIONS = "dbos_migrations"
RUNS = "workflow_status"

IDLE_MS = 60_000
"""After how many idle milliseconds the server ends one of the engine's transactions."""

QUIET_S = 60.0
"""For how many seconds only one line says that the database is away."""
_LOST = re.compile(
    r"psycopg\.(OperationalError|errors\.(AdminShutdown|CrashShutdown|CannotConnectNow))"
    r"|server closed the connection|terminating connection|connection (is|was) (bad|closed|lost)"
)
"""What DBOS logs of a psycopg error if the server is away."""

_log = logging.getLogger(__name__)


def addresses(url: str | None, data: Path) -> Addresses:
    """The addresses of the storage's and the engine's database; `url` is the config's, None for files in `data`."""
    from storage.copying.databases import Addresses

    storage = (url or f"sqlite:///{data / 'sutradhar.db'}").replace("sqlite+aiosqlite:", "sqlite:", 1)
    engine = f"sqlite:///{data / 'engine.db'}" if storage.startswith("sqlite") else storage
    return Addresses(storage, engine, SCHEMA, VERSIONS, RUNS)


def keep_quiet() -> None:
    """Keep DBOS from logging to the console, as it does if its logger has no handler, and from filling the log while
    the database is away.
    """
    logger = logging.getLogger("dbos")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    if not logger.filters:
        logger.addFilter(_outage_filter())


def _outage_filter() -> Callable[[logging.LogRecord], bool]:
    """A filter that drops records about a lost connection, which DBOS's threads repeat several times a second.

    One line a minute is logged in their place as a warning, and each of them with its traceback at level DEBUG.
    """
    quiet_until = 0.0

    def passes(record: logging.LogRecord) -> bool:
        nonlocal quiet_until
        message, fault = record.getMessage(), record.exc_info[1] if record.exc_info else None
        if not (fault_of(fault).away if fault is not None else _LOST.search(message)):
            return True
        _log.debug("%s", message, exc_info=fault)
        if time.monotonic() >= quiet_until:
            quiet_until = time.monotonic() + QUIET_S
            _log.warning(
                "the database is away; runs wait for it: %s", str(fault or message).partition("\n")[0]
            )
        return False

    return passes


def prepare(url: str) -> None:
    """Create the engine's tables if they are missing, and migrate them to this release. Raises StorageFault."""
    keep_quiet()
    from dbos import DBOS

    try:
        DBOS.migrate(url, schema=SCHEMA)
    except Exception as error:  # any error of its drivers
        raise fault_of(error) from error


def server_engine(url: str, lease: Lease) -> SqlEngine:
    """An engine for a database server; its connections close with the lease."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.engine import ExceptionContext

    arguments: dict[str, Any] = {
        "application_name": lease.name,
        "options": f"-c idle_in_transaction_session_timeout={IDLE_MS}",
    }
    arguments |= network_limits(url)
    engine = create_engine(url, connect_args=arguments, pool_pre_ping=True, pool_size=20, max_overflow=0)
    event.listen(engine, "connect", lease.admit)

    @event.listens_for(engine, "handle_error")
    def _no_connection(context: ExceptionContext) -> None:
        # DBOS waits for a server only if it knows the text of the error, and it does not know that of a missing socket.
        if context.connection is None and fault_of(context.original_exception).away:
            context.is_disconnect = True

    return engine


def sqlite_engine(url: str, busy_timeout_s: float) -> SqlEngine:
    """An engine for SQLite in WAL mode: with the default settings each step takes five times as long."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.engine import ExceptionContext

    engine = create_engine(url, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _record: object) -> None:
        busy = f"busy_timeout={int(busy_timeout_s * 1000)}"
        wal = "journal_mode=WAL", "synchronous=NORMAL"
        for pragma in (busy, "foreign_keys=ON", *wal, "secure_delete=ON", CACHE):
            connection.execute(f"PRAGMA {pragma}").close()
        if sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42):
            # DBOS calls unixepoch('subsec'), which these versions of SQLite do not have.
            connection.create_function("unixepoch", 1, lambda _: time.time())

    @event.listens_for(engine, "handle_error")
    def _translated(context: ExceptionContext) -> None:
        # DBOS would retry a locked file forever, while a person waits.
        fault = fault_of(context.original_exception)
        if fault.kind != "other":
            raise StorageFault(fault.kind, "the engine's database") from context.original_exception

    return engine


def checkpoint(engine: SqlEngine) -> None:
    """Empty SQLite's write-ahead log into the database, unless readers block this too long."""
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        ((busy_ms,),) = cursor.execute("PRAGMA busy_timeout").fetchall()
        cursor.execute(f"PRAGMA busy_timeout={SCRUB_MS}").fetchall()
        for _ in range(SCRUBS):  # writers, and so steps, wait meanwhile
            with suppress(sqlite3.Error):
                ((busy, *_rest),) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if not busy:
                    break
        cursor.execute(f"PRAGMA busy_timeout={busy_ms}").fetchall()
        cursor.close()
    finally:
        connection.close()
