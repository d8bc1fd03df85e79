"""kill -9 while the extractor reads a scene or splits a turn, or a scene is continued: each happens once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.wires import WIRES
from tests.kill.conftest import CHAT
from tests.kill.instants import ALL
from tests.kill.process import ROOT, Bot
from tests.kill.remains import live, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SCENE = "A gull answers three times from below, and then nothing more is heard."
FOUND = json.dumps(
    {"summary": "A gull answers.", "characters": [{"character": "Ana", "where": "the stairs"}]}
)
PARTS = "- red sundress\n- rooftop party"
BEGIN = "/story start A lighthouse keeper finds a door in the sea\n"
TURN = "I put on the red sundress of the rooftop party once more.\n"
KINDS = "SELECT count(*) FROM story_nodes WHERE kind = '{}'"
HUNG = {"text": "and no more is said", "fault": "hang", "at": 1}


@dataclass(frozen=True)
class Service:
    """A model service in a separate process, which survives kills of the bot."""

    config: Path
    log: Path

    def calls(self, model: str) -> int:
        made = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return sum(json.loads(call)["model"] == model for call in made)


Serve = Callable[..., Service]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a service with special answers by name: "scene", "again", "found", "parts"."""
    with ExitStack() as services:

        def start(name: str, *, extract: bool = True, **otherwise: dict[str, Any]) -> Service:
            script, log, config = (tmp_path / f"{name}.{end}" for end in ("json", "jsonl", "toml"))
            answers = {
                "found": {"pieces": [FOUND]},
                "parts": {"pieces": [PARTS]},
                "scene": {"text": SCENE},
                "again": {"text": SCENE},
            }
            answers |= otherwise
            rules = [
                {"contains": "Go on with the scene.", "answer": answers["again"]},
                {"contains": "Write down what the scene says", "answer": answers["found"]},
                {"contains": "next scene", "answer": answers["scene"]},
                {"contains": "</turn>", "answer": answers["parts"]},
            ]
            written = {"service": {"models": ["big", "tiny"]}, "rules": rules, "default": {"text": SCENE}}
            script.write_text(json.dumps(written), encoding="utf-8")
            module = WIRES["chat"].module
            command = [sys.executable, "-m", module, "--script", str(script), "--log", str(log)]
            process = services.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT))
            services.callback(process.kill)
            assert process.stdout is not None
            config.write_text(
                '[providers.local]\nkind = "openai-compatible"\n'
                f'base_url = "http://127.0.0.1:{int(process.stdout.readline())}/v1"\n'
                '[roles]\nwriter = "local:big"\nanswerer = "local:big"\nextractor = "local:tiny"\n'
                f"[story]\nchoices = 0\nrecent = 1\nbatch = 1\nextract = {json.dumps(extract)}\n"
                '[recall]\ndecomposition = 0.3\nseconds = 60.0\n[embedding]\nmodel = "none"\n',
                encoding="utf-8",
            )
            return Service(config, log)

        yield start


def test_each_scene_is_read_once_however_often_the_bot_is_killed(tmp_path: Path, serve: Serve) -> None:
    data = tmp_path / "data"
    database = data / "sutradhar.db"

    def kept(kind: str) -> int:
        found: list[tuple[int]] = live(database, KINDS.format(kind))
        return found[0][0] if found else 0

    hangs = serve("hangs", found=HUNG)
    with Bot(*CHAT, data=data, config=hangs.config, stdin=BEGIN + TURN) as bot:
        # The turn has ended, and both its scenes wait for a model that does not answer.
        assert bot.strike_once(lambda: kept("scene") == 2 and hangs.calls("tiny") >= 1) == -signal.SIGKILL
    assert kept("extracted") == 0
    answers = serve("answers")
    with Bot(*CHAT, data=data, config=answers.config) as bot:
        assert bot.strike_once(lambda: kept("extracted") > 0) == -signal.SIGKILL
    with Bot(*CHAT, data=data, config=answers.config) as bot:
        assert bot.end() == 0, bot.complaints()
    found = rows(database, "SELECT turn, body FROM story_nodes WHERE kind = 'extracted' ORDER BY seq")
    assert len(found) == len({turn for turn, _ in found}) == 2, "each of the two scenes is read once"
    assert all(json.loads(body)["summary"] == "A gull answers." for _, body in found)
    assert kept("scene") == kept("act") == 2
    assert answers.calls("tiny") in (2, 3), "a kill costs the call in progress, and no other"


@pytest.mark.parametrize("held", ["parts", "scene"] if ALL else ["parts"])
def test_a_turn_killed_while_it_is_split_is_played_once(tmp_path: Path, serve: Serve, held: str) -> None:
    data = tmp_path / "data"
    database = data / "sutradhar.db"
    first = serve("first", extract=False)
    with Bot(*CHAT, data=data, config=first.config, stdin=BEGIN + 2 * "I go.\n") as bot:
        assert bot.end() == 0, bot.complaints()
    assert first.calls("tiny") == 0, "such a short turn has no parts"
    hangs = serve("hangs", extract=False, **{held: HUNG})
    with Bot(*CHAT, data=data, config=hangs.config, stdin=TURN) as bot:
        model = "tiny" if held == "parts" else "big"
        assert bot.strike_once(lambda: hangs.calls(model) == 1) == -signal.SIGKILL
    assert hangs.calls("tiny") == 1, "the model was asked for its parts"
    again = serve("again", extract=False)
    with Bot(*CHAT, data=data, config=again.config) as bot:
        assert bot.end() == 0, bot.complaints()
    acts = rows(database, "SELECT body FROM story_nodes WHERE kind = 'act'")
    assert [json.loads(body)["text"] for (body,) in acts].count(TURN.strip()) == 1
    assert rows(database, KINDS.format("scene")) == [(4,)]
    parted = 1 if held == "parts" else 0
    assert again.calls("tiny") == parted, "answers from before the kill are not paid again"
    assert again.calls("big") == 1


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
def test_a_killed_continuation_of_a_scene_is_not_paid_twice(tmp_path: Path, serve: Serve) -> None:
    data = tmp_path / "data"
    acting = {"text": "The wind turns. “I will go down alone,” Mira said. The lamp gutters."}
    hangs = serve("hangs", extract=False, scene=acting, again=HUNG)
    cast = "/story cast Mira: a diver --player Ana\n"
    with Bot(*CHAT, data=data, config=hangs.config, stdin=BEGIN + cast + "I go.\n") as bot:
        assert bot.strike_once(lambda: hangs.calls("big") == 3) == -signal.SIGKILL, bot.complaints()
    again = serve("again", extract=False)
    with Bot(*CHAT, data=data, config=again.config) as bot:
        assert bot.end() == 0, bot.complaints()
        shown = "".join(event["text"] for event in bot.events if event["event"] == "text")
    assert again.calls("big") == 1, "only the continuation"
    assert shown.strip() == f"The wind turns. {SCENE}"
    scenes = rows(data / "sutradhar.db", "SELECT body FROM story_nodes WHERE kind = 'scene' ORDER BY seq")
    assert len(scenes) == 2
    assert json.loads(scenes[-1][0])["text"] == shown.strip()
