"""The workspaces of the app: their tokens, the bot's identity, the authorization of events, and the calls of one run.

Independent of events and listeners. The configured token has one workspace; all others are in the installation store.
That is slack_sdk's store on our own database with our transactions, so that they wait for their turn.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore
from slack_sdk.oauth.state_store.sqlalchemy import AsyncSQLAlchemyOAuthStateStore

from bot.adapters.slack.installed.faults import as_sorry
from bot.adapters.slack.installed.rotation import ConfiguredToken, Rotation
from bot.adapters.surface import PlaceClosed, SurfaceFault
from bot.events import UserError

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.installed.clients import Client, Clients
    from storage.db import Database

CACHED_S: Final = 60.0
"""Seconds for which a workspace's installation is cached."""
SHARED_S: Final = 0.5
"""The same where other processes may install and remove the app."""
MOST: Final = 1_000
"""The most installations in memory."""
NAME: Final = "Sutradhar"
"""The bot's name where only its ids are known."""
STATE_S: Final = 600
"""Seconds that a person may take to agree to an installation."""
NAMELESS_S: Final = 600.0
"""Seconds for which no speaker's name is tried in a workspace that has refused one."""
REMAINS: Final = "tombstone"
"""The subtype of a deleted message that has replies."""
LIBRARY: Final = logging.getLogger("slack_sdk.oauth")
PREFIX: Final = "SLACK_"
"""The prefix of variables that Bolt reads itself. With a client id and secret from there it would store installations
in files.
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Installed:
    """An installation of the app, with the bot's user id, bot id and name. `org`: it covers every workspace of the
    enterprise.

    `place` is the workspace's name.
    """

    token: str
    user: str
    bot: str
    team: str
    enterprise: str = ""
    org: bool = False
    name: str = NAME
    place: str = ""

    def __repr__(self) -> str:
        return f"Installed(team={self.team!r}, enterprise={self.enterprise!r}, org={self.org})"


class Installations(Protocol):
    """The installations by OAuth."""

    async def find(self, team: str, enterprise: str, *, refused: str = "") -> Installed | None:
        """The installation of a workspace. `refused` is an expired token; then another one is returned, if there is
        one.
        """


class Workspaces:
    """The workspaces of one process. `expiring`: the configured token is renewed. `shared`: other processes also use
    the database.
    """

    def __init__(
        self,
        clients: Clients,
        token: str = "",
        installations: Installations | None = None,
        expiring: ConfiguredToken | None = None,
        *,
        shared: bool = False,
    ) -> None:
        self._clients = clients
        self._cached_s = SHARED_S if shared else CACHED_S
        self._token = token
        self._expiring = expiring
        self._renewed_at = 0.0
        self.own: Installed | None = None
        """The installation of the configured token, once `learn` has asked for it."""
        self._installations = installations
        self._cached: dict[tuple[str, str], tuple[float, Installed]] = {}
        self._users: dict[tuple[str, str], str] = {}
        self._nameless: dict[str, float] = {}

    async def learn(self) -> Installed:
        """Ask Slack for the installation of the configured token. Raises UserError ("slack_run.…") if it is invalid."""
        if self._expiring is not None:
            self._token = await self._expiring.token()
        try:
            answer = await self._asked()
        except UserError as error:
            if self._expiring is None or error.key != "slack_run.token_expired":
                raise
            self._token = await self._expiring.token(self._token)
            answer = await self._asked()
        self._renewed_at = time.monotonic()
        if not answer.get("bot_id"):
            raise UserError("slack_run.no_bot", variable=self._clients.settings.bot_token_env)
        org = bool(answer.get("is_enterprise_install"))
        self.own = Installed(
            self._token,
            user=answer["user_id"],
            bot=answer["bot_id"],
            team="" if org else answer["team_id"],
            enterprise=answer.get("enterprise_id") or "",
            org=org,
            name=answer.get("user") or NAME,
            place=answer.get("team") or "",
        )
        return self.own

    async def _asked(self) -> Any:
        with as_sorry(self._clients.settings):
            return await self._clients.bare(self._token).auth_test()

    async def client(self, team: str, enterprise: str = "") -> Client:
        """The client of this workspace, within its limits. Raises PlaceClosed if the app is not installed."""
        installation = await self.installed(team, enterprise)
        renew = partial(self._renewed, team, enterprise)
        return self._clients.client(
            team or enterprise, installation.token, team if installation.org else "", renew
        )

    def names(self, space: str) -> bool:
        """Whether messages may be posted there under speakers' names, as far as is known."""
        return time.monotonic() >= self._nameless.get(space, 0.0)

    def nameless(self, space: str) -> bool:
        """Note that messages may not be posted there under speakers' names; for a while none is tried. Returns whether
        this is the first time since the start.
        """
        new = space not in self._nameless
        self._nameless[space] = time.monotonic() + NAMELESS_S
        return new

    def note(self, team: str, enterprise: str, user: str) -> None:
        """Store the bot's user id, taken from an event, for a workspace of an organisation's installation."""
        self._users.pop((team, enterprise), None)
        self._users[team, enterprise] = user
        if len(self._users) > MOST:
            del self._users[next(iter(self._users))]

    async def installed(self, team: str, enterprise: str = "") -> Installed:
        """The installation for a workspace, with the bot's user id there. Raises PlaceClosed if the app is not
        installed, and StorageFault.
        """
        key, now = (team, enterprise), time.monotonic()
        since, installation = self._cached.get(key, (-self._cached_s, None))
        if self._is_own(team, enterprise):
            if self._expiring is not None and now - self._renewed_at >= CACHED_S:
                await self._renew_own(self._expiring)
            installation = self.own
        elif self._installations is not None and now - since >= self._cached_s:
            installation = await self._installations.find(team, enterprise)
            self._cached.pop(key, None)
            if installation is not None:
                self._cached[key] = now, installation
                if len(self._cached) > MOST:
                    del self._cached[next(iter(self._cached))]
        if installation is None:
            raise PlaceClosed("not_installed")
        user = self._users.get(key) if installation.org else None
        return replace(installation, user=user) if user else installation

    async def _renewed(self, team: str, enterprise: str, refused: str) -> str:
        """A new token for a workspace whose token has expired; "" if there is none."""
        installation = None
        if not self._is_own(team, enterprise):
            if self._installations is not None:
                self._cached.pop((team, enterprise), None)
                installation = await self._installations.find(team, enterprise, refused=refused)
        elif self._expiring is not None:
            installation = await self._renew_own(self._expiring, refused)
        return installation.token if installation is not None and installation.token != refused else ""

    async def _renew_own(self, expiring: ConfiguredToken, refused: str = "") -> Installed | None:
        token = await expiring.token(refused)
        self._renewed_at = time.monotonic()
        self.own = replace(self.own, token=token) if self.own is not None else None
        return self.own

    def _is_own(self, team: str, enterprise: str) -> bool:
        """Whether the configured token belongs to this workspace."""
        if (own := self.own) is None:
            return False
        return enterprise == own.enterprise != "" if own.org else team == own.team != ""

    def forget(self, team: str, enterprise: str = "") -> None:
        """Drop the cache of a workspace after a removal or a new installation; without `team`, that of
        the enterprise.
        """
        for cache in (self._cached, self._users):
            for key in list(cache):
                if (key[0] == team and team) or (not team and key[1] == enterprise):
                    del cache[key]
        self._clients.forget(team or enterprise)


class Workspace:
    """A workspace for one run. The client is looked up at each call, because tokens may change during the run.

    `team` is "" if only the enterprise is known. `client` and `installed` are those of `Workspaces`.
    """

    def __init__(self, workspaces: Workspaces, team: str, enterprise: str = "") -> None:
        self.workspaces = workspaces
        self.space = team or enterprise
        self.client = partial(workspaces.client, team, enterprise)
        self.installed = partial(workspaces.installed, team, enterprise)

    async def direct(self, user: str) -> str:
        """The channel of a user's direct conversation with the bot."""
        client = await self.client()
        opened = await client.conversations_open(users=user)
        return str(opened["channel"]["id"])

    async def permalink(self, channel: str, ts: str) -> str:
        """A message's address; "" if it has none, such as a deleted message."""
        try:
            client = await self.client()
            answer = await client.chat_getPermalink(channel=channel, message_ts=ts)
        except SurfaceFault as fault:
            _log.info("a link was left out: %s", fault)
            return ""
        return str(answer["permalink"])


class States(AsyncSQLAlchemyOAuthStateStore):
    """OAuth states; expired ones are deleted."""

    async def async_issue(self, *args: Any, **kwargs: Any) -> str:
        async with self.engine.begin() as connection:
            past = datetime.now(UTC).replace(tzinfo=None)
            await connection.execute(self.oauth_states.delete().where(self.oauth_states.c.expire_at < past))
        return await super().async_issue(*args, **kwargs)


def _turns(database: Database) -> Any:
    """The part of an engine that slack_sdk's stores use. With their own engine, transactions on SQLite would poll for
    the write lock, even to read.
    """
    LIBRARY.setLevel(logging.INFO)  # at its default level it would format lines with tokens
    return SimpleNamespace(begin=database.write, connect=database.read)


def installation_store(database: Database, client_id: str) -> AsyncSQLAlchemyInstallationStore:
    return AsyncSQLAlchemyInstallationStore(client_id, _turns(database), logger=LIBRARY)


class Store:
    """The store of OAuth installations. Raises StorageFault if the database cannot be used.

    `client` renews their tokens, with the app's client id and `secret`.
    """

    def __init__(
        self, database: Database, client_id: str, secret: str = "", client: AsyncWebClient | None = None
    ) -> None:
        self.installations = installation_store(database, client_id)
        self.rotation = Rotation(self.installations, (client_id, secret), client)
        self.states = States(STATE_S, _turns(database), logger=LIBRARY)

    async def find(self, team: str, enterprise: str, *, refused: str = "") -> Installed | None:
        """The workspace's own installation, or else that of its organisation."""
        places = [(team, False)] if team else []
        for workspace, org in [*places, ("", True)] if enterprise else places:
            installation = await self.installations.async_find_bot(
                enterprise_id=enterprise or None, team_id=workspace or None, is_enterprise_install=org
            )
            if installation is not None and installation.bot_refresh_token:  # its token expires
                installation = await self.rotation.find(workspace, enterprise, org=org, refused=refused)
            if installation is not None:
                return Installed(
                    installation.bot_token,
                    user=installation.bot_user_id or "",
                    bot=installation.bot_id or "",
                    team=installation.team_id or "",
                    enterprise=installation.enterprise_id or "",
                    org=bool(installation.is_enterprise_install),
                )
        return None

    async def remove(self, team: str, enterprise: str, *, users: tuple[str, ...] = ()) -> None:
        """Delete the installation, or only the tokens of `users`."""
        which_installation: dict[str, Any] = {"enterprise_id": enterprise or None, "team_id": team or None}
        for user in users:
            await self.installations.async_delete_installation(**which_installation, user_id=user)
        if not users:
            await self.installations.async_delete_bot(**which_installation)
            await self.installations.async_delete_installation(**which_installation)


def bolt_app(
    workspaces: Workspaces, client: AsyncWebClient, signing_secret: str, *, uninstalled: str = ""
) -> AsyncApp:
    """An app without listeners. `client` provides the address and session for the clients of requests.

    `uninstalled` is the answer to commands from a workspace without an installation.
    """
    logger = logging.getLogger("slack_bolt")
    # At a lower level it would log the content of refused requests and the decision of every listener.
    logger.setLevel(logging.WARNING)

    async def sift(body: dict[str, Any], next: Callable[[], Awaitable[None]]) -> BoltResponse | None:
        """Drop what programs have written, which nobody handles: the bot's own messages come back with every edit.

        Note the bot's user id, which differs between the workspaces of an organisation's installation.
        """
        match body:
            case {"event": {"type": "message" | "app_mention", "bot_id": str()}}:
                return BoltResponse(status=200)
            case {"event": {"message": {"bot_id": str()} as message}} if message.get("subtype") != REMAINS:
                return BoltResponse(status=200)
            case {
                "authorizations": [{"is_enterprise_install": True, "user_id": str(user)} as authorization, *_]
            }:
                team = body.get("context_team_id") or body.get("team_id")
                workspaces.note(str(team or ""), str(authorization.get("enterprise_id") or ""), user)
        await next()
        return None

    async def authorize(
        enterprise_id: str | None, team_id: str | None, user_id: str | None
    ) -> AuthorizeResult | None:
        """Authorize events of workspaces with an installation. It makes no call, because each event waits for it."""
        try:
            installation = await workspaces.installed(team_id or "", enterprise_id or "")
        except PlaceClosed:
            return None
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_user_id=installation.user,
            bot_id=installation.bot,
            bot_token=installation.token,
            user_id=user_id,
        )

    with _unread(PREFIX):
        return AsyncApp(
            name="sutradhar",
            logger=logger,
            client=client,
            before_authorize=sift,
            authorize=cast(Any, authorize),  # its type does not say that None is allowed
            signing_secret=signing_secret,
            # The acknowledgement follows the listener, that is, once the request is stored.
            process_before_response=True,
            # The bot needs events about the deletion of its own messages; `sift` drops what it posts itself.
            ignoring_self_events_enabled=False,
            user_facing_authorize_error_message=uninstalled or None,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
        )


@contextmanager
def _unread(prefix: str) -> Generator[None]:
    """Hide these environment variables inside the block. Nothing else runs meanwhile, because nothing is awaited."""
    values = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(prefix)}
    try:
        yield
    finally:
        os.environ.update(values)
