"""Addresses of messages. They stay the same, so that those which are shown often are asked for once.

Knows neither run nor block.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from bot.adapters.slack.installed.access import Access, Workspaces
from bot.adapters.slack.installed.refusals import in_our_words
from bot.adapters.surface import SurfaceFault

if TYPE_CHECKING:
    from bot.adapters.slack.placing import Spot

MOST = 8_192

_log = logging.getLogger(__name__)


async def permalink(access: Access, channel: str, ts: str) -> str:
    """Asked of Slack now: "" where it tells none, as of a message that is gone."""
    try:
        client = await access.client()
        with in_our_words():
            answer = await client.chat_getPermalink(channel=channel, message_ts=ts)
    except SurfaceFault as fault:
        _log.info("a link was left out: %s", fault)
        return ""
    return str(answer["permalink"])


class Permalinks:
    """One per process; "" is asked for again."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._known: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    async def of(self, here: Spot, channel: str, ts: str) -> str:
        key = here.space, channel, ts
        if key not in self._known:
            link = await permalink(Access(self._workspaces, here.team, here.enterprise), channel, ts)
            if not link:
                return ""
            self._known[key] = link
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return self._known[key]
