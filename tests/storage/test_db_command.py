"""`python -m bot db …` on the command line: what it says, what it refuses, and how a bot goes on afterwards."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bot import cli
from bot.config import load
from bot.events import UserError
from bot.resources import Resources
from bot.runs.engine import Engine
from storage.copying import MOVED, STAGING
from storage.copying.databases import without_password
from storage.db import new_id
from storage.lock import hold
from tests.fakes import migrated
from tests.storage import filled
from tests.storage.test_copying import assert_vectors, some_vectors
from tests.storage.test_one_process import CUT, ROOT

SECRET = "s3cret/word"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a note in its database."""
    folder = tmp_path / "data"
    migrated.database(folder / "sutradhar.db")
    with closing(sqlite3.connect(folder / "sutradhar.db")) as connection:
        connection.execute("INSERT INTO marks VALUES ('a', ?, '2026-01-01')", ("long" * 250_000,))
        connection.commit()
    return folder


def db(data: Path, *arguments: str, url: str = "") -> int:
    file = data.with_name("config.toml")
    file.write_text('[embedding]\nmodel = "none"\n' + (f'[storage]\nurl = "{url}"\n' if url else ""))
    return cli.main(["--config", str(file), "--data", str(data), "db", *arguments])


async def opened(data: Path, url: str = "") -> None:
    file = data.with_name("config.toml")
    file.write_text('[embedding]\nmodel = "none"\n' + (f'[storage]\nurl = "{url}"\n' if url else ""))
    await (await Resources.open(load(file, data, environ={}))).close()


def test_wrong_commands_are_answered_and_change_nothing(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data.with_name("b.zip")
    assert db(data, "backup", str(file)) == 0
    (data / "files").mkdir()
    (data / "files" / "shown.txt").touch()
    for words, arguments in (
        ("exists already", ("backup", str(file))),
        ("There is already data here: files, sutradhar.db. Nothing was changed.", ("restore", str(file))),
        ("does not exist", ("restore", f"{file}x")),
        ("damaged", ("restore", str(data / "sutradhar.db"))),
        ("neither the address of a database", ("move", "mysql://ana@localhost/x")),
        (
            "neither the address of a database",
            ("move", f"postgresql+psycopg://ana:{SECRET}@localhost:port/x"),
        ),
        (
            "in " + f"sqlite+aiosqlite:///{data}/sutradhar.db",
            ("move", f"sqlite+aiosqlite:///{data}/sutradhar.db"),
        ),
        ("did not work", ("move", f"postgresql+psycopg://ana:{SECRET}@127.0.0.1:1/x?sslpassword={SECRET}")),
    ):
        capsys.readouterr()
        assert db(data, *arguments) == 1, arguments
        said = "".join(capsys.readouterr())
        assert words in said
        assert "s3cret" not in said
        assert "Traceback" not in said
    with hold(data / "lock"):
        assert db(data, "move", "sqlite+aiosqlite:////nowhere/x.db") == 1
        assert "in use" in capsys.readouterr().err
        assert db(data, "backup", str(file.with_name("c.zip"))) == 0  # while the bot runs
    assert (data / "sutradhar.db").exists()


def test_the_largest_tables_are_listed_first(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (data / "originals").mkdir()
    (data / "originals" / "one.pdf").write_bytes(b"x" * 3_000_000)
    assert db(data, "size", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    sizes = [part["bytes"] for part in found["parts"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == found["bytes"]
    by_name = {part["name"]: part for part in found["parts"]}
    assert by_name["originals"] == {"kind": "originals", "name": "originals", "bytes": 3_000_000, "rows": 1}
    assert by_name["marks"]["rows"] == 1
    assert 1_000_000 <= by_name["marks"]["bytes"] < 1_100_000
    assert db(data, "size") == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if "models" not in line]
    assert lines[0].split() == ["3.0", "MB", "originals", "originals", "1"]
    assert "marks" in lines[1]


async def test_a_bot_starts_only_on_the_database_that_has_the_data(data: Path) -> None:
    await opened(data)
    (data / STAGING).mkdir()
    with pytest.raises(UserError) as caught:
        await opened(data)
    assert caught.value.key == "storage.restoring"
    (data / STAGING).rmdir()
    (data / MOVED).write_text(f"sqlite:///{data}/elsewhere.db")
    with pytest.raises(UserError) as caught:
        await opened(data)
    assert caught.value.key == "storage.moved"
    await opened(data, f"sqlite+aiosqlite:///{data}/elsewhere.db")
    await opened(data)  # from then on it may be anywhere


def test_an_interrupted_run_continues_after_the_move(
    data: Path, postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = filled.another(postgres, "t" + new_id().replace("-", ""))
    command = [sys.executable, "-c", CUT, f"sqlite:///{data}/engine.db"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        other.send_signal(signal.SIGKILL)
    assert db(data, "move", url) == 0
    assert f'[storage]\nurl = "{without_password(url)}"' in capsys.readouterr().out
    assert not (data / "engine.db").exists()
    asyncio.run(goes_on(url))
    asyncio.run(opened(data, url))
    assert db(data, "size", url=url) == 0
    assert db(data, "backup", str(data / "b.zip"), url=url) == 0


def test_a_move_to_postgres_takes_the_vectors_of_the_folder_along(
    data: Path, postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = filled.another(postgres, "t" + new_id().replace("-", ""))
    asyncio.run(some_vectors(filled.where(f"sqlite:///{data}/sutradhar.db", data), data, "one", "two"))
    assert db(data, "move", url) == 0
    said = capsys.readouterr().out
    assert "Vectors are in that database, too: 5." in said
    assert "chroma.moved-" in said
    assert not (data / "chroma").exists()
    asyncio.run(assert_vectors(filled.where(url, data), data))


async def goes_on(url: str) -> None:
    begun = asyncio.Event()

    async def body(run_id: str) -> str:
        assert run_id == "run"
        begun.set()
        return "done"

    engine = Engine(url, body)
    await engine.launch()
    async with asyncio.timeout(15):
        await begun.wait()
    await engine.close()
