"""Audio of a narration, as a file in the thread of its text, with a line that names the speaker."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from bot.adapters.slack.shown.home import SPOKEN, SlackHome
from bot.adapters.slack.shown.thread import Thread
from bot.adapters.slack.text.page import Page
from bot.adapters.surface import Gone, MessageRef, MessageStyle, Refused, SurfaceFault
from bot.adapters.writer import with_retries
from bot.speech.clips import clip_name

if TYPE_CHECKING:
    from datetime import datetime

    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.surface import Surface
    from bot.adapters.writer import Writers
    from bot.events import Request
    from bot.speech.clips import Clip
    from storage.outbox import Outbox
    from storage.records import Records

_log = logging.getLogger(__name__)


async def post(
    records: Records, workspaces: Workspaces, writers: Writers, request: Request, clip: Clip, key: str
) -> None:
    """Post the clip once, below what the run has said. What cannot be sent is mentioned there."""
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
    """Delete the posted clips of a stage, or of the whole run."""
    prefix = f"{SPOKEN}#{key}:" if key else f"{SPOKEN}#"
    messages = [
        row
        for row in await records.outbox.all(request.place.space, request.id)
        if row.stage.startswith(prefix)
    ]
    if not messages:
        return
    home = SlackHome(workspaces, request, records, writers)
    try:
        await home.find()
        for row in messages:
            message = row.message_id
            if message is None:  # perhaps a crash came before the post was recorded
                message = await find(home.surface, MessageRef(request.id, row.stage), row.created_at)
            if message:
                with suppress(Gone, Refused):  # somebody else has deleted it
                    await with_retries(partial(home.surface.delete, message))
                await records.outbox.mark_sent(request.place.space, request.id, row.stage, "", "")
    except SurfaceFault as fault:
        _log.warning("run %s: what was narrated was not taken back: %s", request.id, fault)


async def find(surface: Surface[Page], ref: MessageRef, since: datetime) -> str | None:
    """The message of a clip that was sent since `since`; a new recording of the same stage counts as the same clip.
    Raises a surface's faults.
    """
    message = await with_retries(partial(surface.find, ref, since, ()))
    if message is None and isinstance(surface, Thread):
        key, _, n = ref.key.removeprefix(f"{SPOKEN}#").rpartition(":")
        if n == "0":  # the others are notes
            message = surface.uploads.seen(ref, clip_name(key, ref.run, "mp3"))
    return message


async def _once(
    outbox: Outbox, home: SlackHome, request: Request, part: str, page: Page, style: MessageStyle
) -> None:
    """Post a page unless it is already there, even if a crash prevented the record. Raises a surface's faults."""
    surface, stage = home.surface, f"{SPOKEN}#{part}"
    row = await outbox.claim(request.place.space, request.id, stage)
    if row.state == "sent":
        return
    ref = MessageRef(request.id, stage)
    message = None if row.fresh else await find(surface, ref, row.created_at)
    if message is None:
        message = await with_retries(partial(surface.post, page, ref, style))
    await outbox.mark_sent(request.place.space, request.id, stage, message, "")
