"""The home of a run on Discord: its thread, the channel, or the interaction's response; and its view.

Where one of them closes, the run continues in another, with a sentence that says so. Knows no events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import discord

from bot.adapters.composer import Composer
from bot.adapters.discord.received.commands import localized
from bot.adapters.discord.received.placing import missing, origin_of
from bot.adapters.discord.shown.overflow import WHOLE, Overflow
from bot.adapters.discord.shown.surface import (
    NO_ACCESS,
    NO_PERMISSION,
    UNKNOWN_CHANNEL,
    Channel,
    Response,
    direct,
)
from bot.adapters.discord.shown.threads import ASKED, THREAD, Opening, Refusal, name_and_archive
from bot.adapters.discord.text.markdown import literal
from bot.adapters.discord.text.render import folded, pages
from bot.adapters.home import first_message, leave_place
from bot.adapters.markdown import clean
from bot.adapters.stage_messages import Dialect
from bot.adapters.surface import Gone, MessageStyle, PlaceClosed, Refused, Surface, SurfaceFault
from bot.adapters.writer import Rank, SideTasks, with_retries
from bot.words import words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.adapters.discord.received.placing import Origin
    from bot.adapters.discord.shown.webhooks import Webhooks
    from bot.adapters.discord.text.page import Page
    from bot.events import Elsewhere, Link, Place, Request
    from storage.outbox import Outbox
    from storage.records import Records

_log = logging.getLogger(__name__)


INVITE_AFTER_S = 2.0
"""How long after the opening of a thread its asker is added: with the call at once, half of ten people who asked
together waited .5 s longer for first words.
"""


OWN_KEYS = (ASKED, THREAD, WHOLE)
"""The outbox's keys of messages that are no stage."""


class DiscordHome:
    """See home.Home."""

    tell: Callable[[str], None]
    ephemeral = False
    share = "page.share"

    def __init__(
        self,
        client: discord.Client,
        request: Request,
        origin: Origin,
        records: Records,
        webhooks: Webhooks,
        free_chat: Callable[[Place], Awaitable[bool]],
    ) -> None:
        """`webhooks` post under speakers' own names. `free_chat`: whether plain text is for the bot in a thread without
        a setting of its own.
        """
        self._records = records
        self._outbox = records.outbox
        self._webhooks = webhooks if origin.member else None
        self._client = client
        self._run = request.id
        self._place = request.place
        self._origin = origin
        self._free_chat = free_chat
        self._say = words(request.locale)
        self._side_tasks = SideTasks(request.id)
        self._later = SideTasks(request.id, Rank.PASSING)
        """Tasks that wait until all first words are shown."""
        self._asking: asyncio.Task[None] | None = None
        self._moving = asyncio.Lock()
        self.response = Response(client, origin, request.id) if origin.token else None
        self._opening = Opening(client, request, origin, records.outbox, self.response, self._say)
        self.overflow = Overflow(client, request, origin, records.outbox, self.response).show
        self._archive: list[tuple[int, str]] = []
        self.private = origin.private
        channel_surface = self._at(origin.channel, reply_to=origin.message)
        self.surface: Surface[Page] = (
            self.response if origin.home == "response" and self.response else channel_surface
        )
        self.lost: list[Surface[Page]] = []
        self.style = MessageStyle.LAYOUT
        self.messages: set[str] = set()
        self.hint = ""
        self.over = False

    def _at(self, channel: int, *, reply_to: int | None = None) -> Channel:
        """The surface of a channel or thread; speakers have their own names there if the bot is a member."""
        return Channel(
            self._client,
            channel,
            self._origin.guild,
            reply_to=reply_to,
            webhooks=self._webhooks,
            without=partial(self._without_name, channel),
        )

    def _without_name(self, channel: int, why: str) -> None:
        """Say why a speaker's name is only in bold, once in a channel."""
        if self._webhooks is not None and self._webhooks.first_without(channel):
            permission = self._say("discord_doctor.perm_manage_webhooks")
            self.tell(self._say(f"own_name.{why}", permission=permission))

    async def open(self) -> None:
        if self._origin.home == "thread":
            await self._open_thread()
        elif self._origin.home == "here" and self.response is not None:
            self._asking = self._side_tasks.do(with_retries(self._opening.root_message))
        elif self._origin.home == "there":
            await self._find()

    async def end_messages(self, messages: Sequence[str], note: str) -> None:
        await self.open()
        surface = self.surface
        if not isinstance(surface, Channel):
            return
        for message in messages:
            with suppress(SurfaceFault):
                await with_retries(partial(surface.end_message, message, self._run, f"-# ⏹ {note}"))

    async def _find(self) -> None:
        """Find the present place of the conversation; for a private one the person's direct messages."""
        if not self._origin.private:
            if (real := await self._real(self._place)) is not None:
                self.surface = self._at(real)
            return
        try:
            self.surface = await with_retries(partial(direct, self._client, self._origin.user))
        except SurfaceFault as fault:
            _log.info("run %s: no direct message to whose conversation it is: %s", self._run, fault)

    async def _open_thread(self) -> None:
        space, run = self._place.space, self._run
        row = await self._outbox.claim(space, run, THREAD)
        place_id, why, opening = self._origin.channel, "", self._opening
        if row.message_id is not None:  # opened, or refused, before a crash
            place_id, why = int(row.message_id), row.shown or ""
        else:
            opening.unsure = not row.fresh
            try:
                place_id = await with_retries(partial(opening.thread, row.created_at))
            except Refusal as refusal:
                why = refusal.key
            except SurfaceFault as fault:
                _log.warning("run %s: no thread was opened: %s", run, fault)
                why = "thread.not_here"
            else:
                place = self._place
                await self._records.threads.bind(place.space, place.channel, place.thread, str(place_id))
            await self._outbox.sent(space, run, THREAD, str(place_id), why)
        self.surface = self._at(place_id)
        if not why:
            self._side_tasks.do(with_retries(partial(opening.link_thread, place_id)))
            self._later.do(self._invite(opening, place_id))
        elif self.response and isinstance(self._client.get_channel(place_id), discord.ForumChannel):
            self.surface = self.response  # a forum takes no messages
        if why:
            lacks = missing(self._client, place_id, "create_public_threads") or "create_public_threads"
            self.tell(self._say(why, permission=self._say(f"discord_doctor.perm_{lacks}")))
        elif not await self._free_chat(self._place):
            self.hint = self._say("thread.hint")

    def recall(self, message: str) -> None:
        """Take note of a message from before a crash: the response is used already."""
        self.messages.add(message)
        if self.response is not None:
            self.response.answered = True

    async def _invite(self, opening: Opening, thread: int) -> None:
        """Add the asker to the thread, but after the answer's first words, because requests per second are limited."""
        await asyncio.sleep(INVITE_AFTER_S)
        await with_retries(partial(opening.invite, thread))

    async def move(self, surface: Surface[Page], closed: PlaceClosed) -> bool:
        async with self._moving:
            if surface is not self.surface:  # another message of the run has moved it already
                return True
            if surface is self.response:
                return await self._move_from_response(closed)
            if closed.code == UNKNOWN_CHANNEL:  # deleted by a user: do not repost
                if self._origin.home == "there":  # it may have been deleted while the bot was off
                    self._side_tasks.do(leave_place(self._records.schedules, self._place))
                raise Gone
            if self._origin.home == "response" or self.response is None or not self.response.alive:
                return False
            if self._asking is not None:  # the response says who asked; the answer follows it
                await self._asking
            self._move(self.response, self._why(closed))
            return True

    async def _move_from_response(self, closed: PlaceClosed) -> bool:
        origin = self._origin
        if not closed.expired or not origin.member or origin.home != "response":
            return False
        if not origin.private:  # the bot can still edit the response, as a message in the channel
            self.surface = self._at(origin.channel)
            return True
        try:
            dm = await direct(self._client, origin.user)
        except (PlaceClosed, Refused, Gone):
            return False
        self._move(dm, self._say("thread.to_dm"))
        return True

    def _move(self, surface: Surface[Page], why: str) -> None:
        self.lost.append(self.surface)
        self.surface = surface
        self.tell(why)

    def _why(self, closed: PlaceClosed) -> str:
        if closed.code not in (NO_PERMISSION, NO_ACCESS) or not isinstance(self.surface, Channel):
            return self._say("thread.closed")
        thread = isinstance(self._client.get_channel(self.surface.key), discord.Thread)
        write = "send_messages_in_threads" if thread else "send_messages"
        lacks = missing(self._client, self.surface.key, "view_channel", write)
        if lacks is None:  # perhaps locked
            return self._say("thread.closed")
        return self._say("thread.may_not_write", permission=self._say(f"discord_doctor.perm_{lacks}"))

    @property
    def no_files(self) -> str:
        at = self.surface
        lacks = missing(self._client, at.key, "attach_files") if isinstance(at, Channel) else None
        return self._say(f"discord_doctor.perm_{lacks}") if lacks else ""

    async def line(self, elsewhere: Elsewhere) -> str:
        """A link to a conversation; also names its thread, and archives or unarchives it."""
        thread = await self._real(elsewhere.place)
        if thread is None:
            return f"**{literal(clean(elsewhere.title), 100)}**"
        if not elsewhere.place.thread:
            pass  # a channel is not the bot's to name or archive
        elif elsewhere.archived:  # after the last message, which would unarchive it
            self._archive.append((thread, elsewhere.title))
        else:
            self._side_tasks.do(name_and_archive(self._client, thread, elsewhere.title, archived=False))
        return f"<#{thread}>"

    async def _real(self, place: Place) -> int | None:
        """The thread, or else the channel, of a conversation of the same space."""
        if (place.platform, place.space) != (self._place.platform, self._place.space):
            return None
        real = await self._records.threads.real(place.space, place.channel, place.thread)
        real = real or place.thread or place.channel
        return int(real) if real.isdecimal() else None

    async def link(self, link: Link) -> str:
        title = literal(
            clean(link.title).replace("://", " "), 100
        )  # a link's label must not look like an address
        url = await self._first_message_link(link.run)
        return f"→ [{title}]({url})" if url and title else f"→ **{title}**"

    async def _first_message_link(self, run: str) -> str:
        """The address of a run's first message; "" if there is none that everybody can see."""
        try:
            first = await first_message(self._records.inbox, self._outbox, self._place, run, OWN_KEYS)
            thread = await self._outbox.get(self._place.space, run, THREAD)
        except StorageFault as fault:
            _log.info("run %s: a link was left out: %s", self._run, fault)
            return ""
        if first is None:
            return ""
        request, message = first
        origin = origin_of(request.origin)
        if origin.private:  # ephemeral messages have no lasting address
            return ""
        channel = thread.message_id if thread is not None and thread.message_id else origin.channel
        return f"https://discord.com/channels/{origin.guild or '@me'}/{channel}/{message}"

    def ended(self) -> None:
        for thread, title in self._archive:
            self._side_tasks.do(name_and_archive(self._client, thread, title, archived=True))


def dialect(origin: Origin, locale: str) -> Dialect[Page]:
    """Discord's dialect, with localized names of commands; as a guest the bot shows all stages in one message."""
    adapt = partial(localized, words(locale))
    return Dialect(pages, folded=None if origin.member else folded, adapt=adapt, own_keys=OWN_KEYS)


def view_of(client: Client, _run: str, request: Request, outbox: Outbox) -> Composer[Page]:
    """The view of a run; made again from the stored request after a crash."""
    app, origin = client.app, origin_of(request.origin)
    records, run_dialect = app.records, dialect(origin, request.locale)
    home = DiscordHome(client, request, origin, records, client.webhooks, app.settings.free_chat)
    return Composer(request, outbox, records.offers, home, client.writers, run_dialect, records.votes)
