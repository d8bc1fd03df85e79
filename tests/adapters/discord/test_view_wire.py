"""Runs shown by the real client on the fake Discord, which refuses what the real one refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.events import Changed, Citation, Event, Stage, Status, Text, Unquoted
from bot.work import Run
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


async def test_a_question_gets_a_thread_with_a_message_for_each_stage(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    guild = discord.guild("Table")
    channel, ana = guild.text("general"), discord.user("Ana")
    guild.join(ana)
    async with bot(discord, tmp_path, {"Who?": answer}):
        asked = await discord.slash(ana, channel, "rules ask", question="Who?")
        await discord.until(lambda: channel.threads and len(channel.threads[0].messages) == 2)
        (thread,) = channel.threads
        await discord.until(lambda: "It is Ana." in thread.messages[1].text)
        await discord.until(lambda: not any("Stop" in button.label for button in thread.messages[1].buttons))
        assert "Found 3 passages." in thread.messages[0].text
        assert thread.name == "Who?"
        assert asked.response is not None
        assert thread.id == asked.response.id
        await discord.until(lambda: f"<#{thread.id}>" in asked.text)
    assert discord.refused == []
    assert discord.limited == []


async def test_a_withdrawn_line_stays_withdrawn_when_the_answer_below_changes(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    guild = discord.guild("Table")
    channel, ana = guild.text("general"), discord.user("Ana")
    guild.join(ana)
    runs: list[str] = []

    async def asked_first(run: Run) -> AsyncGenerator[Event, None]:
        runs.append(run.id)
        async for event in answer(run):
            yield event

    async def card(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("Noted.")
        yield Unquoted(runs[0])
        yield Changed(runs[0], "answer", "", (Text("Taken out."),))

    async with bot(discord, tmp_path, {"Who?": asked_first, "card": card}) as client:
        asked = await discord.slash(ana, channel, "rules ask", question="Who?")
        await discord.until(lambda: channel.threads and f"<#{channel.threads[0].id}>" in asked.text)
        (thread,) = channel.threads
        await discord.until(lambda: len(thread.messages) == 2)
        await discord.until(lambda: not any("Stop" in button.label for button in thread.messages[1].buttons))
        assert "Who?" in asked.text
        await discord.slash(ana, channel, "rules ask", question="card")
        await discord.until(lambda: "Taken out." in thread.messages[1].text)
        while client.writers.side_tasks:
            await asyncio.wait(list(client.writers.side_tasks))
        assert asked.text == "*This was taken back.*"


QUOTED = """### Answer
> A burden is what slows you `[1]`.
>
> **Load**
>
> Two sacks and a lantern.
>
> Price
> Seven coins."""


async def test_an_answer_in_components_and_another_bots_embeds_can_be_asked_about(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    guild = discord.guild("Table")
    channel, ana = guild.text("general"), discord.user("Ana")
    guild.join(ana)
    async with bot(discord, tmp_path, {"Who?": cited, f"> {QUOTED}": answer, "Really?\n\n> A page": answer}):
        await discord.slash(ana, channel, "rules ask", question="Who?")
        await discord.until(lambda: channel.threads and channel.threads[0].messages)
        (thread,) = channel.threads
        await discord.until(lambda: not any("Stop" in button.label for button in thread.messages[0].buttons))
        about = thread.messages[0]
        about.embeds = [
            {"type": "rich", "title": "**Load**", "description": "Two sacks and a lantern."}
            | {"fields": [{"name": "Price", "value": "Seven coins."}]}
        ]
        opened = await discord.menu(ana, about, "Ask about this message")
        assert opened.modal is not None
        typed = opened.modal["components"][0]["component"]
        assert typed["max_length"] == 4_000 - len(f"\n\n> {QUOTED}")
        await discord.submit(ana, opened, {typed["custom_id"]: ""})
        await discord.until(lambda: "It is Ana." in thread.messages[-1].text)
        page = await discord.say(ana, channel)
        page.embeds = [{"type": "article", "title": "A page"}]
        opened = await discord.menu(ana, page, "Ask about this message")
        await discord.submit(ana, opened, {typed["custom_id"]: "Really?"})
        await discord.until(lambda: len(channel.threads) == 2)


async def cited(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    yield Text("A burden is what slows you [1].")
    yield Citation(1, "lanterns.md", "Burden", "A burden slows you.")


async def test_a_question_has_at_most_4000_characters(discord: FakeDiscord, tmp_path: Path) -> None:
    guild = discord.guild("Table")
    channel, ana = guild.text("general"), discord.user("Ana")
    guild.join(ana)
    async with bot(discord, tmp_path, {}):
        with pytest.raises(ValueError, match="4000"):
            await discord.slash(ana, channel, "rules ask", question="a" * 4_001)
