"""`python -m bot` that writes its objects and memory as a line of JSON on SIGUSR2: `python -m
benchmarks.counted_bot …`.

The file is COUNTED in the environment. Each line: {"tasks": {coroutine: count}, "objects": {type: count}, "blocks": the
number that Python has allocated, "python_mb": their size, "used_mb" and "free_mb": what C's allocator has in use and
free}.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from bot.cli import main

FILE_ENV = "COUNTED"


def count(*_: object) -> None:
    """Write the counts; runs in the main thread, where the event loop is."""
    gc.collect()
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # free memory in glibc's arenas is not in use
    blocks = sys.getallocatedblocks()
    tasks = Counter(_name(task) for task in asyncio.all_tasks())
    objects = Counter(f"{type(held).__module__}.{type(held).__qualname__}" for held in gc.get_objects())
    with Path(os.environ[FILE_ENV]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"tasks": tasks, "objects": objects, "blocks": blocks, **_allocated()}) + "\n")


class _MallInfo(ctypes.Structure):
    """glibc's `struct mallinfo2` (mallinfo(3)), in bytes."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    ))  # fmt: skip


def _allocated() -> dict[str, float]:
    """What Python's allocator has in use and, with glibc, what C's allocator holds in all its arenas."""
    with tempfile.TemporaryFile() as file:
        stderr = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        file.seek(0)
        told = re.search(rb"# bytes in allocated blocks\s*=\s*([\d,]+)", file.read())
    python = {"python_mb": int(told[1].replace(b",", b"")) / 1e6 if told else 0.0}
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return python
    mallinfo.restype = _MallInfo
    info = mallinfo()
    return python | {"used_mb": (info.uordblks + info.hblkhd) / 1e6, "free_mb": info.fordblks / 1e6}


def _name(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return str(getattr(coroutine, "__qualname__", coroutine))


if __name__ == "__main__":
    signal.signal(signal.SIGUSR2, count)
    sys.exit(main())
