"""The messages that a message to the bot brings along: one that it replies to, links or forwards, and the one that its
thread was opened from. Their words and files become part of the question.

Without the Message Content intent Discord sends such a message without its words: then the person reads how to bring it
all the same.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

import discord

from bot.adapters.discord.received.placing import file_of, text_of
from bot.adapters.invocation import quotation
from bot.events import File

LINK = re.compile(
    r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/channels/(\d{1,20})/(\d{1,20})/(\d{1,20})"
)
LINKS = 3
"""Linked messages of one question."""
FETCH_S = 4.0
"""How long a message may take to be fetched. The question goes on without it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Brought:
    """`text` is a quotation in Markdown. `unseen`: Discord shows the bot nothing of a message."""

    text: str = ""
    files: tuple[File, ...] = ()
    unseen: bool = False

    def __bool__(self) -> bool:
        return self.text != "" or self.files != ()


async def brought(message: discord.Message, us: int, *, begins: bool) -> Brought:
    """What this message brings along. `us` is the bot's id; its own messages are left out, which it knows.

    `begins`: it begins a conversation in its thread, and so brings the message that the thread was opened from.
    """
    quotes, files, unseen = list[str](), list[File](), False
    if own := _around(message):
        quotes.append(quotation(own))
        files += _files(message.message_snapshots)
    for other in await _others(message, begins=begins):
        if us in (other.author.id, other.application_id):
            continue
        text, attached = text_of(other), _files([other, *other.message_snapshots])
        unseen = unseen or not (text or attached)
        quotes.append(quotation(text))
        files += attached
    return Brought("\n\n".join(filter(None, quotes)), tuple(files), unseen)


def files_of(message: discord.Message) -> tuple[File, ...]:
    """The files of a message and of what it forwards."""
    return tuple(_files([message, *message.message_snapshots]))


def _files(parts: Sequence[discord.Message | discord.MessageSnapshot]) -> list[File]:
    return [file_of(attachment) for part in parts for attachment in part.attachments]


def _around(message: discord.Message) -> str:
    """The words of what a message forwards and of its embeds, without its own."""
    own = message.content.strip()
    return text_of(message).removeprefix(own).strip()


async def _others(message: discord.Message, *, begins: bool) -> list[discord.Message]:
    """Fetched all at once, in their order: the one that it replies to, its thread's first, those that it links."""
    replied, wanted = list[discord.Message](), list[tuple[discord.abc.Messageable, int]]()
    reference = message.reference
    if reference is not None and message.type is discord.MessageType.reply:
        if isinstance(reference.resolved, discord.Message):
            replied.append(reference.resolved)
        elif reference.resolved is None and reference.message_id is not None:
            wanted.append((message.channel, reference.message_id))
    thread = message.channel
    if begins and isinstance(thread, discord.Thread) and thread.id != message.id:
        # A thread has the id of the message that it was opened from; a forum's first post is in the thread itself.
        forum = isinstance(thread.parent, discord.ForumChannel)
        opened_in = thread if forum else thread.parent
        if isinstance(opened_in, discord.abc.Messageable):
            wanted.append((opened_in, thread.id))
    for guild, channel, id in dict.fromkeys(LINK.findall(message.content)[:LINKS]):
        where = _readable(message, int(guild), int(channel))
        if where is not None:
            wanted.append((where, int(id)))
    found = await asyncio.gather(*(_fetched(where, id) for where, id in wanted))
    return [*replied, *(other for other in found if other is not None)]


def _readable(message: discord.Message, guild: int, channel: int) -> discord.abc.Messageable | None:
    """The linked channel, if it is in the same server and the person themselves may read it."""
    if channel == message.channel.id:
        return message.channel
    if message.guild is None or message.guild.id != guild or not isinstance(message.author, discord.Member):
        return None
    where = message.guild.get_channel_or_thread(channel)
    if not isinstance(where, discord.abc.Messageable):
        return None
    if isinstance(where, discord.Thread) and where.is_private():  # its members are not known here
        return None
    try:
        may = where.permissions_for(message.author)
    except discord.ClientException:  # a thread of an unknown channel
        return None
    return where if may.view_channel and may.read_message_history else None


async def _fetched(where: discord.abc.Messageable, id: int) -> discord.Message | None:
    try:
        async with asyncio.timeout(FETCH_S):
            return await where.fetch_message(id)
    except (discord.DiscordException, OSError, TimeoutError) as fault:
        _log.info("message %s cannot be read: %s", id, type(fault).__name__)
        return None
