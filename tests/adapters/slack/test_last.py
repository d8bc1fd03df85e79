"""A question with the channel's newest messages, on Slack."""

from __future__ import annotations

import pytest

from bot.adapters.slack.received.fetched import ThreadReader
from bot.events import UserError
from tests.adapters.slack.table import Table

pytestmark = pytest.mark.asyncio(loop_scope="module")


def reader(at: Table) -> ThreadReader:
    return ThreadReader(at.bot.workspaces, at.bot.people)


async def test_the_newest_messages_before_the_question_are_read_with_names(at: Table) -> None:
    channel = at.team.channel("last")
    for n in range(4):
        await at.slack.say((at.ana, at.bia)[n % 2], channel, f"Message {n}.")
    await at.slack.say(at.ana, channel, "/rules ask Who is right? --last 3", mention=True)
    await at.ended()
    await at.slack.say(at.bia, channel, "That came later.")
    said = await reader(at).last(at.asked, 3)
    assert [(message.name, message.text) for message in said] == [
        ("Bia", "Message 1."),
        ("Ana", "Message 2."),
        ("Bia", "Message 3."),
    ]


async def test_shared_messages_and_attachments_of_programs_are_read_too(at: Table) -> None:
    channel = at.team.channel("posts")
    rule = await at.slack.say(at.bia, at.channel, "The regent never dies.")
    await at.slack.say(at.ana, channel, "Look at this", shares=rule)
    post = await at.slack.say(at.bia, channel, "News:")
    post.attachments.append({"title": "Ferry", "fields": [{"title": "Fare", "value": "2 gp"}]})
    await at.slack.say(at.ana, channel, "/rules ask Who is right? --last 2", mention=True)
    await at.ended()
    said = await reader(at).last(at.asked, 2)
    assert [message.text for message in said] == [
        "Look at this\n\nThe regent never dies.",
        "News:\n\nFerry\nFare\n2 gp",
    ]


async def test_in_a_thread_its_newest_messages_are_read(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "The root.")
    await at.slack.say(at.bia, at.channel, "A reply.", thread=root)
    await at.slack.say(at.bia, at.channel, "Elsewhere.")
    await at.slack.say(at.ana, at.channel, "/rules ask Who? --last 5", thread=root, mention=True)
    await at.ended()
    said = await reader(at).last(at.asked, 5)
    assert [message.text for message in said] == ["The root.", "A reply."]


async def test_pinned_messages_are_read_the_newest_first(at: Table) -> None:
    channel = at.team.channel("pins")
    for n in range(3):
        message = await at.slack.say((at.ana, at.bia)[n % 2], channel, f"Message {n}.")
        message.pinned = n != 1
    await at.slack.command(at.bia, channel, "/rules", "house --pins")
    await at.ended()
    assert at.asked.options["pins"] is True
    pinned = await reader(at).pins(at.asked)
    assert [(message.name, message.text) for message in pinned] == [
        ("Ana", "Message 2."),
        ("Ana", "Message 0."),
    ]
    at.slack.fail("pins.list", error="missing_scope")
    with pytest.raises(UserError, match=r"slack_files\.pins_closed"):
        await reader(at).pins(at.asked)


async def test_the_answer_says_which_messages_slack_withheld(at: Table) -> None:
    await at.slack.say(at.ana, at.channel, "/rules ask Who? --last 5", mention=True)
    await at.ended()
    at.slack.fail("conversations.history", error="missing_scope")
    with pytest.raises(UserError) as caught:
        await reader(at).last(at.asked, 5)
    assert caught.value.key == "slack_files.thread_closed"
