"""Users, guilds and the ids of everything.

It knows the API's form of a guild, but not which clients are connected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.discord import permissions as may
from tests.fakes.discord.channels import Channel, Thread
from tests.fakes.discord.ids import Ids, stamp
from tests.fakes.discord.voice_states import VoiceState


@dataclass(eq=False)
class User:
    id: int
    name: str
    locale: str = "en-US"
    bot: bool = False

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    def payload(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "username": self.name if self.bot else self.name.lower(),
            "discriminator": "4821" if self.bot else "0",
            "global_name": None if self.bot else self.name,
            "avatar": None,
            "avatar_decoration_data": None,
            "bot": self.bot,
            "public_flags": 0,
            "primary_guild": None,
        }

    def __repr__(self) -> str:
        return f"<User {self.name}>"


@dataclass(eq=False)
class Member:
    user: User
    roles: list[int]
    permissions: frozenset[str]
    joined: float

    def payload(self) -> dict[str, Any]:
        return {
            "roles": [str(role) for role in self.roles],
            "nick": None,
            "avatar": None,
            "banner": None,
            "joined_at": stamp(self.joined),
            "premium_since": None,
            "deaf": False,
            "mute": False,
            "pending": False,
            "flags": 0,
            "communication_disabled_until": None,
        }


@dataclass(eq=False)
class Guild:
    """A server. `text`, `forum`, `news`, `voice` and `stage` create its channels."""

    world: World
    id: int
    name: str
    permissions: set[str]
    locale: str = "en-US"
    # Whether the bot was invited; otherwise it is available only through user installs.
    home: bool = True
    # Whether responses of user-installed apps may be public; otherwise they are ephemeral.
    external_apps: bool = True
    active_threads_cap: int = 1000
    members: dict[int, Member] = field(default_factory=dict)
    channels: list[Channel] = field(default_factory=list)
    system_channel: Channel | None = None
    # By user: the people in a voice channel, in order of arrival.
    voice_states: dict[int, VoiceState] = field(default_factory=dict)

    @property
    def bot_role(self) -> int:
        return self.id + 1

    @property
    def threads(self) -> list[Thread]:
        return [thread for channel in self.channels for thread in channel.threads]

    def join(self, user: User, manage: bool = False) -> Member:
        allowed = may.PERSON | may.MANAGER if manage else may.PERSON
        member = Member(user, [self.id + 2] if manage else [], allowed, time.time())
        self.members[user.id] = member
        self.world.emit(
            "GUILD_MEMBER_ADD", self.member_payload(user) | {"guild_id": str(self.id)}, guild=self
        )
        return member

    def permit(self, *names: str) -> None:
        """Give the bot's role these permissions, as an administrator would."""
        self._set_permissions(self.permissions | {name.upper() for name in names})

    def forbid(self, *names: str) -> None:
        """Take these permissions from the bot's role."""
        self._set_permissions(self.permissions - {name.upper() for name in names})

    def text(self, name: str, deny: Iterable[str] = ()) -> Channel:
        return self.world.channel(self, name, 0, deny)

    def voice(self, name: str, deny: Iterable[str] = (), user_limit: int = 0) -> Channel:
        return self.world.channel(self, name, 2, deny, user_limit)

    def stage(self, name: str, deny: Iterable[str] = ()) -> Channel:
        return self.world.channel(self, name, 13, deny)

    def news(self, name: str, deny: Iterable[str] = ()) -> Channel:
        return self.world.channel(self, name, 5, deny)

    def forum(self, name: str, deny: Iterable[str] = ()) -> Channel:
        return self.world.channel(self, name, 15, deny)

    def member_payload(self, user: User) -> dict[str, Any]:
        return self.members[user.id].payload() | {"user": user.payload()}

    def payload(self) -> dict[str, Any]:
        """The guild as in GET /guilds/{guild}."""
        return {
            "id": str(self.id),
            "name": self.name,
            "icon": None,
            "splash": None,
            "discovery_splash": None,
            "owner_id": str(self.id + 3),
            "afk_channel_id": None,
            "afk_timeout": 300,
            "verification_level": 0,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "roles": self.roles(),
            "emojis": [],
            "stickers": [],
            "features": [],
            "mfa_level": 0,
            "application_id": None,
            "system_channel_id": str(self.system_channel.id) if self.system_channel else None,
            "system_channel_flags": 0,
            "rules_channel_id": None,
            "max_members": 500000,
            "vanity_url_code": None,
            "description": None,
            "banner": None,
            "premium_tier": 0,
            "premium_subscription_count": 0,
            "preferred_locale": self.locale,
            "public_updates_channel_id": None,
            "nsfw_level": 0,
            "nsfw": False,
            "premium_progress_bar_enabled": False,
        }

    def create_payload(self) -> dict[str, Any]:
        """The guild as in GUILD_CREATE: with channels, active threads, the members in voice channels, and the bot."""
        users = [
            self.world.bot,
            *(voice_state.user for voice_state in self.voice_states.values() if not voice_state.user.bot),
        ]
        return self.payload() | {
            "joined_at": stamp(self.members[self.world.bot.id].joined),
            "large": False,
            "unavailable": False,
            "member_count": len(self.members),
            "members": [self.member_payload(user) for user in users],
            "voice_states": [state.payload() for state in self.voice_states.values()],
            "presences": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
            "channels": [channel.payload() for channel in self.channels],
            "threads": [self._active(thread) for thread in self.threads if self._shown(thread)],
        }

    def _shown(self, thread: Thread) -> bool:
        return not thread.archived and thread.allows("VIEW_CHANNEL")

    def _active(self, thread: Thread) -> dict[str, Any]:
        bot = self.world.bot.id
        return thread.payload() | ({"member": thread.member_payload(bot)} if bot in thread.people else {})

    def roles(self) -> list[dict[str, Any]]:
        return [
            self._role(self.id, "@everyone", 0, may.bits(may.PERSON & self.permissions)),
            self._role(self.bot_role, self.world.bot.name, 1, may.bits(self.permissions)),
            self._role(self.id + 2, "Managers", 2, may.bits(may.MANAGER)),
        ]

    def _role(self, id: int, name: str, position: int, permissions: int) -> dict[str, Any]:
        own = {"tags": {"bot_id": str(self.world.bot.id)}} if id == self.bot_role else {}
        return own | {
            "id": str(id),
            "name": name,
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "icon": None,
            "unicode_emoji": None,
            "position": position,
            "permissions": str(permissions),
            "managed": id == self.bot_role,
            "mentionable": False,
            "flags": 0,
        }

    def _set_permissions(self, names: set[str]) -> None:
        may.bits(names)
        self.permissions = names
        for role in self.roles()[:2]:
            self.world.emit("GUILD_ROLE_UPDATE", {"guild_id": str(self.id), "role": role}, guild=self)

    def __repr__(self) -> str:
        return f"<Guild {self.name}>"


class World:
    """All users, guilds and channels, and `emit`, which sends events to connected sessions."""

    def __init__(self) -> None:
        self.ids = Ids()
        self.bot = User(self.ids.next(), "Sutradhar", bot=True)
        self.application = self.bot.id
        self.users: dict[int, User] = {self.bot.id: self.bot}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.emit: Callable[..., None] = lambda event, data, **to: None
        self.touch: Callable[[], None] = lambda: None

    def user(self, name: str, locale: str) -> User:
        user = User(self.ids.next(), name, locale)
        self.users[user.id] = user
        return user

    def guild(self, name: str, allowed: Iterable[str] | None, home: bool, locale: str) -> Guild:
        names = {name.upper() for name in (may.BOT if allowed is None else allowed)}
        may.bits(names)
        guild = Guild(self, self.ids.guild(), name, names, locale, home)
        self.guilds[guild.id] = guild
        if home:
            guild.members[self.bot.id] = Member(self.bot, [guild.bot_role], frozenset(), time.time())
            self.emit("GUILD_CREATE", guild.create_payload(), guild=guild)
        return guild

    def channel(
        self, guild: Guild, name: str, type: int, deny: Iterable[str], user_limit: int = 0
    ) -> Channel:
        channel = Channel(self, self.ids.next(), type, name, guild, user_limit=user_limit)
        channel.denied = {name.upper() for name in deny}
        may.bits(channel.denied)
        self.channels[channel.id] = channel
        guild.channels.append(channel)
        self.emit("CHANNEL_CREATE", channel.payload(), channel=channel)
        return channel

    def private(self, *people: User, group: bool = False) -> Channel:
        """The direct messages of the bot and a person or, with `group`, of people among themselves."""
        for channel in self.channels.values():
            if not group and channel.type == 1 and channel.recipients == list(people):
                return channel
        channel = Channel(self, self.ids.next(), 3 if group else 1, "", None, recipients=list(people))
        self.channels[channel.id] = channel
        return channel
