"""A sentence to one person alone, sent in the first way that works."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from bot.adapters.slack.placing import Location
from bot.adapters.slack.shown.ephemeral import show, tell
from bot.adapters.slack.text.page import Page
from tests.adapters.slack.table import Table
from tests.fakes.slack import Channel

pytestmark = pytest.mark.asyncio(loop_scope="module")


def spot(at: Table, channel: Channel | None = None, **more: Any) -> Location:
    return Location(at.ana.id, at.space, (channel or at.channel).id, **more)


async def test_an_action_is_answered_through_its_response_url(at: Table) -> None:
    sent = await at.slack.command(at.ana, at.channel, "/rules", "roll 2d6")
    await tell(at.bot.workspaces, spot(at), "A <!channel> sentence.", sent.payload["response_url"])
    (answer,) = sent.responses
    assert (answer["response_type"], answer["replace_original"]) == ("ephemeral", False)
    (message,) = [message for message in at.channel.everything if message.ephemeral_to is at.ana]
    assert message.mentions == []


async def test_an_exhausted_response_url_is_replaced_by_an_ephemeral_message(
    at: Table, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = f"{at.slack.root}/actions/{at.space}/used-up"
    await tell(at.bot.workspaces, spot(at), "A sentence.", secret)
    await tell(at.bot.workspaces, spot(at), "Another one.", "http://127.0.0.1:9/used-up")
    assert at.whispers(at.ana) == ["A sentence.", "Another one."]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("bot.")]
    assert not [one for one in ours if "used-up" in one]


async def test_in_a_thread_the_ephemeral_message_is_in_the_thread(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "A thread")
    await tell(at.bot.workspaces, spot(at, thread=root.ts), "A sentence.")
    await tell(at.bot.workspaces, spot(at, message=root.ts), "Below the channel.")
    first, second = (message for message in at.channel.everything if message.ephemeral_to is at.ana)
    assert (first.thread_ts, second.thread_ts) == (root.ts, None)


async def test_in_a_channel_without_the_bot_a_direct_message_is_sent(at: Table) -> None:
    away = at.team.channel("away", bot=False)
    await tell(at.bot.workspaces, spot(at, away), "A sentence.")
    (message,) = at.team.dm(at.ana).messages
    assert message.shown == "A sentence."


async def test_in_direct_messages_the_sentence_is_a_reply(at: Table) -> None:
    dm = at.team.dm(at.ana)
    root = await at.slack.say(at.ana, dm, "/rulez")
    await at.slack.until(lambda: root.thread)
    assert root.thread[0].ephemeral_to is None


async def test_refused_blocks_are_sent_as_text(at: Table) -> None:
    wrong = Page("Words", closing=({"type": "no such block"},), plain="Plain words")
    await show(at.bot.workspaces, spot(at), wrong)
    assert at.whispers(at.ana) == ["Plain words"]
    sent = await at.slack.command(at.ana, at.channel, "/rules", "roll 2d6")
    await show(at.bot.workspaces, spot(at), wrong, sent.payload["response_url"])
    assert [response["text"] for response in sent.responses] == ["Plain words"]


async def test_an_ephemeral_sentence_never_raises(at: Table, caplog: pytest.LogCaptureFixture) -> None:
    at.slack.fail("chat.postEphemeral", error="user_not_in_channel")
    at.slack.fail("chat.postMessage", error="account_inactive")
    await tell(at.bot.workspaces, spot(at), "A sentence.")
    await tell(at.bot.workspaces, Location(at.ana.id, "T_OTHER", at.channel.id), "A sentence.")
    assert (
        caplog.text.count("could not be told something\n") + caplog.text.count("something: PlaceClosed") == 2
    )
