"""What doctor says about Slack: what is wrong, and what to click."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.slack.installed.credentials import configured
from bot.adapters.slack.installed.doctor import examine
from bot.adapters.slack.manifest import BOT_SCOPES
from bot.check import Check
from bot.config import Config, Secrets, SlackConfig, load
from bot.doctor import examine as examine_all
from bot.words import words
from tests.adapters.slack.serving import served
from tests.fakes.slack import FakeSlack


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        slack.workspace("Table")
        yield slack


def config(slack: FakeSlack, secrets: dict[str, str] | None = None, **settings: object) -> Config:
    there = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
    made = SlackConfig(api_base=slack.api, **settings)  # type: ignore[arg-type]
    return replace(load(environ={}), slack=made, secrets=Secrets(there if secrets is None else secrets, {}))


async def told(asked: Config, locale: str = "en") -> dict[str, bool | None]:
    """Each check: whether it passed, and its sentence without the first word."""
    checks = await examine(asked, configured(asked), words(locale))
    return {text.removeprefix("Slack: "): well for well, text in checks}


async def test_doctor_finds_no_fault_in_a_complete_setup(slack: FakeSlack) -> None:
    checks = await told(config(slack))
    assert checks.pop("the token in SLACK_BOT_TOKEN is valid, for sutradhar in Table")
    assert checks.pop(f"the bot has all {len(BOT_SCOPES)} scopes that it needs")
    assert checks.pop("the app-level token in SLACK_APP_TOKEN opens sockets; the bot keeps 2 open")
    latency, public, names = sorted(checks, key=lambda text: ("chat:write" in text, "customize" in text))
    assert "without chat:write.public" in public
    assert "without chat:write.customize" in names
    assert checks[names] is checks[public] is None
    assert latency.startswith("answers in ")
    assert checks[latency] is True
    assert slack.sockets.greeted == 0, "doctor opens no socket, because the bot may be running"


async def test_an_app_from_before_group_direct_messages_still_works_and_the_doctor_says_what_is_missing(
    slack: FakeSlack,
) -> None:
    (team,) = slack.world.teams.values()
    team.scopes -= {"mpim:history", "mpim:read"}
    checks = await told(config(slack))
    (text,) = [text for text in checks if "mpim" in text]
    assert checks[text] is None
    assert text.startswith("without mpim:history, mpim:read the bot does not receive group direct messages")


async def test_missing_scopes_are_named(slack: FakeSlack) -> None:
    (team,) = slack.world.teams.values()
    team.scopes -= {"im:history", "files:read"}
    checks = await told(config(slack))
    (text,) = [text for text, well in checks.items() if well is False]
    assert text.startswith("the bot lacks files:read, im:history. On api.slack.com/apps")


@pytest.mark.parametrize(
    ("variable", "token", "says"),
    [
        ("SLACK_BOT_TOKEN", "xoxb-another", "refused the token in SLACK_BOT_TOKEN"),
        ("SLACK_APP_TOKEN", "xapp-another", "refused the token in SLACK_APP_TOKEN"),
    ],
)
async def test_a_refused_token_says_where_to_get_a_new_one(
    slack: FakeSlack, variable: str, token: str, says: str
) -> None:
    secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, variable: token}
    checks = await told(config(slack, secrets))
    (text,) = [text for text, well in checks.items() if well is False]
    assert says in text
    assert "api.slack.com/apps" in text
    assert token not in text


async def test_a_missing_network_gets_one_sentence() -> None:
    async with FakeSlack() as slack:
        gone = config(slack)
    ((text, well),) = (await told(gone, "pt-BR")).items()
    assert well is False
    assert text.startswith(f"Não consigo acessar o Slack em {gone.slack.api_base}")


async def test_over_http_doctor_names_the_address_and_whether_the_bot_answers_there(
    slack: FakeSlack, tmp_path: Path
) -> None:
    secrets = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_SIGNING_SECRET": slack.signing_secret,
        "SLACK_CLIENT_ID": slack.client_id,
        "SLACK_CLIENT_SECRET": slack.client_secret,
    }
    async with served(tmp_path, slack, mode="http") as bot:
        port = int(bot.root.rpartition(":")[2])
        asked = config(slack, secrets, mode="http", http_port=port)
        there = await told(asked)
    gone = await told(asked)
    where = f"http://127.0.0.1:{port}"
    assert [text for text, well in there.items() if well and f"requests at {where}/slack/events" in text]
    assert there[f"{where}/health answers"] is True
    assert gone[f"{where}/health does not answer; it does once the bot runs"] is None
    assert [text for text in gone if "workspaces can install the app, with SLACK_CLIENT_ID" in text]
    assert not [text for text in there | gone if slack.signing_secret in text or slack.client_secret in text]


def look(data: Path, environ: dict[str, str]) -> list[Check]:
    """What the complete doctor says about Slack while Slack is out of reach."""
    settings = data / "config.toml"
    settings.write_text(
        '[embedding]\nmodel = "none"\n[slack]\napi_base = "http://127.0.0.1:9/api"\n', "utf-8"
    )
    return [check for check in examine_all(settings, data, environ, words("en")) if "Slack" in check.text]


def test_doctor_mentions_slack_only_if_it_is_configured(tmp_path: Path) -> None:
    (off,) = look(tmp_path, {})
    assert off == Check(None, "Slack: not set up (SLACK_BOT_TOKEN is not set). See docs/slack.md.")
    (half,) = look(tmp_path, {"SLACK_BOT_TOKEN": "xoxb-1"})
    assert half.well is False
    assert "connections:write" in half.text
    unreachable, running = look(tmp_path, {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"})
    assert unreachable.text.startswith("I can't reach Slack at http://127.0.0.1:9/api")
    assert running == Check(None, "Slack: the bot is not running. `python -m bot run` starts it.")
