"""A turn with tools that is killed between any two steps repeats no call of a model or a tool."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import pytest

from bot.events import Status
from bot.llm.completion import Completion
from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.reply import Reply
from tests.fakes.run import MemoryRun
from tests.kill.instants import ALL
from tests.llm.course import OUTLINE, SEARCH, Course, events_of
from tests.llm.table import Seat

T = TypeVar("T")

STEPS = [
    *("answer", "answer-call-2", "answer-call-3", "answer-cast"),
    *("answer-tool-1-1", "answer-tool-1-2", "answer-tool-2-1"),
]


def script() -> list[Reply]:
    return [
        Reply("Both.", calls=[OUTLINE, SEARCH], reasoning=["hm"]),
        Reply(calls=[SEARCH], reasoning=["more"]),
        Reply("Rerankers [1].", reasoning=["so"]),
    ]


class Killed(BaseException):
    """Raised in place of a kill."""


class Mortal(MemoryRun):
    """Runs until this many steps are stored; with `left` None it is not killed."""

    left: int | None = None

    def _kept(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        fresh = name not in self.kept
        value = await super().step(name, call, of)
        if fresh:
            self._kept()
        return value

    async def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        fresh = name not in self.kept
        async with aclosing(super().stream(name, call)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion) and fresh:
                    self._kept()
                yield piece


@pytest.mark.parametrize("kills", range(len(STEPS)))
async def test_a_turn_killed_between_any_two_steps_repeats_nothing(seat: Seat, kills: int) -> None:
    """Each process in turn is killed once it has stored this many more steps."""
    course = Course()
    at = await seat(script())
    run = Mortal()
    processes = 0
    while processes < 20:
        processes += 1
        run.left = kills
        loop = course.loop(at.models, run)
        try:
            events = await events_of(loop)
        except Killed:
            run = Mortal(steps=run.kept)
            continue
        break
    assert sorted(run.kept) == STEPS
    assert processes > 1
    assert at.services[0].script == [], "each reply was asked for once"
    assert len(at.services[0].counts) == sum(at.services[0].counts.values()) == 3
    assert [name for name, _ in course.asked] == ["outline", "search", "search"]
    assert [row.state for row in await at.ledger.entries("local", "run-1")] == ["settled"] * 3
    assert (loop.text, loop.ended, loop.rounds) == ("Both. \n\nRerankers [1]. ", "answer", 2)
    assert [event.text for event in events if isinstance(event, Status)] == [
        "Reading the outline: RAG · Searching the lessons: Rerankers",
        "Searching the lessons: Rerankers",
    ]
    assert loop.usage.output_tokens == at.services[0].output_tokens


PROGRAM = """
import asyncio, os, signal, sys
from contextlib import aclosing
from pathlib import Path

from bot.config import Config, ProviderConfig, RolesConfig
from bot.events import *
from bot.llm.completion import Completion
from bot.llm.registry import Models
from bot.runs.durable_run import DurableRun
from bot.runs.engine import Engine
from storage.db import Database
from storage.ledger import Ledger
from tests.llm.course import Course, events_of

folder, left, urls = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
log = (folder / "log").open("a", buffering=1)


async def meanwhile(name):
    log.write(f"tool {name}\\n")


class Mortal(DurableRun):
    async def step(self, name, call, of):
        async def counted():
            fresh.append(name)
            return await call()

        fresh = []
        value = await super().step(name, counted, of)
        self.kept(bool(fresh))
        return value

    async def stream(self, name, call):
        async def counted():
            fresh.append(name)
            async with aclosing(call()) as pieces:
                async for piece in pieces:
                    yield piece

        fresh = []
        async with aclosing(super().stream(name, counted)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    self.kept(bool(fresh))
                yield piece

    def kept(self, fresh):
        global left
        left -= fresh
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def main():
    ended = asyncio.Event()
    db = await Database.open(f"sqlite+aiosqlite:///{folder / 'sutradhar.db'}")
    config = Config(
        folder,
        folder,
        providers={name: ProviderConfig(name, "anthropic", url) for name, url in zip("ab", urls)},
        roles=RolesConfig(answerer=tuple(f"{name}:small" for name, _ in zip("ab", urls))),
    )
    models = Models(config, Ledger(db))

    async def body(run_id):
        place = Place("terminal", "local", "c", "t")
        run = Mortal(Request(run_id, place, Author("a", "A"), "rules", "ask"), None, None)
        loop = Course(meanwhile).loop(models, run)
        await events_of(loop)
        log.write(f"{loop.ended} {loop.text!r}\\n")
        ended.set()
        return "done"

    engine = Engine(f"sqlite:///{folder / 'engine.db'}", body)
    await engine.launch()
    await engine.start("run-1")
    await ended.wait()
    await models.close()
    await engine.close()
    await db.close()


asyncio.run(main())
"""


async def killed(folder: Path, kills: int, *services: MessagesService) -> list[str]:
    """The logs of one process after the other, each killed once it has stored this many more steps."""
    urls = [service.base_url for service in services]
    codes: list[int | None] = []
    while len(codes) < 20 and codes[-1:] != [0]:
        command = (sys.executable, "-c", PROGRAM, str(folder), str(kills), *urls)
        process = await asyncio.create_subprocess_exec(*command)
        async with asyncio.timeout(120):
            codes.append(await process.wait())
    assert codes == [*[-signal.SIGKILL] * (len(codes) - 1), 0]
    assert len(codes) > 2
    return (folder / "log").read_text().splitlines()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [0, 2] if ALL else [2])
async def test_real_processes_killed_one_after_the_other_repeat_nothing(tmp_path: Path, kills: int) -> None:
    async with MessagesService(script()) as service:
        *tools, end = await killed(tmp_path, kills, service)
    assert service.script == []
    assert sum(service.counts.values()) == 3, "nothing was paid twice"
    # With two tools at once, the second may be running at the kill; it is repeated, like any step.
    assert set(tools) == {"tool outline", "tool search"}
    assert 3 <= len(tools) <= 4
    assert end == "answer 'Both. \\n\\nRerankers [1]. '"


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_turn_that_another_model_has_restarted_survives_a_kill(tmp_path: Path) -> None:
    failing = [Reply("Look.", calls=[OUTLINE], reasoning=["hm"]), Reply(status=402)]
    async with MessagesService(failing) as first, MessagesService(script()) as second:
        _, *_, end = await killed(tmp_path, 0, first, second)
    assert (first.calls, second.calls) == (2, 3)
    assert end == "answer 'Look. \\n\\nBoth. \\n\\nRerankers [1]. '"
