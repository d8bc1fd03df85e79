"""Takes back the messages of a withdrawn request: the messages that quote it, its thread's name, and its answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bot.adapters.discord.received.placing import origin_of
from bot.adapters.discord.shown.links import ASKED, THREAD, name_and_archive
from bot.adapters.discord.shown.overflow import WHOLE
from bot.adapters.discord.shown.response import Response
from bot.adapters.discord.shown.surface import Channel, direct
from bot.adapters.discord.text.page import Card, Page
from bot.adapters.home import NAMED, SHARED, goes_back
from bot.adapters.surface import MessageRef, MessageStyle, Surface, SurfaceFault
from bot.adapters.writer import until_available
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.adapters.discord.received.placing import Origin
    from bot.events import Request
    from storage.outbox import OutboxRow

_log = logging.getLogger(__name__)


async def take_back(client: Client, request: Request, stays: Collection[str] | None) -> None:
    """See `Platform.take_back`."""
    origin, place, outbox = origin_of(request.origin), request.place, client.app.records.outbox
    rows = await outbox.all(place.space, request.id)
    opened = next((row.message_id for row in rows if row.stage == THREAD), None)
    opened = opened if opened != str(origin.channel) else None
    real = opened or await client.app.records.threads.real_thread(place.space, place.channel, place.thread)
    answered = int(real) if real else origin.channel
    if opened and origin.message is None and not any(row.stage == ASKED for row in rows):
        # In a forum the first message of a post has the thread's id.
        rows += [replace(row, stage=ASKED) for row in rows if row.stage == THREAD]
    for row in rows:
        if row.stage != THREAD and goes_back(row.stage, (ASKED, WHOLE), stays):
            if row.stage == ASKED:
                async with client.lines.lock(request.id):  # wait for what is still being sent
                    line = await outbox.get(place.space, request.id, ASKED)
                    await _removed(client, request, origin, line or row, answered)
            else:
                await _removed(client, request, origin, row, answered)
    named = [row.message_id for row in rows if row.stage.startswith(NAMED) and row.message_id]
    title = words(request.locale)("thread.untitled")
    for thread in filter(None, (opened, *named)):
        try:
            await until_available(partial(name_and_archive, client, int(thread), title, archived=None))
        except SurfaceFault as fault:
            _log.info("run %s: its thread keeps its name: %s", request.id, fault)


async def _surfaces(
    client: Client, request: Request, origin: Origin, key: str, answered: int
) -> AsyncGenerator[Surface[Page], None]:
    """The surfaces where the message may be, likeliest first; an id from one Discord channel is unknown in another."""
    response = Response(client, origin, request.id) if origin.token else None
    if origin.member and not (origin.private and not key.startswith(SHARED)):
        for channel in dict.fromkeys(
            (origin.channel, answered) if key == ASKED else (answered, origin.channel)
        ):
            if channel and key != WHOLE:
                yield Channel(client, channel, origin.guild, webhooks=client.webhooks)
    if response is not None and response.alive:
        yield response
    if origin.user and origin.member and (origin.private or key == WHOLE):
        with suppress(SurfaceFault):
            yield await until_available(partial(direct, client, origin.user))


async def _removed(client: Client, request: Request, origin: Origin, row: OutboxRow, answered: int) -> None:
    """Delete a message where it is. The message above a thread is edited to say that the request was taken back."""
    say, ref = words(request.locale), MessageRef(request.id, row.stage)
    page = Page((Card((say("page.withdrawn"),)),), say("page.withdrawn"))
    above = row.stage == ASKED
    async for surface in _surfaces(client, request, origin, row.stage, answered):
        try:
            message = row.message_id or await until_available(partial(surface.find, ref, row.created_at, ()))
            if message is None:
                continue
            if above:
                # Stored first, so that a later view of the run adds nothing to it.
                await client.app.records.outbox.mark_sent(
                    request.place.space, request.id, row.stage, message, page.shown
                )
                edit = partial(surface.edit, message, page, ref, MessageStyle.LAYOUT, files=True, reset=True)
                await until_available(edit)
            else:
                await until_available(partial(surface.delete, message))
        except SurfaceFault as fault:
            _log.debug("run %s: %s is not there: %s", request.id, row.stage, fault)
        else:
            return
    if above and row.message_id is None:  # it would only be posted after an outage; this prevents it
        outbox, space = client.app.records.outbox, request.place.space
        await outbox.mark_sent(space, request.id, row.stage, "", page.shown)
    _log.info("run %s: a message could not be taken back", request.id)
