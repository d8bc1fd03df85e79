"""Measures how fast the command line answers, as a ratio to `python -c pass` in the same minute."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect

from benchmarks.figures import Figure

RUNS = 21
PROMPT = "›"


def figures() -> Iterator[Figure]:
    """`--help` and the prompt, each paired run by run with an empty Python."""
    yield _ratio("`--help`, ratio to `python -c pass`", _help_s, reach=8, aim=4)
    yield _ratio("prompt ready, ratio to `python -c pass`", _prompt_s, reach=40, aim=20)


def _ratio(label: str, timed: object, *, reach: float, aim: float) -> Figure:
    assert callable(timed)
    timed()
    ratios, seconds = [], []
    for _ in range(RUNS):
        empty = _spent([sys.executable, "-c", "pass"])
        seconds.append(timed())
        ratios.append(seconds[-1] / empty)
    ratio = statistics.median(ratios)
    shown = f"{ratio:.1f} ({statistics.median(seconds) * 1000:.0f} ms)"
    return Figure(label, shown, f"≤ {reach:g}", f"{aim:g}", ratio <= reach)


def _spent(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return time.perf_counter() - began


def _help_s() -> float:
    return _spent([sys.executable, "-m", "bot", "--help"])


def _prompt_s() -> float:
    with tempfile.TemporaryDirectory() as folder:
        # As at any start but the very first.
        (Path(folder) / "sutradhar.db").touch()
        began = time.perf_counter()
        child = pexpect.spawn(
            sys.executable, ["-m", "bot", "--data", folder, "chat"], encoding="utf-8", timeout=60
        )
        child.expect(PROMPT)
        spent = time.perf_counter() - began
        child.close(force=True)
    return spent
