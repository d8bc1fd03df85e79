"""One process at a time holds a data folder, and one a database on a server."""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine

import storage
from storage.faults import StorageFault
from storage.lock import DatabaseBusy, ServerLock, StorageBusy, hold


def test_a_second_holder_learns_who_has_it(tmp_path: Path) -> None:
    with hold(tmp_path / "data" / "lock"):
        with pytest.raises(StorageBusy) as caught:
            hold(tmp_path / "data" / "lock")
        assert caught.value.pid == os.getpid()
        assert str(os.getpid()) in str(caught.value)
    hold(tmp_path / "data" / "lock").release()


def test_a_killed_holder_holds_no_more(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from storage.lock import hold; "
        f"lock = hold(Path({str(tmp_path / 'lock')!r})); print('held', flush=True); sys.stdin.read()"
    )
    root = Path(storage.__file__).parent.parent
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StorageBusy) as caught:
            hold(tmp_path / "lock")
        assert caught.value.pid == other.pid
        other.kill()
        other.wait()
        hold(tmp_path / "lock").release()


def broken(server: str) -> None:
    """Break every connection that holds a lock, as a restart of the server does."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'sutradhar %%'"
        )
    engine.dispose()
    while holders(server):
        pass


async def test_a_database_on_a_server_has_one_process(postgres: str) -> None:
    first, second = ServerLock(postgres), ServerLock(postgres)
    await first.hold()
    with pytest.raises(DatabaseBusy) as caught:
        await second.hold()
    assert caught.value.machine == platform.node()[:32]
    await first.release()
    await second.hold()
    await second.release()


def holders(server: str) -> int:
    engine = create_engine(server)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        )
        count = int(found.scalar_one())
    engine.dispose()
    return count


async def test_a_lock_whose_connection_broke_is_taken_again(postgres: str) -> None:
    lock, other = ServerLock(postgres, check_s=0.05), ServerLock(postgres)
    await lock.hold()
    broken(postgres)
    lost = asyncio.create_task(lock.lost())
    async with asyncio.timeout(60):
        while not holders(postgres):  # noqa: ASYNC110  (the server sets no event of ours)
            await asyncio.sleep(0.05)
    with pytest.raises(DatabaseBusy):
        await other.hold()
    assert not lost.done()
    lost.cancel()
    await lock.release()


async def test_a_lock_is_let_go_while_it_is_being_looked_after(postgres: str) -> None:
    for _ in range(10):
        lock = ServerLock(postgres, check_s=0.0)  # as good as always at a statement, which is cancelled
        await lock.hold()
        lost = asyncio.create_task(lock.lost())
        await asyncio.sleep(0.01)
        lost.cancel()
        with suppress(asyncio.CancelledError):
            await lost
        await lock.release()
    assert not holders(postgres)


async def test_a_lock_that_another_process_has_taken_meanwhile_is_lost(postgres: str) -> None:
    lock, other = ServerLock(postgres, check_s=0.05), ServerLock(postgres)
    await lock.hold()
    broken(postgres)
    await other.hold()
    async with asyncio.timeout(60):
        await lock.lost()
    await lock.release()
    await other.release()


async def test_a_server_that_is_away_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(StorageFault) as caught:
        await ServerLock(f"postgresql+psycopg://nobody@/none?host={tmp_path}").hold()
    assert caught.value.kind == "other"
