"""Mode "http": where Slack posts signed requests, where workspaces install the app, and whether the bot is up.

Knows no event. Meant to stand behind something that ends TLS: a proxy, or a load balancer that asks /health.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request

from bot.events import Sorry

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow

    from bot.config import SlackConfig

EVENTS: Final = "/slack/events"
INSTALL: Final = "/slack/install"
REDIRECT: Final = "/slack/oauth_redirect"
HEALTH: Final = "/health"

_SIGNED: Final = ("Request-Timestamp", "Signature")
MOST_BYTES: Final = 4 * 1024 * 1024
"""Of a request; Slack's own are far smaller."""
LEAVE_S: Final = 3.0
"""How long leaving waits for requests that are being answered; Slack gives up after as long."""

TELL_S: Final = 60.0

_log = logging.getLogger(__name__)


class Http:
    """One server. `port` is the one that it got."""

    def __init__(self, bolt: AsyncApp, settings: SlackConfig, oauth: AsyncOAuthFlow | None = None) -> None:
        self._bolt = bolt
        self._settings = settings
        self._oauth = oauth
        self._runner: web.AppRunner | None = None
        self._leaving = asyncio.Event()
        self.port = 0
        self._told = -TELL_S

    async def start(self) -> None:
        """Raises Sorry where the address is taken or is none of this machine's."""
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_post(EVENTS, self._event)
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
            raise Sorry(
                "slack_run.port", host=host, port=port, reason=fault.strerror or str(fault)
            ) from fault
        self.port = self._runner.addresses[0][1]

    async def run(self) -> None:
        """Until `quiet`."""
        await self._leaving.wait()

    async def quiet(self) -> None:
        """Take nothing new in; what has come is still answered."""
        self._leaving.set()
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def _event(self, request: web.Request) -> web.StreamResponse:
        sent, signature = (request.headers.get(f"X-Slack-{name}", "0") for name in _SIGNED)
        if not (sent.isascii() and sent.isdecimal() and len(sent) < 16 and signature.isascii()):
            return self._refused()  # the library's check fails over what is none
        try:
            asked = await to_bolt_request(request)
        except (ValueError, LookupError, AttributeError, TypeError):
            return web.Response(status=400)
        answer = await self._bolt.async_dispatch(asked)
        if answer.status == 404:
            return web.Response()  # for nobody here, and not to come again
        if answer.status == 401:
            return self._refused()
        return await to_aiohttp_response(answer)

    def _refused(self) -> web.Response:
        """Not signed by Slack, or too long ago. Told to the log now and then: anybody can call here."""
        if time.monotonic() - self._told > TELL_S:
            self._told = time.monotonic()
            _log.warning("a request was refused: it was not signed with our secret, or its time is not ours")
        return web.Response(status=401)

    async def _health(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "ok"})

    async def _install(self, request: web.Request) -> web.StreamResponse:
        assert self._oauth is not None
        return await to_aiohttp_response(
            await self._oauth.handle_installation(await to_bolt_request(request))
        )

    async def _redirect(self, request: web.Request) -> web.StreamResponse:
        assert self._oauth is not None
        return await to_aiohttp_response(await self._oauth.handle_callback(await to_bolt_request(request)))
