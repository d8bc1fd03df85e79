"""Takes back the messages of a withdrawn request: those that quote it, its thread's title, and its answer."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from bot.adapters.home import NAMED, SHARED, goes_back
from bot.adapters.slack import placing
from bot.adapters.slack.installed.workspaces import Workspace
from bot.adapters.slack.shown.ephemeral import ANSWERED
from bot.adapters.slack.shown.home import POINTER
from bot.adapters.slack.shown.plan import ASKED, PLAN
from bot.adapters.slack.shown.stream import rename
from bot.adapters.slack.shown.thread import Thread
from bot.adapters.slack.text.page import Page
from bot.adapters.surface import MessageRef, MessageStyle, SurfaceFault
from bot.adapters.writer import until_available
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.events import Request
    from storage.outbox import OutboxRow
    from storage.records import Records

_log = logging.getLogger(__name__)


async def take_back(
    records: Records, workspaces: Workspaces, request: Request, stays: Collection[str] | None
) -> None:
    """See `Platform.take_back`."""
    origin, place, outbox = placing.origin_of(request.origin), request.place, records.outbox
    rows = await outbox.all(place.space, request.id)
    if origin.home == "alone" and not any(row.stage == POINTER for row in rows):
        # Ephemeral messages: Slack lets nobody change them, and shows them until the client is reloaded.
        rows = [row for row in rows if row.stage.startswith((NAMED, SHARED))]
    workspace = Workspace(workspaces, origin.team, origin.enterprise)
    bound = await records.threads.real_thread(place.space, place.channel, place.thread)
    channel, thread = placing.parted(bound) if bound is not None else (origin.channel, origin.thread)
    direct = ""
    if origin.user and not channel.startswith("D"):
        with suppress(SurfaceFault):
            direct = await until_available(partial(workspace.direct, origin.user))
    # First, because a thread whose messages are all deleted has no title to change.
    titled = [row.message_id for row in rows if row.stage.startswith(NAMED) and row.message_id]
    began = origin.message != "" and origin.thread == origin.message and not origin.earlier
    if thread and (began or any(row.stage == ASKED for row in rows)):
        titled.append(f"{channel}:{thread}")
    untitled = words(request.locale)("thread.untitled")
    for real in titled:
        with suppress(SurfaceFault):
            await until_available(partial(rename, workspace, *placing.parted(real), untitled))
    for row in rows:
        if row.stage == POINTER or not goes_back(row.stage, (ASKED, PLAN), stays):
            continue
        places = [(channel, thread), (direct, ""), (origin.channel, origin.thread)]
        if row.stage.startswith(SHARED):
            places.reverse()
        surfaces = [Thread(workspace, *at) for at in dict.fromkeys(places) if at[0]]
        await _removed(surfaces, request, row)


async def _removed(surfaces: Collection[Thread], request: Request, row: OutboxRow) -> None:
    """Delete a message where it is. The message above a thread is edited to say that the request was taken back."""
    if (row.message_id or "").startswith(ANSWERED):
        return  # Slack lets nobody change what was posted to a command's own address
    ref = MessageRef(request.id, row.stage)
    for surface in surfaces:
        try:
            message = row.message_id or await until_available(partial(surface.find, ref, row.created_at, ()))
            if message is None:
                continue
            await until_available(partial(_removed_from, surface, message, ref, request.locale))
        except SurfaceFault as fault:
            _log.debug("run %s: %s is not there: %s", request.id, row.stage, fault)
        else:
            return
    _log.info("run %s: a message could not be taken back", request.id)


async def _removed_from(surface: Thread, message: str, ref: MessageRef, locale: str) -> None:
    if ref.key != ASKED:
        await surface.delete(message)
        return
    sentence = words(locale)("page.withdrawn")
    page = Page(sentence, plain=sentence)
    await surface.edit(message, page, ref, MessageStyle.LAYOUT, files=False, reset=True)
