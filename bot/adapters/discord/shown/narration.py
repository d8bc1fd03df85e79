"""What was narrated, as a file where its text stands, with a line that says who speaks; and what is told of it."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.adapters.discord.received.placing import origin_of
from bot.adapters.discord.shown.surface import Channel, direct
from bot.adapters.discord.shown.threads import THREAD
from bot.adapters.discord.text.page import Card, Page, Shown
from bot.adapters.surface import MessageRef, MessageStyle, SurfaceFault
from bot.adapters.writer import with_retries

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.events import Request
    from bot.speech.clips import Clip

SPOKEN: Final = "spoken:"
"""What the key of such a message begins with."""

_log = logging.getLogger(__name__)


async def place_of(client: Client, request: Request) -> Channel:
    """Where the request's answer stands. Raises SurfaceFault, and ValueError for a request that was withdrawn."""
    origin, place, records = origin_of(request.origin), request.place, client.app.records
    if origin.private:
        return await direct(client, origin.user)
    opened = await records.outbox.get(place.space, request.id, THREAD)
    thread = opened.message_id if opened is not None else None
    thread = thread or await records.threads.real(place.space, place.channel, place.thread)
    return Channel(client, int(thread or origin.channel), origin.guild)


async def post(client: Client, request: Request, clip: Clip, key: str) -> None:
    """Post it below what the run has said."""
    parts = (clip.label, Shown(clip.name, clip.data, picture=False)) if clip.data else ()
    pages = [Page((Card(parts),), clip.label)] if parts else []
    pages += [Page((Card((clip.note,)),), clip.note)] if clip.note else []
    try:
        surface = await place_of(client, request)
        for n, page in enumerate(pages):
            ref = MessageRef(request.id, f"{SPOKEN}{key}", n)
            await with_retries(partial(surface.post, page, ref, MessageStyle.LAYOUT))
    except (SurfaceFault, ValueError, KeyError, TypeError) as fault:
        _log.warning("run %s: what was narrated was not sent: %r", request.id, fault)
