"""Reads the bot's inbox for the tests: the requests since a table was taken, and how each has ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from tests.kill.remains import live

DATABASE = "database.url"
"""The file in a data folder that says where its database is, if that is on a server."""

ENDED = ("done", "failed", "stopped")


def query(first: int) -> str:
    """The SQL for (run, state) of each request after number `first`, oldest first."""
    return f"SELECT id, state FROM inbox WHERE seq > {first} ORDER BY seq"


def rows_of(data: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query to the database of a running bot."""
    if not (data / DATABASE).exists():
        return live(data / "sutradhar.db", query)
    with psycopg.connect((data / DATABASE).read_text(encoding="utf-8")) as connection:
        return connection.execute(query.encode()).fetchall()


def requests(data: Path, first: int) -> list[tuple[str, str]]:
    """(run, state) as above for a running bot; the state is "" until the run has ended and its end is shown."""
    rows = rows_of(
        data,
        f"SELECT id, state, id IN (SELECT run_id FROM unshown) FROM inbox WHERE seq > {first} ORDER BY seq",
    )
    return [(run, state if state in ENDED and not unshown else "") for run, state, unshown in rows]


def owed(data: Path) -> set[str]:
    """The ended runs whose end is not fully shown yet."""
    return {run for (run,) in rows_of(data, "SELECT run_id FROM unshown")}


def newest(data: Path) -> int:
    """The number of the latest request, 0 where there is none."""
    rows = rows_of(data, "SELECT max(seq) FROM inbox")
    return int(rows[0][0] or 0) if rows else 0
