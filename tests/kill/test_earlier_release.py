"""A data folder of an earlier release opens, and its unfinished runs continue to their end.

tests/kill/earlier holds the two databases of commit c9014b7, as SQL, after three kill -9 of its process: a council in
the thread "a" was cut off while its chair wrote, one in "b" at the last ballot, one in "c" at the last answer.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.kill.conftest import CHAT
from tests.kill.process import ROOT, Bot
from tests.kill.remains import ends, inbox, rows, shown
from tests.kill.test_council import sitting
from tests.wire.council_model import DISSENT, SYNTHESIS, Call

EARLIER = ROOT / "tests" / "kill" / "earlier"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("sutradhar", "engine"):
        with closing(sqlite3.connect(folder / f"{name}.db")) as connection:
            connection.executescript((EARLIER / f"{name}.sql").read_text(encoding="utf-8"))
    return folder


@pytest.mark.timeout(600)
def test_councils_of_an_earlier_release_end_and_repeat_no_stored_call(tmp_path: Path, data: Path) -> None:
    settled = rows(data / "sutradhar.db", "SELECT step FROM ledger WHERE state = 'settled'")
    assert len(settled) == 18, "eight of the first council, seven of the second, three of the third"
    with sitting(tmp_path / "models") as council:
        with Bot(*CHAT, data=data, config=council.config) as bot:
            assert bot.end() == 0, bot.complaints()
        paid = council.paid()
    assert [(thread, state) for _, _, thread, state in inbox(data)] == [(one, "done") for one in "abc"]
    for run, *_ in inbox(data):
        assert ends([bot.events], run) == ["done"]
        text = shown([bot.events], run)["synthesis"].text
        assert SYNTHESIS in text
        assert DISSENT in text
    assert paid == {
        **{Call("chair", "synthesis"): 3, Call("m4", "answer"): 1, Call("m4", "ballot"): 2},
        **{Call(f"m{n}", "ballot"): 1 for n in (1, 2, 3)},
    }
    ((kept,),) = rows(data / "sutradhar.db", "SELECT count(*) FROM councils WHERE verdict != ''")
    assert kept == 3
