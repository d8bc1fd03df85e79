"""Events on Discord: messages written, edited and deleted, and changes of threads and servers.

Passes messages for the bot to the intake, and edits and deletions to the application. Independent of commands and
works.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import discord

from bot.adapters.discord.installed.setup import welcome
from bot.adapters.discord.received.commands import as_in_table
from bot.adapters.discord.received.placing import (
    PLATFORM,
    location_of_message,
    own_role,
    place,
    text_without_mention,
)
from bot.adapters.discord.received.proxied import Proxied
from bot.adapters.discord.shown import cut_off, replies
from bot.adapters.intake import KeyedLocks
from bot.adapters.invocation import Brought, reads_files
from bot.adapters.markdown import clean
from bot.command_line import parse
from bot.events import Author, Place, UserError
from bot.readers.kinds import readable
from bot.runs.requests import event_id
from bot.waiting import Background
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from storage.proxies import ProxiedName
    from storage.sessions import ThreadRow

ASIDE = ("//", "((")
"""Prefixes of messages that are not for the bot in a thread with free chat."""
EVERYBODY = re.compile(r"@(everyone|here)\b")
TYPING_S = 8.0
"""How often the typing indicator is renewed; Discord shows it for 10 s ("Trigger Typing Indicator")."""
_SPOKEN = (discord.MessageType.default, discord.MessageType.reply)

_log = logging.getLogger(__name__)


class Listener:
    """Handles all events except interactions; one per client. It gets no messages of programs (`traffic.guard`)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._turns = KeyedLocks()
        self._proxied = Proxied(client)
        self._typing = Background()
        self._typed: dict[int, float] = {}

    def listen(self) -> None:
        """Register the handlers with the client."""
        for handler in (
            self.on_message,
            self.on_raw_message_edit,
            self.on_raw_message_delete,
            self.on_raw_bulk_message_delete,
            self.on_raw_thread_delete,
            self.on_guild_channel_delete,
            self.on_guild_join,
            self.on_guild_remove,
            self.on_guild_channel_update,
            self.on_guild_role_update,
            self.on_member_update,
        ):
            self._client.event(handler)
        self._client.add_listener(self._note_returns, "on_shard_ready")

    async def on_message(self, message: discord.Message) -> None:
        if message.type not in _SPOKEN or not _may_answer(message):
            return
        by = None
        if message.webhook_id is not None:
            if (by := await self._proxied.by(message)) is None:
                return
        elif not await self._proxied.stays(message):
            return
        async with self._turns.lock(message.channel.id):
            await self._dispatch(message, by)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self._forget(payload.guild_id, payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        await self._forget(payload.guild_id, payload.channel_id, sorted(payload.message_ids))

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Reword the message's request. Discord also reports unfolded links as edits; these are ignored."""
        message = payload.message
        if message.edited_at is None or not message.content:
            return
        try:
            parsed = parse(as_in_table(text_without_mention(message, self._client.intake.me)))
        except UserError:  # the new text is no valid request, so the old one stays
            return
        guild = payload.guild_id
        space = str(guild) if guild is not None else f"user:{message.author.id}"
        await self._proxied.noted(payload.channel_id)
        id = self._proxied.original(message.id)  # other messages of a webhook have no runs
        run, edit = event_id(PLATFORM, space, str(id)), message.edited_at.isoformat()
        async with self._turns.lock(payload.channel_id):
            if text := await self._client.intake.reworded(message, space, run, parsed):
                await self._client.app.reword(space, run, text, edit)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """Stop the runs in a deleted thread."""
        threads, space, real = self._client.app.records.threads, str(payload.guild_id), str(payload.thread_id)
        thread_row = await threads.get(space, real)
        # A thread that the bot did not open has its own id as its place.
        channel, thread = (
            (thread_row.channel, thread_row.thread) if thread_row else (str(payload.parent_id), real)
        )
        await self._client.intake.thread_deleted(Place(PLATFORM, space, channel, thread), real)

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        """Stop the runs in a deleted channel and its threads; Discord sends no events for the threads."""
        await self._client.intake.channel_gone(str(channel.guild.id), PLATFORM, str(channel.id))

    async def on_guild_channel_update(
        self, before: discord.abc.GuildChannel, after: discord.abc.GuildChannel
    ) -> None:
        may = before.permissions_for(after.guild.me), after.permissions_for(after.guild.me)
        await cut_off.after_change(self._client, after.guild, *may)

    async def on_guild_role_update(self, before: discord.Role, after: discord.Role) -> None:
        if after in after.guild.me.roles:
            await cut_off.after_change(self._client, after.guild, before.permissions, after.permissions)

    async def on_member_update(self, before: discord.Member, after: discord.Member) -> None:
        if after == after.guild.me:
            may = before.guild_permissions, after.guild_permissions
            await cut_off.after_change(self._client, after.guild, *may)

    async def _note_returns(self, _shard: int) -> None:
        """Note the servers that have invited the bot again while it was off, which no event announces."""
        departures = self._client.app.records.departures
        for space in await departures.spaces():
            if space.isdecimal() and self._client.get_guild(int(space)) is not None:
                await departures.note_return(space)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self._client.app.records.departures.note_return(str(guild.id))
        await welcome(self._client.app.records.marks, guild)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """Stop the runs of a server that has removed the bot."""
        space = str(guild.id)
        await self._client.app.records.departures.note_departure(space)
        await self._client.app.runs.stop_where(lambda request: request.place.space == space)

    async def _dispatch(self, message: discord.Message, by: ProxiedName | None = None) -> None:
        if message.guild is None:
            await self._answer(message)
        elif self._addressed(message):
            if message.content or message.attachments or self._client.intents.message_content:
                await self._answer(message, by)
            else:  # a reply without a ping, whose text Discord does not send
                await self._explain(message)
        elif isinstance(message.channel, discord.Thread):
            await self._in_thread(message, by)
        elif self._client.intents.message_content and await self._overheard(message):
            await self._answer(message)

    async def _overheard(self, message: discord.Message) -> bool:
        """Whether a message in a channel that the bot listens to asks it something."""
        if message.content.lstrip().startswith(ASIDE) or EVERYBODY.search(message.content):
            return False
        location = location_of_message(message)
        try:
            return await self._client.intake.overheard(
                place(location),
                Author(str(location.user), clean(message.author.display_name), admin=location.admin),
                str(message.id),
                text_without_mention(message, self._client.intake.me),
                mentions_people=bool(message.mentions or message.role_mentions),
                replies=_answers(message) is not None,
            )
        except (UserError, StorageFault) as fault:
            _log.warning("message %s was not listened to: %s", message.id, fault)
            return False

    def _addressed(self, message: discord.Message) -> bool:
        """Whether the message mentions the bot or its role, or replies to it. Other roles and @everyone
        do not count.
        """
        me = self._client.intake.me
        by_role = any(role.id == own_role(message) for role in message.role_mentions)
        return by_role or any(user.id == me for user in message.mentions) or _answers(message) == me

    async def _in_thread(self, message: discord.Message, by: ProxiedName | None) -> None:
        """Handle a message in a thread without a mention; it is for the bot only where free chat is on."""
        threads, space = self._client.app.records.threads, location_of_message(message).space
        thread_row = await threads.get(space, str(message.channel.id))
        if thread_row is None:
            return
        if not self._client.intents.message_content:
            await self._explain(message)
        elif self._for_others(message) or not await self._free_chat(thread_row):
            return
        elif (
            text_without_mention(message, self._client.intake.me)
            or message.message_snapshots
            or _books(message)
            or message.flags.voice
        ):  # and no sticker
            await self._answer(message, by)

    async def _free_chat(self, thread_row: ThreadRow) -> bool:
        """The free chat setting of the thread, else of its channel, its server, the config."""
        if thread_row.free_chat is not None:
            return thread_row.free_chat
        here = Place(PLATFORM, thread_row.space, thread_row.channel, thread_row.thread)
        match await self._client.app.channel_rules.listens(here):
            case "mentions":
                return False
            case "everything":
                return True
        return await self._client.app.settings.free_chat(here)

    def _for_others(self, message: discord.Message) -> bool:
        answers = _answers(message)
        return bool(
            message.mentions
            or message.role_mentions
            or EVERYBODY.search(message.content)  # also from a person who may not mention everyone
            or (answers is not None and answers != self._client.intake.me)
            or message.content.lstrip().startswith(ASIDE)
        )

    async def _answer(self, message: discord.Message, by: ProxiedName | None = None) -> None:
        text, books = text_without_mention(message, self._client.intake.me), _books(message)
        intake = self._client.intake
        say = intake.words_of(message)
        along = await intake.brought(message) if by is None else Brought()
        is_voice_message = message.flags.voice and message.attachments != []
        hint = (
            "books"
            if books and not reads_files(as_in_table(text))
            else ""
            if text or along or is_voice_message
            else "unseen"
            if along.unseen
            else "short"
        )
        if hint and intake.too_many_hints(location_of_message(message)):
            hint = ""
        if hint == "books":
            await replies.reply(message, say("welcome.books", file=books[0]), "b")
        elif hint:
            await replies.reply(message, say(f"welcome.{hint}", name=self._name(message)), "h")
        if text or along or is_voice_message:
            self._type(message)
            await intake.message(message, text, along, by)

    def _type(self, message: discord.Message) -> None:
        """Show the typing indicator, unless Discord still shows it for the previous message."""
        channel, now = message.channel.id, asyncio.get_running_loop().time()
        if now - self._typed.get(channel, -TYPING_S) < TYPING_S:
            return
        self._typed = {channel_id: at for channel_id, at in self._typed.items() if now - at < TYPING_S} | {
            channel: now
        }
        self._typing.start(_type(message))

    async def _explain(self, message: discord.Message) -> None:
        """Without the Message Content intent, explain once in each thread how to address the bot."""
        threads, space = self._client.app.records.threads, location_of_message(message).space
        thread = str(message.channel.id)
        if await threads.get(space, thread) is None or await threads.mark_explained(space, thread):
            await replies.reply(
                message,
                self._client.intake.words_of(message)("welcome.unheard", name=self._name(message)),
                "e",
            )

    async def _forget(self, guild: int | None, channel: int, messages: Iterable[int]) -> None:
        messages = [message for message in messages if not await self._proxied.deleted(channel, message)]
        # A very recent message may not be stored yet; then it would be performed after its deletion.
        await self._turns.after(channel)
        space = str(guild) if guild is not None else await self._space_of_dm(channel)
        for message in messages if space is not None else ():
            assert space is not None
            await self._client.app.forget(
                space, event_id(PLATFORM, space, str(self._proxied.original(message)))
            )

    async def _space_of_dm(self, channel: int) -> str | None:
        """The space of a DM's person; Discord's deletion event does not name the person."""
        try:
            dm = self._client.get_channel(channel)
            if not (isinstance(dm, discord.DMChannel) and dm.recipient):
                dm = await self._client.fetch_channel(channel)
        except discord.HTTPException as fault:
            _log.info("a message was deleted in a DM that cannot be looked up: %s", fault)
            return None
        person = dm.recipient if isinstance(dm, discord.DMChannel) else None
        return f"user:{person.id}" if person is not None else None

    def _name(self, message: discord.Message) -> str:
        """The bot's name after the @."""
        me = message.guild.me if message.guild is not None else self._client.user
        return me.display_name if me is not None else ""


def _answers(message: discord.Message) -> int | None:
    """The author of the message that this one replies to; None if it is no reply, or the message is deleted."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    replied = message.reference.resolved
    return replied.author.id if isinstance(replied, discord.Message) else None


def _books(message: discord.Message) -> list[str]:
    files = [attachment.filename for attachment in message.attachments]
    return [name for name in files if readable(name)]


def _may_answer(message: discord.Message) -> bool:
    me = message.guild.me if message.guild is not None else None
    if me is None or isinstance(message.channel, discord.DMChannel | discord.PartialMessageable):
        return True
    may = message.channel.permissions_for(me)
    return may.send_messages_in_threads if isinstance(message.channel, discord.Thread) else may.send_messages


async def _type(message: discord.Message) -> None:
    with suppress(discord.HTTPException):  # only a courtesy
        await message.channel.typing()
