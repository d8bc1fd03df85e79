"""Messages that people delete or edit on Slack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
import pytest_asyncio

from bot.adapters.slack.placing import PLATFORM
from bot.events import Event, Request, Text
from bot.runs.requests import request_from_json
from bot.work import Run
from tests.adapters.slack.table import Table
from tests.fakes.scripted_app import reminder
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

SLOW = "A slow one"


@pytest_asyncio.fixture(loop_scope="module")
async def slow(at: Table) -> AsyncGenerator[asyncio.Event]:
    """Lets the slow question be answered."""
    answered = asyncio.Event()

    async def think(run: Run) -> AsyncGenerator[Event, None]:
        yield Text("Thinking")
        await answered.wait()

    at.bot.scripts[SLOW] = think
    yield answered
    answered.set()


async def asked(at: Table, text: str, thread: Message | None = None) -> tuple[Message, Request]:
    message = await at.slack.say(at.ana, at.channel, text, thread=thread, mention=True)
    await at.slack.until(lambda: [request for request in at.requests if request.text == text])
    return message, at.requests[-1]


async def kept(at: Table, run: str) -> Request:
    row = await at.app.resources.records.inbox.get(run)
    assert row is not None
    return request_from_json(row.payload)


async def told(at: Table) -> None:
    """Wait until the bot has acknowledged everything."""
    await at.slack.until(lambda: all(delivery.acked is not None for delivery in at.slack.sent))


async def test_an_edit_is_stored_without_asking_again(at: Table) -> None:
    message, first = await asked(at, "Who won the siege?")
    await at.ended()
    await at.slack.edit(message, f"{at.team.bot.mention} Who won <the> siege of the mill?")
    await told(at)
    assert (await kept(at, first.id)).text == "Who won <the> siege of the mill?"
    await at.slack.edit(message, f"{at.team.bot.mention} /rules ask Who lost it?")
    await told(at)
    assert (await kept(at, first.id)).text == "Who lost it?"
    await at.slack.edit(
        message, f"{at.team.bot.mention} /story ooc Pizza?"
    )  # another request, if it were sent
    await told(at)
    assert (await kept(at, first.id)).text == "Who lost it?"
    assert len(at.requests) == 1


async def test_an_edit_stores_no_words_of_a_secret_typed_in_public(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "/story plan The mayor did it", mention=True)
    (first,) = await at.ended()
    await at.slack.edit(message, f"{at.team.bot.mention} /story plan The mayor's son did it")
    await told(at)
    assert (await kept(at, first.id)).text == ""


@pytest.mark.parametrize("what", ["a link unfolds", "somebody else edits", "no line at all", "a bot edits"])
async def test_events_that_are_no_edits_change_nothing(at: Table, what: str) -> None:
    message, first = await asked(at, "Who won?")
    await at.ended()
    before = message.payload()
    now = {**before, "edited": {"user": at.ana.id, "ts": "9.9"}, "text": f"{at.team.bot.mention} Who lost?"}
    if what == "a link unfolds":
        now = {**now, "text": before["text"], "attachments": [{"title": "A page"}]}
    elif what == "somebody else edits":
        now["edited"] = {"user": at.bia.id, "ts": "9.9"}
    elif what == "no line at all":
        now["text"] = f"{at.team.bot.mention} /rulez"
    else:
        now["bot_id"] = "B1"
    event = {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "channel": at.channel.id,
        "ts": "9.9",
    }
    sent = await at.slack.send_raw(at.team, {**event, "message": now, "previous_message": before})
    assert sent.acked is not None
    assert (await kept(at, first.id)).text == "Who won?"
    assert len(at.requests) == 1


async def test_a_deleted_message_stops_its_run_and_is_forgotten(at: Table, slow: asyncio.Event) -> None:
    message, first = await asked(at, SLOW)
    await at.bot.record.until(first.id, Text("Thinking"))
    await at.slack.delete(message)
    assert await at.app.ended(first.id) == "stopped"
    await told(at)
    assert (await kept(at, first.id)).text == ""
    assert (await kept(at, first.id)).origin == ""


async def test_a_deleted_question_with_an_old_answer_is_forgotten_too(at: Table) -> None:
    message, first = await asked(at, "Who is it?")
    other, second = await asked(at, "And who is that?")
    await at.ended(2)
    await at.slack.delete(message)
    await told(at)
    assert (await kept(at, first.id)).text == ""
    assert (await kept(at, second.id)).text == "And who is that?"
    gone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "ts": other.ts}
    event = {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        "channel": at.channel.id,
        "ts": "9.9",
    }
    await at.slack.send_raw(at.team, {**event, "message": gone, "previous_message": other.payload()})
    assert (await kept(at, second.id)).text == ""


async def test_a_message_deleted_before_it_is_stored_is_not_answered(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Never mind", mention=True, wait=False)
    await at.slack.delete(message)
    (run,) = await at.ended()
    await told(at)
    assert (await kept(at, run.id)).text == ""


async def test_deleting_a_threads_first_message_stops_its_conversation(
    at: Table, slow: asyncio.Event
) -> None:
    client = await at.bot.workspaces.client(at.space)
    posted = await client.chat_postMessage(channel=at.channel.id, text="Ana asked: Who?")
    root, resources = at.channel.posts[posted["ts"]], at.app.resources
    thread = f"{at.channel.id}:{root.ts}"
    await resources.records.threads.bind(at.space, at.channel.id, "talk", thread)
    here = (at.space, PLATFORM, at.channel.id, "talk")
    await resources.records.sessions.open(*here, "rules", author_id=at.ana.id)
    _, first = await asked(at, SLOW, root)
    assert first.place.thread == "talk"
    schedules = resources.records.schedules
    for place in (first.place, replace(first.place, thread="another")):
        await schedules.add(reminder(f"in {place.thread} {root.ts}", place, at.ana.id))
    gone = {"type": "message", "subtype": "message_deleted", "hidden": True, "deleted_ts": root.ts}
    sent = await at.slack.send_raw(at.team, {**gone, "channel": at.channel.id, "ts": "9.9"})
    assert sent.acked is not None
    assert await at.app.ended(first.id) == "stopped"
    assert await resources.records.threads.get(at.space, thread) is None
    assert await resources.records.sessions.active(*here) is None
    assert [schedule.thread for schedule in await schedules.by_author(at.space, at.ana.id)] == ["another"]


@pytest.mark.parametrize("gone", ["channel_deleted", "channel_archive", "group_left"])
async def test_a_deleted_channel_stops_its_runs(at: Table, slow: asyncio.Event, gone: str) -> None:
    elsewhere = at.another()
    _, here = await asked(at, SLOW)
    _, there = await asked(elsewhere, SLOW)
    schedules = at.app.resources.records.schedules
    for place in (here.place, replace(here.place, thread="any"), there.place):
        await schedules.add(reminder(f"{gone} {place.channel} {place.thread}", place, at.ana.id))
    sent = await at.slack.send_raw(at.team, {"type": gone, "channel": at.channel.id, "event_ts": "9.9"})
    assert sent.acked is not None
    assert await at.app.ended(here.id) == "stopped"
    assert [left.channel for left in await schedules.by_author(at.space, at.ana.id)] == [there.place.channel]
    slow.set()
    assert await at.app.ended(there.id) == "done"


def event(at: Table, subtype: str, **more: object) -> dict[str, object]:
    given = {"type": "message", "subtype": subtype, "hidden": True, "channel": at.channel.id, "ts": "9.9"}
    return given | more


async def test_the_later_of_two_edits_counts(at: Table) -> None:
    message, first = await asked(at, "Who?")
    await at.ended()
    stranger = at.team.user("Caio")
    at.slack.fail("users.info", delay=0.3)
    await at.slack.edit(message, f"{at.team.bot.mention} Does {stranger.mention} know?")
    await at.slack.edit(message, f"{at.team.bot.mention} Who knows?")
    await told(at)
    assert (await kept(at, first.id)).text == "Who knows?"


async def test_an_edit_that_arrives_after_the_deletion_restores_no_words(at: Table) -> None:
    message, first = await asked(at, "Who?")
    await at.ended()
    before = message.payload()
    await at.slack.delete(message)
    await told(at)
    now = {**before, "edited": {"user": at.ana.id, "ts": "9.9"}, "text": f"{at.team.bot.mention} Who lost?"}
    await at.slack.send_raw(at.team, event(at, "message_changed", message=now, previous_message=before))
    assert (await kept(at, first.id)).text == ""


async def test_a_message_that_arrives_after_its_deletion_is_not_answered(at: Table) -> None:
    message = await at.slack.say(at.ana, at.channel, "Who?")
    await at.slack.send_raw(at.team, event(at, "message_deleted", deleted_ts=message.ts))
    late = {**message.payload(), "channel": at.channel.id, "text": f"{at.team.bot.mention} Who?"}
    sent = await at.slack.send_raw(at.team, {**late, "type": "app_mention"})
    assert sent.acked is not None
    await asked(at, "Who else?")
    await at.ended()
    assert at.asked.text == "Who else?"


async def test_editing_a_message_that_was_no_question_looks_nobody_up(at: Table) -> None:
    caio = at.team.user("Caio")
    message = await at.slack.say(at.ana, at.channel, "Who?")
    await at.slack.edit(message, f"Who, {caio.mention}?")
    await told(at)
    assert caio.id not in [call.args.get("user") for call in at.slack.calls if call.method == "users.info"]
