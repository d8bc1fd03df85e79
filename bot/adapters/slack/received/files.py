"""Fetches files that people shared on Slack, when a work wants them, with the token of the workspace they are in.

Knows no work and no document: which kinds are of use is the work's to say, before it asks for one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from yarl import URL

from bot.adapters.download import Downloads
from bot.adapters.slack.placing import origin_of
from bot.adapters.surface import Shut
from bot.events import File, Request, Sorry

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.config import SlackConfig

HOSTS: Final = ("files.slack.com", "slack-files.com")
SLACK: Final = ("slack.com", "slack-gov.com")
"""Where Slack has its API and its pages, but no files."""
_LOCKED: Final = "slack_files.locked"
_UNREACHABLE: Final = "slack_files.unreachable"


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
        except Shut as shut:
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
