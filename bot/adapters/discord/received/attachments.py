"""Fetches files that people attached on Discord, when a work wants them, from where Discord keeps them.

Knows no work and no document: which kinds are of use is the work's to say, before it asks for one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from yarl import URL

from bot.adapters.download import Downloads
from bot.events import File, Request, Sorry

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from bot.config import DiscordConfig

HOSTS: Final = ("cdn.discordapp.com", "media.discordapp.net")
_UNREACHABLE: Final = "discord_run.file_unreachable"


class Attachments:
    """Fetches them, without ever showing anybody the bot's token."""

    def __init__(self, settings: DiscordConfig, *, pause_s: float = 1.0) -> None:
        self._downloads = Downloads(_refusal, _UNREACHABLE, pause_s)
        # A proxy or a stand-in for Discord may keep files, too.
        self._own = URL(settings.api_base).origin()

    async def fetch(self, _: Request, file: File, path: Path, limit: int) -> None:
        """Write the file's bytes to `path`, at most `limit` of them. Raises Sorry.

        Whose request it is does not matter: an attachment's address opens it by itself.
        """
        url = URL(file.url)
        if not url.is_absolute() or not (
            (url.scheme == "https" and url.host in HOSTS) or url.origin() == self._own
        ):
            raise Sorry("discord_run.file_elsewhere", name=file.name)
        await self._downloads.fetch(url, file, path, limit)


def _refusal(answer: ClientResponse, _: str) -> str:
    if answer.status == 200:
        return ""
    return _UNREACHABLE if answer.status >= 500 or answer.status == 429 else "discord_run.file_gone"
