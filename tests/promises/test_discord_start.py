"""`python -m bot run` reports each fault in one sentence, and never writes a secret."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from tests.fakes.discord import FakeDiscord
from tests.promises.talk import bot, cold_bot

SECRET = "MTAwMDAwMDAwMDAwMDAwMDAw.Gx1234.wrong-wrong-wrong-wrong-wrong"
SETTINGS = '[roles]\n[embedding]\nmodel = "none"\n[discord]\napi_base = "{api}"\ngateway_url = "{gateway}"\n'


def settings(folder: Path, discord: FakeDiscord | None = None) -> Path:
    file = folder / "config.toml"
    api = discord.api if discord else "http://127.0.0.1:9/api/v10"
    gateway = discord.gateway_url if discord else "ws://127.0.0.1:9"
    file.write_text(SETTINGS.format(api=api, gateway=gateway), encoding="utf-8")
    return file


def sentence(text: bytes, *words: str) -> None:
    """The last line of the output, after the line about the connection; lines with a date are the log."""
    lines = [line for line in text.decode().splitlines() if not line.startswith("20")]
    assert 1 <= len(lines) <= 2, lines
    assert "Traceback" not in text.decode()
    for word in words:
        assert word in lines[-1]


@pytest.mark.slow
def test_a_missing_token_is_reported_with_where_to_set_it(tmp_path: Path) -> None:
    done = bot("run", data=tmp_path / "data", config=settings(tmp_path), DISCORD_TOKEN="")
    assert done.returncode != 0
    sentence(done.stderr, "DISCORD_TOKEN")


@pytest.mark.slow
async def test_a_wrong_token_is_reported_but_not_printed(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        config = settings(tmp_path, discord)
        done = await asyncio.to_thread(
            bot, "run", data=tmp_path / "data", config=config, DISCORD_TOKEN=SECRET
        )
    assert done.returncode != 0
    sentence(done.stderr, "DISCORD_TOKEN")
    assert b"wrong-wrong" not in done.stdout + done.stderr


@pytest.mark.slow
def test_an_unreachable_discord_is_reported(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, but without a listener
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        config = tmp_path / "config.toml"
        api, gateway = f"http://127.0.0.1:{port}/api/v10", f"ws://127.0.0.1:{port}"
        config.write_text(SETTINGS.format(api=api, gateway=gateway), encoding="utf-8")
        done = bot("run", data=tmp_path / "data", config=config, DISCORD_TOKEN=SECRET)
    assert done.returncode != 0
    sentence(done.stderr)
    assert b"wrong-wrong" not in done.stderr


def test_a_data_folder_in_use_is_reported(tmp_path: Path, stocked: Path) -> None:
    from filelock import FileLock

    with FileLock(stocked / "lock"):
        done = bot("run", data=stocked, config=settings(tmp_path), DISCORD_TOKEN=SECRET)
    assert done.returncode != 0
    sentence(done.stderr)


def test_help_and_chat_do_not_import_discord(tmp_path: Path) -> None:
    for arguments in (("--help",), ("chat", "--json")):
        done = cold_bot(*arguments, data=tmp_path / "data", PYTHONPROFILEIMPORTTIME="1")
        assert done.returncode == 0
        loaded = {line.rsplit(b"|", 1)[-1].strip() for line in done.stderr.splitlines()}
        assert b"bot.cli" in loaded
        assert b"discord" not in loaded
