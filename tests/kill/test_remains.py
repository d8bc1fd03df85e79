"""Reading a database in use returns the latest transaction, and reading it again without a change costs little."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.fakes import migrated
from tests.kill.remains import live

COUNT = "SELECT count(*) FROM looked_at"


def test_every_transaction_is_seen_even_after_a_checkpoint_or_a_replacement(
    tmp_path: Path,
) -> None:
    database = tmp_path / "some.db"
    assert live(database, COUNT) == []
    for _ in range(2):
        with closing(sqlite3.connect(database)) as writer:
            writer.execute("PRAGMA journal_mode=WAL")
            writer.execute("CREATE TABLE IF NOT EXISTS looked_at (id INTEGER)")
            writer.commit()
            for number in range(40):
                assert live(database, COUNT) == live(database, COUNT) == [(number,)]
                writer.execute("INSERT INTO looked_at VALUES (1)")
                assert live(database, COUNT) == [(number,)]
                writer.commit()
                if number % 10 == 9:
                    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            assert live(database, COUNT) == [(40,)]
        assert live(database, COUNT) == [(40,)]
        database.unlink()
        assert live(database, COUNT) == []


def test_reading_again_without_a_change_costs_a_twentieth(tmp_path: Path) -> None:
    data = migrated.folder(tmp_path)
    database = data / migrated.STORAGE
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("CREATE TABLE looked_at (id INTEGER)")

        def change() -> None:
            writer.execute("INSERT INTO looked_at VALUES (1)")
            writer.commit()

        def seconds(before: Callable[[], None]) -> float:
            spent = 0.0
            for _ in range(50):
                before()
                began = time.process_time()
                live(database, COUNT)
                spent += time.process_time() - began
            return spent

        assert 20 * seconds(lambda: None) < seconds(change)
