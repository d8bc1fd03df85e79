"""What is done without anybody waiting for it: should it go wrong, the log says so, and nobody is bothered."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import Any

_log = logging.getLogger(__name__)


async def unattended(what: str, doing: Coroutine[Any, Any, None]) -> None:
    """`what` begins the line of the log. Not with the fault's text: a library's may hold a token."""
    try:
        await doing
    except Exception as fault:
        _log.warning("%s: %s", what, type(fault).__name__)
