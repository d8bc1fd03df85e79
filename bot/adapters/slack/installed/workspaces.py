"""Which token is good in which workspace, who the bot is there, whose requests are let in, and the workspace as one run
reaches it.

Knows no event and no listener. One workspace is that of the configured token, all others are the installation store's,
which is in our own database: slack_sdk's stores do the work; their transactions are ours, so that they wait their turn.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize
from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore
from slack_sdk.oauth.state_store.sqlalchemy import AsyncSQLAlchemyOAuthStateStore

from bot.adapters.slack.installed.faults import as_sorry, as_surface_faults
from bot.adapters.surface import PlaceClosed, SurfaceFault
from bot.events import Sorry

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.installed.clients import Clients
    from storage.db import Database

KEPT_S: Final = 60.0
"""How long a workspace's installation is taken for granted before the store is asked again."""
MOST: Final = 1_000
"""Installations kept in memory."""
NAME: Final = "Sutradhar"
"""What the bot is called where only its ids are known."""
STATE_S: Final = 600
"""How long somebody may take to agree to an installation."""
NAMELESS_S: Final = 600.0
"""So long no other name is tried in a workspace that has refused one."""
LIBRARY: Final = logging.getLogger("slack_sdk.oauth")
PREFIX: Final = "SLACK_"
"""Of variables that Bolt reads by itself; by a client's id and secret it would begin to keep installations in files."""

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
        self._nameless: dict[str, float] = {}

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
        """Who speaks to Slack for this workspace, within its limits. Raises PlaceClosed where it is not installed."""
        found = await self.installed(team, enterprise)
        if found is None:
            raise PlaceClosed("not_installed")
        return self._clients.of(team or enterprise, found.token, team if found.org else "")

    @asynccontextmanager
    async def calling(self, team: str, enterprise: str = "") -> AsyncIterator[AsyncWebClient]:
        """Its client. What goes wrong inside is raised as a fault of a surface, or Unavailable."""
        client = await self.client(team, enterprise)
        with as_surface_faults():
            yield client

    async def me(self, team: str, enterprise: str = "") -> Me:
        """Who the bot is there. Raises PlaceClosed where the app is not installed."""
        found = await self.installed(team, enterprise)
        if found is None:
            raise PlaceClosed("not_installed")
        user = self._users.get((team, enterprise), found.user) if found.org else found.user
        return Me(user, found.bot, team, found.name)

    def names(self, space: str) -> bool:
        """Whether messages may be posted there under other names, as far as is known."""
        return time.monotonic() >= self._nameless.get(space, 0.0)

    def nameless(self, space: str) -> bool:
        """Note that they may not: for a while none is tried. Whether that is news since the start."""
        new = space not in self._nameless
        self._nameless[space] = time.monotonic() + NAMELESS_S
        return new

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


class States(AsyncSQLAlchemyOAuthStateStore):
    """Forgets those that nobody came back with."""

    async def async_issue(self, *args: Any, **kwargs: Any) -> str:
        async with self.engine.begin() as connection:
            past = datetime.now(UTC).replace(tzinfo=None)
            await connection.execute(self.oauth_states.delete().where(self.oauth_states.c.expire_at < past))
        return await super().async_issue(*args, **kwargs)


class Store:
    """What was installed by OAuth. Raises StorageFault where the database cannot be used."""

    def __init__(self, database: Database, client_id: str) -> None:
        # What slack_sdk's stores use of an engine. On SQLite a transaction of an engine of their own would poll for the
        # write lock, even to read.
        turns: Any = SimpleNamespace(begin=database.write, connect=database.read)
        LIBRARY.setLevel(logging.INFO)  # at its usual level it would make lines of tokens that nobody writes
        self.installations = AsyncSQLAlchemyInstallationStore(client_id, turns, logger=LIBRARY)
        self.states = States(STATE_S, turns, logger=LIBRARY)

    async def find(self, team: str, enterprise: str) -> Installed | None:
        """The workspace's own installation, else that of its organisation."""
        places = [(team, False)] if team else []
        for workspace, org in [*places, ("", True)] if enterprise else places:
            found = await self.installations.async_find_bot(
                enterprise_id=enterprise or None, team_id=workspace or None, is_enterprise_install=org
            )
            if found is not None:
                return Installed(
                    found.bot_token,
                    user=found.bot_user_id or "",
                    bot=found.bot_id or "",
                    team=found.team_id or "",
                    enterprise=found.enterprise_id or "",
                    org=bool(found.is_enterprise_install),
                )
        return None

    async def remove(self, team: str, enterprise: str, *, users: tuple[str, ...] = ()) -> None:
        """Forget the installation, or only what `users` were given by it."""
        where: dict[str, Any] = {"enterprise_id": enterprise or None, "team_id": team or None}
        for user in users:
            await self.installations.async_delete_installation(**where, user_id=user)
        if not users:
            await self.installations.async_delete_bot(**where)
            await self.installations.async_delete_installation(**where)


def bolt_app(
    workspaces: Workspaces, client: AsyncWebClient, signing_secret: str, *, uninstalled: str = ""
) -> AsyncApp:
    """An app that listens to nothing yet. `client` gives the requests' own their address and session.

    `uninstalled` is said where a command comes from a workspace that nobody has installed it in.
    """
    logger = logging.getLogger("slack_bolt")
    # At a lower level it would write down the content of what it refuses, and what every listener decides.
    logger.setLevel(logging.WARNING)

    async def note(body: dict[str, Any], next: Callable[[], Awaitable[None]]) -> None:
        """Events say as whom the app hears of them; an organisation's installation has one user for each workspace."""
        match body:
            case {"authorizations": [{"is_enterprise_install": True, "user_id": str(user)} as one, *_]}:
                team, enterprise = (
                    body.get("context_team_id") or body.get("team_id"),
                    one.get("enterprise_id"),
                )
                workspaces.note(str(team or ""), str(enterprise or ""), user)
        await next()

    with _unread(PREFIX):
        return AsyncApp(
            name="sutradhar",
            logger=logger,
            client=client,
            before_authorize=note,
            authorize=cast(Any, _Installed(workspaces)),
            signing_secret=signing_secret,
            # What a listener does until the request is kept comes before the acknowledgement.
            process_before_response=True,
            # Its own message that somebody deletes is the bot's business; the listeners leave out what it says.
            ignoring_self_events_enabled=False,
            user_facing_authorize_error_message=uninstalled or None,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
        )


class _Installed(AsyncAuthorize):
    """Lets in what comes from a workspace that has the app; asks Slack nothing, for each event waits for this."""

    def __init__(self, workspaces: Workspaces) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._workspaces = workspaces

    async def __call__(
        self,
        *,
        enterprise_id: str | None,
        team_id: str | None,
        user_id: str | None,
        **_: object,
    ) -> AuthorizeResult | None:
        team, enterprise = team_id or "", enterprise_id or ""
        found = await self._workspaces.installed(team, enterprise)
        if found is None:
            return None
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_user_id=(await self._workspaces.me(team, enterprise)).user,
            bot_id=found.bot,
            bot_token=found.token,
            user_id=user_id,
        )


@contextmanager
def _unread(prefix: str) -> Generator[None]:
    """Without these variables meanwhile. Nothing else runs in between: nothing is awaited."""
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(prefix)}
    try:
        yield
    finally:
        os.environ.update(taken)
