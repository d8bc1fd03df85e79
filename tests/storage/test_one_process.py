"""An application on Postgres takes over the runs of other processes, wherever those ran."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import create_engine, text

from bot.app import App
from bot.config import Config, load
from bot.events import Author, Place, Request, UserError
from bot.platforms import Platform
from bot.runs.requests import row_of
from storage import postgres_vectors
from storage.db import new_id
from storage.lease import Lease
from storage.postgres_vectors import PostgresVectors
from tests.fakes.scripted_app import Recorder
from tests.storage.test_postgres_vectors import document

ROOT = Path(__file__).resolve().parents[2]
VECTOR = np.ones((1, 3), np.float32)


@pytest.fixture
def server(postgres: str) -> Iterator[str]:
    """The URL of an empty database for this test."""
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
    """Kill a process in the middle of the run "run", and leave it as a release did that used its machine's
    name.
    """
    command = [sys.executable, "-c", CUT, server]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        other.send_signal(signal.SIGKILL)
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE dbos.workflow_status SET executor_id = 'another-host'")
    engine.dispose()


async def test_a_run_that_an_earlier_release_began_on_another_machine_is_taken_over(
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


@pytest.mark.timeout(60)
async def test_a_first_start_waits_for_an_open_transaction(server: str, tmp_path: Path) -> None:
    app, reading = await App.open(settings(server, tmp_path / "first")), asyncio.Event()

    async def read() -> None:
        # As several reads of one moment do: the snapshot lasts as long as the transaction.
        engine = app.records.database._engine.execution_options(isolation_level="REPEATABLE READ")
        async with engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
            reading.set()
            await asyncio.sleep(2)

    reader = asyncio.create_task(read())
    await reading.wait()
    await app.start()
    await reader
    await app.close()


async def test_a_second_process_without_shared_vectors_is_refused_but_may_read(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_vectors, "OLDEST", (99, 0))
    lease = Lease(server)
    app = await App.open(settings(server, tmp_path / "first", '[embedding]\nmodel = "bge-small"\n'))
    await lease.take()
    with pytest.raises(UserError) as caught:
        await app.start()
    assert caught.value.key == "storage.several"
    assert list(await app.resources.records.documents.list("local")) == []
    await lease.release()
    await app.close()


@pytest.mark.parametrize("model", ["bge-small", "none"])
async def test_several_processes_share_the_vectors_in_postgres_until_one_has_a_chroma_server(
    server: str, tmp_path: Path, model: str
) -> None:
    lease = Lease(server)
    app = await App.open(settings(server, tmp_path / "first", '[embedding]\nmodel = "bge-small"\n'))
    assert isinstance(app.resources.vectors, PostgresVectors)
    await lease.take()
    await app.start()
    await app.resources.vectors.add("local", "rules", "bge-small", ["a:0"], VECTOR, "a")
    await app.close()
    chroma = f'chroma_url = "http://127.0.0.1:9"\n[embedding]\nmodel = "{model}"\n'
    other = await App.open(settings(server, tmp_path / "other", chroma))
    with pytest.raises(UserError) as caught:
        await other.start()
    assert caught.value.key == "storage.vectors_elsewhere"
    assert await postgres_vectors.used(other.resources.records.database)
    await lease.release()
    await other.close()


CHROMA = 'chroma_url = "http://127.0.0.1:9"\n'
EMBEDDING = '[embedding]\nmodel = "bge-small"\n'


@pytest.mark.parametrize(
    ("first", "second"),
    [(CHROMA, ""), ("", CHROMA), (CHROMA, CHROMA.replace("9", "10"))],
    ids=["postgres", "chroma", "another_server"],
)
async def test_a_process_with_another_store_is_refused_before_any_book_has_vectors(
    server: str, tmp_path: Path, first: str, second: str
) -> None:
    app = await App.open(settings(server, tmp_path / "first", first + EMBEDDING))
    await app.start()
    other = await App.open(settings(server, tmp_path / "second", second + EMBEDDING))
    with pytest.raises(UserError) as caught:
        await other.start()
    assert caught.value.key == "storage.vectors_elsewhere"
    await other.close()
    await app.close()


@pytest.mark.parametrize("started", [False, True], ids=["looked", "refused"])
async def test_an_empty_table_of_a_wrong_process_costs_no_vectors_on_the_chroma_server(
    server: str, tmp_path: Path, started: bool
) -> None:
    app = await App.open(settings(server, tmp_path / "first", CHROMA + EMBEDDING))
    database, embedded = app.resources.records.database, text("SELECT embedded FROM documents")
    await document(database, "on-the-server", 3, maker="bge-small")
    await app.start()
    wrong = await App.open(settings(server, tmp_path / "wrong", EMBEDDING))
    if started:
        with pytest.raises(UserError):
            await wrong.start()
    await wrong.close()
    await app.close()
    lease = Lease(server)
    await lease.take()
    again = await App.open(settings(server, tmp_path / "again", CHROMA + EMBEDDING))
    await again.start()
    database = again.resources.records.database
    assert await database.column(embedded) == [3]
    assert not await postgres_vectors.used(database)
    await again.close()
    await lease.release()


@pytest.mark.parametrize("model", ["bge-small", "none"])
async def test_a_process_without_the_chroma_server_of_the_others_is_refused_and_forgets_no_vectors(
    server: str, tmp_path: Path, model: str
) -> None:
    lease, embedding = Lease(server), f'[embedding]\nmodel = "{model}"\n'
    app = await App.open(settings(server, tmp_path / "first", embedding))
    assert isinstance(app.resources.vectors, PostgresVectors)
    database, embedded = app.resources.records.database, text("SELECT embedded FROM documents")
    await document(database, "on-the-server", 3, maker="bge-small")
    await lease.take()
    with pytest.raises(UserError) as caught:
        await app.start()
    assert caught.value.key == "storage.vectors_elsewhere"
    assert await database.column(embedded) == [3]
    await lease.release()
    await app.close()
    app = await App.open(settings(server, tmp_path / "alone", embedding))
    await app.start()
    assert await app.resources.records.database.column(embedded) == [0]
    await app.close()


async def test_vectors_are_made_again_where_the_store_has_changed(server: str, tmp_path: Path) -> None:
    """From the data folder, to Postgres, to a Chroma server: search never takes a document for one with vectors."""
    embedding = '[embedding]\nmodel = "bge-small"\n'
    steps = (
        ("folder", embedding),
        ("postgres", embedding),
        ("chroma", f'chroma_url = "http://127.0.0.1:9"\n{embedding}'),
    )
    for name, more in steps:
        with pytest.MonkeyPatch.context() as patch:
            if name == "folder":
                patch.setattr(postgres_vectors, "OLDEST", (99, 0))
            app = await App.open(settings(server, tmp_path / name, more))
        await app.start()
        database = app.resources.records.database
        if name == "postgres":
            one = np.eye(1, 8, dtype=np.float32)
            await app.resources.vectors.add("local", "rules", "bge-small", ["new:0"], one, "new")
            await document(database, "new", 1, maker="bge-small")
        rows = await database.execute(text("SELECT id, embedded FROM documents ORDER BY id"))
        assert [tuple(row) for row in rows] == {
            "folder": [],
            "postgres": [("new", 1), ("old", 0)],
            "chroma": [("new", 0), ("old", 0)],
        }[name]
        if name == "folder":
            await document(database, "old", 3, maker="bge-small")
        await app.close()
