"""The process that parses one file: `python -m bot.readers.child MODULE PARENT`.

Its name (as JSON) on the first line of standard input, then its bytes; MODULE's `read` makes a Document of them. It
may be given anything, so it may do little (see `limits`), and has no key in its environment. Answers in `frames` on
standard output. It is gone soon after its parent, the process PARENT, is.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from bot.events import Sorry
from bot.readers import frames
from bot.readers.document import Document, Progress
from bot.readers.limits import TOO_MUCH, limit

EVERY_S: Final = 0.2
"""Between two words about how far it is."""

_WORDLESS: Final = "library.file_wordless"

Read = Callable[[str, bytes, Progress], Document]


def main(module: str, parent: int) -> None:
    """Read what is on standard input by `module`, for the process with the id `parent`; answer and leave."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no frame
    try:
        # Before the limits: so that what Python compiles of it is kept.
        read: Read = importlib.import_module(module).read
    except ImportError as fault:
        reason = f"{type(fault).__name__}: {fault.name}"
        out.write(
            frames.framed(frames.SORRY, {"key": "library.file_unguarded", "values": {"reason": reason}})
        )
        return
    limit(parent)
    name = json.loads(sys.stdin.buffer.readline())
    try:
        answer = frames.framed(*_answer(read, name, sys.stdin.buffer.read(), _Teller(out)))
    except MemoryError:
        os._exit(TOO_MUCH)
    if len(answer) > frames.LONGEST:
        os._exit(TOO_MUCH)
    out.write(answer)
    out.flush()
    # Without the goodbyes of libraries, which may take long and can only fail.
    os._exit(0)


def _answer(read: Read, name: str, data: bytes, progress: Progress) -> tuple[bytes, object]:
    try:
        document = read(name, data, progress)
        said = frames.told(document)
    except Sorry as sorry:
        values = {
            key: one if isinstance(one, int | float) else str(one)[:200] for key, one in sorry.values.items()
        }
        # A file without bytes has been refused before: what a reader calls empty has something in it, but no words.
        key = _WORDLESS if sorry.key == "library.file_empty" else sorry.key
        return frames.SORRY, {"key": key, "values": values}
    except MemoryError:
        raise
    except Exception as fault:
        return frames.SORRY, {"key": "library.file_crashes", "values": {}, "at": place(fault)}
    if document.text.strip():
        return frames.DOCUMENT, said
    return frames.SORRY, {"key": _WORDLESS, "values": {}}


def place(fault: BaseException) -> str:
    """What was raised, and where in the house and below: nothing of what was read."""
    import traceback  # a tenth of the start, and seldom needed

    steps = traceback.extract_tb(fault.__traceback__)
    ours = [step for step in steps if "readers" in Path(step.filename).parts]
    where = dict.fromkeys(f"{Path(step.filename).name}:{step.lineno}" for step in (*ours[-1:], *steps[-1:]))
    return f"{type(fault).__name__} at {', '.join(where)}"


class _Teller:
    """Says how far it is, now and then."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + EVERY_S
            self._out.write(frames.framed(frames.PROGRESS, [done, total]))
            self._out.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
