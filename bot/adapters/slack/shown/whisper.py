"""Says something to the asker alone, where they asked: an answer that is quickly done, or why there is none.

Such a message can be neither changed nor found again, and holds no files. Knows no run but its id.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bot.adapters.slack.received.sharing import WHISPERED
from bot.adapters.slack.shown import response_urls
from bot.adapters.slack.shown.thread import sent_as
from bot.adapters.surface import Form, Mark, Refused

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspace
    from bot.adapters.slack.placing import Origin
    from bot.adapters.slack.text.page import Page
    from storage.offers import Offers

EARLY_S = 5.0
"""So much before its time a response_url is taken for dead: a post on its way would come too late."""
ANSWERED = "answered"
"""The id of a message that went to a response_url, which tells none."""


def young(origin: Origin, now: Callable[[], float] = time.time) -> bool:
    """Whether its response_url is good for something still."""
    return bool(origin.response_url) and now() < origin.until - EARLY_S


class Aside:
    """By the action's response_url while that lives, else as a message that Slack shows to one person."""

    files = False

    def __init__(
        self, workspace: Workspace, origin: Origin, offers: Offers, *, now: Callable[[], float] = time.time
    ) -> None:
        self._workspace = workspace
        self._origin = origin
        self._offers = offers
        self._now = now

    async def whisper(self, page: Page, mark: Mark, form: Form) -> str:
        """The message's id, or ANSWERED. Raises Shut where nobody can be told anything, and Refused."""
        said = sent_as(page, form)
        if self._origin.private:
            await self._keep(mark.run, said)
        try:
            return await self.say(said)
        except Refused:
            return await self.say(sent_as(page, Form.BARE))

    async def say(self, said: Mapping[str, Any]) -> str:
        """Text and blocks as they are. Raises Later, and the faults of a surface."""
        origin = self._origin
        # Under a message without replies Slack shows nothing to one person alone ("chat.postEphemeral").
        inside = bool(origin.thread) and (origin.thread != origin.message or origin.earlier)
        if young(origin, self._now):
            payload = {"response_type": "ephemeral", "replace_original": False, **said}
            if inside:
                payload["thread_ts"] = origin.thread
            if await response_urls.post(origin.response_url, payload):
                return ANSWERED
        async with self._workspace.calling() as client:
            told = await client.chat_postEphemeral(
                channel=origin.channel,
                user=origin.user,
                thread_ts=origin.thread if inside else None,
                **said,
            )
        return str(told["message_ts"])

    async def _keep(self, run: str, said: Mapping[str, Any]) -> None:
        """What is shared, should they press that: Slack does not send such a message along with a press."""
        space = self._workspace.space
        kept = await self._offers.all(space, run, WHISPERED)
        item = json.dumps(said, ensure_ascii=False)
        if item not in kept:
            await self._offers.keep(space, run, WHISPERED, [*kept, item])
