"""The operator's HTTP server for monitoring programs: liveness, readiness and metrics.

It answers from the moment the process begins until it ends. Its answers contain no secret, no space and no person, and
it asks for no password: bind it to loopback or to the operator's own network.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aiohttp import web

from bot import metrics
from bot.events import UserError
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.health import Health
    from bot.app import App
    from bot.config import Config
    from bot.metrics import Gauge

LIVE: Final = "/live"
READY: Final = ("/ready", "/health")
METRICS: Final = "/metrics"
COUNT_S: Final = 1.5
"""Seconds that the database may take to count what is not shown yet; without an answer the number is left out."""
LEAVE_S: Final = 1.0

_log = logging.getLogger(__name__)


class Operating:
    """The operator's server. Call `start`, then `close`. Without `listen` in the config it does nothing."""

    def __init__(self, health: Health, config: Config) -> None:
        self.health = health
        self.port = 0
        """The actual port."""
        self._listen = config.operate.listen
        self._runner: web.AppRunner | None = None
        self._counting: asyncio.Future[int] | None = None
        slack = config.slack
        self.shared = slack.mode == "http" and self._listen == f"{slack.http_host}:{slack.http_port}"
        """Whether Slack's server, at the same address, serves the routes."""

    def routes(self) -> list[web.RouteDef]:
        ready = [web.get(path, self._ready) for path in READY]
        return [web.get(LIVE, self._live), *ready, web.get(METRICS, self._metrics)]

    async def start(self) -> None:
        """Listen, if that is configured. Raises UserError if the address is not available."""
        if not self._listen or self.shared:
            return
        application = web.Application()
        application.add_routes(self.routes())
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=LEAVE_S)
        await runner.setup()
        host, _, port = self._listen.rpartition(":")
        try:
            await web.TCPSite(runner, host.strip("[]"), int(port)).start()
        except OSError as fault:
            await runner.cleanup()
            reason = fault.strerror or str(fault)
            raise UserError("operate.port", listen=self._listen, reason=reason) from fault
        self._runner = runner
        self.port = runner.addresses[0][1]
        _log.info("the operator's server listens on %s:%d", host, self.port)

    async def close(self) -> None:
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def brief(self, request: web.Request) -> web.StreamResponse:
        """Whether this process is ready, and nothing else: for a server that strangers can reach."""
        ready = (await self.health.report()).ready
        return web.json_response({"status": "ok" if ready else "failed"}, status=200 if ready else 503)

    async def _live(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "ok"})

    async def _ready(self, request: web.Request) -> web.StreamResponse:
        report = await self.health.report()
        status = "ok" if report.ready else "failed"
        return web.json_response(
            {"status": status, "checks": report.checks}, status=200 if report.ready else 503
        )

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        text = metrics.text(await self._gauges())
        return web.Response(body=text.encode(), headers={"Content-Type": metrics.TYPE})

    async def _gauges(self) -> list[Gauge]:
        """The values read at each scrape. One query counts all runs."""
        gauges: list[Gauge] = []
        if (app := self.health.app) is not None and not self.health.leaving:
            going, waiting = app.runs.counts()
            about = "Runs that go on in this process, and runs that wait in a line."
            gauges.append(("sutradhar_runs", about, ("state",), {("going",): going, ("waiting",): waiting}))
            if (owed := await self._owed(app)) is not None:
                about = "Answers, and changes of them, that a platform has not taken yet."
                gauges.append(("sutradhar_outbox_owed", about, (), {(): owed}))
        connections: dict[metrics.Labels, float] = {
            (name, connection): up
            for name, platform in self.health.platforms.items()
            for connection, up in platform.connections().states.items()
        }
        about = "Whether a shard or a socket is connected."
        gauges.append(("sutradhar_connection_up", about, ("platform", "connection"), connections))
        return gauges

    async def _owed(self, app: App) -> int | None:
        if self._counting is None:  # a database that hangs is not asked again
            self._counting = asyncio.ensure_future(app.records.unshown.count())
        counting = self._counting
        await asyncio.wait({counting}, timeout=COUNT_S)
        if not counting.done():
            return None
        self._counting = None
        with suppress(StorageFault, asyncio.CancelledError):
            return counting.result()
        return None
