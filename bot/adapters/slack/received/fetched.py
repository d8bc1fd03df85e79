"""What is fetched from Slack when a work asks for it: files that people shared, with the token of the workspace they
are in, and what was said in a thread before the bot was called into it, once.

Everything said after that is in our own storage. Knows no work and no document: which kinds are of use, and what the
words are good for, is for whoever asks to say.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from yarl import URL

from bot.adapters.download import Downloads
from bot.adapters.slack.placing import Location, Origin, origin_of, text_of
from bot.adapters.slack.received.line import Name, heard
from bot.adapters.surface import PlaceClosed, SurfaceFault
from bot.events import File, Request, Sorry
from bot.platforms import ThreadMessage, WholeThread
from storage.faults import StorageFault

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.slack.received.people import People
    from bot.config import SlackConfig

HOSTS: Final = ("files.slack.com", "slack-files.com")
SLACK: Final = ("slack.com", "slack-gov.com")
"""Where Slack has its API and its pages, but no files."""
_LOCKED: Final = "slack_files.locked"
_UNREACHABLE: Final = "slack_files.unreachable"

MESSAGES: Final = 50
"""The newest; the core cuts what they say to what a question has room for."""
NAMES: Final = 30
"""People of all messages who are called by their names, lest one thread use up what Slack lets us ask in a minute."""
PAGE: Final = 200
"""Messages of one call, where all of a thread is read: as many as Slack recommends at most."""
TITLE_CHARS: Final = 100
READ: Final = 999
"""Messages of one call, the most there are (Slack's documentation, "conversations.replies"), oldest first."""

_log = logging.getLogger(__name__)


class Files:
    """Fetches them, and shows the token to nobody but Slack."""

    def __init__(self, workspaces: Workspaces, settings: SlackConfig, *, pause_s: float = 1.0) -> None:
        self._workspaces = workspaces
        self._downloads = Downloads(_refusal, _UNREACHABLE, pause_s)
        # A proxy or a stand-in for Slack keeps files, too; a Slack of another name has them at a host of its own.
        api = URL(settings.api_base)
        self._own = api.origin()
        self._api = f"{api.path.rstrip('/')}/"
        self._hosts = {*HOSTS, f"files.{self._own.host}"}

    async def fetch(self, request: Request, file: File, path: Path, limit: int) -> None:
        """Write the file's bytes to `path`, at most `limit` of them. Raises Sorry."""
        url = self._slacks(file.url)
        if url is None:
            raise Sorry("slack_files.elsewhere", name=file.name)
        token = await self._token(request, file)
        await self._downloads.fetch(url, file, path, limit, {"Authorization": f"Bearer {token}"})

    def _slacks(self, address: str) -> URL | None:
        """The address, if Slack keeps its files there: nobody else is shown the token."""
        try:
            url = URL(address)
            there = url.scheme == "https" and url.port == 443 and url.host in self._hosts
            return url if there or self._stands_in(url) else None
        except ValueError:  # no address at all
            return None

    def _stands_in(self, url: URL) -> bool:
        """Whether it is a file beside the API. A file of somebody else's app may be said to be anywhere, also at a
        call of Slack's own, which would be made with our token.
        """
        if url.origin() != self._own or self._own.host in SLACK:
            return False
        return not f"{url.path.lower()}/".startswith(self._api.lower()) and "//" not in url.path

    async def _token(self, request: Request, file: File) -> str:
        origin = origin_of(request.origin)
        try:
            client = await self._workspaces.client(origin.team, origin.enterprise)
        except PlaceClosed as shut:
            raise Sorry(_LOCKED, name=file.name) from shut
        return client.token or ""


def _refusal(answer: ClientResponse, name: str) -> str:
    """Whoever may not read files is sent elsewhere to sign in, where the token must not follow."""
    status = answer.status
    if status == 200:
        page = answer.content_type == "text/html" and not name.lower().endswith((".html", ".htm"))
        return _LOCKED if page else ""  # the page where people sign in
    if status in (401, 403) or 300 <= status < 400:
        return _LOCKED
    return _UNREACHABLE if status >= 500 or status == 429 else "slack_files.gone"


class ThreadReader:
    """One per process."""

    def __init__(self, workspaces: Workspaces, people: People) -> None:
        self._workspaces = workspaces
        self._people = people

    async def __call__(self, request: Request) -> str:
        """Lines "Name: words", oldest first; "" where nothing was said, or where Slack does not tell it."""
        origin = origin_of(request.origin)
        if not (origin.earlier and origin.thread):
            return ""
        here = Location(
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

    async def _said(self, here: Location, origin: Origin) -> list[Mapping[str, Any]]:
        """Without the question itself, and what came after it."""
        async with self._workspaces.calling(here.team, here.enterprise) as client:
            answer: Any = await client.conversations_replies(
                channel=here.channel, ts=here.thread, latest=origin.message, inclusive=False, limit=READ
            )
        found = [
            one for one in answer.get("messages") or () if text_of(one, "text") and not one.get("hidden")
        ]
        return [one for one in found if text_of(one, "ts") < origin.message]

    def _named(self, here: Location) -> Name:
        named: set[str] = set()

        async def name(user: str) -> str:
            if user not in named and len(named) == NAMES:
                return user
            named.add(user)
            return await self._people.name(here, user)

        return name

    async def _line(self, message: Mapping[str, Any], name: Name) -> str:
        return f"{await _who(message, name)}: {await heard(text_of(message, 'text'), '', name)}"

    async def whole(self, request: Request) -> WholeThread | None:
        """All of the request's thread before its own message."""
        origin = origin_of(request.origin)
        if not origin.thread or origin.private:
            return None
        here = Location(
            origin.user, origin.team, origin.channel, origin.enterprise, origin.thread, origin.message
        )
        pages = self._pages(here, self._named(here))
        root = await anext(pages, None)
        if not root:
            return None
        return WholeThread(root[0].author, root[0].text.partition("\n")[0][:TITLE_CHARS], _again(root, pages))

    async def _pages(self, here: Location, name: Name) -> AsyncGenerator[list[ThreadMessage], None]:
        cursor, me = "", await self._workspaces.me(here.team, here.enterprise)
        while True:
            try:
                async with self._workspaces.calling(here.team, here.enterprise) as client:
                    answer: Any = await client.conversations_replies(
                        channel=here.channel, ts=here.thread, limit=PAGE, cursor=cursor or None
                    )
            except SurfaceFault as fault:
                raise Sorry("slack_files.thread_closed") from fault
            page = []
            for one in answer.get("messages") or ():
                ts, text = text_of(one, "ts"), text_of(one, "text")
                ours = text_of(one, "user") == me.user or text_of(one, "bot_id") == me.bot != ""
                if not text or one.get("hidden") or ours or (here.message and ts >= here.message):
                    continue
                user = "" if text_of(one, "bot_id") else text_of(one, "user")
                at = datetime.fromtimestamp(float(ts), UTC)
                page.append(ThreadMessage(ts, user, await _who(one, name), await heard(text, "", name), at))
            yield page
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return


async def _again(
    first: list[ThreadMessage], pages: AsyncGenerator[list[ThreadMessage], None]
) -> AsyncGenerator[list[ThreadMessage], None]:
    async with aclosing(pages):
        yield first
        async for page in pages:
            yield page


async def _who(message: Mapping[str, Any], name: Name) -> str:
    profile = message.get("bot_profile") or {}
    shown = str(profile.get("name") or message.get("username") or "")
    user = text_of(message, "user")
    return shown or (await name(user) if user else "?")
