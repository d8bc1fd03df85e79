"""Events that a resumed session delivers again: dropped as they come, before anything is counted or answered.

Only what this process has seen; what an earlier one has taken in is known to the inbox.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from discord.ext import commands

ONCE = ("INTERACTION_CREATE", "MESSAGE_CREATE")
KEPT = 8_192
"""Ids that are remembered: more than comes between two heartbeats."""

_log = logging.getLogger(__name__)

Parser = Callable[[Any], None]


def guard(client: commands.Bot | commands.AutoShardedBot) -> None:
    """Let the client hear of each of these once; before it connects."""
    parsers: dict[str, Parser] = client._connection.parsers
    for event in ONCE:
        parsers[event] = _once(event, parsers[event])


def _once(event: str, parse: Parser) -> Parser:
    seen: OrderedDict[str, None] = OrderedDict()

    def read(payload: Any) -> None:
        id = payload.get("id") if isinstance(payload, dict) else None
        if isinstance(id, str) and id in seen:
            _log.info("%s %s came again and was dropped", event, id)
            return
        parse(payload)
        if isinstance(id, str):
            seen[id] = None
            if len(seen) > KEPT:
                seen.popitem(last=False)

    return read
