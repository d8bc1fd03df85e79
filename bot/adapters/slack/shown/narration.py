"""What was narrated, as a file in the thread where its text stands, with a line that says who speaks."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.adapters.slack.shown.home import SlackHome
from bot.adapters.slack.shown.thread import Thread
from bot.adapters.slack.text.page import Page
from bot.adapters.surface import Gone, MessageRef, MessageStyle, Refused, SurfaceFault
from bot.adapters.writer import with_retries

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.writer import Writers
    from bot.events import Request
    from bot.speech.clips import Clip
    from storage.outbox import Outbox
    from storage.records import Records

SPOKEN: Final = "spoken"
"""The outbox's key of what is not a stage, but is heard of one; each clip is a part of it."""

_log = logging.getLogger(__name__)


async def post(
    records: Records, workspaces: Workspaces, writers: Writers, request: Request, clip: Clip, key: str
) -> None:
    """Post it below what the run has said, once; what cannot be sent is told there."""
    home = SlackHome(workspaces, request, records, writers)
    lines = [clip.note] if clip.note else []
    home.tell = lines.append
    try:
        await home.find()
        pages = (
            [Page(body=clip.label, plain=clip.label, files=((clip.name, clip.data),))] if clip.data else []
        )
        for n, page in enumerate(pages):
            await _once(records.outbox, home, request, f"{key}:{n}", page, MessageStyle.LAYOUT)
        for n, sentence in enumerate(lines, len(pages)):
            page = Page(body=sentence, plain=sentence)
            await _once(records.outbox, home, request, f"{key}:{n}", page, MessageStyle.BARE)
    except SurfaceFault as fault:
        _log.warning("run %s: what was narrated was not sent: %s", request.id, fault)


async def unpost(
    records: Records, workspaces: Workspaces, writers: Writers, request: Request, key: str
) -> None:
    """Delete what was posted of a stage, or of the whole run."""
    own = f"{SPOKEN}#{key}:" if key else f"{SPOKEN}#"
    files = [
        (part, message)
        for part, message in await records.outbox.parts(request.place.space, request.id, SPOKEN)
        if part.startswith(own) and message
    ]
    if not files:
        return
    home = SlackHome(workspaces, request, records, writers)
    try:
        await home.find()
        for part, message in files:
            with suppress(Gone, Refused):  # somebody else has deleted it
                await with_retries(partial(home.surface.delete, message))
            await records.outbox.sent(request.place.space, request.id, part, "", "")
    except SurfaceFault as fault:
        _log.warning("run %s: what was narrated was not taken back: %s", request.id, fault)


async def _once(
    outbox: Outbox, home: SlackHome, request: Request, part: str, page: Page, style: MessageStyle
) -> None:
    """Post it, unless it is there: also where a crash came before that was noted. Raises a surface's faults."""
    surface, stage = home.surface, f"{SPOKEN}#{part}"
    row = await outbox.claim(request.place.space, request.id, stage)
    if row.state == "sent":
        return
    ref = MessageRef(request.id, stage)
    message = None if row.fresh else await with_retries(partial(surface.find, ref, row.created_at, ()))
    if message is None and page.files and isinstance(surface, Thread):
        message = surface.uploads.seen(ref, page.files[0][0])
    if message is None:
        message = await with_retries(partial(surface.post, page, ref, style))
    await outbox.sent(request.place.space, request.id, stage, message, "")
