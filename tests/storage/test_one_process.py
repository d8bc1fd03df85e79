"""An application on a Postgres: it takes up what others left, wherever they ran."""

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
from bot.events import Author, Place, Request, UserError
from bot.platforms import Platform
from bot.runs.requests import row_of
from storage.db import new_id
from storage.lease import Lease
from tests.fakes.scripted_app import Recorder

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


def settings(server: str, folder: Path, more: str = '[embedding]\nmodel = "none"\n') -> Config:
    folder.mkdir()
    file = folder / "config.toml"
    file.write_text(f'[storage]\nurl = "{server}"\n{more}')
    return load(file, folder / "data", environ={})


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


async def test_a_run_that_an_earlier_release_began_on_another_machine_is_taken_up(
    server: str, tmp_path: Path
) -> None:
    app, recorder = await App.open(settings(server, tmp_path / "first")), Recorder()
    app.attach(Platform("terminal", recorder.view))
    place = Place("terminal", "local", "terminal", "")
    request = Request("run", place, Author("ana", "Ana"), "rules", "roll", text="1d1")
    await app.records.inbox.receive([row_of(request)])
    await asyncio.to_thread(cut, server)
    await app.start()
    async with asyncio.timeout(60):
        assert await app.ended("run") == "done"
    await app.close()


async def test_a_second_process_without_a_common_chroma_is_refused_and_may_still_look(
    server: str, tmp_path: Path
) -> None:
    lease = Lease(server)
    app = await App.open(settings(server, tmp_path / "first", '[embedding]\nmodel = "bge-small"\n'))
    await lease.take()
    with pytest.raises(UserError) as caught:
        await app.start()
    assert caught.value.key == "storage.several"
    assert list(await app.resources.records.documents.list("local")) == []
    await lease.release()
    await app.close()
