"""kill -9 while vectors are written to Postgres: none is missing, left over or duplicated."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine

from bot import models
from bot.config import load
from tests.fakes.postgres import created
from tests.kill import books
from tests.kill.process import PATIENCE_S, Bot

CHAT = ("chat", "--json", "--thread", "t")
ADD = ("library", "add", "--shelf", "rules", "--json")
QUESTION = "/rules ask For what time does the grey wild hound pursue them?\n"
"""It has no word of the books that says what it is about, so that only the meaning finds the wolf."""
VECTORS = "SELECT id FROM chunk_vectors ORDER BY id"
ON_THE_SHELF = "FROM documents WHERE state IN ('lexical', 'ready')"
DOCUMENTS = f"SELECT id, source, state, chunk_count, embedded {ON_THE_SHELF} ORDER BY source"
LEFTOVERS = "SELECT 1 FROM leftovers"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def connection(postgres: str, tmp_path: Path) -> Iterator[Connection]:
    """A connection to an empty database, whose URL is in tmp_path/config.toml."""
    if not models.present(load(environ=os.environ).models_dir, "bge-small"):
        pytest.skip("the files of bge-small are not there: python -m bot models pull")
    url = created(postgres)
    settings = f'[storage]\nurl = "{url}"\n[embedding]\nmodel = "bge-small"\n'
    (tmp_path / "config.toml").write_text(settings, encoding="utf-8")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def rows(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query; none if a table does not exist yet."""
    table = query.partition(" FROM ")[2].partition(" ")[0].rstrip(")")
    if connection.exec_driver_sql(f"SELECT to_regclass('{table}')").scalar() is None:
        return []
    return [tuple(row) for row in connection.exec_driver_sql(query)]


def whole(connection: Connection) -> bool:
    """Whether every job has ended, and the vectors are exactly those of the books on the shelf."""
    unfinished = rows(connection, "SELECT 1 FROM inbox WHERE state IN ('received', 'started')")
    found = rows(connection, DOCUMENTS)
    chunks = sorted(f"{id}:{n}" for id, _, _, count, _ in found for n in range(count))
    there = sorted(id for (id,) in rows(connection, VECTORS))
    ready = all(state == "ready" and count == embedded for _, _, state, count, embedded in found)
    return not unfinished and ready and there == chunks and not rows(connection, LEFTOVERS)


def test_after_a_killed_job_the_vectors_are_those_of_the_books_on_the_shelf(
    tmp_path: Path, connection: Connection
) -> None:
    data, config = tmp_path / "data", tmp_path / "config.toml"
    east, west = books.write(tmp_path / "east.md", 70), books.write(tmp_path / "west.md", 10)
    with Bot(*ADD, str(east), str(west), data=data, config=config) as bot:
        code = bot.strike_once(lambda: bool(rows(connection, VECTORS)))
    assert code == -signal.SIGKILL, bot.complaints()
    with Bot(*CHAT, data=data, config=config) as again:
        until = time.monotonic() + PATIENCE_S
        while not whole(connection) and time.monotonic() < until:
            time.sleep(0.1)
        again.type(QUESTION)
        assert again.end() == 0, again.complaints()
    assert whole(connection), (rows(connection, DOCUMENTS), rows(connection, VECTORS))
    assert [source for _, source, *_ in rows(connection, DOCUMENTS)] == ["east.md", "west.md"]
    ours = [event for event in again.events if event["run"] == again.events[-1]["run"]]
    assert "Wolf" in str(ours)
