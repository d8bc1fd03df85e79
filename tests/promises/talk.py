"""A conversation with the real application, line by line, through the feed that `chat --json` reads.

Everything is real except the person: the test supplies the typed lines and keeps the output.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.feed import Feed
from bot.adapters.terminal.outputs import JsonLines
from bot.app import App
from bot.config import Config, load
from bot.llm.deadlines import Timeouts
from bot.llm.registry import Models
from bot.resources import Resources
from bot.words import Words
from storage.ledger import Ledger
from tests.fakes import migrated
from tests.fakes.model_service import ModelService
from tests.fakes.wires import kind_of
from tests.forked import completed
from tests.kill.process import environment

Events = list[dict[str, Any]]

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-" + "promise" * 6
NAMES = ("fake", "second", "third")
PATIENCE_S = 90.0
QUICK = Timeouts(connect=5, first=3, idle=2.5, total=15)

BOOK = """# The Keeper's Handbook

## Grappled

A grappled creature's speed becomes zero until the grapple ends. It cannot benefit from any bonus to its
speed. The condition ends when the grappler is incapacitated.

## Lanterns

A hooded lantern casts bright light for thirty feet and burns six hours on a flask of oil.

## Drowning

A swimmer who runs out of breath survives for a number of rounds equal to half their toughness.
"""
ASK = "/rules ask What happens to the speed of a grappled creature?"
EXTRACTIVE = "Here are the passages themselves, word for word."
ANSWER = "The speed of a grappled creature becomes zero [1]."


class Talk:
    """An open chat. `events` has everything that it showed."""

    def __init__(self, app: App | None = None) -> None:
        self.app = app
        self.events: Events = []
        self.code: int | None = None
        self._typed: asyncio.Queue[str | None] = asyncio.Queue()
        self._news = asyncio.Event()

    async def say(self, line: str) -> Events:
        """Type a line and wait for its end; returns the events shown."""
        start = len(self.events)
        await self.type(line)
        await self.until(lambda events: any(e["event"] == "done" for e in events), start)
        return self.events[start:]

    async def type(self, line: str) -> None:
        await self._typed.put(line)

    async def until(self, ready: Any, start: int = 0) -> None:
        """Wait until `ready(events since start)`."""
        async with asyncio.timeout(PATIENCE_S):
            while not ready(self.events[start:]):
                self._news.clear()
                await self._news.wait()

    async def lines(self) -> AsyncIterator[str]:
        while (line := await self._typed.get()) is not None:
            yield line

    def write(self, data: bytes) -> int:
        self.events.append(json.loads(data))
        self._news.set()
        return len(data)

    def flush(self) -> None:
        pass

    async def hang_up(self) -> None:
        await self._typed.put(None)


@asynccontextmanager
async def talking(
    config: Config,
    *,
    thread: str = "t",
    busy_timeout_s: float = 10.0,
    application: type[App] = App,
    interrupted: bool = False,
) -> AsyncIterator[Talk]:
    """The chat as a program opens it, in this process. `interrupted`: it ends in the middle, as by Ctrl-C."""
    talk = Talk()

    async def opened() -> App:
        talk.app = await application.open(config, busy_timeout_s=busy_timeout_s)
        return talk.app

    out: Any = talk
    feed = Feed(Conversation("en", thread), JsonLines(out), overtake=True)
    Words.to_operator = True  # as bot.cli does for every command but `run`
    running = asyncio.create_task(feed.run(opened(), talk.lines()))
    try:
        yield talk
    finally:
        Words.to_operator = False
        if interrupted:
            running.cancel()
            await asyncio.wait({running})
        else:
            await talk.hang_up()
            async with asyncio.timeout(PATIENCE_S):
                talk.code = await running


def settings(data: Path, *services: ModelService, toml: str = "") -> Config:
    """A config for `data`, with a service of any API as the answerer; each further service is a fallback.

    There are no vectors unless `toml` configures them, and scenes are not extracted unless it has a table for stories.
    """
    text = toml or '[embedding]\nmodel = "none"\n'
    text += "" if "[story]" in text else "[story]\nextract = false\n"
    for number, service in enumerate(services):
        text += (
            f'[providers.{NAMES[number]}]\nkind = "{kind_of(service)}"\nbase_url = "{service.base_url}"\n'
            'api_key_env = "FAKE_KEY"\n'
        )
    chain = [f"{name}:small" for name in NAMES[: len(services)]]
    # Without this table the demo model would be used, if its files exist.
    text += f"[roles]\nanswerer = {json.dumps(chain)}\n" if chain else "[roles]\n"
    file = data.with_name(data.name + ".toml")
    file.write_text(text, encoding="utf-8")
    models = {name: value for name, value in os.environ.items() if name == "SUTRADHAR_MODELS"}
    return load(file, migrated.folder(data), {"FAKE_KEY": KEY, **models})


def of(events: Events, *names: str) -> Events:
    """The events of these kinds."""
    return [event for event in events if event["event"] in names]


def texts(events: Events, *names: str) -> str:
    return ("\n" if names else "").join(event["text"] for event in of(events, *(names or ("text",))))


def status(events: Events) -> str:
    """The final status of the only run; checks that there is one "done", at the end."""
    assert [event["event"] for event in events].count("done") == 1, events
    assert events[-1]["event"] == "done", events
    return str(events[-1]["status"])


def sentence(events: Events) -> str:
    """The only sentence of a failed run."""
    assert status(events) == "failed", events
    (failed,) = of(events, "failed")
    text = str(failed["text"])
    assert "Traceback" not in text
    assert "\n" not in text
    return text


def bot(
    *arguments: str, data: Path, stdin: bytes = b"", config: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """`python -m bot …` in a separate process, forked from one that has imported everything."""
    given = ["--config", str(config)] if config else []
    line = [*given, "--data", str(data), *arguments]
    return completed(line, {**environment(), **environ}, ROOT, stdin, PATIENCE_S)


def cold_bot(*arguments: str, data: Path, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """`python -m bot …` as a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "bot", "--data", str(data), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=ROOT,
        env={**environment(), **environ},
        timeout=PATIENCE_S,
        check=False,
    )


def heard(done: subprocess.CompletedProcess[bytes]) -> Events:
    """The JSON events of a process, whose standard output must contain nothing else."""
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return [json.loads(line) for line in io.BytesIO(done.stdout)]


def answer(events: Events) -> str:
    """The text of the answer."""
    return texts([event for event in events if event.get("stage") == "answer"]).strip()


async def ledger_of(talk: Talk) -> list[Any]:
    """The ledger's rows, oldest first."""
    from storage.tables import ledger

    assert talk.app is not None
    async with talk.app.resources.records.database.read() as connection:
        return list(await connection.execute(ledger.select().order_by(ledger.c.id)))


async def asked(config: Config) -> tuple[Events, list[Any]]:
    """Ask once; returns the events and the ledger's rows."""
    async with talking(config) as talk:
        events = await talk.say(ASK)
        rows = await ledger_of(talk)
        assert status(await talk.say("/rules books")) == "done"
    return events, rows


def quick(config: Config) -> AbstractAsyncContextManager[Talk]:
    """A chat that waits only briefly for its models."""

    class Impatient(App):
        @classmethod
        async def open(cls, config: Config, *, busy_timeout_s: float = 10.0) -> App:
            resources = await Resources.open(config, busy_timeout_s=busy_timeout_s)
            models = Models(
                config, Ledger(resources.records.database), timeouts=QUICK, sleep=lambda _: asyncio.sleep(0)
            )
            return cls(replace(resources, models=models), resources.engine_url, busy_timeout_s=busy_timeout_s)

    return talking(config, application=Impatient)
