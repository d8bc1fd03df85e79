"""Token rotation: expiring tokens are renewed once and stored, and the operator learns of a failure."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.adapters.slack.installed.clients import Clients
from bot.adapters.slack.installed.credentials import Credentials, configured, needed
from bot.adapters.slack.installed.doctor import examine
from bot.config import Secrets, SlackConfig, load
from bot.events import UserError
from bot.words import words
from storage.faults import StorageFault
from storage.inspect import expired_tokens
from tests.adapters.slack.serving import Served, credentials, served
from tests.fakes.slack import Channel, FakeSlack, User

# slack_sdk still passes the client secret to aiohttp in a deprecated way.
pytestmark = pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")

DAY_HALF = 12 * 3_600


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        slack.rotation_seconds = DAY_HALF
        yield slack


def place(slack: FakeSlack, name: str) -> tuple[Channel, User]:
    team = slack.workspace(name, installed=False)
    return team.channel("general"), team.user("Ana")


async def installed(slack: FakeSlack, bot: Served, ana: User) -> None:
    slack.redirect_uri = f"{bot.root}/slack/oauth_redirect"
    assert (await slack.install(ana, f"{bot.root}/slack/install")).status == 200


async def said(slack: FakeSlack, ana: User, channel: Channel) -> str:
    message = await slack.say(ana, channel, "hello", mention=True)
    await slack.until(lambda: [reply for reply in message.thread if reply.user is channel.team.bot])
    return message.thread[-1].shown


def renewals(slack: FakeSlack) -> int:
    return sum(
        call.method == "oauth.v2.access" and call.args.get("grant_type") == "refresh_token"
        for call in slack.calls
    )


async def test_an_expiring_token_is_renewed_once_and_stored(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = place(slack, "Table")
    given = credentials(slack, "http", installs=True)
    slack.rotation_seconds = 3_600  # less than Slack's twelve hours, and therefore due
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        await installed(slack, bot, ana)
        first = channel.team.bot_token
        slack.rotation_seconds = DAY_HALF
        await asyncio.gather(*(said(slack, ana, channel) for _ in range(5)))
        assert renewals(slack) == 1
        assert channel.team.bot_token != first
    slack.grants.expire(channel.team)
    second = slack.grants.rotate(channel.team, DAY_HALF)
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        assert bot.service.store is not None
        stored = await bot.service.store.find(channel.team.id, "")
        assert stored is not None
        assert stored.token.startswith("xoxe.")
        assert stored.token not in (first, list(second.ends)[-1])


async def test_an_expired_token_is_renewed_and_the_call_repeated(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = place(slack, "Table")
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        await installed(slack, bot, ana)
        assert "Well met" in await said(slack, ana, channel)
        assert renewals(slack) == 0
        slack.grants.expire(channel.team)
        answers = await asyncio.gather(*(said(slack, ana, channel) for _ in range(5)))
        assert all("Well met" in answer for answer in answers)
        assert renewals(slack) == 1, "a refresh token can be used once"


async def test_a_failed_renewal_tells_the_operator_what_to_do_and_keeps_the_workspace(
    slack: FakeSlack, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    channel, ana = place(slack, "Table")
    given = credentials(slack, "http", installs=True)
    slack.rotation_seconds = 3_600
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        await installed(slack, bot, ana)
        slack.fail("oauth.v2.access", status=503, times=1)
        with caplog.at_level(logging.WARNING, "bot"):
            assert "Well met" in await said(slack, ana, channel), "the current token is still valid"
        assert "I keep trying" in caplog.text
        slack.grants.rotated[channel.team.id].refresh = "xoxe-1-revoked"
        slack.grants.expire(channel.team)
        service = bot.service
        assert service.store is not None
        service.store.rotation._paused_until.clear()
        caplog.clear()
        with caplog.at_level(logging.WARNING, "bot"):
            await slack.say(ana, channel, "hello", mention=True)
            await slack.until(lambda: "could not be renewed" in caplog.text)
        assert "Table" in caplog.text
        assert "open /slack/install" in caplog.text
        assert await service.store.find(channel.team.id, "") is not None, "kept"
        past = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=2)
        url = f"sqlite+aiosqlite:///{tmp_path / 'sutradhar.db'}"
        ((where, _),) = expired_tokens(url, slack.client_id, past)
        assert where == "Table", "doctor names the fault"
        assert expired_tokens(url, "another app", past) == []
        slack.rotation_seconds = DAY_HALF
        await installed(slack, bot, ana)
        assert "Well met" in await said(slack, ana, channel)
        assert expired_tokens(url, slack.client_id, past) == []
        refresh = slack.grants.rotated[channel.team.id].refresh
        assert not [secret for secret in (refresh, channel.team.bot_token) if secret in caplog.text]


async def test_a_renewed_token_that_cannot_be_stored_yet_is_not_lost(
    slack: FakeSlack, tmp_path: Path
) -> None:
    channel, ana = place(slack, "Table")
    slack.rotation_seconds = 3_600
    async with served(tmp_path, slack, mode="http", given=credentials(slack, "http", installs=True)) as bot:
        await installed(slack, bot, ana)
        slack.rotation_seconds = DAY_HALF
        assert bot.service.store is not None
        store, team = bot.service.store, channel.team
        with closing(sqlite3.connect(tmp_path / "sutradhar.db", timeout=30)) as database:
            for change in ("INSERT", "UPDATE"):
                database.execute(
                    f"CREATE TRIGGER full_{change} BEFORE {change} ON slack_bots"
                    " BEGIN SELECT RAISE(ABORT, 'full'); END"
                )
            with pytest.raises(StorageFault):
                await store.find(team.id, "")
            for change in ("INSERT", "UPDATE"):
                database.execute(f"DROP TRIGGER full_{change}")
        stored = await store.find(team.id, "")
        assert stored is not None
        assert stored.token == team.bot_token
        assert renewals(slack) == 1


async def test_the_configured_token_is_renewed_even_after_a_restart(slack: FakeSlack, tmp_path: Path) -> None:
    team = slack.workspace("Table")
    channel, ana = team.channel("general"), team.user("Ana")
    first = slack.grants.rotate(team, DAY_HALF)
    given = Credentials(
        team.bot_token, slack.app_token, "", slack.client_id, slack.client_secret, refresh=first.refresh
    )
    for _ in range(2):
        async with served(tmp_path, slack, given=given):
            assert "Well met" in await said(slack, ana, channel)
            assert renewals(slack) == 1, "and the new token is stored"
    slack.grants.expire(team)
    async with served(tmp_path, slack, given=given):
        assert "Well met" in await said(slack, ana, channel)
        slack.grants.expire(team)
        assert "Well met" in await said(slack, ana, channel)


async def test_an_older_token_that_is_revoked_does_not_remove_the_workspace(
    slack: FakeSlack, tmp_path: Path
) -> None:
    channel, ana = place(slack, "Table")
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        await installed(slack, bot, ana)
        event = {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [channel.team.bot.id]}}
        assert (await slack.send_raw(channel.team, event)).acked is not None
        assert "Well met" in await said(slack, ana, channel)
        channel.team.installed = False
        slack.grants.gone.add(channel.team.bot_token)
        assert (await slack.send_raw(channel.team, event)).acked is not None
        assert bot.service.store is not None
        assert await bot.service.store.find(channel.team.id, "") is None


async def test_a_refresh_token_needs_client_id_and_secret_and_doctor_names_expired_tokens(
    slack: FakeSlack,
) -> None:
    team = slack.workspace("Table")
    rotated = slack.grants.rotate(team, DAY_HALF)
    there = {"SLACK_BOT_TOKEN": team.bot_token, "SLACK_APP_TOKEN": slack.app_token}

    def config(**more: str) -> object:
        made = replace(load(environ={}), slack=SlackConfig(api_base=slack.api))
        return replace(made, secrets=Secrets(there | more, {}))

    alone = config(SLACK_REFRESH_TOKEN=rotated.refresh)
    with pytest.raises(UserError) as error:
        needed(alone)  # type: ignore[arg-type]
    assert error.value.key == "slack_run.refresh_alone"
    slack.grants.expire(team)
    pair = {"SLACK_CLIENT_ID": slack.client_id, "SLACK_CLIENT_SECRET": slack.client_secret}
    for asked, well, part in (
        (config(), False, "its refresh token into SLACK_REFRESH_TOKEN"),
        (config(SLACK_REFRESH_TOKEN=rotated.refresh, **pair), None, "it renews its tokens"),
    ):
        checks = await examine(asked, configured(asked), words("en"))  # type: ignore[arg-type]
        assert [check.well for check in checks if part in check.text] == [well]


async def test_the_fake_refuses_what_slack_refuses(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = place(slack, "Table")
    given = credentials(slack, "http", installs=True)
    async with served(tmp_path, slack, mode="http", given=given) as bot:
        await installed(slack, bot, ana)
        client = bot.service.clients.bare()
        pair = {"client_id": slack.client_id, "client_secret": slack.client_secret}
        refresh = slack.grants.rotated[channel.team.id].refresh
        first = channel.team.bot_token
        answer = await client.oauth_v2_access(grant_type="refresh_token", refresh_token=refresh, **pair)
        assert (answer["expires_in"], answer["token_type"]) == (DAY_HALF, "bot")
        assert answer["access_token"] == channel.team.bot_token
        assert (await bot.service.clients.bare(first).auth_test())["team_id"] == channel.team.id
        with pytest.raises(Exception, match="invalid_refresh_token"):
            await client.oauth_v2_access(grant_type="refresh_token", refresh_token=refresh, **pair)
        slack.grants.expire(channel.team)
        with pytest.raises(Exception, match="token_expired"):
            await bot.service.clients.bare(first).auth_test()


async def test_a_call_whose_token_was_renewed_meanwhile_renews_no_other() -> None:
    """Two calls use one expired token; the second gets its answer after the first was repeated."""
    asked, renewed = list[str](), asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        late = "late" in await request.text()
        if request.headers["Authorization"] == "Bearer new":
            renewed.set()
            return web.json_response({"ok": True})
        if late:
            await renewed.wait()
        return web.json_response({"ok": False, "error": "token_expired"})

    async def renew(refused: str) -> str:
        asked.append(refused)
        return "new"

    app = web.Application()
    app.router.add_post("/api/api.test", answer)
    async with TestServer(app) as server:
        clients = Clients(SlackConfig(api_base=str(server.make_url("/api/"))))
        client = clients.client("T1", "old", renew=renew)
        await asyncio.gather(client.api_call("api.test"), client.api_call("api.test", params={"n": "late"}))
        await clients.close()
    assert asked == ["old", "old"]
