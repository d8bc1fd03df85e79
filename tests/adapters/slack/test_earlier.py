"""The messages in a thread before the bot was mentioned there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bot.adapters.slack.placing import Location
from bot.adapters.slack.received.fetched import MESSAGES, NAMES, ThreadReader
from bot.events import Request
from tests.adapters.slack.table import Table
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def called_in(at: Table, root: Message, text: str = "Who won?") -> Request:
    await at.slack.say(at.ana, at.channel, text, thread=root, mention=True)
    await at.ended()
    return at.asked


def earlier(at: Table) -> ThreadReader:
    return ThreadReader(at.bot.workspaces, at.bot.people)


def reads(at: Table) -> int:
    return sum(call.method == "conversations.replies" for call in at.slack.calls)


async def test_earlier_messages_have_names_and_exclude_the_question_and_later_ones(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "The siege of <the mill> & more")
    await at.slack.say(at.bia, at.channel, f"I think {at.ana.mention} won", thread=root)
    client = await at.bot.workspaces.client(at.space)
    await client.chat_postMessage(channel=at.channel.id, thread_ts=root.ts, text="Two successes.")
    request = await called_in(at, root)
    await at.slack.say(at.bia, at.channel, "Later", thread=root)
    before = reads(at)
    assert await earlier(at)(request) == (
        "Ana: The siege of <the mill> & more\nBia: I think @Ana won\nSutradhar: Two successes."
    )
    assert reads(at) == before + 1


async def test_only_the_newest_messages_of_a_long_thread_are_read(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "0")
    for n in range(1, MESSAGES + 20):
        await at.slack.say(at.bia, at.channel, f"{n}", thread=root)
    request = await called_in(at, root)
    lines = (await earlier(at)(request)).splitlines()
    assert lines == [f"Bia: {n}" for n in range(20, MESSAGES + 20)]


async def test_nothing_is_read_in_threads_that_the_bot_started(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "Before")
    request = await called_in(at, root)
    before = reads(at)
    known = replace(request, origin=request.origin.replace('"earlier":true', '"earlier":false'))
    assert known.origin != request.origin
    assert await earlier(at)(known) == ""
    assert reads(at) == before


async def test_the_question_is_answered_if_slack_does_not_show_the_thread(
    at: Table, caplog: pytest.LogCaptureFixture
) -> None:
    root = await at.slack.say(at.ana, at.channel, "Before")
    request = await called_in(at, root)
    at.slack.fail("conversations.replies", error="missing_scope")
    assert await earlier(at)(request) == ""
    assert "missing_scope" in caplog.text
    assert request.id in caplog.text


async def test_name_lookups_keep_within_slacks_limit(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "Before")
    for n in range(3):
        many = " ".join(f"<@U0MANY{n}{i:02}>" for i in range(15))
        await at.slack.say(at.bia, at.channel, many, thread=root)
    request = await called_in(at, root)

    def asked() -> int:
        return sum(call.method == "users.info" for call in at.slack.calls)

    before = asked()
    lines = (await earlier(at)(request)).splitlines()
    assert lines[-1].startswith("Bia: @U0MANY200 ")
    assert asked() - before <= NAMES


async def test_asking_again_uses_the_earlier_messages_too(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "The siege")
    request = await called_in(at, root)
    await at.slack.say(at.bia, at.channel, "Later", thread=root)
    await at.ended(2)
    here = Location(at.bia.id, at.space, at.channel.id, thread=root.ts)

    async def ack() -> None:
        pass

    intake = at.bot.intake
    await intake.perform(here, f"action:{root.ts}:1", partial(intake.repetition, here, request.id), ack)
    _, _later, again = await at.ended(3)
    assert await earlier(at)(again) == "Ana: The siege"
    elsewhere = await at.slack.say(at.ana, at.channel, "Another thread")
    there = replace(here, thread=elsewhere.ts)
    await intake.perform(there, f"action:{root.ts}:2", partial(intake.repetition, there, request.id), ack)
    *_, apart = await at.ended(4)
    assert await earlier(at)(apart) == ""
