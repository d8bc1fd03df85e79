"""`run` as somebody starts it: one sentence and an exit code where it can't go on, and an orderly way out."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType

import pytest

from bot.adapters.serving import Discreet
from tests.fakes.discord import FakeDiscord

CLOSED = "http://127.0.0.1:9/api/v10"
"""Nobody listens on the discard port."""


@asynccontextmanager
async def started(
    data: Path, *, api: str = CLOSED, token: str = "", more: str = ""
) -> AsyncIterator[Process]:
    """`python -m bot run`; killed if it is still there in the end."""
    settings = data / "config.toml"
    text = f'[embedding]\nmodel = "none"\n[roles]\n[discord]\napi_base = "{api}"\n{more}\n'
    settings.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "bot", "run", "--config", str(settings), "--data", str(data)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    process = await asyncio.create_subprocess_exec(
        *command, stdout=PIPE, stderr=PIPE, env={**environ, "DISCORD_TOKEN": token}
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def outcome(process: Process) -> tuple[int, str]:
    """Its exit code and what it said on standard error; nothing goes to standard output."""
    async with asyncio.timeout(30):
        out, said = await process.communicate()
    assert out == b""
    assert "Traceback" not in said.decode()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def until_said(process: Process, words: str) -> str:
    assert process.stderr is not None
    said = ""
    async with asyncio.timeout(30):
        while words not in said:
            line = await process.stderr.readline()
            assert line, said
            said += line.decode()
    return said


async def test_without_a_token_it_says_where_to_get_one(tmp_path: Path) -> None:
    async with started(tmp_path) as process:
        code, said = await outcome(process)
    assert code == 2
    assert "as DISCORD_TOKEN; docs/discord.md" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("token", ["another.one.entirely", "two\nlines"])
async def test_a_token_that_is_refused_is_not_repeated(tmp_path: Path, token: str) -> None:
    async with FakeDiscord() as fake, started(tmp_path, api=fake.api, token=token) as process:
        code, said = await outcome(process)
    assert code == 2
    assert "Reset Token" in said
    assert token not in said


async def test_an_intent_that_is_off_is_told_with_what_to_click(tmp_path: Path) -> None:
    async with (
        FakeDiscord(portal=()) as fake,
        started(tmp_path, api=fake.api, token=fake.token, more="free_chat = true") as process,
    ):
        code, said = await outcome(process)
    assert code == 2
    assert "switch on “Message Content Intent”" in said


async def test_a_network_that_is_down_is_one_sentence(tmp_path: Path) -> None:
    async with started(tmp_path, token="a.b.c") as process:
        code, said = await outcome(process)
    assert code == 1
    assert f"I can't reach Discord at {CLOSED}." in said


async def test_a_service_that_is_down_is_one_sentence(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        fake.fail("GET", "/users/@me", status=503, times=9)
        async with started(tmp_path, api=fake.api, token=fake.token) as process:
            code, said = await outcome(process)
    assert code == 1
    assert "Discord answered 503" in said


async def test_it_says_as_whom_it_is_there_and_a_second_one_is_sent_away(tmp_path: Path) -> None:
    async with FakeDiscord() as fake:
        fake.guild("Table")
        async with started(tmp_path, api=fake.api, token=fake.token) as first:
            said = await until_said(first, "On Discord as Sutradhar#4821, in 1 server.")
            async with started(tmp_path, api=fake.api, token=fake.token) as second:
                code, sentence = await outcome(second)
    assert code == 1
    assert f"in use by another Sutradhar (process {first.pid})" in sentence
    assert fake.token not in said


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_it_leaves_in_order_when_told_to(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    async with FakeDiscord() as fake, started(tmp_path, api=fake.api, token=fake.token) as process:
        await fake.connected()
        process.send_signal(sent)
        async with asyncio.timeout(10):
            left, said = await outcome(process)
        assert left == code
        assert fake.gateway.sessions == {}  # it said goodbye
    assert fake.token not in said + (tmp_path / "sutradhar.log").read_text(encoding="utf-8")
    assert not (tmp_path / "lock.pid").exists()


def raised(error: Exception) -> tuple[type[Exception], Exception, TracebackType | None]:
    """As sys.exc_info has it."""
    with suppress(type(error)):
        raise error
    return type(error), error, error.__traceback__


def test_no_token_reaches_a_log() -> None:
    """Not the bot's, nor an interaction's in an address, nor either in a traceback."""
    formatter = Discreet("a-bots-own-token")
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


def test_a_lost_connection_is_one_line() -> None:
    fault = raised(OSError("refused"))
    record = logging.LogRecord("discord.shard", logging.ERROR, "", 0, "Shard %s", (3,), fault)
    assert Discreet().format(record).endswith("discord.shard Shard 3 (OSError: refused)")
