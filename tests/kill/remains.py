"""What a dead process left in its data folder, read from copies, because opening a database would repair it.

It knows the names of the tables, and uses no code of the product to read them.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.kill.process import LOOK_S, Events

LOCKED_S = 60.0


def rows(database: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a query; none if the database or the table does not exist yet."""
    with tempfile.TemporaryDirectory() as folder:
        for file in database.parent.glob(database.name + "*"):
            shutil.copy(file, folder)
        if not database.exists():
            return []
        with closing(sqlite3.connect(Path(folder) / database.name)) as connection:
            try:
                return connection.execute(query, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return []
                raise


def live(database: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query to a database in use; none if the database or the table does not exist yet.

    Tests that wait for a row call this up to a thousand times a second, and SQLite reads the whole schema each time
    it opens a database. Therefore a database is opened only after a change.
    """
    head = _head(database)
    return list(_read_at(database, query, head) if head else _read(database, query))


def _head(database: Path) -> bytes:
    """The two copies of the header of the WAL index, which every write transaction changes; empty without an index."""
    try:
        with Path(f"{database}-shm").open("rb") as index:
            return index.read(96).strip(b"\0")  # zeros while the index is being created
    except FileNotFoundError:
        return b""


@lru_cache(16)
def _read_at(database: Path, query: str, head: bytes) -> list[tuple[Any, ...]]:
    """The rows for this header, perhaps after a later change, which has changed the header, too."""
    return _read(database, query)


def _read(database: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query, with retries: the database is locked while a new process repairs it after a kill."""
    until = time.monotonic() + LOCKED_S
    while True:
        try:
            with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
                return connection.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if not database.exists() or "no such table" in str(error):
                return []
            if time.monotonic() > until:
                raise
            time.sleep(LOOK_S)


def cut_off(row: tuple[Any, ...]) -> bool:
    """Whether a ledger row, with state and input first, is a call that a kill cut off, with its usage until then."""
    return bool(row[0] == "stopped" and row[1] > 0)


def inbox(data: Path) -> list[tuple[str, str, str, str]]:
    """(run, verb, thread, state) of every request, in order."""
    return rows(data / "sutradhar.db", "SELECT id, verb, thread, state FROM inbox ORDER BY seq")


def steps(data: Path) -> dict[tuple[str, str], int]:
    """When each finished step ended, by (run, name)."""
    query = "SELECT workflow_uuid, function_name, completed_at_epoch_ms FROM operation_outputs"
    return {(run, name): at for run, name, at in rows(data / "engine.db", query)}


def vectors(data: Path) -> list[str]:
    """The id of every vector, as often as it occurs."""
    return sorted(
        id for (id,) in rows(data / "chroma" / "chroma.sqlite3", "SELECT embedding_id FROM embeddings")
    )


@dataclass
class Shown:
    """A stage as seen by a reader that obeys "replace"."""

    title: str
    text: str = ""
    beside: list[tuple[Any, ...]] = field(default_factory=list)


def shown(processes: list[Events], run: str) -> dict[str | None, Shown]:
    """The stages of a run over all its processes. Asserts that each repetition says "replace"."""
    stages: dict[str | None, Shown] = {}
    for events in processes:
        here: set[str | None] = set()
        for event in (event for event in events if event["run"] == run and event["event"] != "done"):
            key = event["stage"]
            if key is None and event["event"] in ("status", "speak"):  # it waits in the queue; or for a voice
                continue
            if event["event"] == "changed":  # an earlier stage has changed
                continue
            if key not in here:
                here.add(key)
                assert event["event"] == "stage", event
                assert event.get("replace", False) or key not in stages, f"{event} was shown before"
                stages[key] = Shown(event["title"])
            if event["event"] == "text":
                stages[key].text += event["text"]
            elif event["event"] == "stage":  # with the key of the open stage, it is a new title
                stages[key].title = event["title"]
            elif event["event"] != "status":
                beside = {k: v for k, v in event.items() if k not in ("run", "replace")}
                stages[key].beside.append(tuple(sorted((k, repr(v)) for k, v in beside.items())))
    return stages


def ends(processes: list[Events], run: str) -> list[str]:
    """The statuses of all "done" events of a run."""
    return [
        event["status"]
        for events in processes
        for event in events
        if event["run"] == run and event["event"] == "done"
    ]
