"""Checks what the bot can reach and what its permissions forbid."""

from __future__ import annotations

from tests.fakes.discord.channels import FORUM, Channel, Thread
from tests.fakes.discord.messages import SYSTEM, Message
from tests.fakes.discord.refusal import locked, no
from tests.fakes.discord.rest import Ask


def channel(ask: Ask, name: str = "channel") -> Channel:
    """The channel in the path, if the bot can see it."""
    channel = ask.discord.world.channels.get(ask.id(name))
    if channel is None:
        raise no(10003)
    if not channel.reachable or not channel.allows("VIEW_CHANNEL"):
        raise no(50001)
    return channel


def thread(ask: Ask) -> Thread:
    channel_found = channel(ask)
    if not isinstance(channel_found, Thread):
        raise no(50024)
    return channel_found


def message(ask: Ask, channel: Channel) -> Message:
    """The message in the path, which must not be ephemeral: the bot's own token cannot reach those."""
    message = channel.posts.get(ask.id("message"))
    if message is None or message.deleted or message.ephemeral:
        raise no(10008)
    return message


def need(channel: Channel, *names: str) -> None:
    for name in names:
        if not channel.allows(name):
            raise no(50013)


def may_write(channel: Channel) -> None:
    """Check that a new message may be written: it reopens an archived thread, unless the thread is locked."""
    if channel.type == FORUM:
        raise no(50024)
    if channel.closed:
        raise no(50007)
    need(channel, "SEND_MESSAGES_IN_THREADS" if isinstance(channel, Thread) else "SEND_MESSAGES")
    if isinstance(channel, Thread) and channel.locked and not channel.allows("MANAGE_THREADS"):
        raise locked()
    if isinstance(channel, Thread) and channel.archived:
        channel.set_archived(False)


def may_change(channel: Channel) -> None:
    """Check that messages may be edited, deleted and reacted to: not in an archived thread, and in a locked one only by
    moderators.
    """
    if isinstance(channel, Thread) and channel.archived:
        raise no(50083)
    if isinstance(channel, Thread) and channel.locked and not channel.allows("MANAGE_THREADS"):
        raise locked()


def may_edit(ask: Ask, message: Message) -> None:
    if message.type in SYSTEM:
        raise no(50021)
    if message.author is not ask.discord.world.bot:
        raise no(50005)
