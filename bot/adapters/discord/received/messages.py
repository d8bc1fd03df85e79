"""What people write, edit and delete on Discord, and what becomes of their threads and servers.

Hands what is for the bot to the intake, and has the application forget and reword. Knows no command and no work.
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
from bot.adapters.discord.received.placing import PLATFORM, heard, spot_of
from bot.adapters.discord.shown import replies
from bot.adapters.discord.text.command_names import as_in_table
from bot.adapters.intake import KeyedLocks, reads_files
from bot.command_line import parse
from bot.events import Place, Sorry
from bot.readers.kinds import readable
from bot.runs.requests import event_id

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from storage.threads import ThreadRow

ASIDE = ("//", "((")
"""What a message in a thread with free chat begins with that is not meant for the bot."""
EVERYBODY = re.compile(r"@(everyone|here)\b")
TYPING_S = 8.0
"""How often people are shown that the bot is at it; Discord shows it for 10 s ("Trigger Typing Indicator")."""
_SPOKEN = (discord.MessageType.default, discord.MessageType.reply)

_log = logging.getLogger(__name__)


class Listener:
    """All that the bot hears besides interactions; one per client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._turns = KeyedLocks()
        self._typing: set[asyncio.Task[None]] = set()
        self._typed: dict[int, float] = {}

    def listen(self) -> None:
        """Have the client tell of all this."""
        for hears in (
            self.on_message,
            self.on_raw_message_edit,
            self.on_raw_message_delete,
            self.on_raw_bulk_message_delete,
            self.on_raw_thread_delete,
            self.on_guild_join,
            self.on_guild_remove,
        ):
            self._client.event(hears)

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot or message.webhook_id is not None or message.type not in _SPOKEN:
            return
        if not _may_answer(message):
            return
        async with self._turns.of(message.channel.id):
            await self._listen(message)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self._forget(payload.guild_id, payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        await self._forget(payload.guild_id, payload.channel_id, sorted(payload.message_ids))

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Other words for what was asked. Discord also reports links that it has unfolded; those are no edits."""
        message = payload.message
        if message.author.bot or message.edited_at is None or not message.content:
            return
        try:
            text = parse(as_in_table(heard(message, self._me))).text
        except Sorry:  # not a line that could be asked: what was asked stands
            return
        guild = payload.guild_id
        space = str(guild) if guild is not None else f"user:{message.author.id}"
        run, edit = event_id(PLATFORM, space, str(message.id)), message.edited_at.isoformat()
        if text:
            async with self._turns.of(payload.channel_id):
                await self._client.app.reword(space, run, text, edit)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        """Nobody could read what is said there."""
        threads, space, real = self._client.app.records.threads, str(payload.guild_id), str(payload.thread_id)
        held = await threads.held(space, real)
        # A thread that somebody else opened is its conversation's name itself.
        channel, thread = (held.channel, held.thread) if held else (str(payload.parent_id), real)
        await self._client.intake.thread_deleted(Place(PLATFORM, space, channel, thread), real)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await welcome(self._client.app.records.marks, guild)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """What runs for a server that has put the bot out stops. Its data stays: it may come back."""
        await self._client.app.stop_where(lambda request: request.place.space == str(guild.id))

    async def _listen(self, message: discord.Message) -> None:
        if message.guild is None:
            await self._hear(message)
        elif self._addressed(message):
            if message.content or message.attachments or self._client.intents.message_content:
                await self._hear(message)
            else:  # a reply that does not ping: Discord kept its text from us
                await self._explain(message)
        elif isinstance(message.channel, discord.Thread):
            await self._overhear(message)

    def _addressed(self, message: discord.Message) -> bool:
        """Named by a mention of its own, or replied to. A role's mention and @everyone's are nobody's."""
        me = self._me
        return any(one.id == me for one in message.mentions) or _answers(message) == me

    async def _overhear(self, message: discord.Message) -> None:
        """A message in a thread that does not name the bot: its own only where free chat is on."""
        threads, space = self._client.app.records.threads, spot_of(message).space
        held = await threads.held(space, str(message.channel.id))
        if held is None:
            return
        if not self._client.intents.message_content:
            await self._explain(message)
        elif self._for_others(message) or not await self._free_chat(held):
            return
        elif heard(message, self._me) or _books(message):  # and not, say, a sticker
            await self._hear(message)

    async def _free_chat(self, held: ThreadRow) -> bool:
        """As the thread says, else its channel, its server, the config."""
        if held.free_chat is not None:
            return held.free_chat
        place = Place(PLATFORM, held.space, held.channel, held.thread)
        return await self._client.app.free_chat(place)

    def _for_others(self, message: discord.Message) -> bool:
        answers = _answers(message)
        return bool(
            message.mentions
            or message.role_mentions
            or EVERYBODY.search(message.content)  # also from somebody who may not call them
            or (answers is not None and answers != self._me)
            or message.content.lstrip().startswith(ASIDE)
        )

    async def _hear(self, message: discord.Message) -> None:
        text, books = heard(message, self._me), _books(message)
        intake = self._client.intake
        say = intake.words_of(message)
        hint = "books" if books and not reads_files(as_in_table(text)) else "" if text else "short"
        if hint and intake.too_many_hints(spot_of(message)):
            hint = ""
        if hint == "books":
            await replies.reply(message, say("welcome.books", file=books[0]), "b")
        elif hint:
            await replies.reply(message, say("welcome.short", name=self._name(message)), "h")
        if text:
            self._type(message)
            await intake.message(message, text)

    def _type(self, message: discord.Message) -> None:
        """Show that the bot is at it, unless Discord still shows it from the message before."""
        channel, now = message.channel.id, asyncio.get_running_loop().time()
        if now - self._typed.get(channel, -TYPING_S) < TYPING_S:
            return
        self._typed = {one: at for one, at in self._typed.items() if now - at < TYPING_S} | {channel: now}
        typing = asyncio.create_task(_type(message))
        self._typing.add(typing)
        typing.add_done_callback(self._typing.discard)

    async def _explain(self, message: discord.Message) -> None:
        """Without the Message Content intent, once in each thread: how to be heard there."""
        threads, space = self._client.app.records.threads, spot_of(message).space
        thread = str(message.channel.id)
        if await threads.held(space, thread) is None or await threads.explained(space, thread):
            await replies.reply(
                message,
                self._client.intake.words_of(message)("welcome.unheard", name=self._name(message)),
                "e",
            )

    async def _forget(self, guild: int | None, channel: int, messages: Iterable[int]) -> None:
        # What was written a moment ago may be on its way in, and would come in after all.
        await self._turns.after(channel)
        space = str(guild) if guild is not None else await self._space_of_dm(channel)
        for message in messages if space is not None else ():
            assert space is not None
            await self._client.app.forget(space, event_id(PLATFORM, space, str(message)))

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

    @property
    def _me(self) -> int:
        assert self._client.user is not None, "no message comes before READY"
        return self._client.user.id

    def _name(self, message: discord.Message) -> str:
        """What people type after the @."""
        me = message.guild.me if message.guild is not None else self._client.user
        return me.display_name if me is not None else ""


def _answers(message: discord.Message) -> int | None:
    """Whose message this one is a reply to; None for none, or for one that is gone."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    replied = message.reference.resolved
    return replied.author.id if isinstance(replied, discord.Message) else None


def _books(message: discord.Message) -> list[str]:
    files = [one.filename for one in message.attachments]
    return [name for name in files if readable(name)]


def _may_answer(message: discord.Message) -> bool:
    me = message.guild.me if message.guild is not None else None
    if me is None or isinstance(message.channel, discord.DMChannel | discord.PartialMessageable):
        return True
    may = message.channel.permissions_for(me)
    return may.send_messages_in_threads if isinstance(message.channel, discord.Thread) else may.send_messages


async def _type(message: discord.Message) -> None:
    with suppress(discord.HTTPException):  # a courtesy, no more
        await message.channel.typing()
