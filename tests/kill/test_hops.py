"""kill -9 between two hops of a search: finished judgements and searches are not paid again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kill.conftest import CHAT
from tests.kill.instants import ALL
from tests.kill.process import ROOT, Bot, Instant, course
from tests.kill.remains import ends, inbox, steps

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BOOK = """# The Ferry

## The ferryman

The ferryman carries a lantern across the river, and the lantern is called Duskglass by those who wait.

## The river crossing

A ferryman and a lantern are needed to cross the river. Waiting costs a coin.

## The jetty

The ferryman hangs the lantern on a post of the jetty when the river is high.

## Smithy

Duskglass was forged by Ilmare in winter, while bells rang.

## Candles

A candle burns four hours while walking, and one hour while running.
"""
QUESTION = "/rules ask Who made the lantern of the ferryman? --strategy multi-hop --k 2\n"
ENOUGH = {"sufficient": True, "searches": []}
MORE = {"sufficient": False, "searches": ["Duskglass forged"]}
SCRIPT = {
    "rules": [
        {"contains": "- Duskglass forged", "answer": {"pieces": [json.dumps(ENOUGH)]}},
        {"contains": "<searched>", "answer": {"pieces": [json.dumps(MORE)]}},
    ],
    "default": {"text": "Ilmare forged Duskglass in the winter [1] [2]."},
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


@pytest.fixture
def config(tmp_path: Path, log: Path) -> Iterator[Path]:
    """A config with a model that judges correctly: it searches for a name in the first passages."""
    script, file = tmp_path / "script.json", tmp_path / "config.toml"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "tests.fakes.chat_completions",
        "--script",
        str(script),
        "--log",
        str(log),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        file.write_text(
            f'[providers.local]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
            '[roles]\nanswerer = "local:small"\n[embedding]\nmodel = "none"\n',
            encoding="utf-8",
        )
        yield file
        process.kill()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
def test_a_kill_between_hops_pays_nothing_twice(tmp_path: Path, config: Path, log: Path) -> None:
    data, book = tmp_path / "data", tmp_path / "ferry.md"
    book.write_text(BOOK, encoding="utf-8")
    with Bot("library", "add", str(book), "--shelf", "rules", "--json", data=data, config=config) as bot:
        course(bot)
    with Bot(*CHAT, data=data, config=config, stdin=QUESTION) as bot:
        bot.until(lambda events: any("(hop 2 of 3)" in str(event.get("text")) for event in events))
        assert bot.strike(Instant(0, 0)) == -signal.SIGKILL, bot.complaints()
    assert any("(hop 2 of 3)" in str(event.get("text")) for event in bot.events)
    with Bot(*CHAT, data=data, config=config) as again:
        assert again.end() == 0, again.complaints()
    (run,) = [row[0] for row in inbox(data)[1:]]
    assert ends([bot.events, again.events], run) == ["done"]
    done = {name for of, name in steps(data) if of == run}
    assert {"judge-1", "search-hop-2-1", "judge-2", "answer"} <= done
    calls = [json.loads(line)["prompt"] for line in log.read_text(encoding="utf-8").splitlines()]
    paid = Counter(calls)
    assert len(paid) == 3  # two judgements and the answer
    assert paid[calls[0]] == 1
    assert sum(paid.values()) <= 4  # the second judgement may have been in progress
