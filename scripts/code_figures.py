"""Measures the code: how many files and functions one cited answer passes through, and how much code there
is.

    .venv/bin/python -m scripts.code_figures
    .venv/bin/python -m scripts.code_figures Slack  # which files and functions the answer on Slack passes (or Discord)

Traces the bot, as a user starts it, on a loopback Discord and Slack: the second answer after a start, from the question
to the answer's last words. Takes half a minute. docs/architecture.md has the target figures.
"""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from bot.retrieval import missing_vectors
from bot.works.schedule import calendar

ROOT = Path(__file__).parent.parent
OURS = ("bot", "cogs", "storage")
COUNTED = ("bot", "cogs")


def main() -> None:
    print("| | files | functions |\n|---|---:|---:|")
    for platform in ("Discord", "Slack"):
        passed = asyncio.run(answered(platform))
        files = {file for file, _ in passed}
        print(f"| one cited answer on {platform} | {len(files)} | {len(passed)} |")
    modules = [path for folder in COUNTED for path in sorted((ROOT / folder).rglob("*.py"))]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules)
    print(f"\n{' + '.join(COUNTED)}: {lines:,} lines in {len(modules)} files")


def listed(platform: str) -> None:
    """Print the functions that one cited answer calls, by file."""
    passed = asyncio.run(answered(platform))
    for file in sorted({file for file, _ in passed}):
        names = sorted(name for path, name in passed if path == file)
        print(f"{file} ({len(names)})", *names, sep="\n    ")


async def answered(platform: str) -> set[tuple[str, str]]:
    """(file, function) of our own code that one cited answer calls; lambdas and comprehensions are functions, too."""
    from tests.fakes.discord import FakeDiscord
    from tests.fakes.slack import FakeSlack
    from tests.wire.on_discord import OnDiscord
    from tests.wire.on_slack import OnSlack
    from tests.wire.process import UnforkedProcess
    from tests.wire.shared_bot import SharedBot
    from tests.wire.stories import STORIES

    story = STORIES["a cited answer"]
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder) / "calls.json"

        class Traced(UnforkedProcess):
            module = ("scripts.code_figures", str(calls))

        kinds: dict[str, tuple[Any, Any]] = {
            "Discord": (FakeDiscord, OnDiscord),
            "Slack": (FakeSlack, OnSlack),
        }
        fake, on = kinds[platform]
        drive = type("Drive", (on,), {"process_of": Traced})
        shared: SharedBot[Any] = SharedBot(Path(folder), fake, drive, tables=2)
        try:
            await story(await shared.table())
            table = await shared.table()
            os.kill(table.process.pid, signal.SIGUSR1)
            await story(table)
            os.kill(table.process.pid, signal.SIGUSR2)
            while not calls.exists():  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.02)
        finally:
            await shared.close()
        return {(file, name) for file, name in json.loads(calls.read_text(encoding="utf-8"))}


def traced(calls: Path, arguments: list[str]) -> None:
    """Run the bot; SIGUSR1 begins to record calls, SIGUSR2 writes them to the file."""
    # The background rounds are no part of an answer, so none comes while calls are recorded.
    calendar.ROUND_S = missing_vectors.FIRST_S = 3_600.0  # type: ignore[misc]
    codes: set[CodeType] = set()
    noting = False

    def note(frame: FrameType, event: str, _given: object) -> None:
        if noting and event == "call":
            codes.add(frame.f_code)

    def begin(_number: int, _frame: FrameType | None) -> None:
        nonlocal noting
        noting = True

    def write(_number: int, _frame: FrameType | None) -> None:
        nonlocal noting
        noting = False
        half = calls.with_suffix(".half")
        half.write_text(json.dumps(sorted(_named(codes))), encoding="utf-8")
        half.rename(calls)

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, write)
    threading.setprofile(note)
    sys.setprofile(note)
    sys.argv = ["bot", *arguments]
    runpy.run_module("bot", run_name="__main__", alter_sys=True)


def _named(codes: set[CodeType]) -> Iterator[tuple[str, str]]:
    for code in codes:
        path = Path(code.co_filename)
        if (
            path.is_relative_to(ROOT)
            and path.relative_to(ROOT).parts[0] in OURS
            and code.co_name != "<module>"
        ):
            yield str(path.relative_to(ROOT)), code.co_qualname


if __name__ == "__main__":
    if sys.argv[1:] in (["Discord"], ["Slack"]):
        listed(sys.argv[1])
    elif len(sys.argv) > 1:
        traced(Path(sys.argv[1]), sys.argv[2:])
    else:
        main()
