"""Slack as the bot serves it, over the loopback one, in one process: real service and storage, works by script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bot.adapters.operating import Operating
from bot.adapters.slack.installed.credentials import Credentials
from bot.adapters.slack.installed.http import EVENTS
from bot.adapters.slack.service import Slack
from bot.app import App
from bot.config import Config, SlackConfig, load
from bot.events import Event, Text
from bot.words import words
from bot.work import Run
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder, Script, open_scripted
from tests.fakes.slack import FakeSlack


@dataclass
class Served:
    """`running` is the task of the service."""

    service: Slack
    app: App
    running: asyncio.Task[None]

    @property
    def root(self) -> str:
        """The bot's address in mode "http"."""
        assert self.service.http is not None
        return f"http://127.0.0.1:{self.service.http.port}"


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("Well met.")


def credentials(slack: FakeSlack, mode: str, *, installs: bool = False) -> Credentials:
    """The operator's credentials for the fake's app."""
    client = (slack.client_id, slack.client_secret) if installs else ("", "")
    if mode == "socket":
        return Credentials(slack.bot_token, slack.app_token, "", *client)
    return Credentials("" if installs else slack.bot_token, "", slack.signing_secret, *client)


@asynccontextmanager
async def served(
    data: Path,
    slack: FakeSlack,
    scripts: Mapping[str, Script] | None = None,
    *,
    mode: str = "socket",
    connections: int = 1,
    given: Credentials | None = None,
    more: Mapping[str, object] | None = None,
    config: Config | None = None,
    operating: Operating | None = None,
) -> AsyncIterator[Served]:
    """The running bot, which gets Slack's events."""
    settings = SlackConfig(
        mode=mode,
        connections=connections,
        api_base=slack.api,
        http_port=0,
        **(more or {}),  # type: ignore[arg-type]
    )
    app = await open_scripted(data, scripts or {"hello": hello}, Recorder(), config)
    config = replace(config or load(data=migrated.folder(data), environ={}), slack=settings)
    service = Slack(app, config, given or credentials(slack, mode), words("en"), operating)
    running: asyncio.Task[None] | None = None
    try:
        await service.prepare()
        await app.start()
        running = asyncio.create_task(service.run())
        if mode == "socket":
            await slack.connected(connections)
        else:
            await slack.until(lambda: service.http is not None and service.http.port)
            slack.http(f"http://127.0.0.1:{service.http.port}{EVENTS}")  # type: ignore[union-attr]
        yield Served(service, app, running)
    finally:
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        await service.stop_receiving()
        await app.close()
        await service.close()
