"""The process that parses one file: `python -m bot.readers.child MODULE PARENT`.

Standard input has the file's name (as JSON) on its first line, then its bytes; MODULE's `read` makes a Document from
them. The input may be hostile, so the process has few rights and no key in its environment. It answers in `frames` on
standard output, and ends soon after its parent, the process PARENT.

The kernel and a thread limit its resources. If a system lacks one of these limits (Windows has none of this kind, only
Linux has /proc), the others still apply, and so does the time limit of the process that waits for it (see `sandbox`).
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from bot import process_limits
from bot.events import UserError
from bot.readers import frames
from bot.readers.document import Document, Progress

EVERY_S: Final = 0.2
"""Seconds between two reports of progress."""

_WORDLESS: Final = "library.file_wordless"

Read = Callable[[str, bytes, Progress], Document]
MEMORY_BYTES: Final = 600_000_000
"""The most resident memory of a parser's process; Python and a parser's library use 30 MB of it before they read a
byte.
"""

WALL_BYTES: Final = 800_000_000
"""The most data memory, limited by the kernel (Linux from 4.7): for memory allocated at once, or while no other thread
can run.
"""

CPU_S: Final = 240
FILES: Final = 64
WATCHED_S: Final = 0.05
OUT_OF_MEMORY: Final = 77
"""Exit code: the process exceeded its memory limit."""

ORPHANED: Final = 78
"""Exit code: the parent process has ended."""


def main(module: str, parent: int) -> None:
    """Read the file on standard input with `module`, for the parent process with the id `parent`; answer and exit."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not mix with the frames
    try:
        # Before the limits, so that Python can store its compiled code.
        reader = importlib.import_module(module)
        read_document: Read = reader.read
    except ImportError as fault:
        reason = f"{type(fault).__name__}: {fault.name}"
        out.write(
            frames.framed(frames.SORRY, {"key": "library.file_unguarded", "values": {"reason": reason}})
        )
        return
    own_environment = {
        name: getattr(reader, name)
        for name in ("CPU_S", "MEMORY_BYTES", "WALL_BYTES")
        if hasattr(reader, name)
    }
    limit(parent, **{name.lower(): value for name, value in own_environment.items()})
    name = json.loads(sys.stdin.buffer.readline())
    try:
        answer = frames.framed(*_answer(read_document, name, sys.stdin.buffer.read(), _ProgressWriter(out)))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    if len(answer) > frames.LONGEST:
        os._exit(OUT_OF_MEMORY)
    out.write(answer)
    out.flush()
    # Skips the libraries' exit handlers, which may take long and can only fail.
    os._exit(0)


def _answer(read: Read, name: str, data: bytes, progress: Progress) -> tuple[bytes, object]:
    try:
        document = read(name, data, progress)
        body = frames.encode_document(document)
    except UserError as error:
        values = {
            key: value if isinstance(value, int | float) else str(value)[:200]
            for key, value in error.values.items()
        }
        # A file without bytes was refused before; what a reader calls empty has content, but no words.
        key = _WORDLESS if error.key == "library.file_empty" else error.key
        return frames.SORRY, {"key": key, "values": values}
    except MemoryError:
        raise
    except Exception as fault:
        return frames.SORRY, {"key": "library.file_crashes", "values": {}, "at": fault_location(fault)}
    if document.text.strip():
        return frames.DOCUMENT, body
    return frames.SORRY, {"key": _WORDLESS, "values": {}}


def fault_location(fault: BaseException) -> str:
    """The exception's type and location, without the file's content."""
    import traceback  # takes a tenth of the start-up time, and is seldom needed

    steps = traceback.extract_tb(fault.__traceback__)
    ours = [step for step in steps if "readers" in Path(step.filename).parts]
    locations = dict.fromkeys(
        f"{Path(step.filename).name}:{step.lineno}" for step in (*ours[-1:], *steps[-1:])
    )
    return f"{type(fault).__name__} at {', '.join(locations)}"


class _ProgressWriter:
    """Writes a progress frame at most every EVERY_S seconds."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._next = 0.0

    def __call__(self, pages_done: int, total: int) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + EVERY_S
            self._out.write(frames.framed(frames.PROGRESS, [pages_done, total]))
            self._out.flush()


def limit(
    parent: int, cpu_s: int = CPU_S, memory_bytes: int = MEMORY_BYTES, wall_bytes: int = WALL_BYTES
) -> None:
    """Limit this process: no writing, no child processes, at most these resources, and an end after the process
    `parent` ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the parent's business
    threading.Thread(target=_watch, args=(parent, memory_bytes), daemon=True).start()
    process_limits.limit(
        RLIMIT_DATA=wall_bytes,
        RLIMIT_CPU=cpu_s,
        RLIMIT_FSIZE=0,
        RLIMIT_NOFILE=FILES,
        RLIMIT_NPROC=0,
        RLIMIT_CORE=0,
    )
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _watch(parent: int, memory_bytes: int) -> None:
    while True:
        if resident() > memory_bytes:
            os._exit(OUT_OF_MEMORY)
        if os.name == "posix" and os.getppid() != parent:  # elsewhere a launcher may be the direct parent
            os._exit(ORPHANED)
        time.sleep(WATCHED_S)


def resident() -> int:
    """The bytes of memory that this process uses, else the most that it ever used; 0 if the system reports neither."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123  (twenty times a second)
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
