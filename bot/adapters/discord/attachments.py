"""Fetches files that people attached on Discord, when a work wants them, from where Discord keeps them.

Knows no work and no document: which kinds are of use is the work's to say, before it asks for one.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

import aiohttp
from yarl import URL

from bot.events import File, Request, Sorry

if TYPE_CHECKING:
    from bot.config import DiscordConfig

HOSTS: Final = ("cdn.discordapp.com", "media.discordapp.net")
TIMEOUT: Final = aiohttp.ClientTimeout(total=120, connect=10, sock_read=30)
TRIES: Final = 3
_PIECE: Final = 1 << 16
_GONE: Final = "discord_run.file_gone"
_UNREACHABLE: Final = "discord_run.file_unreachable"

_log = logging.getLogger(__name__)


class Attachments:
    """Fetches them, without ever showing anybody the bot's token."""

    def __init__(self, settings: DiscordConfig, *, pause_s: float = 1.0) -> None:
        self._pause_s = pause_s
        # A proxy or a stand-in for Discord may keep files, too.
        self._own = URL(settings.api_base).origin()

    async def fetch(self, _: Request, file: File, path: Path, limit: int) -> None:
        """Write the file's bytes to `path`, at most `limit` of them. Raises Sorry.

        Whose request it is does not matter: an attachment's address opens it by itself.
        """
        _within(file.name, file.size, limit)
        url = URL(file.url)
        if not url.is_absolute() or not (
            (url.scheme == "https" and url.host in HOSTS) or url.origin() == self._own
        ):
            raise Sorry("discord_run.file_elsewhere", name=file.name)
        tries = 1
        while (key := await _download(url, file.name, path, limit)) and tries < TRIES and key != _GONE:
            _log.info("an attachment could not be fetched, trying again")
            await asyncio.sleep(tries * self._pause_s)
            tries += 1
        if key:
            raise Sorry(key, name=file.name)


async def _download(url: URL, name: str, path: Path, limit: int) -> str:
    """Once; "" when it is all there, else the key of the sentence that says why not."""
    try:
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                return _GONE if answer.status < 500 else _UNREACHABLE
            size = 0
            with path.open("wb") as out:
                async for piece in answer.content.iter_chunked(_PIECE):
                    size += len(piece)
                    _within(name, size, limit)
                    out.write(piece)
    except (aiohttp.ClientError, TimeoutError):
        return _UNREACHABLE
    return ""


def _within(name: str, size: int, limit: int) -> None:
    if size > limit:
        mb, most = f"{size / 1e6:.1f}", limit // 1_000_000
        raise Sorry("library.file_large", name=name, mb=mb, limit=most)
