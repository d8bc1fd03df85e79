"""What was said in a thread before the bot was called into it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.adapters.slack import hydrate
from bot.adapters.slack.hydrate import Earlier
from bot.events import Request
from tests.adapters.slack.table import Table
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def called_in(at: Table, root: Message, text: str = "Who won?") -> Request:
    await at.slack.say(at.ana, at.channel, text, thread=root, mention=True)
    await at.ended()
    return at.asked


def earlier(at: Table) -> Earlier:
    return Earlier(at.bot.workspaces, at.bot.people)


def reads(at: Table) -> int:
    return sum(one.method == "conversations.replies" for one in at.slack.calls)


async def test_it_is_who_said_what_without_the_question_and_what_came_after(at: Table) -> None:
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


async def test_of_a_long_thread_it_is_the_newest(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "0")
    for n in range(1, hydrate.MESSAGES + 20):
        await at.slack.say(at.bia, at.channel, f"{n}", thread=root)
    request = await called_in(at, root)
    lines = (await earlier(at)(request)).splitlines()
    assert lines == [f"Bia: {n}" for n in range(20, hydrate.MESSAGES + 20)]


async def test_nothing_is_read_where_the_bot_has_been_all_along(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "Before")
    request = await called_in(at, root)
    before = reads(at)
    known = replace(request, origin=request.origin.replace('"earlier":true', '"earlier":false'))
    assert known.origin != request.origin
    assert await earlier(at)(known) == ""
    assert reads(at) == before


async def test_a_thread_that_slack_does_not_show_is_no_reason_to_fail(
    at: Table, caplog: pytest.LogCaptureFixture
) -> None:
    root = await at.slack.say(at.ana, at.channel, "Before")
    request = await called_in(at, root)
    at.slack.fail("conversations.replies", error="missing_scope")
    assert await earlier(at)(request) == ""
    assert "missing_scope" in caplog.text
    assert request.id in caplog.text
