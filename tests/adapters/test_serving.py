"""`run` as an operator starts it: a sentence and an exit code if it cannot start, and an orderly shutdown."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType

import aiohttp
import pytest

from bot.adapters.log_redaction import JsonFormatter, RedactingFormatter
from tests.fakes import migrated
from tests.fakes.discord import FakeDiscord
from tests.fakes.slack import FakeSlack
from tests.forked import Piped
from tests.kill.process import environment
from tests.scraped import read

CLOSED = "http://127.0.0.1:9/api/v10"
CLOSED_SLACK = "http://127.0.0.1:9/api"
"""Nobody listens on the discard port."""


def logged(data: Path) -> str:
    """The content of the log file, "" if nothing was logged yet."""
    file = data / "sutradhar.log"
    return file.read_text(encoding="utf-8") if file.exists() else ""


@asynccontextmanager
async def started(
    data: Path,
    forked: bool = True,
    /,
    *,
    api: str = CLOSED,
    token: str = "",
    more: str = "",
    slack: str = CLOSED_SLACK,
    roles: str = "",
    **secrets: str,
) -> AsyncIterator[Process | Piped]:
    """`python -m bot run`, killed at the end if it still runs. `secrets` are Slack's: bot_token, app_token, …

    Without `forked`, as in three tests, the process imports everything itself.
    """
    settings = data / "config.toml"
    text = f'[embedding]\nmodel = "none"\n[roles]\n{roles}\n[slack]\napi_base = "{slack}"\nconnections = 1\n'
    text += f'[discord]\napi_base = "{api}"\n{more}\n'
    settings.write_text(text, encoding="utf-8")
    migrated.folder(data)
    arguments = ["run", "--config", str(settings), "--data", str(data)]
    environ = environment() | {f"SLACK_{name.upper()}": value for name, value in secrets.items()}
    environ["DISCORD_TOKEN"] = token
    process: Process | Piped
    if forked:
        process = await Piped.start("bot", arguments, environ, Path.cwd())
    else:
        command = [sys.executable, "-m", "bot", *arguments]
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=environ)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def outcome(process: Process | Piped) -> tuple[int, str]:
    """The exit code and standard error of a process that must write nothing to standard output."""
    async with asyncio.timeout(90):
        out, output = await process.communicate()
    assert out == b""
    assert "Traceback" not in output.decode()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def until_said(process: Process | Piped, words: str) -> str:
    assert process.stderr is not None
    output = ""
    async with asyncio.timeout(90):
        while words not in output:
            line = await process.stderr.readline()
            assert line, output
            output += line.decode()
    return output


async def test_without_a_token_it_says_where_to_get_one(tmp_path: Path) -> None:
    async with started(tmp_path, False) as process:
        code, output = await outcome(process)
    assert code == 2
    assert "set DISCORD_TOKEN in the environment or .env (docs/discord.md)" in output
    assert "set SLACK_BOT_TOKEN and SLACK_APP_TOKEN there (docs/slack.md)" in output
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    "token", ["another.one.entirely", pytest.param("two\nlines", marks=pytest.mark.slow)]
)
async def test_a_token_that_is_refused_is_not_repeated(tmp_path: Path, token: str) -> None:
    async with FakeDiscord() as fake, started(tmp_path, api=fake.api, token=token) as process:
        code, output = await outcome(process)
    assert code == 2
    assert "Reset Token" in output
    assert token not in output


@pytest.mark.slow
async def test_a_missing_intent_is_reported_with_what_to_click(tmp_path: Path) -> None:
    async with (
        FakeDiscord(portal=()) as fake,
        started(tmp_path, api=fake.api, token=fake.token, more="free_chat = true") as process,
    ):
        code, output = await outcome(process)
    assert code == 2
    assert "switch on “Message Content Intent”" in output


@pytest.mark.slow
async def test_a_network_outage_gets_one_sentence(tmp_path: Path) -> None:
    async with started(tmp_path, token="a.b.c") as process:
        code, output = await outcome(process)
    assert code == 1
    assert f"I can't reach Discord at {CLOSED}." in output


@pytest.mark.slow
async def test_a_service_outage_gets_one_sentence(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        fake.fail("GET", "/users/@me", status=503, times=9)
        async with started(tmp_path, api=fake.api, token=fake.token) as process:
            code, output = await outcome(process)
    assert code == 1
    assert "Discord answered 503" in output


async def test_the_bot_prints_its_name_and_a_second_process_is_refused(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        fake.guild("Table")
        async with started(tmp_path, api=fake.api, token=fake.token) as first:
            output = await until_said(first, "On Discord as Sutradhar#4821, in 1 server.")
            async with started(tmp_path, api=fake.api, token=fake.token) as second:
                code, sentence = await outcome(second)
    assert code == 1
    assert f"in use by another Sutradhar (process {first.pid})" in sentence
    assert fake.token not in output


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
async def test_sigterm_shuts_the_bot_down_in_order(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    async with (
        FakeDiscord() as fake,
        started(tmp_path, sent != signal.SIGTERM, api=fake.api, token=fake.token) as process,
    ):
        await fake.connected()
        process.send_signal(sent)
        async with asyncio.timeout(90):
            left, output = await outcome(process)
        assert left == code
        assert fake.gateway.sessions == {}  # it closed the gateway connection properly
    assert fake.token not in output + logged(tmp_path)
    assert not (tmp_path / "lock.pid").exists()


async def test_monitoring_programs_read_health_metrics_and_log(tmp_path: Path) -> None:
    more = '[operate]\nlisten = "127.0.0.1:0"\nlog_format = "json"\n'
    async with FakeDiscord() as fake:
        guild = fake.guild("Table")
        ana, channel = fake.user("Ana"), guild.text("general")
        guild.join(ana)
        async with started(tmp_path, False, api=fake.api, token=fake.token, more=more) as process:
            output = await until_said(process, "On Discord as Sutradhar#4821")
            (port,) = re.findall(r"server listens on 127.0.0.1:(\d+)", output)
            asked = await fake.slash(ana, channel, "rules roll", expression="2d6")
            await fake.until(lambda: asked.acked)
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
                async with http.get("/ready") as answer:
                    report = await answer.json()
                    assert answer.status == 200, report
                    assert report["checks"]["discord"]["connections"] == {"shard 0": "up"}
                async with http.get("/metrics") as answer:
                    values = read(await answer.text())
            assert values['sutradhar_acknowledge_seconds_count{platform="Discord"}'] == 1
            assert values['sutradhar_events_total{platform="Discord"}'] > 1
            process.send_signal(signal.SIGTERM)
            code, rest = await outcome(process)
    assert code == 143
    for text in (output + rest, logged(tmp_path)):
        lines = [json.loads(line) for line in text.splitlines()]
        assert {"time", "level", "logger", "message"} <= set.intersection(*(set(line) for line in lines))
        assert fake.token not in text


@asynccontextmanager
async def both() -> AsyncIterator[tuple[FakeDiscord, FakeSlack]]:
    async with FakeDiscord() as discord, FakeSlack() as slack:
        discord.guild("Table")
        slack.workspace("Chair")
        yield discord, slack


def tokens(slack: FakeSlack) -> dict[str, str]:
    return {"slack": slack.api, "bot_token": slack.bot_token, "app_token": slack.app_token}


@pytest.mark.slow
async def test_slack_alone_is_enough(tmp_path: Path) -> None:
    async with both() as (_, slack), started(tmp_path, **tokens(slack)) as process:
        output = await until_said(process, "On Slack as sutradhar, in Chair.")
        assert "connecting to Slack…" in output
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(90):
            left, more = await outcome(process)
        assert left == 143
        assert not slack.sockets.all
    log = logged(tmp_path)
    assert not [one for one in (slack.bot_token, slack.app_token, "ticket=") if one in output + more + log]


@pytest.mark.slow
async def test_discord_continues_when_slack_refuses_the_token(tmp_path: Path) -> None:
    async with both() as (discord, slack):
        settings = {"api": discord.api, "token": discord.token, **tokens(slack), "bot_token": "xoxb-another"}
        async with started(tmp_path, **settings) as process:
            output = await until_said(process, "On Discord as Sutradhar#4821")
            assert "Slack refused the token in SLACK_BOT_TOKEN" in output
            assert "xoxb-another" not in output


@pytest.mark.slow
async def test_half_of_slacks_tokens_is_reported_and_discord_runs(tmp_path: Path) -> None:
    async with both() as (discord, slack):
        settings = {
            "api": discord.api,
            "token": discord.token,
            "slack": slack.api,
            "bot_token": slack.bot_token,
        }
        async with started(tmp_path, **settings) as process:
            output = await until_said(process, "On Discord as Sutradhar#4821")
    assert "the app-level token is missing" in output
    assert slack.calls == []


@pytest.mark.slow
async def test_half_of_slacks_tokens_without_discord_gets_one_sentence(tmp_path: Path) -> None:
    async with started(tmp_path, bot_token="xoxb-1") as process:
        code, output = await outcome(process)
    assert code == 2
    assert "as SLACK_APP_TOKEN (docs/slack.md)" in output
    assert output.count("\n") == 1


async def test_each_platform_continues_when_the_other_fails_later(tmp_path: Path) -> None:
    async with both() as (discord, slack):
        settings = {"api": discord.api, "token": discord.token, **tokens(slack)}
        async with started(tmp_path, **settings) as process:
            await discord.connected()
            await slack.connected()
            output = await until_said(process, "On ") + await until_said(process, "On ")
            assert "connecting to Discord and Slack…" in output
            assert "On Discord as Sutradhar#4821" in output
            assert "On Slack as sutradhar, in Chair" in output
            slack.app_token = "xapp-another"
            await slack.drop()
            await until_said(process, "Slack refused the token in SLACK_APP_TOKEN")
            assert process.returncode is None
            (session,) = discord.gateway.sessions.values()
            assert session.socket is not None
            session.socket.close(4004)
            code, output = await outcome(process)
    assert code == 2
    assert "Reset Token" in output


@pytest.mark.slow
async def test_every_failing_platform_is_reported_and_the_last_decides_the_exit_code(tmp_path: Path) -> None:
    async with started(tmp_path, token="a.b.c", bot_token="xoxb-1", app_token="xapp-1") as process:
        code, output = await outcome(process)
    assert code == 1
    assert f"I can't reach Discord at {CLOSED}." in output
    assert f"I can't reach Slack at {CLOSED_SLACK}." in output


def raised(error: Exception) -> tuple[type[Exception], Exception, TracebackType | None]:
    """The error as sys.exc_info returns it."""
    with suppress(type(error)):
        raise error
    return type(error), error, error.__traceback__


def test_no_token_reaches_a_log() -> None:
    """Neither the bot's token nor an interaction's, in an address or in a traceback."""
    formatter = RedactingFormatter("a-bots-own-token")
    record = logging.LogRecord(
        "discord.http",
        logging.WARNING,
        "",
        0,
        "We are being rate limited. %s %s",
        ("POST", "https://discord.com/api/v10/webhooks/123/aW50-ZXJ_hY3Rpb24/messages/@original"),
        None,
    )
    assert "aW50" not in formatter.format(record)
    assert "/webhooks/123/…/messages/@original" in formatter.format(record)
    record.exc_info = raised(ValueError("POST /interactions/4/c2VjcmV0/callback with a-bots-own-token"))
    line = formatter.format(record)
    assert "ValueError" in line
    assert "c2VjcmV0" not in line
    assert "a-bots-own-token" not in line


def test_a_json_log_line_holds_no_secret_whatever_its_characters() -> None:
    """JSON escapes a quote or a backslash, so that such a token looks different in the line."""
    token = 'a "token"\\of\nhis'
    fault = raised(ValueError(f"POST /webhooks/4/c2VjcmV0 with {token}"))
    record = logging.LogRecord("bot.x", logging.ERROR, "", 0, "“%s”\nwas refused", (token,), fault)
    line = JsonFormatter(token).format(record)
    assert "\n" not in line
    read_back = json.loads(line)
    assert (read_back["level"], read_back["logger"]) == ("ERROR", "bot.x")
    assert read_back["message"] == "“…”\nwas refused"
    assert "ValueError: POST /webhooks/4/… with …" in read_back["exception"]
    assert read_back["time"].endswith("+00:00")
    outage = logging.LogRecord("discord.shard", logging.ERROR, "", 0, "Shard %s", (3,), raised(OSError("no")))
    assert json.loads(JsonFormatter().format(outage))["message"] == "Shard 3 (OSError: no)"


@pytest.mark.parametrize(
    "secret",
    [
        "xoxb-100000000000-2000000000000-AbCdEf",
        "xoxe.xoxb-1-AbCdEf",
        "xapp-1-A0LOOPBACK-1-AbCdEf",
        "https://hooks.slack.com/commands/T012AB3CD/345/AbCdEf",
        "https://hooks.slack.com/actions/T012AB3CD/345/AbCdEf",
        "https://hooks.slack.com/services/T012AB3CD/B345/AbCdEf",
        "https://files.slack.com/upload/v1/AbCdEf",
        "wss://wss-primary.slack.com/link/?ticket=AbCdEf&app_id=A1",
        "a signing secret AbCdEf",
    ],
)
def test_no_slack_secret_reaches_a_log(secret: str) -> None:
    formatter = RedactingFormatter("a signing secret AbCdEf")
    record = logging.LogRecord("slack_sdk", logging.ERROR, "", 0, "%s failed", (secret,), None)
    record.exc_info = raised(ValueError(f"POST '{secret}', then on"))
    line = formatter.format(record)
    assert "AbCdEf" not in line
    assert "failed" in line
    assert "then on" in line


def test_words_that_resemble_secrets_are_kept() -> None:
    line = "GET /actions/ of 2 commands/Tables, xoxo, xapp, app_id=A1, services/list"
    record = logging.LogRecord("bot.x", logging.INFO, "", 0, line, (), None)
    assert RedactingFormatter("").format(record).endswith(line)


def test_a_lost_connection_is_logged_in_one_line() -> None:
    fault = raised(OSError("refused"))
    record = logging.LogRecord("discord.shard", logging.ERROR, "", 0, "Shard %s", (3,), fault)
    assert RedactingFormatter().format(record).endswith("discord.shard Shard 3 (OSError: refused)")
