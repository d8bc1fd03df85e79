"""Applications on one Postgres: one of them does the work, and takes up what others left, wherever they ran."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from bot.app import App
from bot.config import Config, load
from bot.events import UserError
from bot.runs.engine import Engine
from storage.db import new_id

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def server(postgres: str) -> Iterator[str]:
    """The URL of an empty database of the test's own."""
    name = "t" + new_id().replace("-", "")
    engine = create_engine(postgres, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield postgres.replace("/postgres?", f"/{name}?")
    engine.dispose()


def settings(server: str, folder: Path) -> Config:
    folder.mkdir()
    file = folder / "config.toml"
    file.write_text(f'[storage]\nurl = "{server}"\n[embedding]\nmodel = "none"\n')
    return load(file, folder / "data", environ={})


async def test_a_second_process_is_told_so_and_may_still_look(server: str, tmp_path: Path) -> None:
    first = await App.open(settings(server, tmp_path / "first"))
    second = await App.open(settings(server, tmp_path / "second"))
    await first.start()
    with pytest.raises(UserError) as caught:
        await second.start()
    assert caught.value.key == "storage.busy_database"
    assert list(await second.resources.records.documents.list("local")) == []
    await first.close()
    await second.start()
    await second.close()


CUT = """
import asyncio, sys
from bot.runs.engine import Engine

async def main():
    async def body(run_id):
        print("begun", flush=True)
        await asyncio.Event().wait()

    engine = Engine(sys.argv[1], body)
    await engine.launch()
    await engine.start("run")
    await asyncio.Event().wait()

asyncio.run(main())
"""


def cut(server: str) -> None:
    """Kill a process in the middle of the run "run", and leave it as a release did that bore its machine's name."""
    command = [sys.executable, "-c", CUT, server]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        other.send_signal(signal.SIGKILL)
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE dbos.workflow_status SET executor_id = 'another-host'")
    engine.dispose()


async def test_a_run_that_another_machine_began_is_taken_up(server: str) -> None:
    await asyncio.to_thread(cut, server)
    begun = asyncio.Event()

    async def body(run_id: str) -> str:
        begun.set()
        return "done"

    here = Engine(server, body)
    await here.launch()
    async with asyncio.timeout(15):
        await begun.wait()
    await here.close()
