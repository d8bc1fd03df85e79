"""kill -9 during the start of the bot: the migration, the engine's launch and the purge of its old runs."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.kill.conftest import CHAT, QUESTION, Chat, Reference
from tests.kill.instants import ALL
from tests.kill.process import Bot, Instant
from tests.kill.remains import ends, inbox, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

OLD = "SELECT count(*) FROM workflow_status WHERE workflow_uuid LIKE 'old-%'"


def test_the_first_start_survives_any_number_of_kills(
    tmp_path: Path, by_words: Path, answered: Reference
) -> None:
    chance = random.Random("start")
    data, strokes = tmp_path / "data", 12 if ALL else 5
    for n in range(strokes):
        when = answered.course.starting((n + chance.random()) / strokes)
        with Bot(*CHAT, data=data, config=by_words, stdin="/rules roll 1d1\n") as bot:
            assert bot.strike(when) == -signal.SIGKILL, bot.complaints()
    with Bot(*CHAT, data=data, config=by_words, stdin="/rules roll 1d1\n") as bot:
        assert bot.end() == 0, bot.complaints()
    assert {row[3] for row in inbox(data)} == {"done"}
    assert ends([bot.events], inbox(data)[-1][0]) == ["done"]
    assert (data / "lock").exists()
    assert not (data / "lock.pid").exists()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
def test_the_purge_of_old_runs_survives_a_kill(data: Path, chat: Chat, answered: Reference) -> None:
    shutil.copy(answered.data / "engine.db", data / "engine.db")
    grow(data / "engine.db", 900)
    chance = random.Random("purge")
    strokes = 8 if ALL else 3
    for n in range(strokes):
        with chat("" if inbox(data)[1:] else QUESTION) as bot:
            share = 0.6 + 0.4 * (n + chance.random()) / strokes
            when = Instant(0, share * answered.course.times[0])
            assert bot.strike(when) == -signal.SIGKILL, bot.complaints()
    with chat("" if inbox(data)[1:] else QUESTION) as bot:
        assert bot.end() == 0, bot.complaints()
    assert rows(data / "engine.db", OLD) == [(0,)]
    assert inbox(data)[1][3] == "done"


def grow(database: Path, runs: int) -> None:
    """Give the engine finished runs from 40 days ago, copied from an existing one."""
    with closing(sqlite3.connect(database)) as connection, connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(workflow_status)")]
        times = [name for name in columns if name.endswith("_at") or name.endswith("_epoch_ms")]
        copied = [
            "'old-' || n.value"
            if name == "workflow_uuid"
            else f"{name} - 40 * 86400000"
            if name in times
            else name
            for name in columns
        ]
        connection.execute(
            "WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ?) "
            f"INSERT INTO workflow_status ({', '.join(columns)}) SELECT {', '.join(copied)} "
            "FROM (SELECT * FROM workflow_status WHERE status = 'SUCCESS' LIMIT 1), n",
            (runs,),
        )
