"""Addresses of messages, which stay the same: asked of Slack once.

Knows neither run nor block.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from bot.adapters.pen import Later
from bot.adapters.slack.refusals import in_our_words
from bot.adapters.surface import Full, Gone, Refused, Shut

if TYPE_CHECKING:
    from bot.adapters.slack.people import Clients
    from bot.adapters.slack.placing import Spot

MOST = 8_192

_log = logging.getLogger(__name__)


class Permalinks:
    """One per process."""

    def __init__(self, workspaces: Clients) -> None:
        self._workspaces = workspaces
        self._known: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    async def of(self, here: Spot, channel: str, ts: str) -> str:
        """ "" where Slack does not say, as for a message that is gone. Never raises for that."""
        key = here.space, channel, ts
        if key not in self._known:
            try:
                with in_our_words():
                    client = await self._workspaces.client(here.team, here.enterprise)
                    answer = await client.chat_getPermalink(channel=channel, message_ts=ts)
            except (Full, Gone, Later, Refused, Shut) as fault:
                _log.info("no link to a thread: %s", fault)
                return ""
            self._known[key] = str(answer["permalink"])
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return self._known[key]
