"""The leases of processes that share a Postgres: who holds one, who loses it, and the notices between them."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from zlib import crc32

import pytest
from dbos._sys_db_postgres import PostgresSystemDatabase
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from bot.runs import engine as runs_engine
from bot.runs.engine import POLL_S, SELDOM_S, Engine
from bot.runs.engine_database import server_engine
from storage.db import Database, close_when_returned
from storage.faults import StorageFault
from storage.lease import LEASE_S, Lease, LeaseLost
from storage.processes import tell
from tests.fakes.proxy import Proxy

PATIENCE_S = 60.0


async def until(met: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not met():  # noqa: ASYNC110 - the server sets no event of ours
            await asyncio.sleep(0.02)


@asynccontextmanager
async def kept(lease: Lease) -> AsyncIterator[tuple[asyncio.Task[None], list[str]]]:
    """The lease with its heartbeat, and the processes that it takes over."""
    gone: list[str] = []

    async def take_over(process: str) -> None:
        gone.append(process)

    await lease.take()
    keeping = asyncio.create_task(lease.keep(take_over))
    yield keeping, gone
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
    await lease.release()


def broken(server: str, lease: Lease) -> None:
    """Break every connection of the lease's process, as a restart of the server does."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{lease.name}'"
        )
    engine.dispose()


def has_row(server: str, lease: Lease) -> bool:
    """Whether the process has a row, so it runs or is not taken over yet."""
    engine = create_engine(server)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(f"SELECT 1 FROM processes WHERE id = '{lease.id}'").all()
    engine.dispose()
    return bool(found)


async def test_an_ended_process_is_taken_over_by_exactly_one_other(server: str) -> None:
    dead, first, second = (Lease(server, beat_s=0.05, grace_s=0.5) for _ in range(3))
    await dead.take()
    async with kept(first) as (_, one), kept(second) as (_, other):
        await asyncio.sleep(0.3)
        assert one + other == [], "it lives"
        await dead.release()
        await until(lambda: one + other)
        await asyncio.sleep(0.3)
        assert one + other == [dead.id]


async def test_a_lease_is_kept_while_another_process_is_taken_over(server: str) -> None:
    """However long that takes: otherwise the process that takes over would be taken over itself, and so on."""
    dead, first, second = (Lease(server, beat_s=0.05, lease_s=0.6, grace_s=0.3) for _ in range(3))
    began, took = list[str](), list[str]()

    async def slowly(process: str) -> None:
        began.append(process)
        await asyncio.sleep(2)
        took.append(process)

    await dead.take()
    await first.take()
    keeping = asyncio.create_task(first.keep(slowly))
    await dead.release()
    await until(lambda: began)
    async with kept(second) as (_, gone):
        await until(lambda: took or gone)
        await asyncio.sleep(0.3)
        assert (took, gone) == ([dead.id], [])
        first.check()
        assert not keeping.done()
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
    await first.release()


async def test_a_takeover_does_not_wait_for_the_next_heartbeat(server: str) -> None:
    """It uses the connection that waits for notices, which is busy meanwhile."""
    dead, other = Lease(server, beat_s=3.0, grace_s=0.2), Lease(server, beat_s=3.0, grace_s=0.2)
    await dead.take()
    async with kept(other) as (_, gone):
        await dead.release()
        began = time.monotonic()
        await until(lambda: gone)
        assert time.monotonic() - began < 8.0, "the first beat, and hardly more"


async def test_a_process_that_no_longer_renews_its_lease_can_no_longer_write(server: str) -> None:
    frozen, other = Lease(server, lease_s=0.5), Lease(server, beat_s=0.05, lease_s=0.5, grace_s=0.3)
    database = await Database.open(server, lease=frozen)
    left: list[str] = []
    frozen.leave = lambda: left.append("left")
    await frozen.take()
    async with database.write():
        pass
    async with kept(other) as (_, gone):
        await until(lambda: gone)
        assert gone == [frozen.id]
        await until(lambda: not has_row(server, frozen))
        assert not left, "it is frozen"
        with pytest.raises(LeaseLost):
            frozen.check()
        assert left, "before anything else is done"
        with pytest.raises(LeaseLost):
            async with database.write():
                pass
        frozen._lease_s = PATIENCE_S  # as if its clock had stopped: the server accepts no connection from it
        left.clear()
        with pytest.raises(StorageFault):
            async with database.write():
                pass
        assert left
    await database.close()
    await frozen.release()


async def test_a_connection_lost_while_claiming_a_name_does_no_harm(server: str) -> None:
    first, second = (Lease(server, beat_s=0.02, grace_s=5.0) for _ in range(2))
    missed: list[int] = []
    second.hear("topic", missed.append, lambda: missed.append(1))
    async with kept(first) as (looking_after, _), kept(second) as (keeping, _):
        assert await first.try_claim(["a name"]) == ["a name"]
        second._grace_s = 0.0
        claiming = asyncio.create_task(claimed(second, "a name"))
        for times in range(1, 6):
            await asyncio.sleep(0.03 * times)
            missed.clear()
            broken(server, second)
            await until(lambda: missed)
        assert not keeping.done()
        assert not claiming.done()
        looking_after.cancel()  # else it would take the name back
        await asyncio.wait({looking_after})
        await first.release()
        await claiming


async def claimed(lease: Lease, name: str) -> None:
    while not await lease.try_claim([name]):  # noqa: ASYNC110 - another process sets no event of ours
        await asyncio.sleep(0.02)


async def test_a_lease_survives_a_lost_connection(server: str) -> None:
    lease, other, missed = (
        Lease(server, beat_s=0.05, grace_s=0.5),
        Lease(server, beat_s=0.05, grace_s=0.5),
        list[str](),
    )
    lease.hear("topic", missed.append, lambda: missed.append("something"))
    async with kept(lease) as (keeping, _), kept(other) as (_, gone):
        assert await lease.try_claim(["a name"])
        broken(server, lease)
        await until(lambda: missed)
        assert not keeping.done()
        claiming = asyncio.create_task(claimed(other, "a name"))
        await asyncio.sleep(1.0)
        assert gone == []
        assert not claiming.done()
        claiming.cancel()


async def test_the_bot_waits_for_locks_that_the_server_releases_late(server: str) -> None:
    lease = Lease(server, beat_s=0.05)
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    async with kept(lease) as (keeping, _):
        with engine.connect() as late:
            key = (0x5376, crc32(lease.id.encode()) - 2**31)
            before = lease._connected
            broken(server, lease)
            late.exec_driver_sql(f"SELECT pg_advisory_lock({key[0]}, {key[1]})")
            await until(lambda: lease._connected > before)
            await asyncio.sleep(0.5)
            assert not keeping.done()
            late.exec_driver_sql("SELECT pg_advisory_unlock_all()")
        await until(lambda: lease._connection is not None)
        await asyncio.sleep(0.2)
        assert not keeping.done()
        lease.check()
    engine.dispose()


async def test_a_notice_reaches_only_the_other_processes(server: str) -> None:
    teller, hearer = Lease(server, beat_s=0.05, grace_s=0.5), Lease(server, beat_s=0.05, grace_s=0.5)
    own, heard = list[str](), list[str]()
    teller.hear("topic", own.append)
    hearer.hear("topic", heard.append)
    database = await Database.open(server, lease=teller)
    async with kept(teller), kept(hearer):
        await tell(database, "other topic", "nothing")
        await tell(database, "topic", "a café")
        await until(lambda: heard)
        assert heard == ["a café"]
        assert own == []
    await database.close()


async def test_a_name_belongs_to_one_process_until_it_ends_or_releases_it(server: str) -> None:
    first, second = (Lease(server, beat_s=0.05, grace_s=0.5) for _ in range(2))
    async with kept(second):
        async with kept(first):
            assert await first.try_claim(["a name", "another"]) == ["a name", "another"]
            assert await first.try_claim(["a name"]) == []
            assert await second.try_claim(["a name", "another", "a third"]) == ["a third"]
            await first.unclaim("another")
            assert await second.try_claim(["another"]) == ["another"]
        async with asyncio.timeout(PATIENCE_S):
            await claimed(second, "a name")


async def test_a_missing_server_is_an_error(tmp_path: object) -> None:
    with pytest.raises(StorageFault) as caught:
        await Lease(f"postgresql+psycopg://nobody@/none?host={tmp_path}").take()
    assert caught.value.kind == "other"


def bears_s(connection: Any) -> float:
    """How many seconds the kernel waits for an acknowledgement of what this connection sends."""
    with socket.socket(fileno=os.dup(connection.pgconn.socket)) as its_socket:
        assert its_socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        return its_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000


async def test_no_connection_waits_for_hours_after_a_network_loss(server: str) -> None:
    url = make_url(server)
    path = f"{url.query['host']}/.s.PGSQL.5432"
    with Proxy(partial(asyncio.open_unix_connection, path)) as proxy:
        await bears_little(f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/{url.database}")


async def bears_little(through: str) -> None:
    lease = Lease(through)
    database = await Database.open(through, lease=lease)
    await lease.take()
    async with database.read() as connection:
        raw = await connection.get_raw_connection()
        assert 5 <= bears_s(raw.driver_connection) <= LEASE_S
    assert 5 <= bears_s(lease._connection) <= LEASE_S
    engine = server_engine(through, lease)
    with await asyncio.to_thread(engine.connect) as connected:
        assert 5 <= bears_s(connected.connection.driver_connection) <= LEASE_S
    await asyncio.to_thread(engine.dispose)
    own = await Database.open(f"{through}?tcp_user_timeout=7000")
    async with own.read() as connection:
        assert bears_s((await connection.get_raw_connection()).driver_connection) == 7
    await own.close()
    await lease.release()
    await database.close()


async def test_a_process_polls_less_often_for_runs_that_nobody_waits_for(server: str) -> None:
    async def nothing(run: str) -> str:
        return run

    lease = Lease(server)
    await lease.take()
    engine = Engine(server, nothing, lease=lease)
    await engine.launch(["slack", "watch"], patient=["watch"])
    database = create_engine(server)
    with database.connect() as connection:
        rows = connection.exec_driver_sql("SELECT name, polling_interval_sec FROM dbos.queues").all()
    database.dispose()
    await engine.close()
    await lease.release()
    assert dict(map(tuple, rows)) == {
        "lines-slack": POLL_S,
        "taken-over-slack": SELDOM_S,
        "lines-watch": SELDOM_S,
        "taken-over-watch": SELDOM_S,
    }


async def test_the_engines_tables_are_migrated_once_and_off_the_event_loop(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[bool] = []
    migrate = PostgresSystemDatabase.run_migrations

    def noted(system: PostgresSystemDatabase) -> None:
        threads.append(threading.current_thread() is threading.main_thread())
        migrate(system)

    async def nothing(run: str) -> str:
        return run

    monkeypatch.setattr(PostgresSystemDatabase, "run_migrations", noted)
    lease = Lease(server)
    await lease.take()
    engine = Engine(server, nothing, lease=lease)
    await engine.launch(["slack"])
    await engine.close()
    await lease.release()
    assert threads == [False]


async def none_before(run: str) -> list[str]:
    return []


@pytest.mark.parametrize("late", [True, False])
async def test_a_request_keeps_its_place_in_line_even_if_its_process_was_slow_or_died(
    server: str, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """It is stored first; the engine hears of it later, or never."""
    monkeypatch.setattr(runs_engine, "STARTED_S", PATIENCE_S if late else 0.2)
    ran: list[str] = []

    async def body(run: str) -> str:
        ran.append(run)
        return run

    async def answered(run: str) -> None:
        await until(lambda: run in ran)

    async def earlier(run: str) -> list[str]:
        return ["first"] if run == "second" and "first" not in ran else []

    lease = Lease(server)
    await lease.take()
    engine = Engine(server, body, lease=lease, earlier=earlier, answered=answered)
    await engine.launch(["slack"])
    try:
        await engine.start("second", "slack", "line", 2)
        if late:
            await asyncio.sleep(2 * POLL_S)
            assert ran == []
            await engine.start("first", "slack", "line", 1)
        await until(lambda: len(ran) == 2)
        async with asyncio.timeout(PATIENCE_S):
            while set((await engine.statuses("first", "second")).values()) != {"ended"}:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    finally:
        await engine.close()
        await lease.release()
    assert ran == ["first", "second"]


async def test_waiting_runs_move_to_the_queues_of_their_new_parts_in_order(server: str) -> None:
    """This happens when a bot that had one shard starts with two."""
    ran: list[str] = []

    async def body(run: str) -> str:
        ran.append(run)
        return run

    async def answered(run: str) -> None:
        await until(lambda: run in ran)

    async def route(run: str) -> str | None:
        return {"a": "discord.1", "b": "discord", "x": None, "s": "slack.1"}[run[0]]

    def queues() -> dict[str, str]:
        with database.connect() as connection:
            rows = connection.exec_driver_sql("SELECT workflow_uuid, queue_name FROM dbos.workflow_status")
            return {run.removeprefix("turn:"): queue for run, queue in rows}

    lease, database = Lease(server), create_engine(server)
    await lease.take()
    engine = Engine(server, body, lease=lease, earlier=none_before, answered=answered)
    await engine.launch()
    try:
        # Put in out of order, while nobody takes them.
        for number in (3, 1, 2):
            await engine.start(f"a{number}", "discord", "line a", number)
        await engine.start("b1", "discord.1", "line b", 4)
        await engine.start("a without a line", "discord")
        await engine.start("x is unknown", "discord", "line x", 5)
        await engine.start("s1", "slack", "line s", 6)
        await engine.start("a elsewhere", "discordant", "line a", 7)
        await engine.move_waiting("discord", route)
        moved = queues()
        assert moved == {
            "a1": "lines-discord.1",
            "a2": "lines-discord.1",
            "a3": "lines-discord.1",
            "b1": "lines-discord",
            "a without a line": "taken-over-discord.1",
            "x is unknown": "lines-discord",
            "s1": "lines-slack",
            "a elsewhere": "lines-discordant",
        }
        await engine.move_waiting("discord", route)
        assert queues() == moved, "once they are where they should be, they stay"
        await engine.listen("discord.1")
        await until(lambda: len(ran) == 4)
        assert [run for run in ran if run != "a without a line"] == ["a1", "a2", "a3"]
    finally:
        await engine.close()
        await lease.release()
        database.dispose()


def test_a_connection_returned_after_its_engine_was_disposed_of_is_closed(server: str) -> None:
    """SQLAlchemy alone leaves it open until it is collected."""
    engine = create_engine(server)
    with engine.connect() as connection:
        driver = connection.connection.dbapi_connection
        close_when_returned(engine)
        engine.dispose()
    assert driver is not None
    assert driver.closed
