"""Files of the bot's own, each a message of its own: sent in three steps, and found again.

Slack does not say which message a file has become, so such a message is known by its file. Knows no run.
https://docs.slack.dev/messaging/working-with-files
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp

from bot.adapters.slack.installed.faults import Unsure
from bot.adapters.surface import Full, Later, Mark, Refused

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspace
    from bot.adapters.slack.text.page import Page

KIND = "file:"
"""What the id of such a message begins with; no ts does."""
UPLOAD_S = 120.0
ALT = 1_000
"""Characters of what is said of a picture to who cannot see it (its documentation, "files.getUploadURLExternal")."""


def is_file(message: str) -> bool:
    return message.startswith(KIND)


@dataclass(slots=True)
class Uploads:
    """A channel's, or a thread's."""

    workspace: Workspace
    channel: str
    thread: str = ""
    _seen: dict[Mark, list[Mapping[str, Any]]] = field(default_factory=dict)

    def remember(self, mark: Mark, messages: Sequence[Mapping[str, Any]], known: Collection[str]) -> None:
        """One of these may be the mark's; which one, only its file will tell."""
        files = [file for one in messages for file in one.get("files") or ()]
        self._seen[mark] = [file for file in files if KIND + str(file.get("id")) not in known]

    async def post(self, page: Page, mark: Mark) -> str:
        """Send the page's file with its words. Raises Later, and the faults of a surface."""
        assert page.file is not None
        name, data = page.file
        for file in self._seen.pop(mark, ()):
            if file.get("name") == name and file.get("size") == len(data):
                return KIND + str(file["id"])
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
            raise Later(str(fault)) from None
        async with self.workspace.calling() as client:
            await client.files_completeUploadExternal(
                files=[{"id": str(ticket["file_id"]), "title": name}],
                channel_id=self.channel,
                thread_ts=self.thread or None,
                initial_comment=said,
            )
        return KIND + str(ticket["file_id"])

    async def same(self, message: str, page: Page) -> None:
        """Raises Full where the message is another file than the page's, and Later."""
        if page.file is None:
            raise Full
        try:
            async with self.workspace.calling() as client:
                there: Any = (await client.files_info(file=message.removeprefix(KIND)))["file"]
        except Refused:  # it is gone, or files may not be read: then it is let be
            return
        if (there.get("name"), there.get("size")) != (page.file[0], len(page.file[1])):
            raise Full

    async def delete(self, message: str) -> None:
        async with self.workspace.calling() as client:
            await client.files_delete(file=message.removeprefix(KIND))


async def _send(url: str, data: bytes) -> None:
    """The address is a secret as long as it can be used: it is in no fault's text."""
    timeout = aiohttp.ClientTimeout(total=UPLOAD_S)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.post(url, data=data) as answer:
        if answer.status >= 500 or answer.status == 429:
            raise Later(f"HTTP {answer.status}")
        if answer.status != 200:
            raise Refused(f"HTTP {answer.status}")
