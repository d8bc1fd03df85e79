"""The home of a run on Discord (its thread, the channel, or the interaction's response) and its view.

If one of them closes, the run continues in another, with a sentence that says so. Independent of events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

import discord

from bot.adapters.composer import Composer
from bot.adapters.discord.received.commands import localized
from bot.adapters.discord.received.placing import missing, origin_of
from bot.adapters.discord.shown.links import ASKED, NAME_CHARS, OWN_KEYS, THREAD, Links, name_and_archive
from bot.adapters.discord.shown.overflow import Overflow
from bot.adapters.discord.shown.response import ORIGINAL, Response
from bot.adapters.discord.shown.surface import (
    CLOCKS_APART,
    NO_ACCESS,
    NO_PERMISSION,
    UNKNOWN_CHANNEL,
    Channel,
    as_surface_faults,
    component,
    component_ids,
    direct,
    sent_as,
)
from bot.adapters.discord.text.render import folded, pages, root_page
from bot.adapters.home import leave_place
from bot.adapters.stage_messages import Dialect
from bot.adapters.surface import (
    Gone,
    MessageRef,
    MessageStyle,
    PlaceClosed,
    Refused,
    Surface,
    SurfaceFault,
    Unavailable,
)
from bot.adapters.writer import Rank, SideTasks, until_available, with_retries
from bot.commands import ROWS
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.adapters.discord.installed.traffic import NewThreads
    from bot.adapters.discord.received.placing import Origin
    from bot.adapters.discord.shown.webhooks import Webhooks
    from bot.adapters.discord.text.page import Page
    from bot.adapters.intake import KeyedLocks
    from bot.events import Place, Request
    from storage.outbox import Outbox
    from storage.records import Records

INVITE_AFTER_S = 2.0
"""Seconds between the opening of a thread and the invitation of its asker. With the invitation at once, half of ten
people who asked together waited 0.5 s longer for the first words.
"""
ARCHIVE_MINUTES: Literal[1440] = 1440
HAS_THREAD, TOO_MANY_THREADS = 160004, 160006
"""Error codes from Discord's documentation, "JSON Error Codes"."""

_log = logging.getLogger(__name__)


class Refusal(Exception):
    """No thread can be opened here; `key` is the key of the sentence that says so."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class DiscordHome:
    """Discord's `home.Home`."""

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
        side_tasks: set[asyncio.Task[None]],
        new_threads: NewThreads,
        lines: KeyedLocks,
    ) -> None:
        """`webhooks` post under speakers' own names. `free_chat`: whether plain text is for the bot in a thread without
        a setting of its own. `side_tasks`: see SideTasks. `lines`: see Client.
        """
        self._records = records
        self._outbox = records.outbox
        self._webhooks = webhooks if origin.member else None
        self._client = client
        self._new_threads = new_threads
        self._lines = lines
        self._run = request.id
        self._place = request.place
        self._origin = origin
        self._free_chat = free_chat
        self._say = words(request.locale)
        self._side_tasks = SideTasks(request.id, None, side_tasks)
        self._later = SideTasks(request.id, Rank.PASSING, side_tasks)
        """Tasks that wait until all first words are shown."""
        self._asking: asyncio.Task[None] | None = None
        self._moving = asyncio.Lock()
        in_dm = self._say("thread.press_to_dm", channel=f"<#{origin.channel}>") if origin.pressed else ""
        self.response = Response(client, origin, request.id, in_dm=in_dm) if origin.token else None
        self._unsure = False
        """Whether an earlier try may have made the thread."""
        self.overflow = Overflow(client, request, origin, records.outbox, self.response).show
        self._links = Links(client, request, records, self._side_tasks)
        self.line, self.link = self._links.line, self._links.link
        self.private = origin.private
        row = ROWS[request.work, request.verb]
        self.further = origin.private and row.plain and row.asks
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
        """The surface of a channel or thread. If the bot is a member, speakers post under their own names there."""
        return Channel(
            self._client,
            channel,
            self._origin.guild,
            reply_to=reply_to,
            webhooks=self._webhooks,
            without=partial(self._without_name, channel),
        )

    def _without_name(self, channel: int, why: str) -> None:
        """Say why a speaker's name is only in bold, once per channel."""
        if self._webhooks is not None and self._webhooks.first_without(channel):
            permission = self._say("discord_doctor.perm_manage_webhooks")
            self.tell(self._say(f"own_name.{why}", permission=permission))

    async def open(self) -> None:
        if self._origin.home == "thread":
            await self._open_thread()
        elif self._origin.home == "here" and self.response is not None and not self._origin.pressed:
            self._asking = self._side_tasks.do(until_available(self._root_message))
        elif self._origin.home == "there":
            await self._find()

    async def end_messages(self, messages: Sequence[str], note: str) -> None:
        if messages:
            await self.open()
        surface = self.surface
        if not isinstance(surface, Channel):
            return
        for message in messages:
            with suppress(SurfaceFault):
                await until_available(partial(surface.end_message, message, self._run, f"-# ⏹ {note}"))

    async def _find(self) -> None:
        """Find the present place of the conversation, or else the person's direct messages; see `origin_at`."""
        if not self._origin.user:
            if (real := await self._links.real(self._place)) is not None:
                self.surface = self._at(real)
            return
        try:
            self.surface = await until_available(partial(direct, self._client, self._origin.user))
        except SurfaceFault as fault:
            _log.info("run %s: no direct message to whose conversation it is: %s", self._run, fault)

    async def _open_thread(self) -> None:
        space, run = self._place.space, self._run
        row = await self._outbox.claim(space, run, THREAD)
        place_id, reason = self._origin.channel, ""
        if row.message_id is not None:  # opened, or refused, before a crash
            place_id, reason = int(row.message_id), row.shown or ""
        else:
            self._unsure = not row.fresh
            try:
                place_id = await until_available(partial(self._thread, row.created_at))
            except Refusal as refusal:
                reason = refusal.key
            except SurfaceFault as fault:
                _log.warning("run %s: no thread was opened: %s", run, fault)
                reason = "thread.not_here"
            else:
                place = self._place
                await self._records.threads.bind(place.space, place.channel, place.thread, str(place_id))
            await self._outbox.mark_sent(space, run, THREAD, str(place_id), reason)
        self.surface = self._at(place_id)
        if not reason:
            self._side_tasks.do(until_available(partial(self._link_thread, place_id)))
            self._later.do(self._invite_later(place_id))
        elif self.response and isinstance(self._client.get_channel(place_id), discord.ForumChannel):
            self.surface = self.response  # a forum accepts no messages itself
        if reason:
            lacks = missing(self._client, place_id, "create_public_threads") or "create_public_threads"
            self.tell(self._say(reason, permission=self._say(f"discord_doctor.perm_{lacks}")))
        elif not await self._free_chat(self._place):
            self.hint = self._say("thread.hint")

    async def reopen(self) -> bool | None:
        """Open the thread if the conversation's was deleted; see `Platform.reopen`."""
        if not await self._links.deleted(self._place):
            return None
        channel, needs = self._origin.channel, ("view_channel", "send_messages", "create_public_threads")
        if missing(self._client, channel, *needs) is not None:
            return False
        refusals: list[str] = []
        self.tell = refusals.append
        await self._open_thread()
        return not refusals

    async def _thread(self, since: datetime) -> int:
        """Open the thread, or find the one made since `since`. Returns its id.

        Raises Refusal where a thread is impossible, and the faults of a surface.
        """
        origin = self._origin
        name = origin.title[:NAME_CHARS] or self._say("thread.untitled")
        with as_surface_faults():
            channel = self._client.get_channel(origin.channel)
            channel = channel or await self._client.fetch_channel(origin.channel)
        if isinstance(channel, discord.ForumChannel):
            return await self._forum_post(channel, name, since)
        asked = origin.message or await self._root_message()
        if not isinstance(channel, discord.TextChannel):
            raise Refusal("thread.not_here")
        unsure, self._unsure = self._unsure, True
        with as_surface_faults():
            if unsure:  # made without a response or before a crash; it has its message's id
                with suppress(discord.NotFound):
                    return (await self._client.fetch_channel(asked)).id
            elif not self._new_threads.take(channel.id):
                raise Refusal("thread.busy")
            try:
                thread = await channel.get_partial_message(asked).create_thread(
                    name=name, auto_archive_duration=ARCHIVE_MINUTES
                )
            except discord.HTTPException as fault:
                if fault.code == HAS_THREAD:
                    return asked
                raise _refusal(fault) from None
        return thread.id

    async def _forum_post(self, forum: discord.ForumChannel, name: str, since: datetime) -> int:
        unsure, self._unsure = self._unsure, True
        with as_surface_faults():
            me = self._client.user.id if self._client.user else None
            ref = MessageRef(self._run, THREAD)
            for thread in await forum.guild.active_threads() if unsure else ():
                ours = thread.parent_id == forum.id and thread.owner_id == me
                created = thread.created_at
                if ours and thread.name == name and created and created > since - CLOCKS_APART:
                    with suppress(discord.NotFound):  # another person may have asked the same just now
                        first = await thread.fetch_message(thread.id)
                        if component(ref) in component_ids(first.components)[0]:
                            return thread.id
            try:
                post = await forum.create_thread(
                    name=name,
                    auto_archive_duration=ARCHIVE_MINUTES,
                    applied_tags=_required_tags(forum),
                    allowed_mentions=discord.AllowedMentions.none(),
                    **sent_as(root_page(self._origin, self._say), ref, MessageStyle.LAYOUT),
                )
            except discord.HTTPException as fault:
                raise _refusal(fault) from None
        return int(post.thread.id)

    async def _root_message(self) -> int:
        """Post the message that says who asked what, as the interaction's response or as the bot's own.
        Returns its id.
        """
        async with self._lines.lock(self._run):
            row = await self._outbox.claim(self._place.space, self._run, ASKED)
            if row.message_id == "":  # it was taken back before it was posted
                raise Gone
            if row.message_id is not None:
                if self.response is not None:
                    self.response.answered = True
                return int(row.message_id)
            ref, page = MessageRef(self._run, ASKED), root_page(self._origin, self._say)
            message = None
            if self.response is not None:
                with suppress(PlaceClosed, Refused, Gone):
                    message = await self.response.post(page, ref, MessageStyle.LAYOUT)
            if message is None and self._origin.home == "thread":
                own = Channel(self._client, self._origin.channel, self._origin.guild)
                message = None if row.fresh else await own.find(ref, row.created_at, ())
                message = message or await own.post(page, ref, MessageStyle.LAYOUT)
            if message is None:
                raise PlaceClosed
            await self._outbox.mark_sent(self._place.space, self._run, ASKED, message, page.shown)
            return int(message)

    async def _link_thread(self, thread: int) -> None:
        """Add the link to the thread to the response, unless the response has one or was taken back."""
        if self.response is None:
            return
        self.response.answered = True
        space, run = self._place.space, self._run
        async with self._lines.lock(run):
            row = await self._outbox.get(space, run, ASKED)
            if row is not None and row.shown != root_page(self._origin, self._say).shown:
                return
            # A forum has no root message.
            message = (row.message_id if row is not None else None) or ORIGINAL
            page, ref = root_page(self._origin, self._say, thread), MessageRef(run, ASKED)
            await self.response.edit(message, page, ref, MessageStyle.LAYOUT, files=False, reset=False)
            if row is not None and row.message_id is not None:
                await self._outbox.mark_sent(space, run, ASKED, row.message_id, page.shown)

    def recall(self, message: str) -> None:
        """Note a message from before a crash: the response is already used."""
        self.messages.add(message)
        if self.response is not None:
            self.response.answered = True

    async def _invite_later(self, thread: int) -> None:
        """Add the asker to the thread after the answer's first words, because requests per second are limited."""
        await asyncio.sleep(INVITE_AFTER_S)
        await with_retries(partial(self.invite, thread))

    async def invite(self, thread: int) -> None:
        """Add the asker to the thread's members, so that their Discord lists it."""
        with as_surface_faults():
            channel = self._client.get_channel(thread) or await self._client.fetch_channel(thread)
            if isinstance(channel, discord.Thread) and not channel.archived:  # a user may have archived it
                await channel.add_user(discord.Object(self._origin.user))

    async def move(self, surface: Surface[Page], closed: PlaceClosed) -> bool:
        async with self._moving:
            if surface is not self.surface:  # another message of the run has moved it already
                return True
            if surface is self.response:
                return await self._move_from_response(closed)
            if closed.code == UNKNOWN_CHANNEL:  # deleted by a user: do not repost
                if self._origin.home == "there":  # the place may have been deleted while the bot was off
                    self._side_tasks.do(leave_place(self._records.schedules, self._place))
                raise Gone
            if self._origin.home == "response" or self.response is None or not self.response.alive:
                return False
            if self._origin.pressed:
                return False
            if self._asking is not None:  # the response says who asked; the answer follows it
                await self._asking
            self._move(self.response, self._why(closed))
            return True

    async def _move_from_response(self, closed: PlaceClosed) -> bool:
        origin = self._origin
        if not closed.expired or not origin.member or origin.home != "response":
            return False
        if not origin.private:  # as a message in the channel, the bot can still edit the response
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

    def ending(self) -> None:
        """Nothing to do."""

    async def ended(self) -> None:
        for thread, title in self._links.archived:
            self._side_tasks.do(name_and_archive(self._client, thread, title, archived=True))


def _required_tags(forum: discord.ForumChannel) -> list[discord.ForumTag]:
    """The first tag that everybody may use, if the forum requires one."""
    open_tags = [tag for tag in forum.available_tags if not tag.moderated]
    return open_tags[:1] if forum.flags.require_tag else []


def _refusal(fault: discord.HTTPException) -> Exception:
    """The Refusal for a fault, or Unavailable where another try may succeed."""
    if fault.status >= 500 or fault.status == 429:
        return Unavailable(f"HTTP {fault.status}, code {fault.code}")
    if fault.code == TOO_MANY_THREADS:
        return Refusal("thread.too_many")
    if fault.code in (NO_PERMISSION, NO_ACCESS):
        return Refusal("thread.may_not_open")
    return Refusal("thread.not_here")


def dialect(origin: Origin, locale: str) -> Dialect[Page]:
    """Discord's dialect with localized command names. As a guest the bot shows all stages in one message."""
    adapt = partial(localized, words(locale))
    return Dialect(pages, folded=None if origin.member else folded, adapt=adapt, own_keys=OWN_KEYS)


def view_of(client: Client, _run: str, request: Request, outbox: Outbox) -> Composer[Page]:
    """The view of a run; after a crash it is made again from the stored request."""
    records, origin = client.app.records, origin_of(request.origin)
    home, run_dialect = _home(client, request, origin), dialect(origin, request.locale)
    return Composer(request, outbox, records.offers, home, client.writers, run_dialect, records.votes)


async def reopen(client: Client, request: Request, place: Place, title: str) -> bool | None:
    """See `Platform.reopen`. The new thread is below a message that quotes the title."""
    origin = origin_of(request.origin)
    origin = replace(origin, home="thread", channel=int(place.channel), message=None, token="", title=title)
    home = _home(client, replace(request, place=place), replace(origin, asked=title))
    return await home.reopen()


def _home(client: Client, request: Request, origin: Origin) -> DiscordHome:
    return DiscordHome(
        client,
        request,
        origin,
        client.app.records,
        client.webhooks,
        client.app.settings.free_chat,
        client.writers.side_tasks,
        client.new_threads,
        client.lines,
    )
