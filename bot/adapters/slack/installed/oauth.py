"""Any number of workspaces: how one installs the app, the pages that it sees then, and what is kept of that.

Knows no event. It is kept in our own database: slack_sdk's stores do the work; their transactions are ours, so that
they wait their turn.
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final

from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore
from slack_sdk.oauth.state_store.sqlalchemy import AsyncSQLAlchemyOAuthStateStore

from bot.adapters.slack.installed.http import INSTALL, REDIRECT
from bot.adapters.slack.installed.manifest import BOT_SCOPES
from bot.adapters.slack.installed.workspaces import NAME, Installed
from bot.words import Words, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from slack_sdk.web.async_client import AsyncWebClient

    from bot.config import SlackConfig
    from storage.db import Database

STATE_S: Final = 600
"""How long somebody may take to agree."""
LIBRARY: Final = logging.getLogger("slack_sdk.oauth")

_log = logging.getLogger(__name__)
_PAGE: Final = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>{name}</title>
<style>body {{ font: 1.1rem/1.5 sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1rem }}
a {{ display: inline-block; padding: .5rem 1rem; border: 1px solid; border-radius: .4rem }}</style></head>
<body><p>{text}</p><p><a href="{href}">{label}</a></p></body></html>
"""


class _Turns:
    """Looks like the engine that slack_sdk's stores want, as far as they use it.

    On SQLite a transaction of the engine's own would poll for the write lock, even to read.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self) -> AbstractAsyncContextManager[Any]:
        return self._database.write()

    def connect(self) -> AbstractAsyncContextManager[Any]:
        return self._database.read()


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
        turns: Any = _Turns(database)
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


class Flow(AsyncOAuthFlow):
    """The pages of an installation. `installed` is called with the workspace, its enterprise and who did it."""

    def __init__(
        self,
        settings: SlackConfig,
        credentials: tuple[str, str],
        client: AsyncWebClient,
        store: Store,
        installed: Callable[[str, str, str], None],
    ) -> None:
        super().__init__(
            client=client,
            logger=LIBRARY,
            settings=AsyncOAuthSettings(
                client_id=credentials[0],
                client_secret=credentials[1],
                scopes=list(BOT_SCOPES),
                user_scopes=[],
                install_path=INSTALL,
                redirect_uri_path=REDIRECT,
                callback_options=AsyncCallbackOptions(success=_succeeded, failure=_failed),
                authorization_url=f"{settings.api_base.rstrip('/').removesuffix('/api')}/oauth/v2/authorize",
                installation_store=store.installations,
                installation_store_bot_only=True,
                state_store=store.states,
                state_expiration_seconds=STATE_S,
                logger=LIBRARY,
            ),
        )
        self._installed = installed

    async def build_install_page_html(self, url: str, request: AsyncBoltRequest) -> str:
        return install_page(url, _language(request))

    async def store_installation(self, request: AsyncBoltRequest, installation: Installation) -> None:
        await super().store_installation(request, installation)
        self._installed(installation.team_id or "", installation.enterprise_id or "", installation.user_id)
        where = installation.team_name or installation.enterprise_name
        _log.info("installed in %s (%s)", where, installation.team_id or installation.enterprise_id)


async def _succeeded(args: AsyncSuccessArgs) -> BoltResponse:
    response: BoltResponse = await args.default.success(args)
    say, team = _say(_language(args.request)), args.installation.team_id
    url = f"https://slack.com/app_redirect?app={args.installation.app_id or ''}"
    url += f"&team={team}" if team else ""
    response.body = _page(say, say("slack_run.page_installed", name=NAME), url, say("slack_run.page_open"))
    return response


async def _failed(args: AsyncFailureArgs) -> BoltResponse:
    _log.info("an installation failed: %s", args.reason[:80])
    response: BoltResponse = await args.default.failure(args)
    say = _say(_language(args.request))
    text = say("slack_run.page_failed", reason=args.reason[:80])  # anybody's words: they stand in the address
    response.body = _page(say, text, INSTALL, say("slack_run.page_again"))
    return response


def install_page(url: str, language: str) -> str:
    """`url` leads to Slack; `language` is the browser's Accept-Language."""
    say = _say(language)
    return _page(say, NAME, url, say("slack_run.page_install", name=NAME))


def _page(say: Words, text: str, href: str, label: str) -> str:
    return _PAGE.format(
        lang=say.locale, name=NAME, text=escape(text), href=escape(href, quote=True), label=escape(label)
    )


def _say(language: str) -> Words:
    wanted = [one.partition(";")[0].strip().lower() for one in language.split(",")]
    first = next((one for one in wanted if one[:2] in ("en", "pt")), "en")
    return words("pt-BR" if first.startswith("pt") else "en")


def _language(request: AsyncBoltRequest) -> str:
    return str(request.headers.get("accept-language", [""])[0])
