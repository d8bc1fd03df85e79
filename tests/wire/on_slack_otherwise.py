"""The drivers of the stories on Slack over HTTP, and in an organisation that installed the app as a whole."""

from __future__ import annotations

import asyncio
import random
import socket
from pathlib import Path

import aiohttp

from tests.fakes.slack import FakeSlack, Team, User
from tests.kill.process import PATIENCE_S
from tests.wire.model import Answerer
from tests.wire.on_slack import OnSlack

EVENTS = "/slack/events"
# Ports below those that Linux uses for outgoing connections (net.ipv4.ip_local_port_range): a server that restarts
# finds its port free.
LOWEST_PORT, HIGHEST_PORT = 20_000, 32_000


class OverHttp(OnSlack):
    """Slack posts signed requests, and each workspace installs the app from the bot's page."""

    @property
    def root(self) -> str:
        return str(self.slack.http.url).removesuffix(EVENTS)

    def settings(self) -> str:
        port = free_port()
        self.slack.http(f"http://127.0.0.1:{port}{EVENTS}")
        self.slack.redirect_uri = f"{self.root}/slack/oauth_redirect"
        return f'{super().settings()}mode = "http"\nhttp_port = {port}\n'

    async def furnish(self, data: Path) -> None:
        for team in list(self.slack.world.teams.values())[1:]:
            team.installed = False

    async def sit(self) -> None:
        await super().sit()
        for team, people in zip(self.teams, self.tables, strict=True):
            if not team.installed:
                await self.sit_down(team, people)

    async def sit_down(self, team: Team, people: dict[str, User]) -> None:
        """Let Bia install the app in the workspace."""
        reply = await self.slack.install(people["Bia"], f"{self.root}/slack/install")
        assert reply.status == 200, (team, reply)

    async def connected(self) -> None:
        async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession() as http:
            while not await _healthy(http, f"{self.root}/health"):
                assert self.process.alive, self.process.log()
                await asyncio.sleep(0.02)

    async def gone(self) -> None:
        """Wait until the process has ended and its port is free."""


class InAnOrganisation(OnSlack):
    """All workspaces belong to one organisation, which has installed the app for all of them."""

    def __init__(self, slack: FakeSlack, answerer: Answerer) -> None:
        organisations = slack.world.enterprises
        self.organisation = next(iter(organisations.values()), None) or slack.enterprise("The Guild")
        super().__init__(slack, answerer)
        self.organisation.token, self.organisation.scopes = slack.bot_token, set(self.teams[0].scopes)

    def workspace(self) -> Team:
        return self.slack.workspace("Table", self.organisation, installed=False)

    async def furnish(self, data: Path) -> None:
        """Store the organisation's installation, whose token is valid in all workspaces."""


async def _healthy(http: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with http.get(url) as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


def free_port() -> int:
    """A free port that the system does not assign to other programs."""
    while True:
        port = random.SystemRandom().randrange(LOWEST_PORT, HIGHEST_PORT)
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
