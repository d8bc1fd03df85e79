"""Waiting for somebody else's code, but neither for ever nor for it to be well.

Knows no platform: what is waited for is a view, or an acknowledgement.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

_log = logging.getLogger(__name__)


async def wait_a_while(waited: Awaitable[object], seconds: float, what: str) -> bool:
    """Whether it came to a good end in time; else the log says `what` did not."""
    task = asyncio.ensure_future(waited)
    try:
        # Not a timeout around it: what does not let itself be cancelled must not hold anybody up either.
        await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
    if not task.done() or task.cancelled():
        _log.warning("%s: not in time", what)
        return False
    if (fault := task.exception()) is not None:
        _log.warning("%s", what, exc_info=fault)
        return False
    return True
