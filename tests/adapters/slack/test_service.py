"""The bot on Slack: it signs in, handles every event once, and leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.slack.installed.credentials import Credentials, configured, needed
from bot.adapters.slack.manifest import BOT_SCOPES, COMMANDS, EVENTS
from bot.adapters.slack.placing import PLATFORM
from bot.adapters.slack.received.messages import TWIN_S
from bot.admin_budgets import setting_of
from bot.commands import WORKS
from bot.config import Config, Secrets, SlackConfig
from bot.events import Place, UserError
from tests.adapters.slack.serving import credentials, served
from tests.fakes.slack import Channel, FakeSlack, User
from tests.fakes.slack.world import SCOPES


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        yield slack


def table(slack: FakeSlack) -> tuple[Channel, User]:
    team = slack.workspace("Table")
    return team.channel("general"), team.user("Ana")


def answers(channel: Channel) -> list[str]:
    return [message.shown for message in channel.everything if "Well met" in message.shown]


async def test_the_bot_prints_its_name(
    slack: FakeSlack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(slack)
    async with served(tmp_path, slack, connections=2) as bot:
        await slack.until(lambda: bot.service.workspaces.own)
    async with served(tmp_path, slack, mode="http") as bot:
        address = bot.root
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == third == "On Slack as sutradhar, in Table. Ctrl-C stops."
    assert second == f"Listening for Slack on {address}/slack/events."


@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_repeated_events_are_answered_once(slack: FakeSlack, tmp_path: Path, mode: str) -> None:
    """A mention is two events; each is delivered again, as a retry and as if for the first time."""
    channel, ana = table(slack)
    async with served(tmp_path, slack, mode=mode, connections=2) as bot:
        message = await slack.say(ana, channel, "hello", mention=True)
        slack.redeliver(message)
        slack.duplicate(message)
        await slack.until(
            lambda: answers(channel) and all(len(delivery.tries) == 3 for delivery in message.sent)
        )
        await slack.until(
            lambda: all(attempt.acked is not None for sent in message.sent for attempt in sent.tries)
        )
        again = await slack.say(ana, channel, "hello", mention=True)
        await slack.until(lambda: [message for message in again.thread if "Well met" in message.shown])
        assert len(answers(channel)) == 2
        assert bot.running.done() is False


async def test_the_bot_does_not_answer_itself(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = table(slack)
    async with served(tmp_path, slack):
        message = await slack.say(ana, channel, "hello", mention=True)
        await slack.until(lambda: answers(channel))
        own = [delivery for delivery in slack.sent if delivery.payload.get("event", {}).get("bot_id")]
        assert own, "Slack sends the bot events about its own messages"
        await slack.until(lambda: all(one.acked is not None for one in own))
        assert len(message.thread) == len(answers(channel)) == 1


KINDS: list[tuple[str, dict[str, Any]]] = [
    ("events_api", {"type": "event_callback", "event": {"type": "something_new"}}),
    ("slash_commands", {"command": "/unknown", "text": ""}),
    ("interactive", {"type": "block_actions", "actions": [{"action_id": "home:?", "type": "button"}]}),
    ("interactive", {"type": "shortcut", "callback_id": "unknown"}),
    ("interactive", {"type": "message_action", "callback_id": "unknown", "channel": {"id": "C1"}}),
    (
        "interactive",
        {"type": "view_submission", "view": {"callback_id": "unknown", "id": "V1", "type": "modal"}},
    ),
    ("interactive", {"type": "view_closed", "view": {"callback_id": "unknown", "id": "V1", "type": "modal"}}),
    ("interactive", {"type": "block_suggestion", "action_id": "unknown", "value": ""}),
    ("interactive", {"type": "dialog_submission", "callback_id": "unknown"}),
]


async def test_every_event_is_acknowledged(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = table(slack)
    team = channel.team
    who = {"team_id": team.id, "team": {"id": team.id}, "user": {"id": ana.id}, "user_id": ana.id}
    async with served(tmp_path, slack):
        for kind, payload in KINDS:
            sent = await slack.send_envelope(team, kind, {**who, **payload, "token": "x", "api_app_id": "A1"})
            assert sent.acked is not None, payload


async def test_people_and_channels_have_the_names_that_slack_shows(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = table(slack)
    async with served(tmp_path, slack) as bot:
        place = Place(PLATFORM, channel.team.id, "", "")
        platform = bot.service.app.platforms[PLATFORM]
        assert platform.person_name is not None
        assert platform.channel_name is not None
        assert await platform.person_name(place, ana.id) == ana.name
        assert await platform.person_name(place, "U0NOBODY") == ""
        assert await platform.channel_name(replace(place, channel=channel.id)) == f"#{channel.name}"


async def test_admins_are_told_of_the_spaces_budget_in_private_and_in_a_channel(
    slack: FakeSlack, tmp_path: Path
) -> None:
    channel, ana = table(slack)
    bia, notes = channel.team.user("Bia", admin=True), channel.team.channel("admins")
    async with served(tmp_path, slack) as bot:
        app, place = bot.app, Place(PLATFORM, channel.team.id, channel.id, "")
        for per in ("day", "month"):
            await app.settings.set(place, bia.id, setting_of("space", "", per, "tokens"), "100", "space")
            used = 90 if per == "day" else 0
            await app.resources.ledger.reserve(place.space, "run", "step", "x", "p:m", used, None)
            await slack.say(ana, channel, "hello", mention=True)
            if per == "day":
                await slack.until(lambda: channel.team.dm(bia).everything)
                there = replace(place, channel=notes.id)
                await app.settings.set(there, bia.id, "admin_notes", "on", "channel")
            else:
                await slack.until(lambda: notes.everything)
        (private,), (posted,) = channel.team.dm(bia).everything, notes.everything
        assert "90 tokens of 100 tokens a day" in private.text
        assert "90 tokens of 100 tokens a month" in posted.text


async def test_a_chart_of_the_spending_is_a_direct_message(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = table(slack)
    bia = channel.team.user("Bia", admin=True)
    async with served(tmp_path, slack) as bot:
        for person in (ana.id, bia.id):
            await bot.app.resources.ledger.reserve(
                channel.team.id, "run", "step", person, "p:m", 90, None, channel=channel.id
            )
        await slack.command(bia, channel, "/sutradhar", "usage --by person --picture")
        direct = channel.team.dm(bia)
        await slack.until(lambda: [message for message in direct.everything if message.files])
        texts = [message.shown for message in direct.everything]
        assert any(ana.name in text and bia.name in text for text in texts), texts
        assert not [message for message in channel.everything if message.files]


async def test_an_admin_applies_a_settings_file_with_a_press(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = table(slack)
    bia, group = channel.team.user("Bia", admin=True), channel.team.group("players", [ana])
    text = (
        f'[channels.{channel.id}]\nworks = "rules"\n[channels.C0NOWHERE]\nworks = "rules"\n'
        f'[[access]]\nwhat = "story"\ngroup = "{group.id}"\nallow = true\n'
        f'[[access]]\nwhat = "story"\nperson = "{ana.id}"\nallow = false\n'
        '[[access]]\nwhat = "voice"\ngroup = "S0NOBODY"\nallow = false\n'
    )
    async with served(tmp_path, slack) as bot:
        file = ("sutradhar-settings.toml", text.encode())
        await slack.say(bia, channel, "settings import", mention=True, files=[file])
        offered = await slack.until(
            lambda: [message for message in channel.everything if "Apply these changes?" in message.shown]
        )
        assert "There is no channel `C0NOWHERE` here" in offered[0].shown
        assert "There is no role or user group `S0NOBODY` here" in offered[0].shown
        assert offered[0].ephemeral_to is bia
        await slack.press(bia, offered[0], "Apply")
        await slack.until(lambda: [m for m in channel.everything if "Applied 3 changes." in m.shown])
        rules = await bot.app.access.rules(channel.team.id)
        assert {rule.of for rule in rules} == {group.id, ana.id}
        await slack.command(bia, channel, "/settings", "export")
        direct = channel.team.dm(bia)
        await slack.until(lambda: [message for message in direct.everything if message.files])


async def test_a_stopped_bot_leaves_no_tasks_or_connections(slack: FakeSlack, tmp_path: Path) -> None:
    channel, ana = table(slack)
    before = asyncio.all_tasks()
    async with served(tmp_path, slack, connections=2) as bot:
        await slack.say(ana, channel, "hello", mention=True)
        await slack.until(lambda: answers(channel))
    await slack.until(lambda: not slack.sockets.all)
    assert bot.service.clients.session.closed
    assert not [task for task in asyncio.all_tasks() - before if "slack" in repr(task.get_coro())]


async def test_a_workspace_that_its_own_token_serves_again_is_not_deleted(
    slack: FakeSlack, tmp_path: Path
) -> None:
    """The app was removed and installed again there, with its new token in the environment."""
    team = slack.workspace("Table")
    async with served(tmp_path, slack) as bot:
        await bot.app.records.departures.note_departure(team.id)
        await bot.app.records.departures.note_departure("T0ELSEWHERE")
    async with served(tmp_path, slack) as bot:
        later = datetime.now(UTC) + timedelta(days=1_000)
        assert await bot.app.records.departures.departed_before(later) == ["T0ELSEWHERE"]


@pytest.mark.parametrize(
    ("bot", "app", "key"),
    [
        ("xoxb-another", "", "slack_run.token_refused"),
        ("", "xapp-another", "slack_run.token_refused"),
    ],
)
async def test_a_refused_token_gets_one_sentence(
    slack: FakeSlack, tmp_path: Path, bot: str, app: str, key: str
) -> None:
    table(slack)
    wrong = Credentials(bot or slack.bot_token, app or slack.app_token)
    with pytest.raises(UserError) as error:
        async with served(tmp_path, slack, given=wrong):
            pass
    assert error.value.key == key
    assert "another" not in str(error.value.values)


async def test_a_network_outage_gets_one_sentence(tmp_path: Path) -> None:
    async with FakeSlack() as gone:
        table(gone)
    with pytest.raises(UserError) as error:
        async with served(tmp_path, gone):
            pass
    assert error.value.key == "slack_run.unreachable"


async def test_a_refusing_database_leaves_an_event_unacknowledged(slack: FakeSlack, tmp_path: Path) -> None:
    """Slack repeats the event, and it is answered then: an acknowledgement means that it is stored."""
    channel, ana = table(slack)
    slack.ack_seconds = 1.0 + TWIN_S  # a mention without files waits this long for its twin event
    slack.redelivery = (0.0,) * 30  # on a busy machine it may be late more than once
    async with served(tmp_path, slack) as bot:
        database = bot.app.resources.records.database
        async with database.write():
            message = await slack.say(ana, channel, "hello", mention=True)
            assert [delivery.acked for delivery in message.sent if delivery.name == "app_mention"] == [None]
        await slack.until(lambda: answers(channel))
        await slack.until(lambda: all(delivery.acked is not None for delivery in message.sent))
        assert len(answers(channel)) == 1


def config(mode: str, **there: str) -> Config:
    names = {
        "bot": "SLACK_BOT_TOKEN",
        "app": "SLACK_APP_TOKEN",
        "sign": "SLACK_SIGNING_SECRET",
        "id": "SLACK_CLIENT_ID",
        "secret": "SLACK_CLIENT_SECRET",
    }
    environ = {names[name]: value for name, value in there.items()}
    return Config(Path(), Path(), slack=SlackConfig(mode=mode), secrets=Secrets(environ, {}))


@pytest.mark.parametrize(
    ("mode", "there", "lacks"),
    [
        ("socket", {"bot": "xoxb-1"}, "no_app_token"),
        ("socket", {"app": "xapp-1"}, "no_bot_token"),
        ("socket", {"bot": "xapp-1", "app": "xapp-1"}, "swapped_bot"),
        ("socket", {"bot": "xoxb-1", "app": "xoxb-1"}, "swapped_app"),
        ("socket", {"bot": "xoxb-1\nxoxb-2", "app": "xapp-1"}, "token_refused"),
        ("http", {"bot": "xoxb-1"}, "no_signing_secret"),
        ("http", {"sign": "s"}, "no_workspace"),
        ("http", {"sign": "s", "id": "1.2"}, "no_workspace"),
        ("http", {"sign": "s", "bot": "xoxb-1", "id": "1.2"}, "half_client"),
        ("http", {"id": "1.2", "secret": "s"}, "no_signing_secret"),
    ],
)
def test_incomplete_settings_get_one_sentence(mode: str, there: dict[str, str], lacks: str) -> None:
    with pytest.raises(UserError) as error:
        needed(config(mode, **there))
    assert error.value.key == f"slack_run.{lacks}"


@pytest.mark.parametrize(
    ("mode", "there"),
    [
        ("socket", {"bot": "xoxb-1", "app": " xapp-1\n"}),
        ("http", {"bot": "xoxb-1", "sign": "hush-1"}),
        ("http", {"sign": "hush-1", "id": "1.2", "secret": "hush-2"}),
        ("http", {"bot": "xoxb-1", "sign": "hush-1", "id": "1.2", "secret": "hush-2"}),
    ],
)
def test_complete_settings_are_read_and_never_shown(mode: str, there: dict[str, str]) -> None:
    found = needed(config(mode, **there))
    assert found is not None
    assert {one.strip() for name, one in there.items() if name != "id"} == set(found.secrets)
    assert not [secret for secret in found.secrets if secret in repr(found)]


def test_missing_settings_are_no_fault() -> None:
    assert needed(config("socket")) is None
    assert needed(config("http")) is None
    assert needed(config("socket", sign="s", id="1.2", secret="t")) is None, (
        "those secrets are for the other mode"
    )
    assert configured(config("socket")).secrets == ()


async def test_the_manifests_scopes_are_those_of_the_loopback_slack(slack: FakeSlack) -> None:
    assert set(BOT_SCOPES) <= set(SCOPES)
    assert slack.events >= set(EVENTS)
    assert set(COMMANDS) == {"/sutradhar", *(f"/{work}" for work in WORKS)}
    assert credentials(slack, "socket").app == slack.app_token
