"""The engine stores the results of finished steps, and continues after a kill."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from sqlalchemy import event

from bot.events import Author, Place, Request, UserError
from bot.llm.completion import Completion, Usage
from bot.runs.durable_run import DurableRun
from bot.runs.engine import Engine


def request(run_id: str) -> Request:
    return Request(run_id, Place("terminal", "local", "c", "t"), Author("a", "A"), "rules", "ask")


async def answer() -> AsyncGenerator[str | Completion, None]:
    for piece in ("a", "b"):
        yield piece
    yield Completion("ab", "end", "fake:m", Usage(3, 2))


async def run_once(folder: Path, run_id: str, body: object) -> None:
    engine = Engine(f"sqlite:///{folder / 'engine.db'}", body)  # type: ignore[arg-type]
    await engine.launch()
    await engine.start(run_id)
    async with asyncio.timeout(60):
        while await engine.status(run_id) != "ended":  # noqa: ASYNC110  (the engine sets no event of ours)
            await asyncio.sleep(0.01)
    await engine.close()


async def nothing(child: Request, key: str) -> str:
    raise AssertionError("no run is begun here")


def nowhere(parent: Request, key: str, title: str) -> tuple[Place, str]:
    raise AssertionError("no conversation begins here")


async def test_an_idle_engine_rarely_polls_for_what_never_exists(tmp_path: Path) -> None:
    """Delayed runs, deadlines and schedules: about once a second each."""

    async def body(run_id: str) -> str:
        return "done"

    engine = Engine(f"sqlite:///{tmp_path / 'engine.db'}", body)
    await engine.launch()
    statements: list[str] = []
    assert engine._sqlite is not None
    event.listen(engine._sqlite, "before_cursor_execute", lambda *given: statements.append(given[2]))
    await asyncio.sleep(2.5)
    await engine.close()
    assert len(statements) > 1, "it looks for runs"
    for unused in ("delay_until_epoch_ms <=", "FROM workflow_schedules"):
        assert sum(unused in text for text in statements) <= 1, "it looks once when it is launched"


async def test_a_steps_value_keeps_its_type(tmp_path: Path) -> None:
    seen: list[object] = []

    async def body(run_id: str) -> str:
        async def value() -> list[Place]:
            return [Place("a", "b", "c", "d")]

        seen.append(await DurableRun(request(run_id), nothing, nowhere).step("value", value, list[Place]))
        return "done"

    await run_once(tmp_path, "one", body)
    assert seen == [[Place("a", "b", "c", "d")]]


async def test_a_run_can_read_the_state_of_another(tmp_path: Path) -> None:
    seen: list[str | None] = []

    async def body(run_id: str) -> str:
        seen.extend([await engine.status(run_id), await engine.status("no run")])
        return "done"

    engine = Engine(f"sqlite:///{tmp_path / 'engine.db'}", body)
    await engine.launch()
    await engine.start("one")
    async with asyncio.timeout(60):
        while await engine.status("one") != "ended":  # noqa: ASYNC110  (the engine sets no event of ours)
            await asyncio.sleep(0.01)
    await engine.close()
    assert seen == ["running", None]


async def test_a_stream_passes_on_pieces_and_ends_with_its_completion(tmp_path: Path) -> None:
    seen: list[str | Completion] = []

    async def body(run_id: str) -> str:
        seen.extend(
            [piece async for piece in DurableRun(request(run_id), nothing, nowhere).stream("answer", answer)]
        )
        return "done"

    await run_once(tmp_path, "two", body)
    assert seen == ["a", "b", Completion("ab", "end", "fake:m", Usage(3, 2))]


async def test_a_steps_error_is_raised_again_on_replay(tmp_path: Path) -> None:
    seen: list[UserError] = []

    async def body(run_id: str) -> str:
        async def no() -> int:
            raise UserError("rules.no_question", n=1, path=Path("x"))

        with pytest.raises(UserError) as caught:
            await DurableRun(request(run_id), nothing, nowhere).step("no", no, int)
        seen.append(caught.value)
        return "done"

    await run_once(tmp_path, "three", body)
    assert (seen[0].key, seen[0].values) == ("rules.no_question", {"n": 1, "path": "x"})


PROGRAM = """
import asyncio, json, os, sys
from bot.runs.durable_run import DurableRun
from bot.runs.engine import Engine
from bot.events import *
from bot.llm.completion import Completion, Usage

log = open(sys.argv[2], "a", buffering=1)

async def main():
    ended = asyncio.Event()

    async def body(run_id):
        place = Place("terminal", "local", "c", "t")
        run = DurableRun(Request(run_id, place, Author("a", "A"), "rules", "ask"), None, None)

        async def paid():
            log.write(json.dumps("paid") + "\\n")
            return 7

        async def answer():
            log.write(json.dumps("stream begins") + "\\n")
            for piece in "abc":
                yield piece
                if len(sys.argv) > 3:
                    print("in the middle", flush=True)
                    await asyncio.Event().wait()
            yield Completion("abc", "end", "fake:m", Usage(1, 3))

        value = await run.step("paid", paid, int)
        text = "".join([one async for one in run.stream("answer", answer) if isinstance(one, str)])
        log.write(json.dumps([value, text]) + "\\n")
        ended.set()
        return "done"

    engine = Engine("sqlite:///" + sys.argv[1], body)
    await engine.launch()
    if len(sys.argv) > 3:
        await engine.start("run")
    await asyncio.wait_for(ended.wait(), 20)
    await engine.close()

asyncio.run(main())
"""


def test_after_a_kill_no_finished_step_runs_again(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "engine.db"), str(tmp_path / "log")]
    with subprocess.Popen([*command, "first"], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "in the middle\n"
        first.send_signal(signal.SIGKILL)
    subprocess.run(command, check=True, timeout=60)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert lines == ["paid", "stream begins", "stream begins", [7, "abc"]]
