"""Which token is good in which workspace, who the bot is there, and the workspace as one run reaches it.

Knows no event. One workspace is that of the configured token, all others are the installation store's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot.adapters.slack.installed.faults import as_sorry, as_surface_faults
from bot.adapters.surface import Shut, SurfaceFault
from bot.events import Sorry

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.installed.clients import Clients

KEPT_S: Final = 60.0
"""How long a workspace's installation is taken for granted before the store is asked again."""
MOST: Final = 1_000
"""Installations kept in memory."""
NAME: Final = "Sutradhar"
"""What the bot is called where only its ids are known."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Me:
    """The bot in one workspace: its user id, its bot id, the workspace's id ("" where it is an organisation's),
    and what it is called.
    """

    user: str
    bot: str
    team: str
    name: str


@dataclass(frozen=True, slots=True)
class Installed:
    """What the app was given. `org`: in every workspace of the enterprise. `place` is what people call it."""

    token: str
    user: str
    bot: str
    team: str
    enterprise: str = ""
    org: bool = False
    name: str = NAME
    place: str = ""

    def covers(self, team: str, enterprise: str) -> bool:
        """Whether this token is good there."""
        if self.org:
            return bool(enterprise) and enterprise == self.enterprise
        return bool(team) and team == self.team

    def __repr__(self) -> str:
        return f"Installed(team={self.team!r}, enterprise={self.enterprise!r}, org={self.org})"


class Installations(Protocol):
    """What was installed by OAuth."""

    async def find(self, team: str, enterprise: str) -> Installed | None: ...


class Workspaces:
    """One per process."""

    def __init__(self, clients: Clients, token: str = "", installations: Installations | None = None) -> None:
        self._clients = clients
        self._token = token
        self._own: Installed | None = None
        self._installations = installations
        self._found: dict[tuple[str, str], tuple[float, Installed]] = {}
        self._users: dict[tuple[str, str], str] = {}

    @property
    def own(self) -> Installed | None:
        """Where the configured token is good, once `learn` has asked."""
        return self._own

    async def learn(self) -> Installed:
        """Ask Slack whose the configured token is. Raises Sorry ("slack_run.…") if it is nobody's."""
        with as_sorry(self._clients.settings):
            said: Any = await self._clients.bare(self._token).auth_test()
        if not said.get("bot_id"):
            raise Sorry("slack_run.no_bot", variable=self._clients.settings.bot_token_env)
        org = bool(said.get("is_enterprise_install"))
        self._own = Installed(
            self._token,
            user=said["user_id"],
            bot=said["bot_id"],
            team="" if org else said["team_id"],
            enterprise=said.get("enterprise_id") or "",
            org=org,
            name=said.get("user") or NAME,
            place=said.get("team") or "",
        )
        return self._own

    async def client(self, team: str, enterprise: str = "") -> AsyncWebClient:
        """Who speaks to Slack for this workspace, within its limits. Raises Shut where the app is not installed."""
        found = await self.installed(team, enterprise)
        if found is None:
            raise Shut("not_installed")
        return self._clients.of(team or enterprise, found.token, team if found.org else "")

    @asynccontextmanager
    async def calling(self, team: str, enterprise: str = "") -> AsyncIterator[AsyncWebClient]:
        """Its client. What goes wrong inside is raised as a fault of a surface, or Later."""
        client = await self.client(team, enterprise)
        with as_surface_faults():
            yield client

    async def me(self, team: str, enterprise: str = "") -> Me:
        """Who the bot is there. Raises Shut where the app is not installed."""
        found = await self.installed(team, enterprise)
        if found is None:
            raise Shut("not_installed")
        user = self._users.get((team, enterprise), found.user) if found.org else found.user
        return Me(user, found.bot, team, found.name)

    def note(self, team: str, enterprise: str, user: str) -> None:
        """An event says what the bot of an organisation's installation is called in this workspace."""
        self._users.pop((team, enterprise), None)
        self._users[team, enterprise] = user
        if len(self._users) > MOST:
            del self._users[next(iter(self._users))]

    async def installed(self, team: str, enterprise: str = "") -> Installed | None:
        """Raises StorageFault if the store cannot be asked."""
        if self._own is not None and self._own.covers(team, enterprise):
            return self._own
        if self._installations is None:
            return None
        key, now = (team, enterprise), time.monotonic()
        kept = self._found.get(key)
        if kept is not None and now - kept[0] < KEPT_S:
            return kept[1]
        found = await self._installations.find(team, enterprise)
        self._found.pop(key, None)
        if found is not None:
            self._found[key] = now, found
            if len(self._found) > MOST:
                del self._found[next(iter(self._found))]
        return found

    def forget(self, team: str, enterprise: str = "") -> None:
        """The app was removed or installed anew: what is known is no good. No team: all of the enterprise."""
        for known in (self._found, self._users):
            for key in list(known):
                if (key[0] == team and team) or (not team and key[1] == enterprise):
                    del known[key]
        self._clients.forget(team or enterprise)


@dataclass(frozen=True, slots=True)
class Workspace:
    """One, as its runs reach it: the client is asked for at every call, for tokens change while runs go on.

    `team` is "" where only the enterprise is known.
    """

    workspaces: Workspaces
    team: str
    enterprise: str = ""

    @property
    def space(self) -> str:
        return self.team or self.enterprise

    def calling(self) -> AbstractAsyncContextManager[AsyncWebClient]:
        """See `Workspaces.calling`."""
        return self.workspaces.calling(self.team, self.enterprise)

    async def me(self) -> Me:
        return await self.workspaces.me(self.team, self.enterprise)

    async def permalink(self, channel: str, ts: str) -> str:
        """A message's address; "" where Slack tells none, as of a message that is gone."""
        try:
            async with self.calling() as client:
                answer = await client.chat_getPermalink(channel=channel, message_ts=ts)
        except SurfaceFault as fault:
            _log.info("a link was left out: %s", fault)
            return ""
        return str(answer["permalink"])
