"""kill -9 while the extractor reads a script's scenes: the rest is read afterwards, and nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.wires import WIRES
from tests.kill.conftest import CHAT
from tests.kill.instants import ALL
from tests.kill.process import ROOT, Bot
from tests.kill.remains import live, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SCENES = 16
CARDS = "SELECT count(*) FROM script_findings WHERE key LIKE 'scene:%'"
CARD = json.dumps({"summary": "It rains.", "purpose": "It begins."})
WHOLE = json.dumps(
    {"acts": [], "characters": [], "threads": [{"title": "Rain", "summary": "", "scenes": [1]}]}
)


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
def test_each_scene_is_read_once_however_often_the_bot_is_killed(tmp_path: Path) -> None:
    script, log, config = (tmp_path / f"model.{end}" for end in ("json", "jsonl", "toml"))
    play = tmp_path / "play.fountain"
    play.write_text(
        "Title: Rooms\n\n" + "".join(f"INT. ROOM {n} - DAY\n\nRain on roof {n}.\n\n" for n in range(SCENES)),
        encoding="utf-8",
    )
    rules = [
        {"contains": "Rain on roof", "answer": {"pieces": [CARD]}},
        {"contains": "<cast>", "answer": {"pieces": [WHOLE]}},
    ]
    written = {"service": {"models": ["big", "tiny"]}, "rules": rules, "default": {"text": "No."}}
    script.write_text(json.dumps(written), encoding="utf-8")
    command = [sys.executable, "-m", WIRES["chat"].module, "--script", str(script), "--log", str(log)]
    data = tmp_path / "data"
    database = data / "sutradhar.db"

    def cards() -> int:
        found: list[tuple[int]] = live(database, CARDS)
        return found[0][0] if found else 0

    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as service:
        assert service.stdout is not None
        try:
            config.write_text(
                '[providers.local]\nkind = "openai-compatible"\n'
                f'base_url = "http://127.0.0.1:{int(service.stdout.readline())}/v1"\n'
                '[roles]\nanswerer = "local:big"\nextractor = "local:tiny"\n[embedding]\nmodel = "none"\n',
                encoding="utf-8",
            )
            with Bot(*CHAT, data=data, config=config, stdin=f"/script add {play}\n") as bot:
                assert bot.strike_once(lambda: cards() >= 3) == -signal.SIGKILL
            with Bot(*CHAT, data=data, config=config) as bot:
                assert bot.strike_once(lambda: cards() >= 8) == -signal.SIGKILL
            with Bot(*CHAT, data=data, config=config) as bot:
                assert bot.end() == 0, bot.complaints()
        finally:
            service.kill()
    assert rows(database, "SELECT count(*) FROM scripts") == [(1,)]
    assert rows(database, CARDS) == [(SCENES,)]
    assert rows(database, "SELECT count(*) FROM script_findings WHERE key = 'whole'") == [(1,)]
    calls = sum(json.loads(line)["model"] == "tiny" for line in log.read_text(encoding="utf-8").splitlines())
    assert SCENES + 1 <= calls <= SCENES + 3, "a kill costs the call in progress, and no other"
