"""What Slack itself shows of a thread where the agent works: its stop button, its title, a line of status.

All of it is done beside the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from bot.adapters.backoff import patiently
from bot.adapters.draft import clean
from bot.adapters.pen import Rank, urgency
from bot.adapters.slack.text.mrkdwn import plain
from bot.adapters.surface import Later

if TYPE_CHECKING:
    from bot.adapters.beside import Beside
    from bot.adapters.slack.installed.workspaces import Workspace

TITLE = 200
"""Characters of a session's title (Slack's documentation, "agents.sessions.setStatus")."""

WORKS, WAITS = "processing", "active"


class Session:
    """One run's."""

    def __init__(self, workspace: Workspace, beside: Beside, user: str, title: str) -> None:
        self._workspace = workspace
        self._beside = beside
        about = {"title": plain(clean(title), TITLE), "initiator_user_id": user}
        self._about = {name: value for name, value in about.items() if value}
        self._wanted = ""
        self._told = ""
        self._telling: asyncio.Task[None] | None = None

    def want(self, channel: str, thread: str, status: str) -> None:
        """WORKS: there is a stop button in this thread from now on. WAITS: for people again."""
        self._wanted = status
        if self._telling is None or self._telling.done():
            self._telling = self._beside.do(self._tell(channel, thread))

    async def _tell(self, channel: str, thread: str) -> None:
        """Bring Slack to the status that is wanted; one that has passed before there was room for it is left out."""
        self._told = ""
        while self._told != self._wanted:
            try:
                await patiently(partial(self._set, channel, thread))
            except Later:
                if self._told == self._wanted:
                    raise

    async def _set(self, channel: str, thread: str) -> None:
        async with self._workspace.calling() as client:
            # The last one is not given up where there is no room: the stop button would stay.
            urgency.set(Rank.FIRST if self._wanted == WAITS else Rank.PASSING)
            self._told = status = self._wanted
            await client.agents_sessions_setStatus(
                channel_id=channel, thread_ts=thread, status=status, **self._about
            )

    async def say(self, channel: str, thread: str, status: str) -> None:
        """Show this line until the run says something."""
        async with self._workspace.calling() as client:
            await client.assistant_threads_setStatus(channel_id=channel, thread_ts=thread, status=status)

    async def rename(self, channel: str, thread: str, title: str) -> None:
        """Another conversation's thread is called this from now on."""
        if name := plain(clean(title), TITLE):
            async with self._workspace.calling() as client:
                await client.agents_sessions_rename(channel_id=channel, thread_ts=thread, title=name)

    async def suggest(self, channel: str, prompts: Sequence[tuple[str, str]]) -> None:
        """Offer these (titles, messages) to be sent here, below the newest message.

        Without its thread: of an app with an agent view a call that names one is lost (Slack's documentation,
        "assistant.threads.setSuggestedPrompts").
        """
        offered = [{"title": title, "message": message} for title, message in prompts]
        async with self._workspace.calling() as client:
            await client.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=offered)
