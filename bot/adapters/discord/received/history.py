"""The messages of a channel or thread, fetched when a work asks for them, where the asker and the bot may read them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Final

import discord

from bot.adapters.discord.installed.client import Client, faults_as_sorry
from bot.adapters.discord.received.placing import Origin, missing, origin_of, text_of, text_without_mention
from bot.adapters.markdown import clean
from bot.events import Request, TransientError, UserError
from bot.platforms import LinkedThread, ThreadMessage, WholeThread

PINS: Final = 50
"""Pinned messages that are read: one page."""
MESSAGES: Final = 100
"""Messages per call; Discord's maximum (its documentation, "Get Channel Messages")."""
_SAID: Final = (discord.MessageType.default, discord.MessageType.reply)


async def whole_thread(client: Client, request: Request) -> WholeThread | None:
    """The thread's messages. Discord shows their text only to bots with the Message Content intent."""
    origin = origin_of(request.origin)
    if not origin.member or origin.private:
        return None
    async with faults_as_sorry(client.settings):
        thread = client.get_channel(origin.channel) or await client.fetch_channel(origin.channel)
    if not isinstance(thread, discord.Thread):
        return None
    if missing(client, thread.id, "view_channel", "read_message_history"):
        raise TransientError("discord.history_closed")
    by_bot = client.user is not None and thread.owner_id == client.user.id
    starter = "" if by_bot else str(thread.owner_id)
    return WholeThread(starter, clean(thread.name), _pages(client, thread, origin))


async def last_messages(client: Client, request: Request, most: int) -> list[ThreadMessage]:
    """The newest messages that the request's author may read in the channel or thread where it was made."""
    origin = origin_of(request.origin)
    async with faults_as_sorry(client.settings):
        channel = await _readable(client, origin)
        before = discord.Object(origin.message) if origin.message is not None else None
        page = [message async for message in channel.history(limit=most, before=before)]
    me = client.user.id if client.user is not None else 0
    counts = [message for message in reversed(page) if _counts(message, me, origin)]
    return _read(counts, me)


async def _readable(client: Client, origin: Origin) -> discord.abc.Messageable:
    """The channel or thread that a request comes from, if its author and the bot may read its history."""
    channel = client.get_channel(origin.channel) or await client.fetch_channel(origin.channel)
    if not isinstance(channel, discord.abc.Messageable):
        raise UserError("thread.no_messages_here")
    if not origin.member or missing(client, origin.channel, "view_channel", "read_message_history"):
        raise TransientError("discord.history_closed")
    if isinstance(channel, discord.abc.GuildChannel | discord.Thread):
        member = channel.guild.get_member(origin.user) or await channel.guild.fetch_member(origin.user)
        if not channel.permissions_for(member).read_message_history:
            raise UserError("discord.history_yours")
    return channel


async def pinned_messages(client: Client, request: Request) -> list[ThreadMessage]:
    """The pinned messages of the channel or thread that the request comes from, newest pin first."""
    async with faults_as_sorry(client.settings):
        channel = await _readable(client, origin_of(request.origin))
        pinned = [message async for message in channel.pins(limit=PINS)]
    return _read(pinned, client.user.id if client.user is not None else 0)


async def linked_thread(client: Client, request: Request, thread: str, most: int) -> LinkedThread:
    """The newest messages of a linked thread, if the request's author may read it."""
    origin, closed = origin_of(request.origin), UserError("thread.link_closed", n=1)
    async with faults_as_sorry(client.settings):
        try:
            channel = client.get_channel(int(thread)) or await client.fetch_channel(int(thread))
        except (discord.NotFound, discord.Forbidden):
            raise closed from None
        if not isinstance(channel, discord.Thread) or channel.guild.id != origin.guild:
            raise closed
        if channel.is_private() or missing(client, channel.id, "view_channel", "read_message_history"):
            raise closed
        member = channel.guild.get_member(origin.user) or await channel.guild.fetch_member(origin.user)
        may = channel.permissions_for(member)
        if not (may.view_channel and may.read_message_history):
            raise closed
        page = [message async for message in channel.history(limit=most)]
        # The client's cached count does not include later messages.
        fresh = await client.fetch_channel(channel.id) if len(page) == most else channel
    me = client.user.id if client.user is not None else 0
    counts = [message for message in reversed(page) if _counts(message, me, origin)]
    messages_read = _read(counts, me)
    return LinkedThread(messages_read, max(len(messages_read), getattr(fresh, "message_count", 0)))


def _read(messages: Sequence[discord.Message], me: int) -> list[ThreadMessage]:
    """The text of messages, with forwarded messages and embeds; those without words are left out."""
    read = []
    for message in messages:
        content, all_text = message.content.strip(), text_of(message)
        message_read = _said(message, me)
        text = "\n\n".join(filter(None, (message_read.text, all_text.removeprefix(content).strip())))
        read += [replace(message_read, text=text)] if text else []
    if messages and not read and not any(message.attachments for message in messages):
        raise TransientError("discord.history_unseen")
    return read


async def _pages(
    client: Client, thread: discord.Thread, origin: Origin
) -> AsyncGenerator[list[ThreadMessage], None]:
    me, has_text = client.user.id if client.user is not None else 0, False
    blank = False
    after: discord.abc.Snowflake = discord.Object(0)
    while True:
        async with faults_as_sorry(client.settings):
            page = [
                message async for message in thread.history(limit=MESSAGES, after=after, oldest_first=True)
            ]
        counts = [message for message in page if _counts(message, me, origin)]
        has_text = has_text or any(message.content for message in counts)
        blank = blank or any(
            not (message.content or message.attachments or message.stickers) for message in counts
        )
        yield [_said(message, me) for message in counts if message.content]
        if len(page) < MESSAGES:
            break
        after = page[-1]
    if blank and not has_text:
        raise TransientError("discord.history_unseen")


def _counts(message: discord.Message, me: int, origin: Origin) -> bool:
    if message.type not in _SAID or message.author.id == me:
        return False
    return origin.message is None or message.id < origin.message


def _said(message: discord.Message, me: int) -> ThreadMessage:
    program = message.webhook_id is not None or message.author.bot
    return ThreadMessage(
        str(message.id),
        "" if program else str(message.author.id),
        clean(message.author.display_name),
        text_without_mention(message, me),
        message.created_at.astimezone(UTC),
    )
