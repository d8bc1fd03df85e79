"""Runs a command's coroutine so that SIGTERM lets it leave in order, as Ctrl-C does.

Knows no command. Without it a terminated process would leave like a killed one, and a container's first
process, which the signal does not end by itself, not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

TERMINATED = 128 + signal.SIGTERM
"""What a shell says of a program that SIGTERM ended."""


def run(command: Coroutine[Any, Any, T]) -> T:
    """asyncio.run, but for SIGTERM: then the command is cancelled and the process exits with 143."""
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
