"""The bot's inbox as the tests read it: which requests came since a table was taken, and how each has ended."""

from __future__ import annotations

from pathlib import Path

from tests.kill.remains import live

ENDED = ("done", "failed", "stopped")


def query(first: int) -> str:
    """For the (run, state) of each request after the one numbered `first`, oldest first."""
    return f"SELECT id, state FROM inbox WHERE seq > {first} ORDER BY seq"


def requests(data: Path, first: int) -> list[tuple[str, str]]:
    """(run, state) as above, of a bot that is at work; "" for a state while it has not ended, or is not shown."""
    rows, unshown = live(data / "sutradhar.db", query(first)), owed(data)
    return [(run, state if state in ENDED and run not in unshown else "") for run, state in rows]


def owed(data: Path) -> set[str]:
    """The runs of which something is not on the screen yet, though they have ended."""
    return {run for (run,) in live(data / "sutradhar.db", "SELECT run_id FROM unshown")}


def newest(data: Path) -> int:
    """The number of the latest request, 0 where there is none."""
    rows = live(data / "sutradhar.db", "SELECT max(seq) FROM inbox")
    return int(rows[0][0] or 0) if rows else 0
