"""What is done without anybody waiting for it: should it go wrong, the log says so, and nobody is bothered."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import Any

from bot.adapters.discreet import traced
from bot.adapters.surface import SurfaceFault
from storage.faults import StorageFault

_log = logging.getLogger(__name__)


async def unattended(what: str, doing: Coroutine[Any, Any, None]) -> None:
    """`what` begins the line of the log."""
    try:
        await doing
    except (SurfaceFault, StorageFault) as fault:
        _log.warning("%s: %s", what, fault)
    except Exception as fault:
        _log.error("%s: %s", what, traced(fault))
