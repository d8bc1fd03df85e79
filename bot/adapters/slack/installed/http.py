"""Mode "http": a server for Slack's signed requests, the pages for installing the app, and a health check.

Independent of events. Run it behind a proxy or load balancer that terminates TLS.
"""

from __future__ import annotations

import asyncio
import logging
import time
from html import escape
from typing import TYPE_CHECKING, Final

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.oauth.installation_store import Installation

from bot import metrics
from bot.adapters.health import Connections
from bot.adapters.slack.installed.workspaces import LIBRARY, NAME, STATE_S, Store
from bot.adapters.slack.manifest import ASKED_SCOPES
from bot.events import UserError
from bot.words import Words, words
from storage.patience import patient_with_an_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from slack_bolt.async_app import AsyncApp
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.operating import Operating
    from bot.config import SlackConfig

EVENTS: Final = "/slack/events"
INSTALL: Final = "/slack/install"
REDIRECT: Final = "/slack/oauth_redirect"
HEALTH: Final = "/health"

_SIGNED: Final = ("Request-Timestamp", "Signature")
MOST_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of a request; Slack's own are far smaller."""
LEAVE_S: Final = 3.0
"""Seconds that `stop_receiving` waits for requests in progress; Slack gives up after the same time."""

TELL_S: Final = 60.0

_PAGE: Final = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>{name}</title>
<style>body {{ font: 1.1rem/1.5 sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1rem }}
a {{ display: inline-block; padding: .5rem 1rem; border: 1px solid; border-radius: .4rem }}</style></head>
<body><p>{text}</p><p><a href="{href}">{label}</a></p></body></html>
"""

_log = logging.getLogger(__name__)


class Http:
    """The server. `port` is the actual port."""

    def __init__(
        self,
        bolt: AsyncApp,
        settings: SlackConfig,
        oauth: AsyncOAuthFlow | None = None,
        operating: Operating | None = None,
    ) -> None:
        """`operating` says whether the process is ready. If it has the same address, its routes are served here."""
        self._bolt = bolt
        self._operating = operating
        self._settings = settings
        self._oauth = oauth
        self._runner: web.AppRunner | None = None
        self._leaving = asyncio.Event()
        self.port = 0
        self._logged_at = -TELL_S

    async def start(self) -> None:
        """Start listening. Raises UserError if the address is in use or does not belong to this machine."""
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_post(EVENTS, self._event)
        if self._operating is not None and self._operating.shared:
            app.add_routes(self._operating.routes())
        else:
            app.router.add_get(HEALTH, self._health)
        if self._oauth is not None:
            app.router.add_get(INSTALL, self._install)
            app.router.add_get(REDIRECT, self._redirect)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=LEAVE_S)
        await self._runner.setup()
        host, port = self._settings.http_host, self._settings.http_port
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as fault:
            await self._runner.cleanup()
            self._runner = None
            raise UserError(
                "slack_run.port", host=host, port=port, reason=fault.strerror or str(fault)
            ) from fault
        self.port = self._runner.addresses[0][1]

    def connections(self) -> Connections:
        """Whether the server listens."""
        up = self._runner is not None
        return Connections(up, {"http": up})

    async def run(self) -> None:
        """Wait until `stop_receiving`."""
        await self._leaving.wait()

    async def stop_receiving(self) -> None:
        """Receive nothing more; requests already received are still answered."""
        self._leaving.set()
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def _event(self, request: web.Request) -> web.StreamResponse:
        sent, signature = (request.headers.get(f"X-Slack-{name}", "0") for name in _SIGNED)
        if not (sent.isascii() and sent.isdecimal() and len(sent) < 16 and signature.isascii()):
            return self._refused()  # the library's check would raise
        try:
            bolt_request = await to_bolt_request(request)
        except (ValueError, LookupError, AttributeError, TypeError):
            return web.Response(status=400)
        began = time.monotonic()
        patient_with_an_event()
        answer = await self._bolt.async_dispatch(bolt_request)
        if answer.status == 401:
            return self._refused()
        metrics.EVENTS.add("Slack")
        metrics.ACKNOWLEDGED.observe("Slack", seconds=time.monotonic() - began)
        if answer.status == 404:
            return web.Response()  # no listener; acknowledged, so that Slack does not send it again
        return await to_aiohttp_response(answer)

    def _refused(self) -> web.Response:
        """The response to a request without a valid signature. It is logged only now and then, because anybody can send
        requests.
        """
        if time.monotonic() - self._logged_at > TELL_S:
            self._logged_at = time.monotonic()
            _log.warning("a request was refused: it was not signed with our secret, or its time is not ours")
        return web.Response(status=401)

    async def _health(self, request: web.Request) -> web.StreamResponse:
        if self._operating is not None:
            return await self._operating.brief(request)
        return web.json_response({"status": "ok"})

    async def _install(self, request: web.Request) -> web.StreamResponse:
        assert self._oauth is not None
        return await to_aiohttp_response(
            await self._oauth.handle_installation(await to_bolt_request(request))
        )

    async def _redirect(self, request: web.Request) -> web.StreamResponse:
        assert self._oauth is not None
        return await to_aiohttp_response(await self._oauth.handle_callback(await to_bolt_request(request)))


class Flow(AsyncOAuthFlow):
    """The pages of an installation. `installed` is called with the workspace, its enterprise and the person who
    installed.
    """

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
                scopes=list(ASKED_SCOPES),
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
        workspace_name = installation.team_name or installation.enterprise_name
        _log.info("installed in %s (%s)", workspace_name, installation.team_id or installation.enterprise_id)


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
    text = say("slack_run.page_failed", reason=args.reason[:80])  # untrusted: from the address
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
    languages = [language_tag.partition(";")[0].strip().lower() for language_tag in language.split(",")]
    first = next((language_tag for language_tag in languages if language_tag[:2] in ("en", "pt")), "en")
    return words("pt-BR" if first.startswith("pt") else "en")


def _language(request: AsyncBoltRequest) -> str:
    return str(request.headers.get("accept-language", [""])[0])
