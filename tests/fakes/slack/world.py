"""Workspaces, their organisations, and what the app was granted in each.

It does not know which clients are connected, nor which content is valid.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.slack.channels import Channel
from tests.fakes.slack.ids import Ids
from tests.fakes.slack.people import User, UserGroup

# What the bot asks for in its manifest; a test takes some away.
SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:join",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "pins:read",
    "reactions:write",
    "team:read",
    "users:read",
    "usergroups:read",
)


@dataclass(eq=False)
class Enterprise:
    """An organisation of Enterprise Grid. If it installs the app as a whole, one token is valid everywhere in it."""

    id: str
    name: str
    token: str | None = None
    scopes: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Team:
    """A workspace. `user`, `channel`, `dm` and `group` create its people and conversations."""

    world: World
    id: str
    name: str
    bot_token: str
    enterprise: Enterprise | None = None
    installed: bool = True
    scopes: set[str] = field(default_factory=lambda: set(SCOPES))
    users: dict[str, User] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    groups: list[UserGroup] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bot_id = self.world.ids.next("B")
        self.bot = self.user("Sutradhar", bot=True)

    @property
    def app_id(self) -> str:
        return self.world.app_id

    @property
    def domain(self) -> str:
        return self.name.lower().replace(" ", "-")

    @property
    def org_install(self) -> bool:
        """Whether the app is here through an installation for the whole organisation."""
        return self.enterprise is not None and self.enterprise.token is not None

    def user(self, name: str, locale: str = "en-US", admin: bool = False, bot: bool = False) -> User:
        user = User(self.world.ids.next("U"), name, self, locale, admin, bot)
        self.users[user.id] = user
        for channel in self.channels.values():
            if channel.kind == "channel" and not bot:
                channel.members.append(user)
        return user

    def channel(self, name: str, *, private: bool = False, bot: bool = True) -> Channel:
        """Create a channel with everybody in it, and with the bot unless it was not invited."""
        members = [user for user in self.users.values() if user is not self.bot or bot]
        channel = Channel(self, self.world.ids.next("C"), name, "group" if private else "channel", members)
        self.channels[channel.id] = channel
        return channel

    def dm(self, user: User) -> Channel:
        """The direct messages of this user and the bot."""
        for channel in self.channels.values():
            if channel.user is user:
                return channel
        name = f"dm-{user.handle}"
        channel = Channel(self, self.world.ids.next("D"), name, "im", [user, self.bot], user=user)
        self.channels[channel.id] = channel
        return channel

    def dm_of(self, *users: User) -> Channel:
        """Direct messages between people, without the bot."""
        name = f"dm-{'-'.join(user.handle for user in users)}"
        channel = Channel(self, self.world.ids.next("D"), name, "im", [*users])
        self.channels[channel.id] = channel
        return channel

    def group_dm(self, *users: User) -> Channel:
        """Direct messages of several people, the bot among them."""
        name = f"mpdm-{'--'.join(user.handle for user in users)}-1"
        channel = Channel(self, self.world.ids.next("G"), name, "mpim", [*users, self.bot])
        self.channels[channel.id] = channel
        return channel

    def group(self, handle: str, users: Iterable[User] = ()) -> UserGroup:
        group = UserGroup(self.world.ids.next("S"), handle, self, list(users))
        self.groups.append(group)
        return group

    def short(self) -> dict[str, Any]:
        """As interactions have it."""
        short: dict[str, Any] = {"id": self.id, "domain": self.domain}
        if self.enterprise is not None:
            short |= {"enterprise_id": self.enterprise.id, "enterprise_name": self.enterprise.name}
        return short

    def __repr__(self) -> str:
        return f"<Team {self.name}>"


class World:
    def __init__(self, bot_token: str) -> None:
        self.ids = Ids()
        self.app_id = self.ids.next("A")
        self.first_token = bot_token
        self.teams: dict[str, Team] = {}
        self.enterprises: dict[str, Enterprise] = {}
        self.touch: Callable[[], None] = lambda: None

    def team(self, name: str, enterprise: Enterprise | None, installed: bool) -> Team:
        """Create a workspace; the first one's token is known before."""
        token = self.first_token if not self.teams else self.new_token()
        team = Team(self, self.ids.next("T"), name, token, enterprise, installed)
        self.teams[team.id] = team
        return team

    def enterprise(self, name: str) -> Enterprise:
        enterprise = Enterprise(self.ids.next("E"), name)
        self.enterprises[enterprise.id] = enterprise
        return enterprise

    def new_token(self) -> str:
        return f"xoxb-{secrets.randbelow(10**12):012d}-{secrets.token_hex(12)}"

    def user(self, id: str) -> User | None:
        for team in self.teams.values():
            if id in team.users:
                return team.users[id]
        return None
