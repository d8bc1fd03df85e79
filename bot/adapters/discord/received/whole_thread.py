"""What was said in a thread, all of it, when a work asks for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC
from typing import TYPE_CHECKING, Final

import discord

from bot.adapters.discord.installed.client import faults_as_sorry
from bot.adapters.discord.received.placing import Origin, missing, origin_of, text_without_mention
from bot.adapters.markdown import clean
from bot.events import Request, UserError
from bot.platforms import ThreadMessage, WholeThread

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client

PAGE: Final = 100
"""Messages of one call: the most there are (Discord's documentation, "Get Channel Messages")."""
_SAID: Final = (discord.MessageType.default, discord.MessageType.reply)


async def whole_thread(client: Client, request: Request) -> WholeThread | None:
    """The thread's messages. Discord tells what they say only to bots with the message content intent."""
    origin = origin_of(request.origin)
    if not origin.member or origin.private:
        return None
    async with faults_as_sorry(client.settings):
        thread = client.get_channel(origin.channel) or await client.fetch_channel(origin.channel)
    if not isinstance(thread, discord.Thread):
        return None
    if missing(client, thread.id, "view_channel", "read_message_history"):
        raise UserError("discord.history_closed")
    by_bot = client.user is not None and thread.owner_id == client.user.id
    starter = "" if by_bot else str(thread.owner_id)
    return WholeThread(starter, clean(thread.name), _pages(client, thread, origin))


async def _pages(
    client: Client, thread: discord.Thread, origin: Origin
) -> AsyncGenerator[list[ThreadMessage], None]:
    me, seen = client.user.id if client.user is not None else 0, False
    blank = False
    after: discord.abc.Snowflake = discord.Object(0)
    while True:
        async with faults_as_sorry(client.settings):
            page = [message async for message in thread.history(limit=PAGE, after=after, oldest_first=True)]
        counts = [message for message in page if _counts(message, me, origin)]
        seen = seen or any(message.content for message in counts)
        blank = blank or any(
            not (message.content or message.attachments or message.stickers) for message in counts
        )
        yield [_said(message, me) for message in counts if message.content]
        if len(page) < PAGE:
            break
        after = page[-1]
    if blank and not seen:
        raise UserError("discord.history_unseen")


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
