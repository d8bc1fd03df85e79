"""What people take back or put differently on Discord is honoured: messages, threads, whole servers.

Knows neither what was asked nor what was answered: the application forgets and rewords.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

import discord

from bot.adapters.discord.received.mentions import heard
from bot.adapters.discord.received.placing import PLATFORM
from bot.adapters.discord.text.spoken import typed
from bot.command_line import parse
from bot.events import Place, Sorry
from bot.requests import event_id

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Sutradhar
    from bot.adapters.turns import Turns

_log = logging.getLogger(__name__)


class Deletions:
    """One per client."""

    def __init__(self, client: Sutradhar, turns: Turns) -> None:
        self._client = client
        self._turns = turns

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self._forget(payload.guild_id, payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        await self._forget(payload.guild_id, payload.channel_id, sorted(payload.message_ids))

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Other words for what was asked. Discord also reports links that it has unfolded; those are no edits."""
        message = payload.message
        if message.author.bot or message.edited_at is None or not message.content:
            return
        assert self._client.user is not None, "no edit comes before READY"
        try:
            text = parse(typed(heard(message, self._client.user.id))).text
        except Sorry:  # not a line that could be asked: what was asked stands
            return
        guild = payload.guild_id
        space = str(guild) if guild is not None else f"user:{message.author.id}"
        if text:
            await self._turns.after(payload.channel_id)
            await self._client.app.reword(space, _run(space, message.id), text)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """Its conversation goes to the archive, and what still runs there stops: nobody could read it."""
        house, space, real = self._client.app.house, str(payload.guild_id), str(payload.thread_id)
        held = await house.threads.held(space, real)
        # A thread that somebody else opened is its conversation's name itself.
        channel, thread = (held.channel, held.thread) if held else (str(payload.parent_id), real)
        await self._client.app.stop(Place(PLATFORM, space, channel, thread))
        if session := await house.sessions.active(space, PLATFORM, channel, thread):
            await house.owned.archive(space, session.author_id, session.id)
        await house.threads.forget(space, real)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """What runs for a server that has put the bot out stops. Its data stays: it may come back."""
        space, app = str(guild.id), self._client.app
        for row in await app.house.inbox.unfinished():
            await app.stop_run(space, row.id)  # which leaves other spaces' alone

    async def _forget(self, guild: int | None, channel: int, messages: Iterable[int]) -> None:
        # What was written a moment ago may be on its way in, and would come in after all.
        await self._turns.after(channel)
        space = str(guild) if guild is not None else await self._space_of_dm(channel)
        for message in messages if space is not None else ():
            assert space is not None
            await self._client.app.forget(space, _run(space, message))

    async def _space_of_dm(self, channel: int) -> str | None:
        """Discord does not say whose DM it was that lost a message."""
        try:
            found = self._client.get_channel(channel)
            if not (isinstance(found, discord.DMChannel) and found.recipient):
                found = await self._client.fetch_channel(channel)
        except discord.HTTPException as fault:
            _log.info("a message was deleted in a DM that cannot be looked up: %s", fault)
            return None
        person = found.recipient if isinstance(found, discord.DMChannel) else None
        return f"user:{person.id}" if person is not None else None


def _run(space: str, message: int) -> str:
    """The run that the message asked for, if it asked for one."""
    return event_id(PLATFORM, space, str(message))
