"""Finishes messages that were cut off because the bot lost its permissions, once it has them again."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import discord

from bot.adapters.discord.shown.links import Links
from bot.adapters.discord.shown.surface import Channel, component_ids
from bot.adapters.discord.text.page import ending_edit
from bot.adapters.surface import SurfaceFault
from bot.adapters.writer import SideTasks, until_available
from bot.runs.requests import request_from_json
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client

SINCE = timedelta(days=7)
"""The age of the oldest messages that are finished."""
_NEEDED = discord.Permissions(
    view_channel=True, read_message_history=True, send_messages=True, send_messages_in_threads=True
)

_log = logging.getLogger(__name__)


async def after_change(
    client: Client, guild: discord.Guild, before: discord.Permissions, now: discord.Permissions
) -> None:
    """Finish the server's cut messages if the bot has got a permission that it needs to write. Raises StorageFault."""
    if not now.value & ~before.value & _NEEDED.value:
        return
    records, space = client.app.records, str(guild.id)
    for stage, message, payload in await records.outbox.left(space, datetime.now(UTC) - SINCE):
        request = request_from_json(payload)
        channel = await Links(client, request, records, SideTasks(request.id)).real(request.place)
        if channel is None:  # a private conversation, which needs no permissions
            continue
        note = f"-# ⏹ {words(request.locale)('page.cut')}"

        def ended(cut: discord.Message, run: str = request.id, note: str = note) -> dict[str, Any] | None:
            stop = f"stop:{run}" in component_ids(cut.components)[1]
            return ending_edit(cut, run, note) if stop else None

        surface = Channel(client, channel, guild.id, webhooks=client.webhooks)
        try:
            await until_available(partial(surface.amend, message, ended))
        except SurfaceFault as fault:
            _log.info("run %s: a message that was cut off stays as it is: %s", request.id, fault)
        else:
            await records.outbox.mark_sent(space, request.id, stage, message, "")
