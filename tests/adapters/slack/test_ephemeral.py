"""A sentence to one person alone, by whichever way is open."""

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


async def test_an_action_is_answered_by_its_own_address(at: Table) -> None:
    sent = await at.slack.command(at.ana, at.channel, "/rules", "roll 2d6")
    await tell(at.bot.workspaces, spot(at), "A <!channel> sentence.", sent.payload["response_url"])
    (answer,) = sent.responses
    assert (answer["response_type"], answer["replace_original"]) == ("ephemeral", False)
    (message,) = [message for message in at.channel.everything if message.ephemeral_to is at.ana]
    assert message.mentions == []


async def test_where_the_address_is_used_up_it_is_told_in_the_channel(
    at: Table, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = f"{at.slack.root}/actions/{at.space}/used-up"
    await tell(at.bot.workspaces, spot(at), "A sentence.", secret)
    await tell(at.bot.workspaces, spot(at), "Another one.", "http://127.0.0.1:9/used-up")
    assert at.whispers(at.ana) == ["A sentence.", "Another one."]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("bot.")]
    assert not [one for one in ours if "used-up" in one]


async def test_in_a_thread_it_is_told_in_the_thread(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "A thread")
    await tell(at.bot.workspaces, spot(at, thread=root.ts), "A sentence.")
    await tell(at.bot.workspaces, spot(at, message=root.ts), "Below the channel.")
    first, second = (message for message in at.channel.everything if message.ephemeral_to is at.ana)
    assert (first.thread_ts, second.thread_ts) == (root.ts, None)


async def test_where_the_bot_is_not_it_is_told_in_the_direct_conversation(at: Table) -> None:
    away = at.team.channel("away", bot=False)
    await tell(at.bot.workspaces, spot(at, away), "A sentence.")
    (message,) = at.team.dm(at.ana).messages
    assert message.shown == "A sentence."


async def test_in_the_direct_conversation_it_stays_under_what_was_said(at: Table) -> None:
    dm = at.team.dm(at.ana)
    root = await at.slack.say(at.ana, dm, "/rulez")
    await at.slack.until(lambda: root.thread)
    assert root.thread[0].ephemeral_to is None


async def test_what_slack_does_not_take_in_blocks_it_takes_as_text(at: Table) -> None:
    wrong = Page("Words", closing=({"type": "no such block"},), plain="Plain words")
    await show(at.bot.workspaces, spot(at), wrong)
    assert at.whispers(at.ana) == ["Plain words"]
    sent = await at.slack.command(at.ana, at.channel, "/rules", "roll 2d6")
    await show(at.bot.workspaces, spot(at), wrong, sent.payload["response_url"])
    assert [response["text"] for response in sent.responses] == ["Plain words"]


async def test_telling_somebody_never_raises(at: Table, caplog: pytest.LogCaptureFixture) -> None:
    at.slack.fail("chat.postEphemeral", error="user_not_in_channel")
    at.slack.fail("chat.postMessage", error="account_inactive")
    await tell(at.bot.workspaces, spot(at), "A sentence.")
    await tell(at.bot.workspaces, Location(at.ana.id, "T_OTHER", at.channel.id), "A sentence.")
    assert (
        caplog.text.count("could not be told something\n") + caplog.text.count("something: PlaceClosed") == 2
    )
