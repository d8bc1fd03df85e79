"""Tries again, ever more slowly, what a platform could not take just now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bot.adapters.surface import Later

BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)

T = TypeVar("T")


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Make the call again while the network or the platform is not up to it. Raises Later in the end."""
    for wait in BACKOFF_S:
        try:
            return await call()
        except Later:
            await asyncio.sleep(wait)
    return await call()
