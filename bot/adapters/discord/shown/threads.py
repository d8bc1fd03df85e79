"""Opens the thread or forum post of a run, and finds it again after a crash.

Knows no events and no stages.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import discord

from bot.adapters.discord.shown.surface import (
    CLOCKS_APART,
    NO_ACCESS,
    NO_PERMISSION,
    ORIGINAL,
    Channel,
    as_surface_faults,
    component,
    component_ids,
    sent_as,
)
from bot.adapters.discord.text import render
from bot.adapters.markdown import clean
from bot.adapters.surface import Gone, MessageRef, MessageStyle, PlaceClosed, Refused, Unavailable

if TYPE_CHECKING:
    from bot.adapters.discord.received.placing import Origin
    from bot.adapters.discord.shown.surface import Response
    from bot.events import Request
    from bot.words import Words
    from storage.outbox import Outbox

ASKED, THREAD = "asked", "thread"
"""The outbox's keys of the root message, which says who asked what, and of the thread below it."""
ARCHIVE_MINUTES: Literal[1440] = 1440
NAME_CHARS = 100
"""Of a thread's name (Discord's documentation, "Start Thread from Message")."""
HAS_THREAD, TOO_MANY_THREADS = 160004, 160006
"""Discord's documentation, "JSON Error Codes"."""


class Refusal(Exception):
    """No thread can be opened here; `key` is that of the sentence about it."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


@dataclass(slots=True)
class Opening:
    """Opens one run's thread. Every step can be repeated after a crash.

    `unsure`: an earlier try may have made the thread.
    """

    client: discord.Client
    request: Request
    origin: Origin
    outbox: Outbox
    response: Response | None
    say: Words
    unsure: bool = False

    async def thread(self, since: datetime) -> int:
        """Open the thread, or find the one that was made since then; its id.

        Raises Refusal where there can be none, and the faults of a surface.
        """
        origin = self.origin
        name = origin.title[:NAME_CHARS] or self.say("thread.untitled")
        with as_surface_faults():
            channel = self.client.get_channel(origin.channel)
            channel = channel or await self.client.fetch_channel(origin.channel)
        if isinstance(channel, discord.ForumChannel):
            return await self._post(channel, name, since)
        asked = origin.message or await self.root_message()
        if not isinstance(channel, discord.TextChannel):
            raise Refusal("thread.not_here")
        with as_surface_faults():
            try:
                thread = await channel.get_partial_message(asked).create_thread(
                    name=name, auto_archive_duration=ARCHIVE_MINUTES
                )
            except discord.HTTPException as fault:
                if fault.code == HAS_THREAD:  # made before a crash; it has its message's id
                    return asked
                raise _refusal(fault) from None
        return thread.id

    async def _post(self, forum: discord.ForumChannel, name: str, since: datetime) -> int:
        unsure, self.unsure = self.unsure, True
        with as_surface_faults():
            me = self.client.user.id if self.client.user else None
            ref = MessageRef(self.request.id, THREAD)
            for thread in await forum.guild.active_threads() if unsure else ():
                ours = thread.parent_id == forum.id and thread.owner_id == me
                created = thread.created_at
                if ours and thread.name == name and created and created > since - CLOCKS_APART:
                    with suppress(discord.NotFound):  # another person may have asked the same just now
                        if (
                            component(ref)
                            in component_ids((await thread.fetch_message(thread.id)).components)[0]
                        ):
                            return thread.id
            arguments: dict[str, Any] = sent_as(
                render.root_page(self.origin, self.say), ref, MessageStyle.LAYOUT
            )
            try:
                post = await forum.create_thread(
                    name=name,
                    auto_archive_duration=ARCHIVE_MINUTES,
                    allowed_mentions=discord.AllowedMentions.none(),
                    **arguments,
                )
            except discord.HTTPException as fault:
                raise _refusal(fault) from None
        return int(post.thread.id)

    async def root_message(self) -> int:
        """Post the message that says who asked what, as the interaction's response or as the bot's own; its id."""
        row = await self.outbox.claim(self.request.place.space, self.request.id, ASKED)
        if row.message_id is not None:
            if self.response is not None:
                self.response.answered = True
            return int(row.message_id)
        ref, page = MessageRef(self.request.id, ASKED), render.root_page(self.origin, self.say)
        message = None
        if self.response is not None:
            with suppress(PlaceClosed, Refused, Gone):
                message = await self.response.post(page, ref, MessageStyle.LAYOUT)
        if message is None and self.origin.home == "thread":
            own = Channel(self.client, self.origin.channel, self.origin.guild)
            message = None if row.fresh else await own.find(ref, row.created_at, ())
            message = message or await own.post(page, ref, MessageStyle.LAYOUT)
        if message is None:
            raise PlaceClosed
        await self.outbox.sent(self.request.place.space, self.request.id, ASKED, message, page.shown)
        return int(message)

    async def link_thread(self, thread: int) -> None:
        """Add the link to the thread to the response."""
        if self.response is not None:
            self.response.answered = True
            row = await self.outbox.get(self.request.place.space, self.request.id, ASKED)
            # A forum has no root message.
            message = (row.message_id if row is not None else None) or ORIGINAL
            ref, page = MessageRef(self.request.id, ASKED), render.root_page(self.origin, self.say, thread)
            await self.response.edit(message, page, ref, MessageStyle.LAYOUT, files=False, reset=False)

    async def invite(self, thread: int) -> None:
        """Add the asker to the thread's members, so that their Discord lists it."""
        with as_surface_faults():
            channel = self.client.get_channel(thread) or await self.client.fetch_channel(thread)
            if isinstance(channel, discord.Thread) and not channel.archived:  # a user may have archived it
                await channel.add_user(discord.Object(self.origin.user))


async def name_and_archive(client: discord.Client, thread_id: int, title: str, archived: bool) -> None:
    """Rename a thread, and archive or unarchive it."""
    with as_surface_faults():
        thread = client.get_channel(thread_id) or await client.fetch_channel(thread_id)
        if not isinstance(thread, discord.Thread):
            return
        name = " ".join(clean(title).split())[:NAME_CHARS].rstrip()
        renamed = bool(name) and name != thread.name
        if thread.archived and (renamed or not archived):  # an archived thread cannot be renamed
            await thread.edit(archived=False)
        if renamed:  # Discord allows two new names in ten minutes
            await thread.edit(name=name)
        if archived:
            await thread.edit(archived=True)


def _refusal(fault: discord.HTTPException) -> Exception:
    """The Refusal for a fault, or Unavailable where another try may succeed."""
    if fault.status >= 500 or fault.status == 429:
        return Unavailable(f"HTTP {fault.status}, code {fault.code}")
    if fault.code == TOO_MANY_THREADS:
        return Refusal("thread.too_many")
    if fault.code in (NO_PERMISSION, NO_ACCESS):
        return Refusal("thread.may_not_open")
    return Refusal("thread.not_here")
