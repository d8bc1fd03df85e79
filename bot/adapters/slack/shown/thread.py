"""The surface of a channel or thread with the bot's own messages and files.

Defines how a page is sent, and how a message of the bot is identified: by its metadata, or by its file. Independent of
runs and stages. Files: https://docs.slack.dev/messaging/working-with-files
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import aiohttp

from bot.adapters.slack.installed.faults import CALL_FAULTS, NO_SCOPE, Conflict, Unsure, surface_fault
from bot.adapters.slack.shown.stream import Streams
from bot.adapters.slack.text.escaping import plain
from bot.adapters.slack.text.page import BLOCKS, SMALL, TEXT, Page, section, small, without_button
from bot.adapters.surface import (
    OWN,
    Gone,
    MessageRef,
    MessageStyle,
    NotEditable,
    NotSent,
    PlaceClosed,
    Refused,
    Unavailable,
    bare,
)
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.clients import End
    from bot.adapters.slack.installed.workspaces import Workspace
    from bot.events import Speaker

EVENT = "sutradhar"
"""The event_type of our messages' metadata."""
CLOCKS_APART = timedelta(minutes=1)
"""How far our clock and Slack's may differ when a sent message is searched for."""
LOOK_BACK, PAGES = 100, 5
"""The messages per call, and the most calls, when a sent message is searched for."""
EDITED = 4_000
"""The most characters of a text for chat.update (Slack's documentation, "msg_too_long")."""
FILE = "file:"
"""The prefix of the id of a file's message; no ts begins with it."""
UPLOAD_S = 120.0
ALT = 1_000
"""The most characters of a picture's alternative text (Slack's documentation, "files.getUploadURLExternal")."""
USERNAME = 80
"""The most characters of a message's sender name."""
_ENDED = {"pending": "error", "in_progress": "error"}
"""The final status for each status of a plan's open stages."""


_log = logging.getLogger(__name__)


def metadata(ref: MessageRef) -> dict[str, Any]:
    payload = {"run": ref.run, "key": ref.key, "turn": ref.turn}
    return {"event_type": EVENT, "event_payload": payload}


def sender(speaker: Speaker) -> dict[str, str]:
    """The name and picture of a message, for chat.postMessage and chat.startStream."""
    name = plain(speaker.name, USERNAME)
    return {"username": name or "…"} | ({"icon_url": speaker.picture} if speaker.picture else {})


def sent_as(page: Page, style: MessageStyle) -> dict[str, Any]:
    """The page's text and blocks. With blocks, the text is for notifications and for clients without blocks."""
    text = page.plain if page.plain.strip() else "…"
    if style is MessageStyle.LAYOUT:
        return {"text": text[:TEXT], "blocks": page.blocks}
    if style is MessageStyle.PLAIN and page.buttons_plain:
        words = [section(text[at : at + SMALL]) for at in range(0, len(text), SMALL)]
        return {"text": text[:TEXT], "blocks": [*words, *page.buttons_plain]}
    return {"text": text, "blocks": []}


class Thread:
    """A thread, or the channel itself without `thread`. With `streams`, growing pages are streamed."""

    def __init__(
        self,
        workspace: Workspace,
        channel: str,
        thread: str = "",
        *,
        streams: Streams | None = None,
        never_streamed: Collection[str] = (),
        of_others: Callable[[Sequence[str]], Awaitable[Collection[str]]] | None = None,
        without_file: Callable[[str, Exception], None] = lambda name, fault: None,
        without_name: Callable[[], None] = lambda: None,
    ) -> None:
        """`never_streamed` are the keys of messages that are never streamed, nor are their parts. `of_others` returns
        which of some messages are known to belong to other runs; it raises StorageFault.

        `without_file` is called with a file that Slack refuses and the fault; `without_name` is called if no speaker's
        name is permitted.
        """
        self._workspace = workspace
        self._without_name = without_name
        self._without_file = without_file
        self.channel = channel
        self.thread = thread
        self.key: Hashable = (workspace.space, channel)
        self.streams = streams
        self._never_streamed = never_streamed
        self._of_others = of_others
        self._ends: dict[str, End] = {}
        """Room reserved for the last edits of growing messages that are not streamed."""
        self._held: set[MessageRef] = set()
        self.uploads = Uploads(workspace, channel, thread)

    def _sends(self, speaker: Speaker, page: Page) -> bool:
        """Whether the speaker is the page's sender rather than the bot."""
        workspace = self._workspace
        return speaker.own and not page.files and workspace.workspaces.names(workspace.space)

    def renames(self, message: str, page: Page) -> bool:
        if page.speaker is None or message.startswith((OWN, FILE)):
            return False
        return self._sends(page.speaker, page)

    async def post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        if page.speaker is not None and self._sends(page.speaker, page):
            try:
                return OWN + await self._post(page.nameless, ref, style, sender(page.speaker))
            except PlaceClosed as closed:
                if closed.code != NO_SCOPE:
                    raise
                self._without_name()
            except (
                Refused
            ) as refused:  # perhaps because of its picture; if it is the page, it will be refused again
                _log.info("a message goes out under the bot's own name: %s", refused)
        return await self._post(page, ref, style, {})

    async def _post(self, page: Page, ref: MessageRef, style: MessageStyle, own: Mapping[str, Any]) -> str:
        if page.files and style is not MessageStyle.BARE:
            try:
                return await self.uploads.post(page, ref)
            except (Refused, PlaceClosed) as fault:  # then at least its name is shown
                self._without_file(page.files[0][0], fault)
                style = MessageStyle.BARE
        if style is MessageStyle.LAYOUT and page.growing and self.streams is not None:
            stream = await self.streams.begin(page, own)
            if stream is not None:
                return stream
        client = await self._workspace.client()
        # A wordless page needs an extra edit for its first words.
        end = client.bucket("chat.update").keep_end(1 + page.wordless) if page.growing else None
        if page.growing and end is None:
            await self._hold(ref)
            raise NotSent("its end would wait: it is posted once, when it is whole")
        posted = await client.chat_postMessage(
            channel=self.channel,
            thread_ts=self.thread or None,
            metadata=metadata(ref),
            unfurl_links=False,
            unfurl_media=False,
            **sent_as(page, style),
            **own,
        )
        # A file needs the direct conversation's id, while a post also accepts the person's id.
        self.channel = self.uploads.channel = str(posted["channel"])
        self.key = (self._workspace.space, self.channel)
        message = str(posted["ts"])
        if end is not None:
            self._ends[message] = end
        return message

    async def _hold(self, ref: MessageRef) -> None:
        if self.streams is not None and ref not in self._held:
            self._held.add(ref)
            await self.streams.hold()

    async def edit(
        self, message: str, page: Page, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> None:
        if message.startswith(FILE):
            if files:
                await self.uploads.same(message, page)
            return
        if message.startswith(OWN):
            message, page = bare(message), page.nameless
        if style is MessageStyle.LAYOUT and self.streams is not None:
            if await self.streams.write(message, page, metadata(ref)):
                return
        elif self.streams is not None and self.streams.live(message):
            await self.streams.end(message)
        try:
            await self._update(message, page, ref, style)
        except Conflict:  # perhaps a stream from before a crash
            await self._end(message)
            await self._update(message, page, ref, style)

    async def _update(self, message: str, page: Page, ref: MessageRef, style: MessageStyle) -> None:
        content = sent_as(page, style)
        if len(content["text"]) > EDITED:
            raise NotEditable
        client = await self._workspace.client()
        await client.chat_update(channel=self.channel, ts=message, **content, metadata=metadata(ref))
        if not page.growing:
            self._ends.pop(message, None)

    async def _end(self, message: str) -> None:
        """End a stream, including one from before a crash."""
        streams = self.streams or Streams(self._workspace, self.channel, self.thread, ("", ""))
        await streams.end(message)

    async def end_message(self, message: str, run: str, note: str) -> None:
        """Finish an interrupted message; `note` is mrkdwn. Raises Unavailable, and the faults of a surface."""
        if message.startswith(FILE):
            return
        message = bare(message)
        await self._end(message)
        for posted in await self._read(message, message):
            if posted.get("ts") == message:
                ending = _ending_edit(posted, run, note)
                client = await self._workspace.client()
                await client.chat_update(channel=self.channel, ts=message, **ending)

    async def find(self, ref: MessageRef, since: datetime, known_ids: Collection[str]) -> str | None:
        """Find the message by its metadata. A stream gets metadata only at its end, so a message of the bot without any
        may be it, unless it is known to belong to another run. Raises Unavailable if that cannot be found out now.
        """
        oldest = (since - CLOCKS_APART).timestamp()
        try:
            me = await self._workspace.installed()
            messages = await self._read(f"{oldest:.6f}")
        except (PlaceClosed, Gone, Refused, NotEditable):  # then it is posted, perhaps a second time
            return None
        ours = [
            message
            for message in messages
            if (me.user == message.get("user") or me.bot == message.get("bot_id"))
            and message.get("ts") not in (*map(bare, known_ids), self.thread)
            and not message.get("hidden")
        ]
        self.uploads.remember(ref, ours, known_ids)
        likely: list[str] = []
        streamed = self.streams is not None and ref.key.partition("#")[0] not in self._never_streamed
        for message in ours:
            # Messages under the bot's own name have no username.
            id = f"{OWN if message.get('username') else ''}{message['ts']}"
            message_metadata = message.get("metadata") or {}
            if message_metadata.get("event_type") == EVENT:
                if message_metadata.get("event_payload") == metadata(ref)["event_payload"]:
                    return id
            elif streamed and not message_metadata and not message.get("files"):
                likely.append(id)
        if not likely or self._of_others is None:
            return next(iter(likely), None)
        try:
            others_messages = await self._of_others(likely)
        except StorageFault as fault:
            raise Unavailable(f"whose a message is, is not known now: {fault.kind}") from fault
        return next((id for id in likely if id not in others_messages), None)

    async def _read(self, oldest: str, latest: str = "") -> list[Mapping[str, Any]]:
        """The messages between `oldest` and `latest`, in no particular order."""
        window: dict[str, Any] = {"oldest": oldest, "limit": LOOK_BACK, "include_all_metadata": True}
        if latest:
            window |= {"latest": latest, "inclusive": True}
        messages: list[Mapping[str, Any]] = []
        for _ in range(PAGES):
            client = await self._workspace.client()
            if self.thread:
                page: Any = await client.conversations_replies(channel=self.channel, ts=self.thread, **window)
            else:
                page = await client.conversations_history(channel=self.channel, **window)
            messages += page["messages"]
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            window["cursor"] = cursor
        return messages

    async def delete(self, message: str) -> None:
        try:
            if message.startswith(FILE):
                await self.uploads.delete(message)
                return
            message = bare(message)
            if self.streams is not None and self.streams.live(message):
                await self.streams.end(message)
            client = await self._workspace.client()
            await client.chat_delete(channel=self.channel, ts=message)
            self._ends.pop(message, None)
        except NotEditable:
            raise Refused("it can't be deleted") from None


def _ending_edit(message: Mapping[str, Any], run: str, note: str) -> dict[str, Any]:
    """The edit that finishes an interrupted message: no stop button, `note` below it, no open stage in a plan."""
    blocks = without_button(message.get("blocks") or (), f"stop:{run}")
    for at, block in enumerate(blocks):
        if block.get("type") == "plan":
            tasks = [
                {**task, "status": _ENDED.get(task["status"], task["status"])}
                for task in block.get("tasks") or ()
            ]
            blocks[at] = {**block, "tasks": tasks}
    text = f"{str(message.get('text') or '')[: TEXT - len(note) - 1]}\n{note}".strip()
    return {"text": text, "blocks": [*blocks[: BLOCKS - 1], small(note)] if blocks else []}


@dataclass(slots=True)
class Uploads:
    """The files of a channel or thread: each is a message of its own, sent in three steps.

    Slack does not return the message of a file, so the message is identified by the file.
    """

    workspace: Workspace
    channel: str
    thread: str = ""
    _seen: dict[MessageRef, list[Mapping[str, Any]]] = field(default_factory=dict)

    def remember(
        self, ref: MessageRef, messages: Sequence[Mapping[str, Any]], known_ids: Collection[str]
    ) -> None:
        """Remember the files of these messages, because one of them may be the message of `ref`."""
        files = [file for message in messages for file in message.get("files") or ()]
        self._seen[ref] = [file for file in files if FILE + str(file.get("id")) not in known_ids]

    def seen(self, ref: MessageRef, name: str) -> str | None:
        """The message of the file with this name that `Thread.find` has come across. Its size does not matter, because
        a new recording has another.
        """
        return next(
            (FILE + str(file["id"]) for file in self._seen.get(ref, ()) if file.get("name") == name), None
        )

    async def post(self, page: Page, ref: MessageRef) -> str:
        """Send the page's file with its words. Raises Unavailable, and the faults of a surface."""
        ((name, data),) = page.files
        for file in self._seen.pop(ref, ()):
            if file.get("name") == name and file.get("size") == len(data):
                return FILE + str(file["id"])
        if not data:
            raise Refused("an empty file")
        comment = page.plain if page.body.strip() else None
        try:
            client = await self.workspace.client()
            ticket = await client.files_getUploadURLExternal(
                filename=name, length=len(data), alt_txt=comment[:ALT] if comment else None
            )
            await _send(str(ticket["upload_url"]), data)
        except Unsure as fault:  # nothing is visible yet
            raise Unavailable(str(fault)) from None
        client = await self.workspace.client()
        await client.files_completeUploadExternal(
            files=[{"id": str(ticket["file_id"]), "title": name}],
            channel_id=self.channel,
            thread_ts=self.thread or None,
            initial_comment=comment,
        )
        return FILE + str(ticket["file_id"])

    async def same(self, message: str, page: Page) -> None:
        """Raise NotEditable if the message's file differs from the page's, and Unavailable."""
        if not page.files:
            raise NotEditable
        try:
            client = await self.workspace.client()
            stored: Any = (await client.files_info(file=message.removeprefix(FILE)))["file"]
        except Refused:  # deleted, or files may not be read, so leave it
            return
        name, data = page.files[0]
        if (stored.get("name"), stored.get("size")) != (name, len(data)):
            raise NotEditable

    async def delete(self, message: str) -> None:
        client = await self.workspace.client()
        await client.files_delete(file=message.removeprefix(FILE))


async def _send(url: str, data: bytes) -> None:
    """Upload the bytes. The address is a secret, and no fault's text contains it."""
    timeout = aiohttp.ClientTimeout(total=UPLOAD_S)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.post(url, data=data) as answer:
            status = answer.status
    except CALL_FAULTS as fault:
        raise surface_fault(fault) from None
    if status >= 500 or status == 429:
        raise Unavailable(f"HTTP {status}")
    if status != 200:
        raise Refused(f"HTTP {status}")
