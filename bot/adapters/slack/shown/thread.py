"""A channel of Slack's, or a thread in one, where the bot owns what it writes, and the files that it sends there.

Says how a page is sent, and how a message of ours is known again: by its metadata, or by its file. Knows no run and no
stage. Files: https://docs.slack.dev/messaging/working-with-files
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import aiohttp

from bot.adapters.buttons_row import custom_id
from bot.adapters.slack.installed.clients import room
from bot.adapters.slack.installed.faults import NO_SCOPE, Conflict, Unsure
from bot.adapters.slack.shown.stream import Streams
from bot.adapters.slack.text.mrkdwn import plain
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

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspace
    from bot.events import Speaker

EVENT = "sutradhar"
"""The event_type of our messages' metadata."""
CLOCKS_APART = timedelta(minutes=1)
"""How far our clock and Slack's may differ when we look for what we sent."""
LOOK_BACK, PAGES = 100, 5
"""Messages a page, and pages, that are looked through for one of ours."""
EDITED = 4_000
"""Characters of a text that chat.update takes (its documentation, "msg_too_long")."""
FILE = "file:"
"""What the id of such a message begins with; no ts does."""
UPLOAD_S = 120.0
ALT = 1_000
"""Characters of what is said of a picture to who cannot see it (its documentation, "files.getUploadURLExternal")."""
USERNAME = 80
"""Characters of the name that a message is posted under."""
_ENDED = {"pending": "error", "in_progress": "error"}
"""What becomes of a plan's open stages."""


_log = logging.getLogger(__name__)


def metadata(ref: MessageRef) -> dict[str, Any]:
    payload = {"run": ref.run, "key": ref.key, "turn": ref.turn}
    return {"event_type": EVENT, "event_payload": payload}


def named(speaker: Speaker) -> dict[str, str]:
    """The name and picture of a message, for chat.postMessage and chat.startStream."""
    name = plain(speaker.name, USERNAME)
    return {"username": name or "…"} | ({"icon_url": speaker.picture} if speaker.picture else {})


def sent_as(page: Page, style: MessageStyle) -> dict[str, Any]:
    """The page's text and blocks; the text beside blocks is for notifications, and for who cannot see them."""
    text = page.plain if page.plain.strip() else "…"
    if style is MessageStyle.LAYOUT:
        return {"text": text[:TEXT], "blocks": page.blocks}
    if style is MessageStyle.PLAIN and page.buttons_plain:
        words = [section(text[at : at + SMALL]) for at in range(0, len(text), SMALL)]
        return {"text": text[:TEXT], "blocks": [*words, *page.buttons_plain]}
    return {"text": text, "blocks": []}


class Thread:
    """Without `thread` the channel itself, below everything. Only where there are `streams` does a page grow in one."""

    def __init__(
        self,
        workspace: Workspace,
        channel: str,
        thread: str = "",
        *,
        streams: Streams | None = None,
        never_streamed: Collection[str] = (),
        without_file: Callable[[str, Exception], None] = lambda name, fault: None,
        without_name: Callable[[], None] = lambda: None,
    ) -> None:
        """`never_streamed` are the marks' keys of messages that always bear their metadata.

        `without_file` is told which file Slack does not take, and why; `without_name`, that no speaker has a name here.
        """
        self._workspace = workspace
        self._without_name = without_name
        self._without_file = without_file
        self.channel = channel
        self.thread = thread
        self._streams = streams
        self._never_streamed = never_streamed
        self._uploads = Uploads(workspace, channel, thread)

    @property
    def key(self) -> Hashable:
        return (self._workspace.space, self.channel)

    def _own(self, page: Page) -> Speaker | None:
        """Under whose name the page may be posted, None for the bot's."""
        speaker = page.speaker if page.file is None else None
        workspace = self._workspace
        return speaker if speaker and speaker.own and workspace.workspaces.names(workspace.space) else None

    def renames(self, message: str, page: Page) -> bool:
        return not message.startswith((OWN, FILE)) and self._own(page) is not None

    async def post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        if (speaker := self._own(page)) is not None:
            try:
                return OWN + await self._post(page.nameless, ref, style, named(speaker))
            except PlaceClosed as closed:
                if closed.code != NO_SCOPE:
                    raise
                self._without_name()
            except (
                Refused
            ) as refused:  # its picture, perhaps; if it is the page, it will be refused once more
                _log.info("a message goes out under the bot's own name: %s", refused)
        return await self._post(page, ref, style, {})

    async def _post(self, page: Page, ref: MessageRef, style: MessageStyle, own: Mapping[str, Any]) -> str:
        if page.file is not None and style is not MessageStyle.BARE:
            try:
                return await self._uploads.post(page, ref)
            except (Refused, PlaceClosed) as fault:  # then it is named, at least
                self._without_file(page.file[0], fault)
                style = MessageStyle.BARE
        if style is MessageStyle.LAYOUT and page.growing and self._streams is not None:
            begun = await self._streams.begin(page, own)
            if begun is not None:
                return begun
        async with self._workspace.calling() as client:
            if page.growing and page.wordless and not room(client, "chat.update"):
                raise NotSent("the first words would wait longer than the message")
            posted = await client.chat_postMessage(
                channel=self.channel,
                thread_ts=self.thread or None,
                metadata=metadata(ref),
                unfurl_links=False,
                unfurl_media=False,
                **sent_as(page, style),
                **own,
            )
        # A person's own conversation has another id than the person, by which no file can be sent.
        self.channel = self._uploads.channel = str(posted["channel"])
        return str(posted["ts"])

    async def edit(
        self, message: str, page: Page, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> None:
        if message.startswith(FILE):
            if files:
                await self._uploads.same(message, page)
            return
        if message.startswith(OWN):
            message, page = bare(message), page.nameless
        if style is MessageStyle.LAYOUT and self._streams is not None:
            if await self._streams.write(message, page, metadata(ref)):
                return
        elif self._streams is not None and self._streams.live(message):
            await self._streams.end(message)
        try:
            await self._update(message, page, ref, style)
        except Conflict:  # it was begun before a crash, perhaps
            await self._end(message)
            await self._update(message, page, ref, style)

    async def _update(self, message: str, page: Page, ref: MessageRef, style: MessageStyle) -> None:
        said = sent_as(page, style)
        if len(said["text"]) > EDITED:
            raise NotEditable
        async with self._workspace.calling() as client:
            await client.chat_update(channel=self.channel, ts=message, **said, metadata=metadata(ref))

    def session_over(self) -> None:
        """What ends a stream from now on does not say that the run goes on."""
        if self._streams is not None:
            self._streams.session = "active"

    async def _end(self, message: str) -> None:
        """Whoever began it, it is no stream any more."""
        streams = self._streams or Streams(self._workspace, self.channel, self.thread, ("", ""))
        await streams.end(message)

    async def end_messages(self, message: str, run: str, note: str) -> None:
        """End a message that a crash cut off; `note` is mrkdwn. Raises Unavailable, and the faults of a surface."""
        if message.startswith(FILE):
            return
        message = bare(message)
        await self._end(message)
        for one in await self._read(message, message):
            if one.get("ts") == message:
                said = _put_out(one, run, note)
                async with self._workspace.calling() as client:
                    await client.chat_update(channel=self.channel, ts=message, **said)

    async def find(self, ref: MessageRef, since: datetime, known: Collection[str]) -> str | None:
        """By its metadata, which a stream gets at its end only: one of ours in the thread without any may be it."""
        oldest = (since - CLOCKS_APART).timestamp()
        try:
            me = await self._workspace.me()
            messages = await self._read(f"{oldest:.6f}")
        except (PlaceClosed, Gone, Refused, NotEditable):  # then it is posted, if need be twice
            return None
        ours = [
            one
            for one in messages
            if (me.user == one.get("user") or me.bot == one.get("bot_id"))
            and one.get("ts") not in (*map(bare, known), self.thread)
            and not one.get("hidden")
        ]
        self._uploads.remember(ref, ours, known)
        likely = None
        streamed = self._streams is not None and ref.key not in self._never_streamed
        for one in ours:
            # Those under the bot's own name have none of their own.
            id = f"{OWN if one.get('username') else ''}{one['ts']}"
            said = one.get("metadata") or {}
            if said.get("event_type") == EVENT:
                if said.get("event_payload") == metadata(ref)["event_payload"]:
                    return id
            elif streamed and likely is None and not said and not one.get("files"):
                likely = id
        return likely

    async def _read(self, oldest: str, latest: str = "") -> list[Mapping[str, Any]]:
        """What stands here since then, in no order."""
        window: dict[str, Any] = {"oldest": oldest, "limit": LOOK_BACK, "include_all_metadata": True}
        if latest:
            window |= {"latest": latest, "inclusive": True}
        found: list[Mapping[str, Any]] = []
        for _ in range(PAGES):
            async with self._workspace.calling() as client:
                if self.thread:
                    page: Any = await client.conversations_replies(
                        channel=self.channel, ts=self.thread, **window
                    )
                else:
                    page = await client.conversations_history(channel=self.channel, **window)
            found += page["messages"]
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            window["cursor"] = cursor
        return found

    async def delete(self, message: str) -> None:
        try:
            if message.startswith(FILE):
                await self._uploads.delete(message)
                return
            message = bare(message)
            if self._streams is not None and self._streams.live(message):
                await self._streams.end(message)
            async with self._workspace.calling() as client:
                await client.chat_delete(channel=self.channel, ts=message)
        except NotEditable:
            raise Refused("it can't be deleted") from None


def _put_out(message: Mapping[str, Any], run: str, note: str) -> dict[str, Any]:
    """The edit that ends a message in the middle of its text: no stop button, `note` below, no plan that goes on."""
    blocks = without_button(message.get("blocks") or (), custom_id("stop", run))
    for at, block in enumerate(blocks):
        if block.get("type") == "plan":
            tasks = [
                {**one, "status": _ENDED.get(one["status"], one["status"])}
                for one in block.get("tasks") or ()
            ]
            blocks[at] = {**block, "tasks": tasks}
    text = f"{str(message.get('text') or '')[: TEXT - len(note) - 1]}\n{note}".strip()
    return {"text": text, "blocks": [*blocks[: BLOCKS - 1], small(note)] if blocks else []}


@dataclass(slots=True)
class Uploads:
    """A channel's, or a thread's: each file is a message of its own, sent in three steps, and found again.

    Slack does not say which message a file has become, so such a message is known by its file.
    """

    workspace: Workspace
    channel: str
    thread: str = ""
    _seen: dict[MessageRef, list[Mapping[str, Any]]] = field(default_factory=dict)

    def remember(
        self, ref: MessageRef, messages: Sequence[Mapping[str, Any]], known: Collection[str]
    ) -> None:
        """One of these may be the message meant; which one, only its file will tell."""
        files = [file for one in messages for file in one.get("files") or ()]
        self._seen[ref] = [file for file in files if FILE + str(file.get("id")) not in known]

    async def post(self, page: Page, ref: MessageRef) -> str:
        """Send the page's file with its words. Raises Unavailable, and the faults of a surface."""
        assert page.file is not None
        name, data = page.file
        for file in self._seen.pop(ref, ()):
            if file.get("name") == name and file.get("size") == len(data):
                return FILE + str(file["id"])
        if not data:
            raise Refused("an empty file")
        said = page.plain if page.body.strip() else None
        try:
            async with self.workspace.calling() as client:
                ticket = await client.files_getUploadURLExternal(
                    filename=name, length=len(data), alt_txt=said[:ALT] if said else None
                )
                await _send(str(ticket["upload_url"]), data)
        except Unsure as fault:  # nobody has seen any of it yet
            raise Unavailable(str(fault)) from None
        async with self.workspace.calling() as client:
            await client.files_completeUploadExternal(
                files=[{"id": str(ticket["file_id"]), "title": name}],
                channel_id=self.channel,
                thread_ts=self.thread or None,
                initial_comment=said,
            )
        return FILE + str(ticket["file_id"])

    async def same(self, message: str, page: Page) -> None:
        """Raises NotEditable where the message is another file than the page's, and Unavailable."""
        if page.file is None:
            raise NotEditable
        try:
            async with self.workspace.calling() as client:
                there: Any = (await client.files_info(file=message.removeprefix(FILE)))["file"]
        except Refused:  # it is gone, or files may not be read: then it is let be
            return
        if (there.get("name"), there.get("size")) != (page.file[0], len(page.file[1])):
            raise NotEditable

    async def delete(self, message: str) -> None:
        async with self.workspace.calling() as client:
            await client.files_delete(file=message.removeprefix(FILE))


async def _send(url: str, data: bytes) -> None:
    """The address is a secret as long as it can be used: it is in no fault's text."""
    timeout = aiohttp.ClientTimeout(total=UPLOAD_S)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.post(url, data=data) as answer:
        if answer.status >= 500 or answer.status == 429:
            raise Unavailable(f"HTTP {answer.status}")
        if answer.status != 200:
            raise Refused(f"HTTP {answer.status}")
