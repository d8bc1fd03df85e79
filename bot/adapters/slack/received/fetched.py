"""Data fetched from Slack when a work asks for it: files that people shared, with the token of their workspace, and the
earlier messages of a thread that the bot was called into.

Everything said after that is in our own storage. Independent of works and documents: callers decide which kinds of
files they can use, and what they use the words for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from yarl import URL

from bot.adapters.download import Downloads
from bot.adapters.slack.placing import Body, Location, Origin, origin_of, parted, text_of
from bot.adapters.slack.received.line import Name, text_without_mention, words_of
from bot.adapters.slack.received.people import is_member
from bot.adapters.slack.received.replies import newest_replies
from bot.adapters.surface import PlaceClosed, SurfaceFault
from bot.events import File, Request, TransientError, UserError
from bot.platforms import LinkedThread, ThreadMessage, Transcript, WholeThread
from storage.faults import StorageFault

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from bot.adapters.slack.installed.workspaces import Installed, Workspaces
    from bot.adapters.slack.received.people import People
    from bot.config import SlackConfig

HOSTS: Final = ("files.slack.com", "slack-files.com")
SLACK: Final = ("slack.com", "slack-gov.com")
"""Hosts of Slack's API and pages, which hold no files."""
_LOCKED: Final = "slack_files.locked"
_UNREACHABLE: Final = "slack_files.unreachable"

MESSAGES: Final = 50
"""How many of a thread's newest messages are read; the core cuts their text to the room in a question."""
NAMES: Final = 30
"""The most people in a thread who are shown by name, because calls per minute are limited."""
PAGE: Final = 200
"""Messages per call when a whole thread is read; the most that Slack recommends."""
TITLE_CHARS: Final = 100
ONLY_ID: Final = "check_file_info"
"""The `file_access` of a file of which Slack gives only the id (Slack's documentation, "File object")."""
FILES_S: Final = 1.0
"""Seconds that fetching the data of a message's files may take, because Slack waits three for an acknowledgement."""
_log = logging.getLogger(__name__)


class Files:
    """Downloads files; sends the token to no hosts except Slack's."""

    def __init__(self, workspaces: Workspaces, settings: SlackConfig, *, pause_s: float = 1.0) -> None:
        self._workspaces = workspaces
        self._downloads = Downloads(_refusal, _UNREACHABLE, pause_s)
        # A proxy or a replacement of Slack's API has files too; a Slack on another domain has its own file host.
        api = URL(settings.api_base)
        self._own = api.origin()
        self._api = f"{api.path.rstrip('/')}/"
        self._hosts = {*HOSTS, f"files.{self._own.host}"}

    async def fetch(self, request: Request, file: File, path: Path, limit: int) -> None:
        """Write the file's bytes to `path`, at most `limit` of them. Raises UserError."""
        url = self._url_of_slack(file.url)
        if url is None:
            raise UserError("slack_files.elsewhere", name=file.name)
        token = await self._token(request, file)
        await self._downloads.fetch(url, file, path, limit, {"Authorization": f"Bearer {token}"})

    async def transcript(self, request: Request, id: str) -> Transcript | None:
        """Slack's transcript of the clip with this id; None while Slack is transcribing, or if it does not answer."""
        origin = origin_of(request.origin)
        try:
            client = await self._workspaces.client(origin.team, origin.enterprise)
            answer: Any = await client.files_info(file=id)
        except SurfaceFault as fault:
            _log.warning("run %s: what Slack has heard was not read: %s", request.id, fault)
            return None
        return transcript_of(answer["file"])

    def _url_of_slack(self, address: str) -> URL | None:
        """The address as a URL if it is one of Slack's files; no other host may get the token."""
        try:
            url = URL(address)
            slacks_host = url.scheme == "https" and url.port == 443 and url.host in self._hosts
            return url if slacks_host or self._beside_api(url) else None
        except ValueError:  # not an address
            return None

    def _beside_api(self, url: URL) -> bool:
        """Whether the URL is a file on the host of a configured API. Another app's file may have any address, including
        that of an API method, which would then be called with our token.
        """
        if url.origin() != self._own or self._own.host in SLACK:
            return False
        return not f"{url.path.lower()}/".startswith(self._api.lower()) and "//" not in url.path

    async def _token(self, request: Request, file: File) -> str:
        origin = origin_of(request.origin)
        try:
            client = await self._workspaces.client(origin.team, origin.enterprise)
        except PlaceClosed as shut:
            raise UserError(_LOCKED, name=file.name) from shut
        return client.token or ""


async def with_files(workspaces: Workspaces, location: Location, message: Body) -> Body:
    """The message with the data of its files. In a channel that is shared with another organisation (Slack Connect),
    Slack gives only their ids. What is not answered in time stays as it is.
    """
    listed = message.get("files")
    files = [file for file in listed if isinstance(file, dict)] if isinstance(listed, list) else []
    ids = [text_of(file, "id") for file in files if file.get("file_access") == ONLY_ID]
    if not ids:
        return message
    try:
        async with asyncio.timeout(FILES_S):
            client = await workspaces.client(location.team, location.enterprise)
            answers: list[Any] = await asyncio.gather(*(client.files_info(file=id) for id in ids))
    except (SurfaceFault, StorageFault, TimeoutError) as fault:
        _log.info("what a message's files are could not be asked: %s", type(fault).__name__)
        return message
    known = {id: answer["file"] for id, answer in zip(ids, answers, strict=True)}
    return {**message, "files": [known.get(text_of(file, "id"), file) for file in files]}


def transcript_of(file: Body) -> Transcript | None:
    """The transcript of a clip (Slack's documentation, "File object"); None while Slack is transcribing."""
    transcription = file.get("transcription")
    if not isinstance(transcription, dict):
        return Transcript("")
    preview = transcription.get("preview")
    if isinstance(preview, dict) and (words := text_of(preview, "content").strip()):
        return Transcript(words, part=bool(preview.get("has_more")))
    return None if transcription.get("status") == "processing" else Transcript("")


def _refusal(answer: ClientResponse, name: str) -> str:
    """The key of the refusal for a response. Without permission Slack redirects to a sign-in page, which must not get
    the token.
    """
    status = answer.status
    if status == 200:
        page = answer.content_type == "text/html" and not name.lower().endswith((".html", ".htm"))
        return _LOCKED if page else ""  # the sign-in page
    if status in (401, 403) or 300 <= status < 400:
        return _LOCKED
    return _UNREACHABLE if status >= 500 or status == 429 else "slack_files.gone"


class ThreadReader:
    """Reads threads; one per process."""

    def __init__(self, workspaces: Workspaces, people: People) -> None:
        self._workspaces = workspaces
        self._people = people

    async def __call__(self, request: Request) -> str:
        """Lines "Name: words", oldest first; "" if there are none, or if Slack does not return them."""
        origin = origin_of(request.origin)
        if not (origin.earlier and origin.thread):
            return ""
        location = origin.location
        try:
            messages = await self._messages_before(location, origin)
        except (SurfaceFault, StorageFault) as fault:  # the question can be answered without it
            _log.warning("run %s: its thread could not be read: %s", request.id, fault)
            return ""
        name = self._limited_names(location)
        # The newest first, so that these get names.
        lines = await asyncio.gather(*(self._line(message, name) for message in reversed(messages)))
        return "\n".join(reversed(lines))

    async def _messages_before(self, location: Location, origin: Origin) -> list[Mapping[str, Any]]:
        """The thread's messages before the question itself."""
        client = await self._workspaces.client(location.team, location.enterprise)

        def counts(message: Mapping[str, Any]) -> bool:
            return bool(text_of(message, "text")) and not message.get("hidden")

        replies = await newest_replies(
            client, location.channel, location.thread, MESSAGES, counts, origin.message
        )
        return replies[0]

    def _limited_names(self, location: Location) -> Name:
        users: set[str] = set()

        async def name(user: str) -> str:
            if user not in users and len(users) == NAMES:
                return user
            users.add(user)
            return await self._people.name(location, user)

        return name

    async def _line(self, message: Mapping[str, Any], name: Name) -> str:
        return (
            f"{await _who(message, name)}: {await text_without_mention(text_of(message, 'text'), '', name)}"
        )

    async def whole(self, request: Request) -> WholeThread | None:
        """The whole thread of the request before the request's own message."""
        origin = origin_of(request.origin)
        if not origin.thread or origin.private:
            return None
        location = origin.location
        me = await self._workspaces.installed(location.team, location.enterprise)
        name = self._limited_names(location)
        pages = self._pages(location)
        if not (first := await anext(pages, None)):
            return None
        root = first[0]
        starter = "" if _is_ours(root, me) else text_of(root, "user") or text_of(root, "bot_id")
        title = (await text_without_mention(text_of(root, "text"), "", name)).partition("\n")[0][:TITLE_CHARS]

        async def said() -> AsyncGenerator[list[ThreadMessage], None]:
            page = first
            async with aclosing(pages):
                while page:
                    yield [
                        await _said(message, name)
                        for message in page
                        if text_of(message, "text") and not (message.get("hidden") or _is_ours(message, me))
                    ]
                    page = await anext(pages, [])

        return WholeThread(starter, title, said())

    async def last(self, request: Request, most: int) -> list[ThreadMessage]:
        """The newest messages before the request, from its thread or else its channel."""
        origin = origin_of(request.origin)
        location = origin.location
        in_thread = origin.thread not in ("", origin.message)
        try:
            client = await self._workspaces.client(location.team, location.enterprise)
            me = await self._workspaces.installed(location.team, location.enterprise)
            counts = partial(_counts, me)
            if in_thread:
                messages, _ = await newest_replies(
                    client, origin.channel, origin.thread, most, counts, origin.message
                )
            else:
                answer: Any = await client.conversations_history(
                    channel=origin.channel, latest=origin.message or None, inclusive=False, limit=most
                )
                messages = list(filter(counts, answer.get("messages") or ()))
        except SurfaceFault as fault:
            raise TransientError("slack_files.thread_closed") from fault
        name = self._limited_names(location)
        messages.sort(key=lambda message: float(text_of(message, "ts") or 0))
        return [await _said(message, name, words_of(message)) for message in messages[-most:]]

    async def linked(self, request: Request, thread: str, most: int) -> LinkedThread:
        """The newest replies of a linked thread, if the request's author is in its channel."""
        origin, (channel, root) = origin_of(request.origin), parted(thread)
        location = Location(origin.user, origin.team, channel, origin.enterprise, root)
        closed = UserError("thread.link_closed", n=1)
        try:
            client = await self._workspaces.client(location.team, location.enterprise)
            me = await self._workspaces.installed(location.team, location.enterprise)
            if channel != origin.channel and not await is_member(client, channel, origin.user, beyond=False):
                raise closed
            newest, total = await newest_replies(
                client, channel, root, most, lambda each: text_of(each, "ts") != root and _counts(me, each)
            )
        except SurfaceFault:
            raise closed from None
        name = self._limited_names(location)
        return LinkedThread([await _said(each, name, words_of(each)) for each in newest], total)

    async def pins(self, request: Request) -> list[ThreadMessage]:
        """The pinned messages of the request's channel, in Slack's order, the newest pin first."""
        origin = origin_of(request.origin)
        location = Location(origin.user, origin.team, origin.channel, origin.enterprise)
        try:
            client = await self._workspaces.client(location.team, location.enterprise)
            answer: Any = await client.pins_list(channel=origin.channel)
        except SurfaceFault as fault:
            raise TransientError("slack_files.pins_closed") from fault
        name = self._limited_names(location)
        messages = [item.get("message") or {} for item in answer.get("items") or ()]
        return [
            await _said(each, name, words_of(each))
            for each in messages
            if words_of(each) and text_of(each, "ts")
        ]

    async def _pages(self, location: Location) -> AsyncGenerator[list[Mapping[str, Any]], None]:
        cursor = ""
        while True:
            try:
                client = await self._workspaces.client(location.team, location.enterprise)
                answer: Any = await client.conversations_replies(
                    channel=location.channel, ts=location.thread, limit=PAGE, cursor=cursor or None
                )
            except SurfaceFault as fault:
                raise TransientError("slack_files.thread_closed") from fault
            page = answer.get("messages") or ()
            yield [row for row in page if not location.message or text_of(row, "ts") < location.message]
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return


def _counts(me: Installed, message: Mapping[str, Any]) -> bool:
    """Whether the message has words and somebody else wrote it."""
    return words_of(message) != "" and not (message.get("hidden") or _is_ours(message, me))


def _is_ours(message: Mapping[str, Any], me: Installed) -> bool:
    return text_of(message, "user") == me.user or text_of(message, "bot_id") == me.bot != ""


async def _said(message: Mapping[str, Any], name: Name, text: str = "") -> ThreadMessage:
    """The message as a ThreadMessage. `text`, in Slack's markup, replaces the message's own text."""
    ts, user = text_of(message, "ts"), "" if text_of(message, "bot_id") else text_of(message, "user")
    words = await text_without_mention(text or text_of(message, "text"), "", name)
    return ThreadMessage(ts, user, await _who(message, name), words, datetime.fromtimestamp(float(ts), UTC))


async def _who(message: Mapping[str, Any], name: Name) -> str:
    profile = message.get("bot_profile") or {}
    name_shown = str(profile.get("name") or message.get("username") or "")
    user = text_of(message, "user")
    return name_shown or (await name(user) if user else "?")
