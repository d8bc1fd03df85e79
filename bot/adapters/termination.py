"""Runs a command's coroutine so that SIGTERM ends it in order, as Ctrl-C does.

Independent of commands. Without this, SIGTERM would end the process like a kill, and would not end a container's first
process at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

TERMINATED = 128 + signal.SIGTERM
"""The exit code that a shell reports for a program ended by SIGTERM."""

_log = logging.getLogger(__name__)


def run(command: Coroutine[Any, Any, T], *, within_s: float | None = None) -> T:
    """Like asyncio.run, but SIGTERM cancels the command, and the process exits with 143.

    If the command has not ended `within_s` seconds later, the process ends as if killed: something hangs that cannot be
    cancelled, such as a thread in a system call.
    """
    terminated = False

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None

        def leave() -> None:
            nonlocal terminated
            if within_s is not None and not terminated:
                late = threading.Timer(within_s, _end, (within_s,))
                late.daemon = True
                late.start()
            terminated = True
            task.cancel()

        with contextlib.suppress(NotImplementedError):  # Windows has no such signal
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave)
        return await command

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        if terminated:
            raise SystemExit(TERMINATED) from None
        raise


def _end(within_s: float) -> None:
    """End the process after `within_s` seconds. Runs in its own thread."""
    _log.error("not everything has ended %g seconds after SIGTERM: leaving as it is", within_s)
    os._exit(TERMINATED)
