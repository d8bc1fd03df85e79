"""Posts to a response_url, which answers one action, five times within half an hour. The address is a secret.

Knows neither request nor block.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import aiohttp

TIMEOUT: Final = aiohttp.ClientTimeout(total=20)

_log = logging.getLogger(__name__)


async def post(url: str, payload: Mapping[str, Any]) -> bool:
    """Whether Slack took it. Never raises, and never shows the address."""
    if not url:
        return False
    try:
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT) as session,
            session.post(url, json=payload, allow_redirects=False) as answer,
        ):
            if answer.status == 200:
                return True
            _log.info("an answer to an action was refused: status %d", answer.status)
    except (aiohttp.ClientError, TimeoutError, ValueError) as fault:  # their texts hold the address
        _log.info("an answer to an action could not be sent: %s", type(fault).__name__)
    return False
