"""Runs a command's coroutine so that SIGTERM ends it in order, as Ctrl-C does.

Knows no command. Without it SIGTERM would end the process like a kill, and would not end a container's first process
at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

TERMINATED = 128 + signal.SIGTERM
"""The exit code that a shell reports for a program ended by SIGTERM."""


def run(command: Coroutine[Any, Any, T]) -> T:
    """Like asyncio.run, but SIGTERM cancels the command, and the process exits with 143."""
    terminated = False

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None

        def leave() -> None:
            nonlocal terminated
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
