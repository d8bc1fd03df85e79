"""Every child process is waited for, however often its owner is cancelled."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.terminal import player
from bot.child_process import end
from bot.model_process import ModelProcess
from bot.readers.sandbox import Sandbox
from bot.speech.engines.embedded import Spawned
from bot.speech.engines.espeak import Espeak

ASLEEP = "import time; time.sleep(1000)"
CHATTY = "import sys; sys.stdout.write('x' * 1_000_000); sys.stdout.flush(); " + ASLEEP
GAPS = [1, 2, 4]
"""How many rounds of the loop lie between the first cancellation and the second one."""


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """The processes that were started."""
    processes: list[Process] = []
    start = asyncio.create_subprocess_exec

    async def noted(*command: Any, **options: Any) -> Process:
        processes.append(await start(*command, **options))
        return processes[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    return processes


async def cancelled_twice(work: Awaitable[object], begun: list[Process], gap: int) -> None:
    """Cancel it while its process runs, and again after `gap` iterations of the loop."""
    working = asyncio.ensure_future(work)
    async with asyncio.timeout(60):
        while not begun:  # noqa: ASYNC110  (processes have no event)
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    working.cancel()
    for _ in range(gap):
        await asyncio.sleep(0)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


def program(folder: Path, code: str) -> str:
    file = folder / "program"
    file.write_text(f"#!{sys.executable}\n{code}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize("gap", GAPS)
async def test_the_reader_of_a_file_leaves_no_process(begun: list[Process], gap: int) -> None:
    reading = Sandbox(readers={".pdf": "tests.readers.badly"}).read("a.pdf", b"%PDF-hang")
    await cancelled_twice(reading, begun, gap)
    assert begun[0].returncode is not None


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("code", [ASLEEP, CHATTY], ids=["silent", "unread"])
async def test_a_cancelled_wait_leaves_no_process(begun: list[Process], code: str, gap: int) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=PIPE)
    await cancelled_twice(end(process, 60), begun, gap)
    assert process.returncode is not None


@pytest.mark.parametrize("gap", GAPS)
async def test_a_speaking_program_leaves_no_process(begun: list[Process], gap: int, tmp_path: Path) -> None:
    speaking = Espeak(program(tmp_path, ASLEEP)).say("Hello.", "", 1.0, "en")
    await cancelled_twice(speaking, begun, gap)
    assert begun[0].returncode is not None


@pytest.mark.parametrize("gap", GAPS)
async def test_an_embedded_voice_leaves_no_process(begun: list[Process], gap: int) -> None:
    voice = Spawned("hibari", ("-c", ASLEEP), 60.0, 60.0)
    await cancelled_twice(voice._in_turn("Hello.", 1.0), begun, gap)
    assert begun[0].returncode is not None


@pytest.mark.parametrize("gap", GAPS)
async def test_a_player_leaves_no_process(
    begun: list[Process], gap: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player, "PLAYERS", ((program(tmp_path, ASLEEP),),))
    await cancelled_twice(player.Player().play(tmp_path / "sound.wav"), begun, gap)
    assert begun[0].returncode is not None


def test_a_models_process_ends_when_the_loop_closes(begun: list[Process]) -> None:
    async def left_running() -> None:
        await ModelProcess.start([sys.executable, "-c", ASLEEP], {}, 1.0)

    asyncio.run(left_running())
    assert begun[0].returncode is not None


def test_an_idle_voice_ends_when_the_loop_closes(begun: list[Process]) -> None:
    async def let_go() -> None:
        ready = "print('{\"ready\": 1}', flush=True); " + ASLEEP
        voice = Spawned("hibari", ("-c", ready), 60.0, 60.0)
        voice._process = await voice._started()
        voice._let_go()

    asyncio.run(let_go())
    assert begun[0].returncode is not None


async def test_a_process_that_ends_by_itself_is_not_killed() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "exit(3)", stdout=DEVNULL)
    assert await end(process, 60) == 3
