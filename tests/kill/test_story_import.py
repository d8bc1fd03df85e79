"""kill -9 while a chat log is imported and embedded: all of it exists or none, and the same command continues."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bot import models
from bot.config import load
from tests.kill.process import Bot, Instant
from tests.kill.remains import live, rows

LINES = 120
IMPORT = ("story", "import", "--json")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config with the real embedding model."""
    if not models.present(load().models_dir, "bge-small"):
        pytest.skip("the files of bge-small are not there: python -m bot models pull")
    file = tmp_path_factory.mktemp("settings") / "config.toml"
    file.write_text('[embedding]\nmodel = "bge-small"\n', encoding="utf-8")
    return file


def count(database: Path, table: str, read: Callable[[Path, str], list[tuple[int]]] = rows) -> int:
    found = read(database, f"SELECT count(*) FROM {table}")
    return found[0][0] if found else 0


def test_an_import_killed_repeatedly_is_complete_at_the_end(tmp_path: Path, config: Path) -> None:
    log, data = tmp_path / "log.jsonl", tmp_path / "data"
    lines = [
        {"id": at, "speaker": "Gina", "text": f"I hid key number {at} under the step."} for at in range(LINES)
    ]
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    database = data / "sutradhar.db"

    def start() -> Bot:
        return Bot(*IMPORT, str(log), data=data, config=config)

    def learnt(least: int) -> bool:
        return count(database, "story_vectors", live) >= least

    with start() as bot:  # before anything exists
        assert bot.strike(Instant(0, 0.5)) == -9
    assert count(database, "story_nodes") in (0, LINES)
    with start() as bot:
        assert bot.strike_once(lambda: count(database, "story_nodes", live) > 0) == -9
    assert count(database, "story_nodes") == LINES, "all at once"
    for least in (1, 60):
        with start() as bot:
            assert bot.strike_once(partial(learnt, least)) == -9
        assert least <= count(database, "story_vectors") < LINES, (
            "the stored vectors are kept, and the import continues after them"
        )
    with start() as bot:
        assert bot.wait() == 0, bot.complaints()
        (said,) = bot.events
    assert said["turns"] == LINES
    assert count(database, "stories") == count(database, "story_branches") == 1
    assert count(database, "story_nodes") == count(database, "story_vectors") == LINES
    assert rows(database, "SELECT id FROM stories") == [(said["story"],)]
    with start() as bot:  # and another start changes nothing
        assert bot.wait() == 0, bot.complaints()
        assert bot.events == [said]
    assert count(database, "story_nodes") == count(database, "story_vectors") == LINES
