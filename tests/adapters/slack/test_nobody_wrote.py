"""Scheduled runs, which no message started: the bot posts their answers by itself."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.adapters.slack.placing import PLATFORM
from bot.app import App
from bot.events import Author, Event, Place, Request, Stage, Text
from bot.work import Run
from tests.adapters.slack.serving import served
from tests.fakes.scripted_app import reminder
from tests.fakes.slack import Channel, FakeSlack, User


async def answer(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "Answer")
    yield Text("It is Ana.")


SCRIPTS = {"Who?": answer}


def seated(slack: FakeSlack) -> tuple[Channel, User]:
    team = slack.workspace("Table")
    return team.channel("general"), team.user("Ana")


async def begun(app: App, place: Place, run: str = "0" * 32) -> str:
    """The final state of a scheduled run in that place."""
    origin = app.origin(place)
    assert origin is not None
    request = Request(run, place, Author("schedule", "Schedule"), "rules", "ask", text="Who?", origin=origin)
    return await (await app.perform(request)).wait()


def place_of(channel: Channel, thread: str = "") -> Place:
    return Place(PLATFORM, channel.team.id, channel.id, thread)


def answers(channel: Channel) -> list[str]:
    """The bot's texts in the channel, by thread."""
    return [message.thread_ts or "" for message in channel.everything if "It is Ana." in message.shown]


async def test_the_answer_is_posted_in_the_channel(tmp_path: Path) -> None:
    async with FakeSlack() as slack:
        channel, _ = seated(slack)
        async with served(tmp_path, slack, SCRIPTS) as bot:
            assert await begun(bot.app, place_of(channel)) == "done"
        assert answers(channel) == [""]
        assert len(channel.everything) == 1
        assert slack.refused == []


async def test_the_answer_is_posted_in_the_conversations_thread(tmp_path: Path) -> None:
    async with FakeSlack() as slack:
        channel, ana = seated(slack)
        async with served(tmp_path, slack, SCRIPTS) as bot:
            await slack.command(ana, channel, "/rules", "ask Who?")
            await slack.until(lambda: answers(channel))
            (root,) = channel.messages
            held = await bot.app.resources.records.threads.get(channel.team.id, f"{channel.id}:{root.ts}")
            assert held is not None
            assert await begun(bot.app, place_of(channel, held.thread), "1" * 32) == "done"
            talk = await slack.say(ana, channel, "Let us talk.")
            assert await begun(bot.app, place_of(channel, talk.ts), "2" * 32) == "done"
        assert answers(channel) == [root.ts, root.ts, talk.ts]
        assert slack.refused == []


async def test_a_private_schedule_is_answered_in_private(tmp_path: Path) -> None:
    async with FakeSlack() as slack:
        channel, ana = seated(slack)
        async with served(tmp_path, slack, SCRIPTS) as bot:
            place = Place(PLATFORM, channel.team.id, f"@{ana.id}", "a" * 32)
            assert await begun(bot.app, place) == "done"
        assert len(answers(channel.team.dm(ana))) == 1
        assert channel.everything == []


async def test_a_run_for_a_deleted_or_closed_place_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The schedules of a channel that was deleted while the bot was off are removed, once."""
    caplog.set_level(logging.INFO)
    async with FakeSlack() as slack:
        channel, ana = seated(slack)
        shut = channel.team.channel("shut")
        shut.archived = True
        without_us = channel.team.channel("without-us")
        without_us.members.remove(channel.team.bot)
        async with served(tmp_path, slack, SCRIPTS) as bot:
            talk = await slack.say(ana, channel, "Let us talk.")
            await slack.delete(talk)
            nobody = Place(PLATFORM, channel.team.id, "@U404", "a" * 32)
            unknown = Place(PLATFORM, channel.team.id, "C404", "")
            organisation = Place(PLATFORM, "E404", channel.id, "")
            threads = (place_of(channel, talk.ts), place_of(channel, "f" * 32))
            places = (place_of(shut), place_of(without_us), *threads, nobody, unknown, organisation)
            schedules = bot.app.records.schedules
            for n, place in enumerate((*places, place_of(shut, "9.9"))):
                await schedules.add(reminder(str(n), place, ana.id))
            for n, place in enumerate((*places, *places)):
                await begun(bot.app, place, f"{n:02}" * 16)
            await slack.until(lambda: caplog.text.count("is gone") == 4)
            left = {
                row.id
                for space in (channel.team.id, "E404")
                for row in await schedules.by_author(space, ana.id)
            }
        # The bot was removed from the first of the remaining channels, and may be invited again.
        assert left == {"1", "4", "6"}
        assert answers(channel) == []
        assert answers(channel.team.dm(ana)) == []
