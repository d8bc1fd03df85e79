"""`python -m bot run`: what is not as it should be is said in one sentence, and no secret is ever written down."""

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
    """The last line says all of it, after the one that tells what is opened; what has a date is the log."""
    lines = [line for line in text.decode().splitlines() if not line.startswith("20")]
    assert 1 <= len(lines) <= 2, lines
    assert "Traceback" not in text.decode()
    for word in words:
        assert word in lines[-1]


@pytest.mark.slow
def test_without_a_token_it_says_where_one_goes(tmp_path: Path) -> None:
    done = bot("run", data=tmp_path / "data", config=settings(tmp_path), DISCORD_TOKEN="")
    assert done.returncode != 0
    sentence(done.stderr, "DISCORD_TOKEN")


@pytest.mark.slow
async def test_a_wrong_token_is_told_and_not_repeated(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        config = settings(tmp_path, discord)
        done = await asyncio.to_thread(
            bot, "run", data=tmp_path / "data", config=config, DISCORD_TOKEN=SECRET
        )
    assert done.returncode != 0
    sentence(done.stderr, "DISCORD_TOKEN")
    assert b"wrong-wrong" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_discord_out_of_reach_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        config = tmp_path / "config.toml"
        api, gateway = f"http://127.0.0.1:{port}/api/v10", f"ws://127.0.0.1:{port}"
        config.write_text(SETTINGS.format(api=api, gateway=gateway), encoding="utf-8")
        done = bot("run", data=tmp_path / "data", config=config, DISCORD_TOKEN=SECRET)
    assert done.returncode != 0
    sentence(done.stderr)
    assert b"wrong-wrong" not in done.stderr


def test_a_data_folder_in_use_is_told(tmp_path: Path, stocked: Path) -> None:
    from filelock import FileLock

    with FileLock(stocked / "lock"):
        done = bot("run", data=stocked, config=settings(tmp_path), DISCORD_TOKEN=SECRET)
    assert done.returncode != 0
    sentence(done.stderr)


def test_neither_help_nor_the_chat_loads_discord(tmp_path: Path) -> None:
    for arguments in (("--help",), ("chat", "--json")):
        done = cold_bot(*arguments, data=tmp_path / "data", PYTHONPROFILEIMPORTTIME="1")
        assert done.returncode == 0
        loaded = {line.rsplit(b"|", 1)[-1].strip() for line in done.stderr.splitlines()}
        assert b"bot.cli" in loaded
        assert b"discord" not in loaded
