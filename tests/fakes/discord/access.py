"""Whether the bot may: what it reaches, and what its permissions forbid."""

from __future__ import annotations

from tests.fakes.discord.channels import FORUM, Channel, Thread
from tests.fakes.discord.messages import SYSTEM, Message
from tests.fakes.discord.refusal import locked, no
from tests.fakes.discord.rest import Ask


def channel(ask: Ask, name: str = "channel") -> Channel:
    """The channel of the path, which the bot can see."""
    found = ask.discord.world.channels.get(ask.id(name))
    if found is None:
        raise no(10003)
    if not found.reachable or not found.allows("VIEW_CHANNEL"):
        raise no(50001)
    return found


def thread(ask: Ask) -> Thread:
    found = channel(ask)
    if not isinstance(found, Thread):
        raise no(50024)
    return found


def message(ask: Ask, there: Channel) -> Message:
    """The message of the path, as the bot's own token finds it: not an ephemeral one."""
    found = there.posts.get(ask.id("message"))
    if found is None or found.deleted or found.ephemeral:
        raise no(10008)
    return found


def need(there: Channel, *names: str) -> None:
    for name in names:
        if not there.allows(name):
            raise no(50013)


def may_write(there: Channel) -> None:
    """Write a new message: it wakes an archived thread, unless it is locked."""
    if there.type == FORUM:
        raise no(50024)
    if there.closed:
        raise no(50007)
    need(there, "SEND_MESSAGES_IN_THREADS" if isinstance(there, Thread) else "SEND_MESSAGES")
    if isinstance(there, Thread) and there.locked and not there.allows("MANAGE_THREADS"):
        raise locked()
    if isinstance(there, Thread) and there.archived:
        there.set_archived(False)


def may_change(there: Channel) -> None:
    """Edit, delete, react: an archived thread stays as it is, and a locked one is its moderators'."""
    if isinstance(there, Thread) and there.archived:
        raise no(50083)
    if isinstance(there, Thread) and there.locked and not there.allows("MANAGE_THREADS"):
        raise locked()


def may_edit(ask: Ask, one: Message) -> None:
    if one.type in SYSTEM:
        raise no(50021)
    if one.author is not ask.discord.world.bot:
        raise no(50005)
