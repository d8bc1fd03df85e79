"""What was narrated, as a file in the thread where its text stands, with a line that says who speaks."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.adapters.home import with_retries
from bot.adapters.slack.placing import origin_of
from bot.adapters.slack.shown.home import SlackHome
from bot.adapters.slack.text.page import Page
from bot.adapters.surface import MessageRef, MessageStyle, SurfaceFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.writer import Writers
    from bot.events import Request
    from bot.speech.clips import Clip
    from storage.records import Records

SPOKEN: Final = "spoken:"
"""What the key of such a message begins with."""

_log = logging.getLogger(__name__)


async def post(
    records: Records, workspaces: Workspaces, writers: Writers, request: Request, clip: Clip, key: str
) -> None:
    """Post it below what the run has said; what cannot be sent is told there."""
    origin = origin_of(request.origin)
    home = SlackHome(
        workspaces, request, origin, records.outbox, records.offers, records.threads, writers, records.inbox
    )
    told = [clip.note] if clip.note else []
    home.tell = told.append
    try:
        await home.find()
        surface = home.surface
        if clip.data:
            page = Page(body=clip.label, plain=clip.label, file=(clip.name, clip.data))
            ref = MessageRef(request.id, f"{SPOKEN}{key}")
            await with_retries(partial(surface.post, page, ref, MessageStyle.LAYOUT))
        for n, sentence in enumerate(told):
            page = Page(body=sentence, plain=sentence)
            ref = MessageRef(request.id, f"{SPOKEN}{key}:{n}")
            await with_retries(partial(surface.post, page, ref, MessageStyle.BARE))
    except SurfaceFault as fault:
        _log.warning("run %s: what was narrated was not sent: %s", request.id, fault)
