"""Mode "http": only signed requests are served, /health reports the bot's state, and a shutdown cuts nothing off."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp

from bot.adapters.slack.installed.clients import Clients
from bot.adapters.slack.installed.http import EVENTS, HEALTH, MOST_BYTES, Http
from bot.adapters.slack.installed.workspaces import Workspaces, bolt_app
from bot.config import SlackConfig
from bot.events import UserError
from tests.adapters.slack.serving import served
from tests.fakes.slack import Channel, FakeSlack, User


@dataclass
class Door:
    """A Bolt app behind the server; `heard` lists the commands that reached it."""

    slack: FakeSlack
    http: Http
    bolt: AsyncApp
    channel: Channel
    ana: User
    heard: list[dict[str, Any]]
    goes_on: asyncio.Event

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.http.port}"


@asynccontextmanager
async def door() -> AsyncIterator[Door]:
    async with FakeSlack() as slack:
        team = slack.workspace("Table")
        settings = SlackConfig(mode="http", api_base=slack.api, http_port=0)
        clients = Clients(settings)
        workspaces = Workspaces(clients, slack.bot_token)
        await workspaces.learn()
        bolt = bolt_app(workspaces, clients.bare(), slack.signing_secret)
        http = Http(bolt, settings)
        made = Door(slack, http, bolt, team.channel("general"), team.user("Ana"), [], asyncio.Event())
        made.goes_on.set()

        @bolt.command("/sutradhar")
        async def hear(ack: Any, body: dict[str, Any]) -> None:
            made.heard.append(body)
            await made.goes_on.wait()
            await ack()

        await http.start()
        slack.http(made.root + EVENTS)
        try:
            yield made
        finally:
            await http.stop_receiving()
            await clients.close()


async def test_only_requests_signed_by_slack_get_through() -> None:
    async with door() as at:
        sent = await at.slack.command(at.ana, at.channel, "/sutradhar", "help")
        assert sent.acked is not None
        assert await at.slack.http.verify()
        for reply in (
            await at.slack.http.forge(sent),
            await at.slack.http.unsigned(sent),
            await at.slack.http.stale(sent),
            await at.slack.http.stale(sent, -3_600),
        ):
            assert reply.status == 401
        assert len(at.heard) == 1


ODD: list[tuple[bytes, dict[str, str]]] = [
    (b"{", {"Content-Type": "application/json"}),
    (b"[1]", {"Content-Type": "application/json"}),
    (b"\xff\xfe", {"Content-Type": "application/x-www-form-urlencoded"}),
    (b"payload=%7B", {"Content-Type": "application/x-www-form-urlencoded"}),
    (b"command=/sutradhar", {"Content-Type": "text/plain; charset=nonsense"}),
    (b"command=/sutradhar&ssl_check=1", {"Content-Type": "application/x-www-form-urlencoded"}),
    (b"", {}),
]
STAMPS = [("soon", "v0=1"), ("9" * 400, "v0=1"), ("-1", "v0=1"), ("1", "v0=é"), ("", ""), ("1700000000", "")]


@pytest.mark.parametrize("stamp", STAMPS)
async def test_malformed_requests_are_refused_without_a_log_line(
    stamp: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with door() as at:
        for body, headers in ODD:
            signed = {"X-Slack-Request-Timestamp": stamp[0], "X-Slack-Signature": stamp[1]}
            reply = await at.slack.http.post(body, headers | signed)
            assert reply.status in (400, 401) or b"ssl_check" in body
        assert at.heard == []
    assert "Traceback" not in caplog.text
    assert [line.levelname for line in caplog.records if line.name.startswith(("bot.", "slack_"))] == [
        "WARNING"
    ]
    assert "sutradhar" not in caplog.messages[0], "strangers cannot fill the log"


async def test_a_huge_body_does_not_fill_the_memory() -> None:
    much = BytesIO(b"x" * (MOST_BYTES + 1))
    async with (
        door() as at,
        aiohttp.ClientSession() as http,
        http.post(at.root + EVENTS, data=much) as answer,
    ):
        assert answer.status == 413


async def test_an_event_without_a_listener_is_acknowledged() -> None:
    async with door() as at:
        sent = await at.slack.send_raw(at.channel.team, {"type": "something_new"})
        assert sent.acked is not None


async def test_a_load_balancer_learns_that_the_bot_is_up_or_leaving() -> None:
    async with door() as at, aiohttp.ClientSession() as http:
        async with http.get(at.root + HEALTH) as answer:
            assert (answer.status, await answer.json()) == (200, {"status": "ok"})
        async with http.get(at.root + "/slack/install") as answer:
            assert answer.status == 404, "without a client id there is no install page"
        at.goes_on.clear()
        task = asyncio.create_task(at.slack.command(at.ana, at.channel, "/sutradhar", "help"))
        await at.slack.until(lambda: at.heard)
        running = asyncio.create_task(at.http.run())
        leaving = asyncio.create_task(at.http.stop_receiving())
        await running
        with pytest.raises(aiohttp.ClientError):
            await http.get(at.root + HEALTH)
        assert not leaving.done(), "requests that have arrived are still answered"
        at.goes_on.set()
        assert (await task).acked is not None
        await leaving


async def test_an_address_in_use_gets_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with door() as at:
            settings = SlackConfig(mode="http", http_port=taken.getsockname()[1])
            with pytest.raises(UserError) as error:
                await Http(at.bolt, settings).start()
    assert error.value.key == "slack_run.port"
    assert error.value.values["port"] == settings.http_port


async def test_bolt_reads_no_secret_from_the_environment(tmp_path: Path) -> None:
    """With a client id and secret in the environment, Bolt would store installations in files."""
    names = {
        "SLACK_CLIENT_ID": "1.2",
        "SLACK_CLIENT_SECRET": "hush",
        "SLACK_BOT_TOKEN": "xoxb-other",
        "SLACK_SIGNING_SECRET": "hush",
        "SLACK_REDIRECT_URI": "http://elsewhere",
    }
    before = dict(os.environ)
    os.environ.update(names)
    try:
        async with FakeSlack() as slack:
            team = slack.workspace("Table")
            ana, channel = team.user("Ana"), team.channel("general")
            async with served(tmp_path, slack, mode="http") as bot:
                assert bot.service.bolt.oauth_flow is None
                assert bot.service.bolt.installation_store is None
                assert (await slack.command(ana, channel, "/sutradhar", "help")).acked is not None
                assert {name: os.environ[name] for name in names} == names
    finally:
        for name in names:
            del os.environ[name]
        os.environ.update({name: before[name] for name in names if name in before})
