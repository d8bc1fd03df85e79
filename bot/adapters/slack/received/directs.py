"""Where the bot may write, and where it speaks with a person alone: asked of Slack, and remembered.

Knows no request.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.adapters.surface import Shut

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.slack.placing import Spot

WAIT_S = 1.5
"""How long is waited for Slack, which itself waits three seconds for us."""
MOST = 8_192
"""Conversations that are remembered."""

_log = logging.getLogger(__name__)


class Directs:
    """One per process."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def of(self, here: Spot) -> str:
        """The direct conversation of `here.user` with the bot; "" where Slack does not say in time."""
        key = here.space, here.user
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        said = await self._ask(here, "conversations.open", {"users": here.user})
        if channel := str((said.get("channel") or {}).get("id") or ""):
            self._known[key] = channel
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return channel

    async def within(self, here: Spot) -> bool:
        """Whether the bot is in the channel that `here` is in; also if Slack does not say in time."""
        said = await self._ask(here, "conversations.info", {"channel": here.channel})
        if not said:
            return True
        channel = said.get("channel") or {}
        return bool(said.get("ok")) and bool(channel.get("is_member") or channel.get("is_im"))

    async def _ask(self, here: Spot, method: str, args: dict[str, Any]) -> dict[str, Any]:
        """Slack's answer, also if it is a refusal; {} where there is none."""
        try:
            async with asyncio.timeout(WAIT_S):
                client: AsyncWebClient = await self._workspaces.client(here.team, here.enterprise)
                answer: Any = await client.api_call(method, json=args)
        except SlackApiError as fault:
            answer = fault.response
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError, Shut) as fault:
            _log.info("%s: %s", method, type(fault).__name__)
            return {}
        return dict(answer.data) if isinstance(answer.data, dict) else {}
