"""Which conversation something that happens on Slack belongs to, and where its answer goes.

Decides by plain values alone: asks neither the network nor the storage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.adapters.slack.origin import Home
from bot.events import Place

PLATFORM = "slack"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a person is.

    `thread` is the ts of the thread's root, "" at the channel's root. `team` is the workspace, "" where only the
    `enterprise` is known. `message`: the ts of what they wrote there, "" if they did not write.
    """

    user: str
    team: str
    channel: str
    enterprise: str = ""
    thread: str = ""
    message: str = ""

    @property
    def space(self) -> str:
        """The tenant: the workspace, or the enterprise where Slack names no workspace."""
        return self.team or self.enterprise

    @property
    def direct(self) -> bool:
        """A conversation with the bot alone; Slack's ids of those begin with D."""
        return self.channel.startswith("D")

    @property
    def root(self) -> str:
        """The ts of the thread in which an answer to what was written here stands, "" if nothing was."""
        return self.thread or self.message


def home(here: Spot, *, ordered: bool, private: bool = False) -> Home:
    """Where the answer stands. What is private and quickly done is shown on the spot, to the asker alone."""
    if private and not here.direct:
        return "direct" if ordered else "alone"
    if here.root:
        return "here"
    return "thread" if ordered else "channel"


def place(here: Spot, *, event: str, goes: Home, held: tuple[str, str] | None = None) -> Place:
    """The conversation. `event` names one whose thread is still to be made.

    `held` is the (channel, thread) that a thread of the bot's own is called.
    """
    if goes == "direct":
        return Place(PLATFORM, here.space, f"@{here.user}", event)
    if goes == "thread":
        return Place(PLATFORM, here.space, here.channel, event)
    if here.root:
        channel, thread = held or (here.channel, here.root)
        return Place(PLATFORM, here.space, channel, thread)
    return Place(PLATFORM, here.space, here.channel, "")


def real(channel: str, thread: str) -> str:
    """What `storage.threads` calls a thread of Slack's: a ts is unique only in its channel."""
    return f"{channel}:{thread}"


def parted(real: str) -> tuple[str, str]:
    """The channel and the ts of the thread that `real` named."""
    channel, _, thread = real.partition(":")
    return channel, thread


Kind = Literal["message", "command", "action", "view", "shortcut"]


def event_of(kind: Kind, *parts: str) -> str:
    """The event's own id: the same however often, and as however many events, Slack tells of it.

    A message's are its channel and ts, under which a mention arrives twice; a command's its trigger_id; an
    action's channel, message, action_ts and user; a window's its view id.
    """
    return ":".join((kind, *parts))
