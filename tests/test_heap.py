"""Threads of the program share one heap, and numpy starts none."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.app import App
from tests.fakes.scripted_app import config

PEAKS = """
import sys, threading
from bot.heap import share_heap
if sys.argv[1] == "shared":
    share_heap()
def work():
    large = [bytearray(60_000) for _ in range(400)]
for _ in range(6):
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
maps = [line.split()[0].split("-")[0] for line in open("/proc/self/maps")]
print(sum(int(start, 16) % (1 << 26) == 0 for start in maps))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has heaps of threads")
def test_threads_share_one_heap() -> None:
    heaps = {
        how: int(subprocess.run([sys.executable, "-c", PEAKS, how], capture_output=True, check=True).stdout)
        for how in ("shared", "apart")
    }
    assert heaps["shared"] < heaps["apart"]


PRODUCT = """
import os
import numpy as np
np.ones((1000, 1000)) @ np.ones((1000, 1000))
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists threads in /proc")
def test_numpy_computes_in_the_calling_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    async def open_once() -> None:
        await (await App.open(config(tmp_path))).close()

    asyncio.run(open_once())
    threads = subprocess.run([sys.executable, "-c", PRODUCT], env=os.environ, capture_output=True, check=True)
    assert int(threads.stdout) == 1
