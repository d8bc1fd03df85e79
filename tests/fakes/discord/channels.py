"""Channels and threads: their messages, and what the bot may do there.

Knows their JSON, but not who asks.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.discord import permissions as may
from tests.fakes.discord.ids import stamp
from tests.fakes.discord.messages import SYSTEM, Message

if TYPE_CHECKING:
    from tests.fakes.discord.world import Guild, User, World

TEXT, DM, VOICE, GROUP, NEWS, NEWS_THREAD, THREAD, PRIVATE_THREAD, STAGE, FORUM = (
    0,
    1,
    2,
    3,
    5,
    10,
    11,
    12,
    13,
    15,
)
NEEDS_TAG = 1 << 4
"""The flag of a forum whose posts need a tag (Discord's documentation, "Channel Flags")."""


@dataclass(eq=False)
class Channel:
    """Any place for messages. `denied` are the permissions that its settings take from the bot."""

    world: World
    id: int
    type: int
    name: str
    guild: Guild | None
    recipients: list[User] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    nsfw: bool = False
    # A person who blocks the bot's direct messages.
    closed: bool = False
    topic: str | None = None
    # For a forum: its tags, whether only moderators may use each, and whether every post needs one.
    tags: dict[str, bool] = field(default_factory=dict)
    needs_tag: bool = False
    # For a voice channel: its capacity, 0 for no limit, and bits per second.
    user_limit: int = 0
    bitrate: int = 64_000
    posts: dict[int, Message] = field(default_factory=dict)
    threads: list[Thread] = field(default_factory=list)
    typing: list[float] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        """The messages that everybody can read, oldest first, without ephemeral, deleted and system messages."""
        return [
            post
            for post in self.posts.values()
            if not post.deleted and not post.ephemeral and post.type not in SYSTEM
        ]

    @property
    def parent(self) -> Channel:
        return self

    def deny(self, *names: str) -> None:
        """Take permissions from the bot in this channel and its threads."""
        may.bits(names)
        self.denied |= {name.upper() for name in names}
        self.world.emit("CHANNEL_UPDATE", self.payload(), channel=self)

    def tag(self, **moderated: bool) -> None:
        """Give a forum these tags and require one for every post; True: only moderators may use the tag."""
        self.tags, self.needs_tag = moderated, True
        self.world.emit("CHANNEL_UPDATE", self.payload(), channel=self)

    def restrict(self) -> None:
        """Restrict the channel to adults from now on."""
        self.nsfw = True
        self.world.emit("CHANNEL_UPDATE", self.payload(), channel=self)

    def allow(self, *names: str) -> None:
        """Undo `deny`."""
        self.denied -= {name.upper() for name in names}
        self.world.emit("CHANNEL_UPDATE", self.payload(), channel=self)

    @property
    def reachable(self) -> bool:
        """Whether the bot can reach this channel with its own token."""
        return self.guild.home if self.guild else self.type == DM

    @property
    def permissions(self) -> int:
        """The bot's permissions here."""
        if self.guild is None:
            return may.EVERYTHING if self.type == DM else 0
        if not self.guild.home:
            return 0
        permissions = may.bits(self.guild.permissions)
        if permissions & may.BITS["ADMINISTRATOR"]:
            return may.EVERYTHING
        permissions &= ~may.bits(self.parent.denied)
        return permissions if permissions & may.BITS["VIEW_CHANNEL"] else 0

    def allows(self, name: str) -> bool:
        return bool(self.permissions & may.BITS[name])

    def payload(self) -> dict[str, Any]:
        last = next(reversed(self.posts), None)
        payload: dict[str, Any] = {
            "id": str(self.id),
            "type": self.type,
            "flags": 0,
            "last_message_id": str(last) if last else None,
        }
        if self.guild is None:
            payload["recipients"] = [user.payload() for user in self.recipients]
            if self.type == GROUP:
                payload |= {"name": None, "icon": None, "owner_id": str(self.recipients[0].id)}
            return payload
        overwrite = {
            "id": str(self.world.bot.id),
            "type": 1,
            "allow": "0",
            "deny": str(may.bits(self.denied)),
        }
        payload |= {
            "guild_id": str(self.guild.id),
            "name": self.name,
            "position": 0,
            "permission_overwrites": [overwrite] if self.denied else [],
            "parent_id": None,
            "topic": self.topic,
            "nsfw": self.nsfw,
            "rate_limit_per_user": 0,
        }
        if self.type in (VOICE, STAGE):
            payload |= {"bitrate": self.bitrate, "user_limit": self.user_limit, "rtc_region": None}
        if self.type == FORUM:
            payload |= {
                "flags": NEEDS_TAG if self.needs_tag else 0,
                "available_tags": [
                    {
                        "id": str(id),
                        "name": name,
                        "moderated": moderated,
                        "emoji_id": None,
                        "emoji_name": None,
                    }
                    for id, (name, moderated) in enumerate(self.tags.items(), 1)
                ],
                "default_reaction_emoji": None,
                "default_sort_order": None,
                "default_forum_layout": 0,
                "template": "",
            }
        return payload

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or self.recipients}>"


@dataclass(eq=False, repr=False)
class Thread(Channel):
    """A thread; in a forum, a post."""

    up: Channel | None = None
    owner: int = 0
    archived: bool = False
    locked: bool = False
    auto_archive: int = 1440
    archived_at: float = field(default_factory=time.time)
    created: float = field(default_factory=time.time)
    people: dict[int, float] = field(default_factory=dict)
    renames: list[str] = field(default_factory=list)
    applied: list[str] = field(default_factory=list)

    @property
    def parent(self) -> Channel:
        assert self.up is not None
        return self.up

    def payload(self) -> dict[str, Any]:
        assert self.guild is not None
        last = next(reversed(self.posts), None)
        count = len(self.messages)
        return {
            "id": str(self.id),
            "type": self.type,
            "guild_id": str(self.guild.id),
            "parent_id": str(self.parent.id),
            "owner_id": str(self.owner),
            "name": self.name,
            "last_message_id": str(last) if last else None,
            "rate_limit_per_user": 0,
            "message_count": count,
            "total_message_sent": count,
            "member_count": len(self.people),
            "flags": 0,
            "applied_tags": self.applied,
            "thread_metadata": {
                "archived": self.archived,
                "auto_archive_duration": self.auto_archive,
                "archive_timestamp": stamp(self.archived_at),
                "locked": self.locked,
                "create_timestamp": stamp(self.created),
            },
        }

    def member_payload(self, user: int) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "user_id": str(user),
            "join_timestamp": stamp(self.people[user]),
            "flags": 0,
        }

    def set_archived(self, archived: bool) -> None:
        """Archive or reopen the thread, as Discord itself or somebody with the permission does."""
        self.archived = archived
        self.archived_at = time.time()
        self.changed()

    def lock(self, locked: bool = True) -> None:
        """Lock the thread: only people who may manage threads can write in it or reopen it."""
        self.locked = locked
        self.changed()

    def changed(self) -> None:
        self.world.emit("THREAD_UPDATE", self.payload(), channel=self)
