"""Scheduled runs, which no message started: the bot posts their answers by itself."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.discord.received.placing import PLATFORM
from bot.adapters.discord.service import Sutradhar
from bot.events import Author, Event, Place, Request, Stage, Text
from bot.work import Run
from tests.adapters.discord.wire import bot
from tests.fakes.discord import Channel, FakeDiscord, User
from tests.fakes.scripted_app import reminder


@pytest.fixture
async def discord() -> AsyncGenerator[FakeDiscord, None]:
    async with FakeDiscord() as discord:
        yield discord


async def answer(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    yield Text("It is Ana.")


SCRIPTS = {"Who?": answer}


def seated(discord: FakeDiscord) -> tuple[Channel, User]:
    guild, ana = discord.guild("Table"), discord.user("Ana")
    guild.join(ana)
    return guild.text("general"), ana


async def begun(client: Sutradhar, place: Place, run: str = "0" * 32) -> str:
    """The final state of a scheduled run in that place."""
    app = client.app
    origin = app.origin(place)
    assert origin is not None
    request = Request(run, place, Author("schedule", "Schedule"), "rules", "ask", text="Who?", origin=origin)
    return await (await app.perform(request)).wait()


def place_of(channel: Channel, thread: str = "") -> Place:
    assert channel.guild is not None
    return Place(PLATFORM, str(channel.guild.id), str(channel.id), thread)


async def test_the_answer_is_posted_in_the_channel(discord: FakeDiscord, tmp_path: Path) -> None:
    channel, _ = seated(discord)
    async with bot(discord, tmp_path, SCRIPTS) as client:
        assert await begun(client, place_of(channel)) == "done"
    (message,) = channel.messages
    assert "It is Ana." in message.text
    assert channel.threads == []
    assert discord.refused == []


async def test_the_answer_is_posted_in_the_conversations_thread(discord: FakeDiscord, tmp_path: Path) -> None:
    channel, ana = seated(discord)
    async with bot(discord, tmp_path, SCRIPTS) as client:
        asked = await discord.slash(ana, channel, "rules ask", question="Who?")
        await discord.until(lambda: [message for thread in channel.threads for message in thread.messages])
        opened = discord.thread(ana, channel, "Talk")
        assert await begun(client, place_of(channel, str(asked.id)), "1" * 32) == "done"
        assert await begun(client, place_of(channel, str(opened.id)), "2" * 32) == "done"
    assert ["It is Ana." in message.text for message in channel.threads[0].messages] == [True, True]
    assert ["It is Ana." in message.text for message in opened.messages] == [True]
    assert [message for message in channel.messages if "It is Ana." in message.text] == []


async def test_only_a_restricted_channel_and_its_threads_are_for_adults(
    discord: FakeDiscord, tmp_path: Path
) -> None:
    channel, ana = seated(discord)
    assert channel.guild is not None
    restricted = channel.guild.text("restricted")
    restricted.restrict()
    thread = discord.thread(ana, restricted, "Talk")
    async with bot(discord, tmp_path, SCRIPTS) as client:
        for place, adults in (
            (place_of(restricted), True),
            (place_of(restricted, str(thread.id)), True),
            (place_of(channel), False),
            (replace(place_of(channel), channel="4711"), False),
            (Place("another", "1", "1", ""), None),
        ):
            assert await client.app.adults(place) is adults


async def test_a_private_schedule_is_answered_in_private(discord: FakeDiscord, tmp_path: Path) -> None:
    channel, ana = seated(discord)
    async with bot(discord, tmp_path, SCRIPTS) as client:
        assert await begun(client, place_of(channel, f"private:{ana.id}")) == "done"
        (message,) = discord.dm(ana).messages
        assert "It is Ana." in message.text
        discord.dm(ana).closed = True
        await begun(client, place_of(channel, f"private:{ana.id}"), "1" * 32)
    assert channel.messages == []


async def test_a_guest_bot_posts_to_the_person_alone(discord: FakeDiscord, tmp_path: Path) -> None:
    ana, bia = discord.user("Ana"), discord.user("Bia")
    group = discord.private(ana, bia)
    async with bot(discord, tmp_path, SCRIPTS) as client:
        for channel in (group, discord.dm(ana)):
            place = Place(PLATFORM, f"user:{ana.id}", str(channel.id), "")
            assert await begun(client, place, f"{channel.id:032}") == "done"
    assert ["It is Ana." in message.text for message in discord.dm(ana).messages] == [True, True]
    assert discord.refused == []


async def test_a_run_for_a_deleted_or_closed_place_ends(
    discord: FakeDiscord, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The schedules of a channel that was deleted while the bot was off are removed, once."""
    caplog.set_level(logging.INFO)
    channel, ana = seated(discord)
    assert channel.guild is not None
    gone, forum = channel.guild.text("gone"), channel.guild.forum("questions")
    thread = discord.thread(ana, channel, "Talk")
    discord.remove_channel(gone)
    discord.remove_channel(thread)
    async with bot(discord, tmp_path, SCRIPTS) as client:
        channel.deny("SEND_MESSAGES")
        places = (place_of(gone), place_of(channel, str(thread.id)), place_of(channel), place_of(forum))
        schedules, space = client.app.records.schedules, places[0].space
        kept = [*places, replace(places[0], thread="9")]
        for n, place in enumerate(kept):
            await schedules.add(reminder(str(n), place, str(ana.id)))
        for n, place in enumerate((*places, replace(places[0], space="1"), *places)):
            await begun(client, place, f"{n}" * 32)
        left = {row.id for row in await schedules.by_author(space, str(ana.id))}
        await discord.until(lambda: caplog.text.count("is gone") == 2)
    assert left == {"2", "3"}
    assert channel.messages == []
