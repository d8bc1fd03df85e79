"""Several workspaces install the app from its page, get answers with their own token, and may remove it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.adapters.slack.installed.http import install_page
from bot.adapters.slack.manifest import ASKED_SCOPES
from bot.adapters.slack.received.setup import revoked
from bot.adapters.surface import PlaceClosed
from bot.events import Event, Text
from bot.work import Run
from tests.adapters.slack.serving import Served, credentials, hello, served
from tests.fakes.slack import Channel, FakeSlack, Team, User

# slack_sdk still passes the client secret to aiohttp in a deprecated way.
pytestmark = pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        yield slack


def table(slack: FakeSlack, name: str, *, installed: bool = False) -> tuple[Team, Channel, User]:
    team = slack.workspace(name, installed=installed)
    ana = team.user("Ana")
    return team, team.channel("general"), ana


async def said(slack: FakeSlack, ana: User, channel: Channel, text: str = "hello") -> str:
    """The bot's answer to this text."""
    message = await slack.say(ana, channel, text, mention=True)
    await slack.until(lambda: [reply for reply in message.thread if reply.user is channel.team.bot])
    return message.thread[-1].shown


async def installed(slack: FakeSlack, bot: Served, ana: User, *, org: bool = False) -> str:
    slack.redirect_uri = f"{bot.root}/slack/oauth_redirect"
    reply = await slack.install(ana, f"{bot.root}/slack/install", org=org)
    assert reply.status == 200, reply.text
    return reply.text


async def test_two_workspaces_install_the_app_and_each_gets_its_own_answer(
    slack: FakeSlack, tmp_path: Path
) -> None:
    _, first, ana = table(slack, "Table")
    other, second, bia = table(slack, "Chair")
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        page = await installed(slack, bot, ana)
        assert "Sutradhar is installed" in page
        await installed(slack, bot, bia)
        assert other.scopes == set(ASKED_SCOPES)
        for channel, who in ((first, ana), (second, bia)):
            assert "Well met" in await said(slack, who, channel)
        posted = {
            call.args["channel"]: call.team for call in slack.calls if call.method == "chat.postMessage"
        }
        greeted = {ana.id: first.team.id, bia.id: second.team.id}  # the installer gets a welcome
        assert posted == {first.id: first.team.id, second.id: second.team.id} | greeted
    assert not slack.refused
    # The installations survive a restart.
    async with served(tmp_path, slack, mode="http", given=given):
        assert "Well met" in await said(slack, bia, second)


async def test_an_organisation_installs_the_app_for_all_its_workspaces(
    slack: FakeSlack, tmp_path: Path
) -> None:
    grid = slack.enterprise("Grid")
    team = slack.workspace("One", grid, installed=False)
    other = slack.workspace("Other", grid, installed=False)
    ana, bia = team.user("Ana"), other.user("Bia")
    channel = other.channel("general")
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        await installed(slack, bot, ana, org=True)
        assert "Well met" in await said(slack, bia, channel)
        own = await bot.service.workspaces.installed(team.id, grid.id)
        assert (own.org, own.team, own.enterprise) == (True, "", grid.id)


async def test_a_workspace_that_removes_the_app_is_forgotten_and_its_runs_stop(
    slack: FakeSlack, tmp_path: Path
) -> None:
    _, first, ana = table(slack, "Table")
    _, second, bia = table(slack, "Chair")
    begun, gone = set[str](), set[str]()

    async def endless(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("Well")
        begun.add(run.request.place.space)
        try:
            await asyncio.Event().wait()
        finally:
            gone.add(run.request.place.space)

    given = credentials(slack, "http", installs=True)
    scripts = {"hello": hello, "endless": endless}
    async with served(tmp_path, slack, scripts, mode="http", given=given) as bot:
        await installed(slack, bot, ana)
        await installed(slack, bot, bia)
        for who, channel in ((ana, first), (bia, second)):
            await slack.say(who, channel, "endless", mention=True)
        await slack.until(lambda: len(begun) == 2)
        for sent in slack.uninstall(first.team):
            await sent.first.wait()
            assert sent.acked is not None
        await slack.until(lambda: gone)
        assert gone == {first.team.id}, "the other workspace's run continues"
        with pytest.raises(PlaceClosed):
            await bot.service.workspaces.client(first.team.id)
        assert bot.service.store is not None
        assert await bot.service.store.find(first.team.id, "") is None
        assert "Well met" in await said(slack, bia, second)


async def test_an_organisation_that_removes_the_app_is_forgotten_with_all_its_workspaces(
    slack: FakeSlack, tmp_path: Path
) -> None:
    grid = slack.enterprise("Grid")
    team = slack.workspace("One", grid, installed=False)
    ana, channel = team.user("Ana"), team.channel("general")
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        await installed(slack, bot, ana, org=True)
        assert "Well met" in await said(slack, ana, channel)
        for sent in slack.uninstall(team):
            await sent.first.wait()
        assert bot.service.store is not None
        assert await bot.service.store.find("", grid.id) is None
        with pytest.raises(PlaceClosed):
            await bot.service.workspaces.client(team.id, grid.id)


async def test_a_request_from_an_unknown_workspace_is_refused_with_a_sentence(
    slack: FakeSlack, tmp_path: Path
) -> None:
    _, channel, ana = table(slack, "Table", installed=True)
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given):
        sent = await slack.command(ana, channel, "/sutradhar", "rules ask hello")
        assert sent.acked is not None
        (response,) = sent.responses
        assert "install me here again" in str(response)
        message = await slack.say(ana, channel, "hello", mention=True)
        assert all(delivery.acked is not None for delivery in message.sent), (
            "otherwise Slack would send it again"
        )
    assert not [call for call in slack.calls if call.method == "chat.postMessage"]


async def test_the_workspace_of_the_token_needs_no_installation(slack: FakeSlack, tmp_path: Path) -> None:
    _, channel, ana = table(slack, "Table", installed=True)
    _, second, bia = table(slack, "Chair")
    given = credentials(slack, "http", installs=True)
    both = type(given)(slack.bot_token, "", given.signing, given.client_id, given.client_secret)
    async with served(tmp_path, slack, mode="http", given=both) as bot:
        assert "Well met" in await said(slack, ana, channel)
        await installed(slack, bot, bia)
        assert "Well met" in await said(slack, bia, second)


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("error=access_denied", 200, "access_denied"),
        ("error=<script>alert(1)</script>", 200, "&lt;script&gt;"),
        ("code=1&state=forged", 400, "invalid_browser"),
        ("code=1", 400, "invalid_browser"),
    ],
)
async def test_a_refused_consent_leads_back_to_the_install_page(
    slack: FakeSlack, tmp_path: Path, query: str, status: int, says: str
) -> None:
    table(slack, "Table")
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given) as bot, aiohttp.ClientSession() as http:
        headers = {"Accept-Language": "pt-BR,pt;q=0.9"}
        async with http.get(f"{bot.root}/slack/oauth_redirect?{query}", headers=headers) as answer:
            text = await answer.text()
    assert answer.status == status
    assert says in text
    assert "<script>" not in text
    assert "Comece de novo" in text
    assert not [call for call in slack.calls if call.method == "oauth.v2.access"]


async def test_a_code_that_slack_refuses_installs_nothing(slack: FakeSlack, tmp_path: Path) -> None:
    _, _, ana = table(slack, "Table")
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        slack.fail("oauth.v2.access", error="invalid_code")
        slack.redirect_uri = f"{bot.root}/slack/oauth_redirect"
        reply = await slack.install(ana, f"{bot.root}/slack/install")
        assert reply.status == 401
        assert "invalid_code" in reply.text
        with pytest.raises(PlaceClosed):
            await bot.service.workspaces.client(ana.team.id)


def test_pages_use_the_browsers_language_and_escape_their_parameters() -> None:
    assert "Adicione Sutradhar" in install_page("https://slack.com/x?a=1&b=2", "pt-PT;q=0.8, en;q=0.7")
    page = install_page('https://slack.com/"><b>', "de, en;q=0.5")
    assert "Add Sutradhar" in page
    assert "<b>" not in page


def test_revoked_tokens_are_recognised() -> None:
    assert revoked({"type": "app_uninstalled"}) == ()
    assert revoked({"type": "tokens_revoked", "tokens": {"bot": ["U1"], "oauth": []}}) == ()
    assert revoked({"type": "tokens_revoked", "tokens": {"oauth": ["U9"]}}) == ("U9",)
    odd: Any
    for odd in ({}, {"tokens": None}, {"tokens": {}}, {"tokens": {"oauth": [], "bot": []}}):
        assert revoked({"type": "tokens_revoked", **odd}) is None
