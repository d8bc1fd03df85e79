"""Messages that people delete or edit on Discord."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import discord
import pytest

from bot.events import Author, Event, Place, Request, Text
from bot.runs.requests import event_id
from bot.work import Run
from tests.adapters.discord.table import Table, table
from tests.fakes.scripted_app import reminder


async def endless(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("begun")
    await asyncio.Event().wait()


async def hello(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("hello")


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with table(tmp_path, defaultdict(lambda: hello, {"endless": endless})) as made:
        yield made


def run_of(space: str, message: int) -> str:
    return event_id("discord", space, str(message))


async def live(at: Table, message: int, *, space: str = "", thread: str = "") -> str:
    """A run for this message that never ends."""
    space = space or at.space
    run = run_of(space, message)
    place = Place("discord", space, str(at.channel.id), thread)
    await at.app.perform(Request(run, place, Author(str(at.ana.id), "Ana"), "rules", "ask", {}, "endless"))
    await at.recorder.until(run, Text("begun"))
    return run


async def test_a_deleted_message_stops_its_run_and_is_forgotten(at: Table) -> None:
    message = await at.ana.send(at.channel, "what I asked")
    other = await at.ana.send(at.channel, "something else")
    run, goes_on = await live(at, message.id), await live(at, other.id, thread="elsewhere")
    await at.ana.delete(message)
    assert await at.app.ended(run) == "stopped"
    past = await at.app.request_of(at.space, run)
    assert past is not None
    assert past.text == ""
    assert at.app.runs.of(at.space, goes_on)


async def test_each_message_of_a_bulk_deletion_is_forgotten(at: Table) -> None:
    messages = [await at.ana.send(at.channel, f"question {n}") for n in range(2)]
    runs = [await live(at, message.id, thread=str(message.id)) for message in messages]
    channel = at.client.get_channel(at.channel.id)
    assert isinstance(channel, discord.TextChannel)
    await channel.delete_messages(messages)
    await at.env.settle()
    assert [await at.app.ended(run) for run in runs] == ["stopped", "stopped"]


async def test_a_message_deleted_in_a_dm_is_forgotten_after_a_restart_too(at: Table) -> None:
    message = await at.ana.user.send_dm("hello there")
    space = f"user:{at.ana.id}"
    (run,) = at.recorder.events
    assert run == run_of(space, message.id)
    await at.restart()
    await at.ana.user.delete(message)
    past = await at.app.request_of(space, run)
    assert past is not None
    assert past.text == ""


async def test_deleting_a_message_of_the_same_id_elsewhere_changes_nothing_here(at: Table) -> None:
    message = await at.ana.send(at.channel, "what I asked")
    run = await live(at, message.id, space="another server")
    await at.ana.delete(message)
    assert at.app.runs.of("another server", run)


async def test_an_edited_message_is_stored_with_its_new_text(at: Table) -> None:
    assert at.client.user is not None
    me = at.client.user.mention
    message = await at.ana.send(at.channel, f"{me} what is prome?")
    (run,) = at.recorder.events
    await at.ana.edit(message, f"{me} what is prone?")
    past = await at.app.request_of(at.space, run)
    assert past is not None
    assert past.text == "what is prone?"
    await at.ana.edit(message, f"{me} /rules ask what is blinded? --shelf rules")
    past = await at.app.request_of(at.space, run)
    assert past is not None
    assert past.text == "what is blinded?"
    assert list(at.recorder.events) == [run]


async def test_an_edit_that_leaves_nothing_or_cannot_be_read_changes_nothing(at: Table) -> None:
    assert at.client.user is not None
    me = at.client.user.mention
    message = await at.ana.send(at.channel, f"{me} what is prone?")
    (run,) = at.recorder.events
    for text in (me, f"{me} /no such thing", f"{me} /story plan the mayor did it", f"{me} /rules roll d20"):
        await at.ana.edit(message, text)
    past = await at.app.request_of(at.space, run)
    assert past is not None
    assert past.text == "what is prone?"


async def test_deleting_a_thread_ends_its_session_and_runs(at: Table) -> None:
    thread = await at.thread()
    resources, channel = at.app.resources, str(at.channel.id)
    session = await resources.records.sessions.open(
        at.space, "discord", channel, "talk", "rules", author_id=str(at.ana.id), title="A talk"
    )
    run = await live(at, 1, thread="talk")
    parent = at.client.get_channel(at.channel.id)
    assert isinstance(parent, discord.TextChannel)
    theirs = await parent.create_thread(name="Ana's own", type=discord.ChannelType.public_thread)
    for name in ("talk", str(theirs.id), "another"):
        place = Place("discord", at.space, channel, name)
        await resources.records.schedules.add(reminder(f"in {name}", place, str(at.ana.id)))
    real = at.client.get_channel(thread.id)
    assert isinstance(real, discord.Thread)
    await real.delete()
    await theirs.delete()
    await at.env.settle()
    assert [
        schedule.id for schedule in await resources.records.schedules.by_author(at.space, str(at.ana.id))
    ] == ["in another"]
    assert await at.app.ended(run) == "stopped"
    assert await resources.records.threads.get(at.space, str(thread.id)) is None
    assert await resources.records.sessions.active(at.space, "discord", channel, "talk") is None
    (kept,) = await resources.records.own_sessions.all(at.space, str(at.ana.id))
    assert (kept.id, kept.state) == (session.id, "archived")


async def test_deleting_a_channel_ends_its_runs_and_schedules(at: Table) -> None:
    run, elsewhere = await live(at, 1, thread="talk"), at.guild.create_text_channel("elsewhere")
    schedules, mine = at.app.resources.records.schedules, str(at.ana.id)
    for channel, thread in ((at.channel.id, ""), (at.channel.id, "talk"), (elsewhere.id, "")):
        place = Place("discord", at.space, str(channel), thread)
        await schedules.add(reminder(f"in {channel} {thread}", place, mine))
        await schedules.follow(at.space, f"in {channel} {thread}", mine)
    gone = at.client.get_channel(at.channel.id)
    assert isinstance(gone, discord.TextChannel)
    await gone.delete()
    await at.env.settle()
    assert await at.app.ended(run) == "stopped"
    assert [left.channel for left in await schedules.by_author(at.space, mine)] == [str(elsewhere.id)]
    assert not await schedules.followers(at.space, f"in {at.channel.id} talk")


async def test_removing_the_bot_from_a_server_stops_its_runs_and_keeps_its_data(at: Table) -> None:
    run, other = await live(at, 1), await live(at, 2, space="another server")
    guild = at.client.get_guild(at.guild.id)
    assert guild is not None
    await guild.leave()
    await at.env.settle()
    assert await at.app.ended(run) == "stopped"
    assert at.app.runs.of("another server", other)
    past = await at.app.request_of(at.space, run)
    assert past is not None
    assert past.text == "endless"
