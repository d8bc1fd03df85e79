"""SIGTERM ends the bot within twenty seconds during a run, whether a model, a platform or a database hangs."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from storage.db import Database
from storage.faults import StorageFault
from tests.adapters.test_serving import logged, outcome, started
from tests.fakes.chat_completions import ChatService
from tests.fakes.discord import FakeDiscord
from tests.fakes.outage import Outage
from tests.fakes.reply import Reply

WITHIN_S = 20.0


@pytest.mark.parametrize(
    "hangs",
    [
        "platform",
        pytest.param("model", marks=pytest.mark.slow),
        pytest.param("database", marks=pytest.mark.slow),
    ],
)
async def test_the_bot_exits_in_time_during_a_run(tmp_path: Path, hangs: str) -> None:
    reply = Reply("one two three " * 40, fault="half_open", at=0 if hangs == "model" else 90)
    async with FakeDiscord() as fake, ChatService(lambda body: reply) as model:
        guild = fake.guild("Table")
        ana, channel = fake.user("Ana"), guild.text("general")
        guild.join(ana)
        more = f'[providers.m]\nkind = "openai-compatible"\nbase_url = "{model.base_url}"\n'
        settings = {"api": fake.api, "token": fake.token, "more": more, "roles": 'writer = "m:small"'}
        async with started(tmp_path, False, **settings) as process:
            await fake.connected()
            await fake.until(lambda: fake.commands)
            await fake.slash(ana, channel, "story start", premise="A door in the rain")
            await fake.until(lambda: model.calls)
            with ExitStack() as locked:
                if hangs == "platform":
                    Outage(fake, "hanging")
                for name in ("sutradhar.db", "engine.db") if hangs == "database" else ():
                    other = locked.enter_context(
                        closing(sqlite3.connect(tmp_path / name, isolation_level=None))
                    )
                    other.execute("BEGIN IMMEDIATE")
                began = time.monotonic()
                process.send_signal(signal.SIGTERM)
                code, _ = await outcome(process)
                took = time.monotonic() - began
    assert code == 143
    assert took < WITHIN_S, logged(tmp_path)


async def test_hurry_limits_the_wait_for_a_locked_database(tmp_path: Path) -> None:
    database = await Database.open(f"sqlite+aiosqlite:///{tmp_path / 'a.db'}", busy_timeout_s=1.0)
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        async def write() -> None:
            async with database.write() as connection:
                await connection.exec_driver_sql("SELECT 1")

        tasks = [asyncio.create_task(write()) for _ in range(30)]
        await asyncio.sleep(0)
        database.hurry(0.2)
        began = time.monotonic()
        faults = await asyncio.gather(*tasks, return_exceptions=True)
        # SQLite waits one second for the write in progress; the others would add half a minute.
        assert time.monotonic() - began < 10
        assert all(isinstance(fault, StorageFault) and fault.kind == "locked" for fault in faults)
        with pytest.raises(StorageFault):
            await database.answers()
    await database.close()


def test_a_thread_that_cannot_be_cancelled_ends_with_the_process() -> None:
    """A thread that waits for a missing file system would also keep Python from exiting."""
    code = (
        "import asyncio, os, signal, threading\n"
        "from bot.adapters import termination\n"
        "async def command():\n"
        "    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    await asyncio.Event().wait()\n"
        "termination.run(command(), within_s=0.2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 143
