"""The fake Slack over signed HTTP, and OAuth installations, driven by the real Bolt app as a web server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.async_app import AsyncAck
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth.installation_store import FileInstallationStore
from slack_sdk.oauth.state_store import FileOAuthStateStore
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import FakeSlack
from tests.fakes.slack.small_app import Body, SmallApp, Table, served, table

# slack_sdk 3.47 still passes the client secret in a way that aiohttp 3.14 warns about.
OLD_WAY = pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")


@asynccontextmanager
async def over_http() -> AsyncGenerator[Table]:
    async with table(socket=False, signing_secret="loopback-signing-secret") as t, served(t.small) as root:
        t.slack.http(f"{root}/slack/events")
        yield t


async def test_events_commands_and_presses_are_signed_posts() -> None:
    async with over_http() as t:

        async def answer(body: Body, ack: AsyncAck) -> None:
            await (ack("pong") if "command" in body else ack())

        t.small.doing = answer
        assert await t.slack.http.verify()
        said = await t.slack.say(t.ana, t.channel, "hello & co.", mention=True)
        assert all(sent.acked is not None for sent in said.sent)
        sent = await t.slack.command(t.ana, t.channel, "/sutradhar", "ping & more")
        assert (sent.response, t.small.done[0]["text"]) == ({"text": "pong"}, "ping & more")
        button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
        message = await t.post(blocks=[{"type": "actions", "elements": [button]}])
        pressed = await t.slack.press(t.ana, message, "Go")
        assert (pressed.failed, t.small.done[1]["actions"][0]["action_id"]) == (None, "go")
        assert t.slack.sockets.all == []


async def test_forged_unsigned_and_late_requests_are_refused_and_a_replayed_one_is_not() -> None:
    async with over_http() as t:
        message = await t.slack.say(t.ana, t.channel, "once")
        [sent] = message.sent
        assert (await t.slack.http.forge(sent)).status == 401
        assert (await t.slack.http.unsigned(sent)).status == 401
        assert (await t.slack.http.stale(sent)).status == 401
        assert len(t.small.heard) == 1
        assert (await t.slack.http.replay(sent)).status == 200
        assert [body["event_id"] for body in t.small.heard] == [sent.event_id] * 2


async def test_a_failed_event_is_delivered_again_with_the_reason() -> None:
    async with over_http() as t:
        t.slack.redelivery = (0.0,)
        t.small.deaf = True
        [sent] = (await t.slack.say(t.ana, t.channel, "hello?")).sent
        assert (sent.tries[0].failed, sent.tries[0].status) == ("http_error", 404)
        t.small.deaf = False
        await t.slack.until(lambda: sent.acked is not None or len(sent.tries) == 2)
        t.slack.redeliver(sent, reason="http_timeout", attempt=2)
        await t.slack.until(lambda: ("2", "http_timeout") in t.small.retries)


async def test_slow_missing_and_retry_refusing_servers_are_told_apart() -> None:
    wishes = {"slow": asyncio.Event(), "no": asyncio.Event()}

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/slow":
            await wishes["slow"].wait()
        return web.Response(status=500, headers={"X-Slack-No-Retry": "1"})

    async with table(socket=False) as t:
        t.slack.redelivery = ()
        app = web.Application()
        app.router.add_post("/{path}", answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        root = f"http://127.0.0.1:{runner.addresses[0][1]}"
        answers = []
        for url, seconds in ((f"{root}/slow", 0.02), (f"{root}/no", 60.0), ("http://127.0.0.1:9/", 60.0)):
            t.slack.http(url)
            t.slack.ack_seconds = seconds
            answers.append((await t.slack.say(t.ana, t.channel, "hello?")).sent[0].tries[0].failed)
        assert answers == ["http_timeout", "no_retry", "connection_failed"]
        wishes["slow"].set()
        await runner.cleanup()


@asynccontextmanager
async def installable(slack: FakeSlack, folder: Path) -> AsyncGenerator[tuple[SmallApp, str]]:
    """The app without a configured token, with its install page."""
    state = FileOAuthStateStore(expiration_seconds=60, base_dir=str(folder / "state"))
    settings = AsyncOAuthSettings(
        client_id=slack.client_id,
        client_secret=slack.client_secret,
        scopes=["chat:write", "commands", "app_mentions:read", "channels:history"],
        installation_store=FileInstallationStore(base_dir=str(folder / "installed")),
        state_store=state,
        authorization_url=slack.oauth.url,
    )
    small = SmallApp(
        AsyncWebClient(base_url=slack.api), signing_secret=slack.signing_secret, oauth_settings=settings
    )
    async with served(small) as root:
        slack.http(f"{root}/slack/events")
        slack.redirect_uri = f"{root}/slack/oauth_redirect"
        yield small, root


@OLD_WAY
async def test_each_workspace_has_an_installation_and_an_organisation_one_for_all(tmp_path: Path) -> None:
    async with FakeSlack() as slack, installable(slack, tmp_path) as (small, root):
        grid = slack.enterprise("Grid")
        workspace = slack.workspace("One", installed=False)
        two = slack.workspace("Two", enterprise=grid, installed=False)
        said: list[tuple[str, str | None]] = []
        for team in (workspace, two):
            ana = team.user("Ana")
            channel = team.channel("general")
            assert (await slack.say(ana, channel, "too early")).sent == []
            response = await slack.install(ana, f"{root}/slack/install", org=team is two)
            assert response.status == 200
            await slack.say(ana, channel, "hello", mention=True)
            said.append((team.id, team.enterprise.id if team.enterprise else None))
        mentions = [body for body in small.heard if body["event"]["type"] == "app_mention"]
        assert [(body["team_id"], body.get("enterprise_id")) for body in mentions] == said
        assert "access_denied" in (await slack.oauth.refuse(f"{root}/slack/oauth_redirect")).text
        with pytest.raises(LookupError, match="in no organisation"):
            await slack.install(next(iter(workspace.users.values())), f"{root}/slack/install", org=True)
        installs = [body["authorizations"][0]["is_enterprise_install"] for body in mentions]
        assert installs == [False, True]


async def test_an_organisations_token_is_valid_in_its_workspaces_alone() -> None:
    async with FakeSlack() as slack:
        grid = slack.enterprise("Grid")
        teams = [slack.workspace(name, enterprise=grid, installed=False) for name in ("One", "Two")]
        stranger = slack.workspace("Three").channel("general")
        grid.token, grid.scopes = "xoxb-org", {"chat:write", "users:read"}
        client = AsyncWebClient("xoxb-org", base_url=slack.api)
        for team in teams:
            channel = team.channel("general")
            await client.chat_postMessage(channel=channel.id, text=team.name)
            assert channel.messages[0].shown == team.name
            listed = await client.users_list(team_id=team.id)
            assert [member["id"] for member in listed["members"]] == [team.bot.id]
        auth = await client.auth_test()
        assert (auth["is_enterprise_install"], auth["enterprise_id"]) == (True, grid.id)
        with pytest.raises(SlackApiError, match="channel_not_found"):
            await client.chat_postMessage(channel=stranger.id, text="x")
        with pytest.raises(SlackApiError, match="missing_argument"):
            await client.users_list()


@OLD_WAY
async def test_a_code_can_be_used_once_with_the_secret(tmp_path: Path) -> None:
    async with FakeSlack() as slack:
        team = slack.workspace("One", installed=False)
        team.user("Ana")
        asked = {
            "client_id": slack.client_id,
            "scope": "chat:write",
            "redirect_uri": "http://127.0.0.1:9/done",
        }
        async with aiohttp.ClientSession() as http:
            async with http.get(slack.oauth.url, params=asked, allow_redirects=False) as response:
                code = response.headers["Location"].partition("code=")[2].partition("&")[0]
            async with http.get(slack.oauth.url, params=asked | {"client_id": "1.2"}) as response:
                assert response.status == 400
            async with http.get(slack.oauth.url, params=asked | {"scope": ""}) as response:
                assert (response.status, await response.text()) == (400, "no_scopes")
            asked_no_way = {name: asked[name] for name in ("client_id", "scope")}
            async with http.get(slack.oauth.url, params=asked_no_way) as response:
                assert (response.status, await response.text()) == (400, "bad_redirect_uri")
        client = AsyncWebClient(base_url=slack.api)
        good = {
            "client_id": slack.client_id,
            "client_secret": slack.client_secret,
            "code": code,
            "redirect_uri": asked["redirect_uri"],
        }
        for name, value, error in (
            ("client_id", "1.2", "invalid_client_id"),
            ("client_secret", "wrong", "bad_client_secret"),
            ("code", "wrong", "invalid_code"),
            ("redirect_uri", "http://127.0.0.1:9/other", "bad_redirect_uri"),
        ):
            with pytest.raises(SlackApiError, match=error):
                await client.oauth_v2_access(**good | {name: value})
        granted = await client.oauth_v2_access(**good)
        assert (granted["access_token"], granted["team"]["id"]) == (team.bot_token, team.id)
        assert team.scopes == {"chat:write"}
        with pytest.raises(SlackApiError, match="invalid_code"):
            await client.oauth_v2_access(**good)


async def test_a_removed_app_gets_an_event_and_its_token_is_invalid() -> None:
    async with table() as t:
        events_sent = t.slack.uninstall(t.team)
        await t.slack.until(lambda: all(event.acked is not None for event in events_sent))
        assert sorted(event["type"] for event in t.small.events) == ["app_uninstalled", "tokens_revoked"]
        await t.refused("account_inactive", "auth.test")
        t.team.bot_token, t.team.installed = "xoxb-new", True
        await t.refused("account_inactive", "auth.test")
        t.slack.uninstall(t.team)
        assert (await t.slack.say(t.ana, t.channel, "gone?")).sent == []
