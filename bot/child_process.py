"""The process of another program: the environment that it gets, and its end. It is killed if that takes too long."""

from __future__ import annotations

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

KILLED_S: Final = 5.0
"""The most seconds that a killed process is waited for. The kernel usually needs milliseconds."""

_ENVIRONMENT: Final = frozenset({
    "PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "HOME", "LANG", "LC_ALL",
    "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "APPDATA", "ESPEAK_DATA_PATH",
})  # fmt: skip

_log = logging.getLogger(__name__)


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that Python and its libraries need to start, and none that might hold a key."""
    return {name: value for name, value in environ.items() if name.upper() in _ENVIRONMENT}


async def end(process: Process, within: float | None = 0.0) -> int | None:
    """Wait until the process has ended, and return its exit code. Kill it after `within` seconds (None: never), or if
    this is cancelled. The cancellation takes effect once the process is gone: asyncio warns about a process that nobody
    has waited for, and keeps it while its pipe is unread.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within if within is not None else None
    killed = cancelled = False
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                await wait_end(process)
            break
        except asyncio.CancelledError:
            cancelled = True
        except TimeoutError:
            if killed:
                _log.warning("process %d was killed and has not ended after %g s", process.pid, KILLED_S)
                break
        if not killed:
            killed, deadline = True, loop.time() + KILLED_S
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
    if cancelled:
        raise asyncio.CancelledError
    return process.returncode


async def wait_end(process: Process) -> int:
    """The exit code of a process that ends or was killed."""
    # While its pipe holds unread data, asyncio waits for ever.
    while process.stdout is not None and await process.stdout.read(65_536):
        pass
    return await process.wait()
