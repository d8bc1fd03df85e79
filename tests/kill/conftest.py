"""What the kill tests share: a data folder with books, a separate model service, and undisturbed runs.

By default the kills come at a seeded sample of the instants; with SUTRADHAR_KILLS=all, at every one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot import models
from bot.config import load
from tests.fakes.wires import WIRES, Wire
from tests.kill.process import ROOT, Bot, Course, course

ANSWER = (
    "A candle burns for four hours of walking or one hour of running [1]. "
    "When the last candle goes out, the Night takes the next turn [1]."
)
QUESTION = "/rules ask How many hours of walking does a candle burn?\n"
CHAT = ("chat", "--json", "--thread", "t")


@dataclass(frozen=True)
class Service:
    """The loopback model service in a separate process, which survives kills of the bot."""

    wire: Wire
    port: int
    log: Path

    def calls(self) -> int:
        """The number of paid calls."""
        return len(self.log.read_bytes().splitlines()) if self.log.exists() else 0


@contextmanager
def serving(wire: Wire, folder: Path, *first: Mapping[str, Any]) -> Iterator[Service]:
    """A service that always gives the same answer, word by word, after the replies in `first`."""
    script, log = folder / "script.json", folder / "calls.jsonl"
    replies = {"answers": first, "default": {"text": ANSWER, "delay_s": 0.03}}
    script.write_text(json.dumps(replies), encoding="utf-8")
    command = (sys.executable, "-m", wire.module, "--script", str(script), "--log", str(log))
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield Service(wire, int(process.stdout.readline()), log)
        finally:
            process.kill()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(WIRES["chat"], tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture(scope="session")
def by_words(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings with a model that answers and lexical search only."""
    return settings(service, "none", tmp_path_factory.mktemp("settings"))


@pytest.fixture(scope="session")
def by_meaning(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the real embedding model, whose files must exist."""
    if not models.present(load(environ=os.environ).models_dir, "bge-small"):
        pytest.skip("the files of bge-small are not there: python -m bot models pull")
    return settings(service, "bge-small", tmp_path_factory.mktemp("settings"))


def settings(service: Service, embedder: str, folder: Path) -> Path:
    """A config file with the service as the answerer."""
    file = folder / "config.toml"
    file.write_text(
        f"""
[providers.local]
kind = "{service.wire.kind}"
base_url = "{service.wire.url(service.port)}"
[roles]
answerer = "local:small"
[embedding]
model = "{embedder}"
""",
        encoding="utf-8",
    )
    return file


@pytest.fixture(scope="session")
def shelf(by_words: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one book, for lexical search. Copy it before use."""
    data = tmp_path_factory.mktemp("shelf") / "data"
    book = str(ROOT / "examples" / "lanterns.md")
    with Bot("library", "add", book, "--shelf", "rules", "--json", data=data, config=by_words) as bot:
        course(bot)
    return data


@dataclass(frozen=True)
class Reference:
    """The undisturbed answer to the question, and the data folder afterwards."""

    course: Course
    data: Path


@pytest.fixture(scope="session")
def answered(shelf: Path, by_words: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    data = tmp_path_factory.mktemp("answered") / "data"
    shutil.copytree(shelf, data)
    with Bot(*CHAT, data=data, config=by_words, stdin=QUESTION) as bot:
        return Reference(course(bot), data)


@pytest.fixture
def data(shelf: Path, tmp_path: Path) -> Path:
    """A separate data folder with one book."""
    return Path(shutil.copytree(shelf, tmp_path / "data"))


@pytest.fixture
def halting(tmp_path: Path) -> Iterator[tuple[Service, Path]]:
    """A separate service whose first answer stops after some words for ever; and its settings."""
    folder = tmp_path / "halting"
    folder.mkdir()
    with serving(WIRES["chat"], folder, {"text": ANSWER, "fault": "hang", "at": 8}) as service:
        yield service, settings(service, "none", folder)


Chat = Callable[..., Bot]


@pytest.fixture
def chat(data: Path, by_words: Path) -> Chat:
    """Starts `chat --json --thread t` on the test's data folder."""

    def start(stdin: str = "", *, config: Path = by_words) -> Bot:
        return Bot(*CHAT, data=data, config=config, stdin=stdin)

    return start
