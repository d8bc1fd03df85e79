"""The messages that come with a message to the bot: those that it replies to, links or forwards, and the one that its
thread was opened from. Their words and files become part of the question, and their origin is shown under the answer.
Only messages that the person may read themselves are read.

Without the Message Content intent Discord sends such a message without its words; then a hint tells the person how to
include it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

import discord

from bot.adapters.discord.received.placing import file_of, text_of
from bot.adapters.invocation import Brought, quotation, shown_time
from bot.adapters.markdown import clean
from bot.events import File, Quoted

LINK = re.compile(
    r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/channels/(\d{1,20})/(\d{1,20})(?:/(\d{1,20}))?"
)
"""The address of a message, or that of a thread, which ends with its id."""
LINKS = 3
"""The most linked messages and threads per question."""
FETCH_S = 4.0
"""Seconds that fetching a message may take; then the question continues without it."""
COMMAND_FETCH_S = 1.5
"""The same for a command, because Discord waits only three seconds."""

_log = logging.getLogger(__name__)

_Wanted: TypeAlias = "tuple[discord.abc.Messageable, int]"


@dataclass(frozen=True, slots=True)
class Asker:
    """A person, and the channel and the server where they ask."""

    person: discord.User | discord.Member
    channel: object
    guild: discord.Guild | None

    @property
    def here(self) -> int:
        return int(getattr(self.channel, "id", 0))


async def linked(text: str, asker: Asker, us: int, now: datetime) -> Brought:
    """The messages that the links in a command's text refer to."""
    roots, messages, behind = _links(text, asker)
    known = await _known(roots, messages, COMMAND_FETCH_S)
    return _along([*known, *behind], asker, us, now)


async def brought(message: discord.Message, us: int, *, begins: bool) -> Brought:
    """The messages that come with this message. `us` is the bot's id; its own messages are left out, because it knows
    them.

    `begins`: the message begins a conversation in its thread, so it includes the message that the thread was opened
    from.
    """
    asker = Asker(message.author, message.channel, message.guild)
    along = _along(await _others(message, asker, begins=begins), asker, us, message.created_at)
    if not (words := _around(message)):
        return along
    times = [shown_time(each.created_at, message.created_at) for each in message.message_snapshots]
    return replace(
        along,
        text="\n\n".join(filter(None, (quotation(words), along.text))),
        files=(*_files(message.message_snapshots), *along.files),
        quoted=(*(Quoted(at=time) for time in times), *along.quoted),
    )


def _along(others: Sequence[discord.Message | Quoted], asker: Asker, us: int, now: datetime) -> Brought:
    quotes, files, quoted, unseen = list[str](), list[File](), list[Quoted](), False
    for other in others:
        if isinstance(other, Quoted):
            quoted.append(other)
            continue
        if us in (other.author.id, other.application_id):
            continue
        text, attached = text_of(other), _files([other, *other.message_snapshots])
        quotes.append(quotation(text))
        files += attached
        if text or attached:
            quoted.append(_source(other, asker, now))
        else:
            unseen = True
    return Brought("\n\n".join(filter(None, quotes)), tuple(files), unseen, tuple(quoted))


def files_of(message: discord.Message) -> tuple[File, ...]:
    """The files of a message and of what it forwards."""
    return tuple(_files([message, *message.message_snapshots]))


def _files(parts: Sequence[discord.Message | discord.MessageSnapshot]) -> list[File]:
    return [file_of(attachment) for part in parts for attachment in part.attachments]


def _around(message: discord.Message) -> str:
    """The words of the messages that it forwards and of its embeds, without its own."""
    own = message.content.strip()
    return text_of(message).removeprefix(own).strip()


def _source(other: discord.Message, asker: Asker, now: datetime) -> Quoted:
    channel_name = "" if other.channel.id == asker.here else name_for_all(other.channel)
    return Quoted(channel_name, clean(other.author.display_name), shown_time(other.created_at, now))


def name_for_all(channel: object) -> str:
    """The channel's name, such as "#rules"; "" if not everybody on the server may know it."""
    if not isinstance(channel, discord.abc.GuildChannel | discord.Thread):
        return ""
    try:
        for_everybody = channel.permissions_for(channel.guild.default_role).view_channel
    except discord.ClientException:  # a thread of an unknown channel
        for_everybody = False
    private = isinstance(channel, discord.Thread) and channel.is_private()
    return f"#{clean(channel.name)}" if for_everybody and not private else ""


async def _others(message: discord.Message, asker: Asker, *, begins: bool) -> list[discord.Message | Quoted]:
    """The other messages, fetched at the same time but returned in order: the one it replies to, its thread's first,
    those it links; then linked threads, which the run reads, and the reasons why links are not read.
    """
    replied, before = list[discord.Message](), list[_Wanted]()
    reference = message.reference
    if reference is not None and message.type is discord.MessageType.reply:
        if isinstance(reference.resolved, discord.Message):
            replied.append(reference.resolved)
        elif reference.resolved is None and reference.message_id is not None:
            before.append((message.channel, reference.message_id))
    thread = message.channel
    if begins and isinstance(thread, discord.Thread) and thread.id != message.id:
        # A thread has the id of the message that it was opened from; a forum's first post is inside the thread.
        forum = isinstance(thread.parent, discord.ForumChannel)
        opened_in = thread if forum else thread.parent
        if isinstance(opened_in, discord.abc.Messageable):
            before.append((opened_in, thread.id))
    roots, messages, behind = _links(message.content, asker)
    return [*replied, *await _known([*before, *roots], messages, FETCH_S), *behind]


def _links(text: str, asker: Asker) -> tuple[list[_Wanted], list[_Wanted], list[Quoted]]:
    """The linked threads' first messages, the linked messages, and the links that are left to the run or refused."""
    links = list(dict.fromkeys(LINK.findall(text)))
    roots, messages = list[_Wanted](), list[_Wanted]()
    behind = [Quoted(refused="thread.link_many") for _ in links[LINKS:]]
    for guild, channel, id in links[:LINKS]:
        channel_found = _readable(asker, int(guild), int(channel))
        if isinstance(channel_found, str):
            behind.append(Quoted(refused=channel_found))
        elif id:
            messages.append((channel_found, int(id)))
        elif isinstance(channel_found, discord.Thread):
            behind.append(Quoted(name_for_all(channel_found), thread=str(channel_found.id)))
            # A forum's first post is inside the thread.
            if isinstance(channel_found.parent, discord.abc.Messageable):
                roots.append((channel_found.parent, channel_found.id))
    return roots, messages, behind


async def _known(
    unasked: Sequence[_Wanted], messages: Sequence[_Wanted], seconds: float
) -> list[discord.Message | Quoted]:
    """The messages that can be read. A message that nobody asked for is left out silently if it cannot be read."""
    fetched = await asyncio.gather(*(_fetched(where, id, seconds) for where, id in (*unasked, *messages)))
    return [
        Quoted(refused=other) if isinstance(other, str) else other
        for n, other in enumerate(fetched)
        if n >= len(unasked) or not isinstance(other, str)
    ]


def _readable(asker: Asker, guild: int, channel: int) -> discord.abc.Messageable | str:
    """The linked channel, if it is on the same server and the person may read it; else the key of the reason."""
    if channel == asker.here and isinstance(asker.channel, discord.abc.Messageable):
        return asker.channel
    if asker.guild is None or asker.guild.id != guild or not isinstance(asker.person, discord.Member):
        return "thread.link_elsewhere"
    target = asker.guild.get_channel_or_thread(channel)
    closed = "thread.link_closed"
    if not isinstance(target, discord.abc.Messageable):
        return closed
    if isinstance(target, discord.Thread) and target.is_private():  # its members are not known here
        return closed
    try:
        may = target.permissions_for(asker.person)
    except discord.ClientException:  # a thread of an unknown channel
        return closed
    return target if may.view_channel and may.read_message_history else closed


async def _fetched(channel: discord.abc.Messageable, id: int, seconds: float) -> discord.Message | str:
    """The message, or the key of the reason why it is not read."""
    try:
        async with asyncio.timeout(seconds):
            return await channel.fetch_message(id)
    except (discord.DiscordException, OSError, TimeoutError) as fault:
        _log.info("message %s cannot be read: %s", id, type(fault).__name__)
        if isinstance(fault, discord.NotFound):
            return "thread.link_gone"
        return "thread.link_closed" if isinstance(fault, discord.Forbidden) else "thread.link_late"
