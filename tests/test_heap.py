"""Threads of the program share one heap."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
def test_threads_make_no_heaps_of_their_own() -> None:
    heaps = {
        how: int(subprocess.run([sys.executable, "-c", PEAKS, how], capture_output=True, check=True).stdout)
        for how in ("shared", "apart")
    }
    assert heaps["shared"] < heaps["apart"]
