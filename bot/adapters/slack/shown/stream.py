"""A thread while the agent works: streamed messages, Slack's stop button, a status line, a title.

A stream can only be appended to, and cannot be read. Once its text may no longer be the beginning of the page, the
stream is ended and the caller rewrites the message. Everything else runs in tasks that the answer does not wait for.
Independent of runs.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from bot.adapters.slack.installed.faults import NO_SCOPE, Unsure
from bot.adapters.slack.text.escaping import plain
from bot.adapters.surface import Gone, NotEditable, NotSent, PlaceClosed, Refused, SurfaceFault, Unavailable
from bot.adapters.writer import Clock, LoopClock, Rank, SideTasks, urgency, with_retries

if TYPE_CHECKING:
    from bot.adapters.slack.installed.clients import End
    from bot.adapters.slack.installed.workspaces import Workspace
    from bot.adapters.slack.text.page import Page

LONGEST_S = 240.0
"""Seconds after which a stream is ended. Slack ends one by itself after some five minutes; its documentation does not
say so, but issue 1859 of slackapi/python-slack-sdk and others measured it.
"""
STATUS = 100
"""The most characters of a thread's status line, one line above the reply box."""
TITLE = 200
"""The most characters of a session's title (Slack's documentation, "agents.sessions.setStatus")."""

WORKS, WAITS = "processing", "active"
LATE_S = 30.0
"""How long a call to which Slack did not answer may take to have its effect."""
_MARKS = re.compile("[*_`~]")

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Stream:
    """An open stream. `shown` is its text, which is known while it is `sure`. `began` is its start by the clock. `end`
    is the room reserved for its end.
    """

    shown: str
    began: float
    end: End
    sure: bool = True
    status: str = ""


@dataclass(slots=True)
class Streams:
    """The streams of a thread. `recipient` is the (team, user) who asked. `idle` is a status line that is not shown;
    `held` is the one shown while a message waits to be posted whole.

    `session` is the status of the thread's session after a stream ends.
    """

    workspace: Workspace
    channel: str
    thread: str
    recipient: tuple[str, str]
    idle: str = ""
    held: str = ""
    session: Literal["processing", "active"] = "processing"
    clock: Clock = field(default_factory=LoopClock)
    _live: dict[str, _Stream] = field(default_factory=dict)
    _refused: bool = False

    async def begin(self, page: Page, speaker: Mapping[str, Any]) -> str | None:
        """Begin a stream. Returns the new message, or None if it must be posted instead. Raises Unsure.

        `speaker`: the name and picture, if not the bot's. Raises PlaceClosed where these are not permitted.
        """
        if self._refused or not page.body.strip():
            return None
        team, user = self.recipient
        began = self.clock.time()
        try:
            client = await self.workspace.client()
            end = client.bucket("chat.stopStream").keep_end()
            if end is None or not client.bucket("chat.startStream").has_room():
                return None
            arguments: dict[str, Any] = {"markdown_text": page.body}
            if page.meanwhile is not None:  # buttons, which stay above the text
                buttons = {"type": "blocks", "blocks": [page.meanwhile]}
                arguments = {"chunks": [buttons, {"type": "markdown_text", "text": page.body}]}
            started = await client.chat_startStream(
                channel=self.channel,
                thread_ts=self.thread,
                recipient_team_id=team,
                recipient_user_id=user,
                **arguments,
                **speaker,
            )
        except Unsure:
            raise
        except Unavailable:
            return None
        except (Gone, NotEditable, Refused, PlaceClosed) as fault:
            if speaker and isinstance(fault, PlaceClosed) and fault.code == NO_SCOPE:
                raise
            if page.meanwhile is not None:  # perhaps because of its buttons
                return await self.begin(replace(page, meanwhile=None), speaker)
            # If the stream is not the reason, the post will raise the fault.
            _log.info("no stream could be begun: %s", fault)
            self._refused = True
            return None
        message = str(started["ts"])
        self._live[message] = stream = _Stream(page.body, began, end)
        await self._passing(stream, page.passing)
        return message

    async def hold(self) -> None:
        """Show in the thread's status line that people wait; Slack removes it with the next message there."""
        await say_status(self.workspace, self.channel, self.thread, self.held)

    async def write(self, message: str, page: Page, metadata: dict[str, Any]) -> bool:
        """Append to the stream to show the page. Returns False if there is no stream (any more) and the message must be
        rewritten.

        Raises Unavailable, and the faults of a surface.
        """
        stream = self._live.get(message)
        if stream is None:
            return False
        young = self.clock.time() - stream.began < LONGEST_S
        # A stream shows the table as code or a list; the message that replaces it shows a table.
        if stream.sure and page.body.startswith(stream.shown) and (page.growing or not page.tabled):
            new = page.body[len(stream.shown) :]
            try:
                if page.growing and young:
                    if new:
                        client = await self.workspace.client()
                        await client.chat_appendStream(channel=self.channel, ts=message, markdown_text=new)
                        stream.shown = page.body
                    await self._passing(stream, page.passing)
                else:  # the rest of the text, and the blocks below
                    arguments: dict[str, Any] = {"metadata": metadata}
                    if new:
                        arguments["markdown_text"] = new
                    if blocks_below := page.blocks[1:]:  # a stream has a body
                        arguments["blocks"] = blocks_below
                    await self._stop(message, **arguments)
                    del self._live[message]
                    await self._passing(stream, "")
            except (Unsure, Refused, NotEditable) as fault:  # after Unsure, another try might append it twice
                _log.info("a stream is over: %s", type(fault).__name__)
            else:
                return True
        stream.sure = False
        await self.end(message)
        return False

    async def end(self, message: str) -> None:
        """End the stream of a message, if it has one. Raises Unavailable, Gone and PlaceClosed."""
        with suppress(Refused, NotEditable):  # it has ended, or was never one
            await self._stop(message)
        stream = self._live.pop(message, None)
        if stream is not None:
            await self._passing(stream, "")

    def live(self, message: str) -> bool:
        return message in self._live

    async def _stop(self, message: str, **arguments: Any) -> None:
        # Without this status Slack would end the whole session.
        client = await self.workspace.client()
        await client.chat_stopStream(
            channel=self.channel, ts=message, session_status=self.session, **arguments
        )

    async def _passing(self, stream: _Stream, status: str) -> None:
        """Show the page's status in the thread's status line, because a stream has none."""
        status = "" if status == self.idle else status
        if status == stream.status:
            return
        stream.status = status
        await say_status(self.workspace, self.channel, self.thread, status)


async def say_status(workspace: Workspace, channel: str, thread: str, status: str) -> None:
    """Show this status line in the thread until the next message there; "" removes it. Logs the faults of Slack."""
    try:
        client = await workspace.client()
        words = plain(_MARKS.sub("", status), STATUS)  # marks could hide a mention
        await client.assistant_threads_setStatus(channel_id=channel, thread_ts=thread, status=words)
    except SurfaceFault as fault:
        _log.debug("a status line was left out: %s", type(fault).__name__)


async def rename(workspace: Workspace, channel: str, thread: str, title: str) -> None:
    """Rename a conversation's thread."""
    if name := plain(title, TITLE):
        client = await workspace.client()
        await client.agents_sessions_rename(channel_id=channel, thread_ts=thread, title=name)


@dataclass(slots=True)
class Session:
    """The agent session of one run. `user` is the asker, and `title` is the conversation's."""

    workspace: Workspace
    side_tasks: SideTasks
    user: str
    title: str
    _wanted: str = ""
    _status_sent: str = ""
    _end: End | None = None
    _skipped: bool = False
    """Whether there was no room to say that the agent works."""
    _unanswered: bool = False
    """Whether Slack has not answered the call that says that the agent works."""
    _titled: bool = False
    _setting: asyncio.Task[None] | None = None

    def want(self, channel: str, thread: str, status: str) -> None:
        """Set the session's status. WORKS: the agent works, and the thread has a stop button. WAITS: it waits for
        people.
        """
        self._wanted = status
        if self._setting is None or self._setting.done():
            self._setting = self.side_tasks.do(self._send_status(channel, thread))

    async def settled(self) -> None:
        """Wait until the stop button is gone, if there was room for one."""
        if self._setting is not None and not self._skipped:
            await asyncio.wait({self._setting})

    async def _send_status(self, channel: str, thread: str) -> None:
        """Send the wanted status. A status that changed before there was room for it is left out."""
        self._status_sent = ""
        while self._status_sent != self._wanted:
            try:
                await with_retries(partial(self._set, channel, thread))
            except Unavailable:
                if self._wanted == WAITS:
                    self._status_sent = ""  # otherwise the stop button would stay
                elif self._status_sent == self._wanted:
                    raise
        if self._unanswered and self._wanted == WAITS:
            self._unanswered = False
            self.side_tasks.do(self._send_again(channel, thread))

    async def _send_again(self, channel: str, thread: str) -> None:
        """Send the status once more, because the call that Slack did not answer may have its effect after it."""
        await asyncio.sleep(LATE_S)
        self.want(channel, thread, self._wanted)

    async def _set(self, channel: str, thread: str) -> None:
        client = await self.workspace.client()
        status = self._wanted
        if status == WORKS:
            self._end = client.bucket("agents.sessions.setStatus").keep_end()
            self._skipped = self._end is None
            if self._skipped:
                raise NotSent("no room to take it back")
        # After WORKS, WAITS must not be left out, or the stop button would stay.
        urgency.set(Rank.FIRST if status == WAITS and not self._skipped else Rank.PASSING)
        self._status_sent = status
        title = plain(self.title, TITLE)
        # Only once: later the thread may have another title, or have lost it with words that were taken back.
        about = {"initiator_user_id": self.user}
        if title and not self._titled:
            about["title"] = title
        try:
            await client.agents_sessions_setStatus(
                channel_id=channel, thread_ts=thread, status=status, **about
            )
        except Unavailable as fault:
            self._unanswered = self._unanswered or (status == WORKS and not isinstance(fault, NotSent))
            raise
        self._titled = True
        if status == WAITS:
            self._end = None

    async def suggest(self, channel: str, prompts: list[dict[str, str]]) -> None:
        """Suggest these prompts, each a `title` and the `message` that it sends, below the newest message.

        The call names no thread: for an app with an agent view a call that does has no effect (Slack's documentation,
        "assistant.threads.setSuggestedPrompts").
        """
        client = await self.workspace.client()
        await client.assistant_threads_setSuggestedPrompts(channel_id=channel, prompts=prompts)
