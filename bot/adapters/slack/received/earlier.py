"""What was said in a thread before the bot was called into it, read from Slack once.

Everything after that is in our own storage. Knows no work: whoever asks decides what the words are good for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.slack.placing import Origin, Spot, origin_of, text_of
from bot.adapters.slack.received.line import Name, heard
from bot.adapters.surface import SurfaceFault
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.slack.received.people import People
    from bot.events import Request

MESSAGES: Final = 50
"""The newest; the core cuts what they say to what a question has room for."""
NAMES: Final = 30
"""People of all messages who are called by their names, lest one thread use up what Slack lets us ask in a minute."""
READ: Final = 999
"""Messages of one call, the most there are (Slack's documentation, "conversations.replies"), oldest first."""

_log = logging.getLogger(__name__)


class Earlier:
    """One per process."""

    def __init__(self, workspaces: Workspaces, people: People) -> None:
        self._workspaces = workspaces
        self._people = people

    async def __call__(self, request: Request) -> str:
        """Lines "Name: words", oldest first; "" where nothing was said, or where Slack does not tell it."""
        origin = origin_of(request.origin)
        if not (origin.earlier and origin.thread):
            return ""
        here = Spot(
            origin.user, origin.team, origin.channel, origin.enterprise, origin.thread, origin.message
        )
        try:
            said = await self._said(here, origin)
        except (SurfaceFault, StorageFault) as fault:  # the question can be answered without
            _log.warning("run %s: its thread could not be read: %s", request.id, fault)
            return ""
        name = self._named(here)
        # The newest first, so that they are the ones with names.
        lines = await asyncio.gather(*(self._line(one, name) for one in reversed(said[-MESSAGES:])))
        return "\n".join(reversed(lines))

    async def _said(self, here: Spot, origin: Origin) -> list[Mapping[str, Any]]:
        """Without the question itself, and what came after it."""
        async with self._workspaces.calling(here.team, here.enterprise) as client:
            answer: Any = await client.conversations_replies(
                channel=here.channel, ts=here.thread, latest=origin.message, inclusive=False, limit=READ
            )
        found = [
            one for one in answer.get("messages") or () if text_of(one, "text") and not one.get("hidden")
        ]
        return [one for one in found if text_of(one, "ts") < origin.message]

    def _named(self, here: Spot) -> Name:
        named: set[str] = set()

        async def name(user: str) -> str:
            if user not in named and len(named) == NAMES:
                return user
            named.add(user)
            return await self._people.name(here, user)

        return name

    async def _line(self, message: Mapping[str, Any], name: Name) -> str:
        profile = message.get("bot_profile") or {}
        shown = str(profile.get("name") or message.get("username") or "")
        user = text_of(message, "user")
        who = shown or (await name(user) if user else "?")
        return f"{who}: {await heard(text_of(message, 'text'), '', name)}"
