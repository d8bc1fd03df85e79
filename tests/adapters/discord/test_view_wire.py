"""Runs on the screen, with the real client at a Discord that says no as the real one does."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.events import Event, Run, Stage, Status, Text
from tests.adapters.discord.wire import bot
from tests.fakes.discord import FakeDiscord


@pytest.fixture
async def discord() -> AsyncGenerator[FakeDiscord, None]:
    async with FakeDiscord() as discord:
        yield discord


async def answer(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("search", "Searching")
    yield Status("Looking")
    yield Text("Found 3 passages.")
    yield Stage("answer", "Answer")
    yield Text("It is Ana.")


async def test_a_question_gets_a_thread_with_a_message_a_stage(discord: FakeDiscord, tmp_path: Path) -> None:
    guild = discord.guild("Table")
    channel, ana = guild.text("general"), discord.user("Ana")
    guild.join(ana)
    async with bot(discord, tmp_path, {"Who?": answer}):
        asked = await discord.slash(ana, channel, "rules ask", question="Who?")
        await discord.until(lambda: channel.threads and len(channel.threads[0].messages) == 2)
        (thread,) = channel.threads
        await discord.until(lambda: "It is Ana." in thread.messages[1].text)
        await discord.until(lambda: not any("Stop" in one.label for one in thread.messages[1].buttons))
        assert "Found 3 passages." in thread.messages[0].text
        assert thread.name == "Who?"
        assert asked.response is not None
        assert thread.id == asked.response.id
        await discord.until(lambda: f"<#{thread.id}>" in asked.text)
    assert discord.refused == []
    assert discord.limited == []
