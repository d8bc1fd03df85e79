"""An answer's links on Discord: to conversations, whose threads they rename and archive, and to other
runs' messages.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import discord

from bot.adapters.discord.received.placing import origin_of
from bot.adapters.discord.shown.overflow import WHOLE
from bot.adapters.discord.shown.surface import UNKNOWN_CHANNEL, as_surface_faults
from bot.adapters.discord.text.markdown import literal
from bot.adapters.home import NAMED, first_message
from bot.adapters.markdown import clean
from bot.adapters.surface import PlaceClosed, SurfaceFault
from bot.conversation import title_of
from bot.words import words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.writer import SideTasks
    from bot.events import Elsewhere, Link, Place, Request
    from storage.records import Records

ASKED, THREAD = "asked", "thread"
"""The outbox keys of the root message, which says who asked what, and of the thread below it."""
OWN_KEYS = (ASKED, THREAD, WHOLE)
"""The outbox keys of messages that are no stage."""
NAME_CHARS = 100
"""The most characters of a thread's name (Discord's documentation, "Start Thread from Message")."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one run. `archived` are the threads that its answer archives, with their names."""

    client: discord.Client
    request: Request
    records: Records
    side_tasks: SideTasks
    archived: list[tuple[int, str]] = field(default_factory=list)

    async def line(self, elsewhere: Elsewhere) -> str:
        """A link to a conversation. Also renames its thread, and archives or unarchives it."""
        thread = await self.real(elsewhere.place)
        if thread is None:
            return f"**{literal(clean(elsewhere.title), 100)}**"
        if await self.deleted(elsewhere.place):
            return words(self.request.locale)("thread.deleted")
        if elsewhere.place.thread and elsewhere.title == title_of(self.request.text):
            space, run, key = self.request.place.space, self.request.id, f"{NAMED}{thread}"
            await self.records.outbox.claim(space, run, key)
            await self.records.outbox.mark_sent(space, run, key, str(thread), "")
        if not elsewhere.place.thread:
            pass  # the bot may not rename or archive a channel
        elif elsewhere.archived:  # after the last message, because a message unarchives the thread
            self.archived.append((thread, elsewhere.title))
        else:
            self.side_tasks.do(name_and_archive(self.client, thread, elsewhere.title, archived=False))
        return f"<#{thread}>"

    async def link(self, link: Link) -> str:
        # A link's label must not look like an address.
        title = literal(clean(link.title).replace("://", " "), 100)
        url = await self._first_message(link.run)
        return f"→ [{title}]({url})" if url and title else f"→ **{title}**"

    async def real(self, place: Place) -> int | None:
        """The id of a conversation's thread, or else its channel, if it is in the same space."""
        if (place.platform, place.space) != (self.request.place.platform, self.request.place.space):
            return None
        real = await self.records.threads.real_thread(place.space, place.channel, place.thread)
        real = real or place.thread or place.channel
        return int(real) if real.isdecimal() else None

    async def deleted(self, place: Place) -> bool:
        """Whether the conversation's thread no longer exists, also if it was deleted while the bot was off."""
        thread = await self.real(place) if place.thread else None
        if thread is None or self.client.get_channel(thread) is not None:
            return False
        try:
            with as_surface_faults():
                await self.client.fetch_channel(thread)
        except SurfaceFault as fault:
            return isinstance(fault, PlaceClosed) and fault.code == UNKNOWN_CHANNEL
        return False

    async def _first_message(self, run: str) -> str:
        """The address of a run's first message; "" if no message is visible to everybody."""
        try:
            first = await first_message(
                self.records.inbox, self.records.outbox, self.request.place, run, OWN_KEYS
            )
            thread = await self.records.outbox.get(self.request.place.space, run, THREAD)
        except StorageFault as fault:
            _log.info("run %s: a link was left out: %s", self.request.id, fault)
            return ""
        if first is None:
            return ""
        request, message = first
        origin = origin_of(request.origin)
        if origin.private:  # ephemeral messages have no lasting address
            return ""
        channel = thread.message_id if thread is not None and thread.message_id else origin.channel
        return f"https://discord.com/channels/{origin.guild or '@me'}/{channel}/{message}"


async def name_and_archive(client: discord.Client, thread_id: int, title: str, archived: bool | None) -> None:
    """Rename a thread, and archive or unarchive it. None leaves it as it is."""
    with as_surface_faults():
        thread = client.get_channel(thread_id) or await client.fetch_channel(thread_id)
        if not isinstance(thread, discord.Thread):
            return
        name = " ".join(clean(title).split())[:NAME_CHARS].rstrip()
        renamed = bool(name) and name != thread.name
        archived = thread.archived if archived is None else archived
        if thread.archived and (renamed or not archived):  # an archived thread cannot be renamed
            await thread.edit(archived=False)
        if renamed:  # Discord allows two renames in ten minutes
            await thread.edit(name=name)
        if archived:
            await thread.edit(archived=True)
