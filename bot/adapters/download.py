"""Downloads a file from a platform: at most a limit of bytes, and without following redirects.

Independent of platforms: the caller gives the address, the headers and the meaning of a refusal.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
from yarl import URL

from bot.events import File, UserError, user_error
from bot.retrieval.files import megabytes

TIMEOUT: Final = aiohttp.ClientTimeout(total=120, connect=10, sock_read=30)
TRIES: Final = 3
_PIECE: Final = 1 << 16

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Downloads:
    """Downloads for one platform.

    `refusal` gives the key of the sentence that says why a response is not the named file, "" if it is. `unreachable`
    is the key for a temporary fault, after which the download is tried again.
    """

    refusal: Callable[[aiohttp.ClientResponse, str], str]
    unreachable: str
    pause_s: float

    async def fetch(
        self, url: URL, file: File, path: Path, limit: int, headers: Mapping[str, str] | None = None
    ) -> None:
        """Write the file's bytes to `path`, at most `limit` of them. Raises UserError."""
        _within(file.name, file.size, limit)
        tries = 1
        while (
            key := await self._once(url, file.name, path, limit, headers)
        ) == self.unreachable and tries < TRIES:
            _log.info("a file could not be fetched, trying again")
            await asyncio.sleep(tries * self.pause_s)
            tries += 1
        if key:
            raise user_error(key, {"name": file.name}, transient=key == self.unreachable)

    async def _once(
        self, url: URL, name: str, path: Path, limit: int, headers: Mapping[str, str] | None
    ) -> str:
        """Try once. Returns the key of the sentence about a fault, "" for success."""
        try:
            async with (
                aiohttp.ClientSession(timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.get(url, headers=headers, allow_redirects=False) as answer,
            ):
                if key := self.refusal(answer, name):
                    return key
                _within(name, answer.content_length or 0, limit)
                size = 0
                with path.open("wb") as out:
                    async for piece in answer.content.iter_chunked(_PIECE):
                        size += len(piece)
                        if size > limit:  # the rest is not awaited
                            raise UserError("library.file_over", name=name, limit=limit // 1_000_000)
                        out.write(piece)
        except (aiohttp.ClientError, TimeoutError) as fault:
            _log.info("fetching a file: %s", type(fault).__name__)
            return self.unreachable
        return ""


def _within(name: str, size: int, limit: int) -> None:
    if size > limit:
        raise UserError("library.file_large", name=name, mb=megabytes(size), limit=limit // 1_000_000)
