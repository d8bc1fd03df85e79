"""Files of messages and commands, served at the fake's own address."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING
from urllib.parse import quote

from aiohttp import web

from tests.fakes.discord.messages import File

if TYPE_CHECKING:
    from tests.fakes.discord.service import FakeDiscord


class Files:
    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord
        self.kept: dict[int, File] = {}
        # Ids of files whose address has expired: 404, as after its signature has expired.
        self.gone: set[int] = set()
        self.read: list[int] = []

    def keep(
        self, channel: int, name: str, data: bytes, kind: str | None = None, description: str | None = None
    ) -> File:
        id = self.discord.world.ids.next()
        guessed = kind or mimetypes.guess_type(name)[0] or "application/octet-stream"
        if name.endswith((".md", ".txt")) and kind is None:
            guessed = f"{'text/markdown' if name.endswith('.md') else 'text/plain'}; charset=utf-8"
        url = f"{self.discord.root}/attachments/{channel}/{id}/{quote(name)}"
        self.kept[id] = File(id, name, data, guessed, url, description)
        return self.kept[id]

    async def serve(self, request: web.Request) -> web.Response:
        text = request.match_info["file"]
        file = self.kept.get(int(text)) if text.isdecimal() else None
        if file is None or file.id in self.gone:
            return web.Response(status=404, text="This content is no longer available.")
        self.read.append(file.id)
        return web.Response(body=file.data, headers={"Content-Type": file.content_type})
