"""Token rotation: renews expiring bot tokens with their refresh tokens, and stores them.

Slack's documentation, "Using token rotation": a token is valid for twelve hours, and a refresh token can be used once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from slack_sdk.errors import SlackTokenRotationError
from slack_sdk.oauth.installation_store import Bot
from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator

from bot.adapters.slack.installed.faults import CALL_FAULTS, code_of
from storage.faults import StorageFault

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

EARLY_S: Final = 2 * 3_600
"""Seconds before its expiry at which a token is renewed; Bolt does the same."""
AT_ONCE_MIN: Final = 24 * 60
"""More minutes than any token is valid, so that the rotator renews it now."""
PAUSE_S: Final = 60.0
"""Seconds after a failure during which nothing is tried again."""
NO_LOGIN: Final = frozenset(
    {"bad_client_secret", "invalid_client_id", "invalid_grant", "invalid_refresh_token", "token_revoked"}
)
"""Refusals that no later try can change (Slack's documentation, "oauth.v2.access")."""

_log = logging.getLogger(__name__)


class Rotation:
    """Finds the installations of a store and renews their tokens, with one try at a time for each workspace."""

    def __init__(
        self, store: AsyncSQLAlchemyInstallationStore, pair: tuple[str, str], client: AsyncWebClient | None
    ) -> None:
        """`pair` holds the app's client id and secret; without a secret nothing can be renewed."""
        self._store = store
        self._rotator = AsyncTokenRotator(client_id=pair[0], client_secret=pair[1], client=client)
        self._can = bool(pair[1])
        self._renewing: dict[tuple[str, str], asyncio.Task[Bot | None]] = {}
        self._paused_until: dict[tuple[str, str], float] = {}
        self._unsaved: dict[tuple[str, str], Bot] = {}
        """Renewed installations that are not stored yet; they must not be lost, because a refresh token can be used
        only once.
        """

    async def find(self, team: str, enterprise: str, *, org: bool = False, refused: str = "") -> Bot | None:
        """The installation. It is renewed if its token is about to expire, or is the one that Slack has `refused`."""
        bot = await self._stored(team, enterprise, org=org)
        if bot is None or not _due(bot, refused):
            return bot
        key = team, enterprise
        if time.monotonic() < self._paused_until.get(key, 0.0):
            return bot
        if (renewing := self._renewing.get(key)) is None:
            renewing = self._renewing[key] = asyncio.create_task(self._renew(key, org, refused))
            renewing.add_done_callback(lambda _: self._renewing.pop(key, None))
        # A waiting caller may give up, but a refresh token that has been used must not be lost.
        return await asyncio.shield(renewing)

    async def close(self) -> None:
        """Wait until everything renewed is stored."""
        await asyncio.gather(*self._renewing.values(), return_exceptions=True)
        for team, enterprise in list(self._unsaved):
            with suppress(StorageFault):
                await self._stored(team, enterprise, org=False)

    async def _renew(self, key: tuple[str, str], org: bool, refused: str) -> Bot | None:
        bot = await self._stored(*key, org=org)
        if bot is None or not _due(bot, refused):  # renewed a moment ago
            return bot
        renewed, code = None, "no client secret" if not self._can else "another kind of token"
        try:
            if self._can:
                renewed = await self._rotator.perform_bot_token_rotation(
                    bot=bot, minutes_before_expiration=AT_ONCE_MIN
                )
        except SlackTokenRotationError as fault:
            code = code_of(fault.api_error) or "no answer"
        except CALL_FAULTS as fault:
            code = type(fault).__name__
        if renewed is None:
            self._paused_until[key] = time.monotonic() + PAUSE_S
            _complain(bot, code, lasting=code in NO_LOGIN or not self._can)
            return bot
        self._unsaved[key] = renewed
        self._paused_until.pop(key, None)
        _log.info("the token of %s was renewed", _name(bot))
        return await self._stored(*key, org=org)

    async def _stored(self, team: str, enterprise: str, *, org: bool) -> Bot | None:
        """The stored installation. Raises StorageFault; the next call then stores what was renewed."""
        if (renewed := self._unsaved.get((team, enterprise))) is not None:
            await self._store.async_save_bot(renewed)
            self._unsaved.pop((team, enterprise), None)
        return await self._store.async_find_bot(
            enterprise_id=enterprise or None, team_id=team or None, is_enterprise_install=org
        )


class ConfiguredToken:
    """The configured token and its refresh token. Their successors are stored under the digest of the latter."""

    def __init__(
        self,
        store: AsyncSQLAlchemyInstallationStore,
        pair: tuple[str, str],
        client: AsyncWebClient,
        tokens: tuple[str, str],
    ) -> None:
        """`tokens` are the bot token and its refresh token; `store` belongs to the `lineage` of the latter."""
        self._store = store
        self._rotation = Rotation(store, pair, client)
        self._tokens = tokens

    async def token(self, refused: str = "") -> str:
        """The token that is valid now. It is unknown how long the configured one is valid, so that one is renewed at
        once.
        """
        bot = await self._rotation.find("", "", refused=refused)
        if bot is None:
            now, (token, refresh) = time.time(), self._tokens
            first = Bot(
                app_id="",
                bot_token=token,
                bot_id="",
                bot_user_id="",
                bot_refresh_token=refresh,
                bot_token_expires_at=int(now),
                installed_at=now,
            )
            await self._store.async_save_bot(first)
            bot = await self._rotation.find("", "", refused=refused)
        return bot.bot_token if bot is not None else self._tokens[0]

    async def close(self) -> None:
        await self._rotation.close()


def lineage(refresh: str) -> str:
    """The name under which the successors of a configured refresh token are stored."""
    return blake2b(refresh.encode(), digest_size=16).hexdigest()


def _due(bot: Bot, refused: str) -> bool:
    if not bot.bot_refresh_token or bot.bot_token_expires_at is None:
        return False
    return bot.bot_token == refused or bot.bot_token_expires_at <= time.time() + EARLY_S


def _name(bot: Bot) -> str:
    workspace_name = bot.team_name or bot.enterprise_name
    id = bot.team_id or bot.enterprise_id
    return f"{workspace_name} ({id})" if workspace_name else id or "the configured workspace"


def _complain(bot: Bot, code: str, *, lasting: bool) -> None:
    """Report the failure to the operator. The installation stays, so that nothing is lost."""
    until = f"{datetime.fromtimestamp(bot.bot_token_expires_at or 0, UTC):%Y-%m-%d %H:%M} UTC"
    if not lasting:
        _log.warning(
            "the token of %s could not be renewed (%s); it is good until %s, and I keep trying",
            _name(bot),
            code,
            until,
        )
        return
    mending = (
        "open /slack/install and install the app there again"
        if bot.team_id or bot.enterprise_id
        else "on api.slack.com/apps choose your app, then OAuth & Permissions, and copy the bot token and the refresh"
        " token into the environment or .env"
    )
    _log.error(
        "the token of %s could not be renewed (%s), and is good only until %s: check the client id and secret, then %s"
        " (docs/slack.md, Token rotation). Its conversations and books are kept",
        _name(bot),
        code,
        until,
        mending,
    )
