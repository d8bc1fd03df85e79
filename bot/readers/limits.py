"""What the process that parses a file may take of the machine, and who sees to it: the kernel, and a thread.

Where a system lacks one of them (Windows has no limits of this kind, only Linux has /proc), the others hold, and the
clock of whoever waits for the process (see `guarded`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Final

MEMORY_BYTES: Final = 600_000_000
"""Resident, of which Python and a parser's library take 30 MB before they have read a byte."""
WALL_BYTES: Final = 800_000_000
"""Of data, held by the kernel (Linux from 4.7): for what is taken at once, or while no other thread can run."""
CPU_S: Final = 240
FILES: Final = 64
EVERY_S: Final = 0.05

TOO_MUCH: Final = 77
"""The exit code of a process that took more memory than it may."""
ALONE: Final = 78
"""The exit code of a process that nobody waits for any more."""


def limit(parent: int) -> None:
    """From now on: nothing written, no other process, not more than there is above, and not longer than `parent`
    (a process id) lives.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the parent's business
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    try:
        import resource
    except ImportError:
        return
    for name, most in (
        ("RLIMIT_DATA", WALL_BYTES),
        ("RLIMIT_CPU", CPU_S),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_NOFILE", FILES),
        ("RLIMIT_NPROC", 0),
        ("RLIMIT_CORE", 0),
    ):
        if (which := getattr(resource, name, None)) is None:
            continue
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        # Above the soft limit of time comes SIGXCPU, which says why; above the hard one SIGKILL.
        above = hard if name == "RLIMIT_CPU" else most
        try:
            resource.setrlimit(which, (most, above))
        except (OSError, ValueError):  # macOS does not know all that it names
            continue
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def _watch(parent: int) -> None:
    while True:
        if resident() > MEMORY_BYTES:
            os._exit(TOO_MUCH)
        if os.name == "posix" and os.getppid() != parent:  # elsewhere a launcher may stand between them
            os._exit(ALONE)
        time.sleep(EVERY_S)


def resident() -> int:
    """Bytes of memory that this process holds; where the system does not say it, that it ever held; or 0."""
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
