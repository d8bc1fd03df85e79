"""A reader that obeys the first word after "%PDF-" in its file: what a parser with a security hole might do."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bot.events import UserError
from bot.readers import frames
from bot.readers.document import Document, Progress
from bot.readers.writer import Writer


def read(name: str, data: bytes, progress: Progress) -> Document:
    deed, _, rest = data.removeprefix(b"%PDF-").decode().partition(" ")
    said = DEEDS[deed](rest, progress)
    writer = Writer()
    if said.strip():
        writer.heading(1, name)
        writer.paragraph(said)
    return writer.document(name)


def say(rest: str, progress: Progress) -> str:
    return rest


def hang(rest: str, progress: Progress) -> str:
    time.sleep(1000)
    return ""


def hold(rest: str, progress: Progress) -> str:
    """Hang in C, so that no other Python thread can run."""
    re.match(r"(a+)+$", "a" * 60 + "b")
    return ""


def spin(rest: str, progress: Progress) -> str:
    """Never end, but report progress all the time."""
    while True:
        progress(1, 2)
        time.sleep(0.01)


def eat(rest: str, progress: Progress) -> str:
    held = []
    while True:
        held.append(b"x" * 10_000_000)


def gulp(rest: str, progress: Progress) -> str:
    return str(len(bytearray(900_000_000)))


def reserve(rest: str, progress: Progress) -> str:
    """Reserve memory without touching it, so that measuring used memory does not show it."""
    try:
        mmap.mmap(-1, 900_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        return "refused"
    return "given"


def crash(rest: str, progress: Progress) -> str:
    return ctypes.string_at(0).decode()


def abort(rest: str, progress: Progress) -> str:
    os.abort()


def killed(rest: str, progress: Progress) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def slow(rest: str, progress: Progress) -> str:
    """End as if the kernel had killed it for using up its processor time."""
    os.kill(os.getpid(), signal.SIGXCPU)
    time.sleep(10)
    return ""


def leave(rest: str, progress: Progress) -> str:
    os._exit(0)


def stumble(rest: str, progress: Progress) -> str:
    raise IndexError(f"the words of the file: {rest}")


def refuse(rest: str, progress: Progress) -> str:
    raise UserError("library.file_pages", name="another" * 2_000, pages=10_001, limit=10_000)


def chatter(rest: str, progress: Progress) -> str:
    """Print like a noisy library."""
    os.write(1, b"printed\n" * 1000)
    os.write(2, b"complained\n" * 1000)
    print("also printed", flush=True)
    return rest


def nothing(rest: str, progress: Progress) -> str:
    return " "


def empty(rest: str, progress: Progress) -> str:
    raise UserError("library.file_empty", name="another")


def count(rest: str, progress: Progress) -> str:
    for page in range(3):
        progress(page, 3)
        time.sleep(0.25)
    return rest


def write(rest: str, progress: Progress) -> str:
    """Try to write a file and to start a process; report the environment."""
    told = []
    try:
        Path(rest).write_bytes(b"x")
        told.append("wrote")
    except OSError as fault:
        told.append(type(fault).__name__)
    try:
        subprocess.run([sys.executable, "-c", ""], check=True)
        told.append("started")
    except OSError as fault:
        told.append(type(fault).__name__)
    return f"{told} {sorted(os.environ)} {os.environ.get('LANG')}"


def forge(rest: str, progress: Progress) -> str:
    """Write bytes that are no valid frame."""
    frames_fd = _frames()
    os.write(frames_fd, bytes.fromhex(rest))
    time.sleep(1000)
    return ""


def linger(rest: str, progress: Progress) -> str:
    """Send the result, but do not exit."""
    os.write(_frames(), frames.framed(frames.SORRY, {"key": "library.file_locked", "values": {}}))
    time.sleep(1000)
    return ""


def flood(rest: str, progress: Progress) -> str:
    """Report progress endlessly, as fast as possible."""
    frames_fd = _frames()
    many = frames.framed(frames.PROGRESS, [1, 2]) * 1000
    while True:
        os.write(frames_fd, many)


def _frames() -> int:
    """The file descriptor for frames."""
    pipes = []
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if int(path.name) > 2 and str(path.readlink()).startswith("pipe:"):
                pipes.append(int(path.name))
    return max(pipes)


DEEDS: dict[str, Callable[[str, Progress], str]] = {
    one.__name__: one
    for one in (
        say, hang, hold, spin, eat, gulp, reserve, crash, abort, killed, slow, leave, stumble, refuse, chatter, nothing,
        empty, linger, count, write, forge, flood,
    )
}  # fmt: skip
