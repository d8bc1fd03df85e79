"""Sharing a private answer: once, only by its asker, and only where the asker may write."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from bot.adapters.footer import Button
from bot.adapters.slack.placing import PLATFORM, AnswerPlace, Origin
from bot.adapters.slack.received import sharing
from bot.adapters.slack.shown.ephemeral import EPHEMERAL
from bot.adapters.slack.shown.home import view_of
from bot.adapters.slack.shown.thread import metadata
from bot.adapters.slack.text.markdown import mrkdwn
from bot.adapters.slack.text.page import actions_of
from bot.adapters.surface import MessageRef
from bot.events import Author, Event, Place, Request, Stage, Text
from bot.runs.requests import event_id
from bot.words import words
from bot.work import Run
from tests.adapters.slack.table import Table
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def asked(at: Table, home: AnswerPlace, **more: Any) -> Request:
    """An answered private question of Ana's."""
    run = event_id(PLATFORM, at.space, f"share {at.ana.id} {time.monotonic_ns()}")
    origin = replace(Origin(home, at.channel.id, at.ana.id, at.space), **more)
    place = Place(PLATFORM, at.space, at.channel.id, run)
    author = Author(at.ana.id, at.ana.name)
    request = Request(run, place, author, "rules", "ask", {}, "hello", origin=origin.to_json())
    await (await at.app.perform(request)).wait()
    return request


def answer(text: str, run: str) -> dict[str, Any]:
    """The page of a message of an answer."""
    buttons = (
        [Button(f"choice:{run}:0", "Burdens")],
        [Button(f"share:{run}", "Share here")],
    )
    asked = {"type": "section", "text": {"type": "mrkdwn", "text": "See also"}}
    said = {"type": "markdown", "text": text}
    return {"text": text, "blocks": [said, asked, *(actions_of(row) for row in buttons)]}


async def whispered(at: Table, run: str, *texts: str) -> Message:
    """Store and post ephemeral messages to Ana; returns the last one."""
    said = [answer(text, run) for text in texts]
    await at.app.resources.records.offers.keep(at.space, run, EPHEMERAL, [json.dumps(one) for one in said])
    client = await at.bot.workspaces.client(at.space)
    for one in said:
        sent = await client.chat_postEphemeral(channel=at.channel.id, user=at.ana.id, **one)
    return at.channel.posts[str(sent["message_ts"])]


async def share(at: Table, message: Message, who: Any = None) -> None:
    sent = await at.slack.press(who or at.ana, message, "Share here")
    assert sent.acked is not None


async def told(at: Table, n: int = 1, within: Any = None) -> str:
    return (await at.slack.until(lambda: at.whispers(at.ana, within)[n - 1 :]))[0]


def shared(at: Table) -> list[Message]:
    """The texts that everybody in the channel sees."""
    return [message for message in at.channel.messages if message.ephemeral_to is None]


async def test_an_ephemeral_answer_is_shared_once_word_for_word(at: Table) -> None:
    request = await asked(at, "alone")
    message = await whispered(at, request.id, "Four *hours* <!channel> [1].")
    assert (await share_twice(at, message)) == ["Shared here.", "This has already been shared here."]
    (copy,) = shared(at)
    assert copy.shown.splitlines() == ["shared by Ana", "Four *hours* <!channel> [1]."]
    assert copy.buttons == []


async def share_twice(at: Table, message: Message) -> list[str]:
    before = len(at.whispers(at.ana))
    await share(at, message)
    first = await told(at, before + 1)
    await share(at, message)
    return [first, await told(at, before + 2)]


async def test_two_quick_presses_share_once(at: Table) -> None:
    request = await asked(at, "alone")
    message = await whispered(at, request.id, "Mine.")
    at.slack.fail("chat.postMessage", delay=0.2)
    await asyncio.gather(share(at, message), share(at, message))
    assert {await told(at, 2), await told(at, 3)} == {
        "Shared here.",
        "This has already been shared here.",
    }
    assert len(shared(at)) == 1


async def test_a_long_ephemeral_answer_is_shared_with_all_its_messages(at: Table) -> None:
    request = await asked(at, "alone")
    message = await whispered(at, request.id, "The first half.", "The second half.")
    await share(at, message)
    assert await told(at, 3) == "Shared here."
    (copy,) = shared(at)
    assert copy.shown == "shared by Ana\nThe first half."
    assert [reply.shown for reply in copy.thread] == ["The second half."]


@pytest.mark.parametrize("verb", ["ask", "lookup"])
async def test_every_sentence_of_a_long_answer_is_shared(at: Table, verb: str) -> None:
    """An ordered verb answers in direct messages; any other, ephemerally where it was asked."""
    told_all = [f"Sentence {n} of the answer about how far a lit lantern shows things." for n in range(168)]

    async def long(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("answer", "Answer")
        for n in range(0, len(told_all), 7):
            yield Text(" ".join(told_all[n : n + 7]) + "\n\n")

    at.bot.scripts[verb] = long
    at.bot.real = partial(view_of, at.app.resources.records, at.bot.workspaces, at.bot.writers)
    try:
        await at.slack.command(at.ana, at.channel, "/rules", f"{verb} {verb} --private")
        await at.ended()
        where = at.team.dm(at.ana) if verb == "ask" else at.channel

        def last() -> tuple[Message, str] | None:
            labels = [(one, label) for one in where.posts.values() for label in one.buttons]
            return next(((one, label) for one, label in labels if "Share" in label), None)

        shown = await at.slack.until(last)
        assert shown is not None
        await at.slack.press(at.ana, *shown)
        await at.slack.until(lambda: [one for one in shared(at) if told_all[0] in one.shown])
    finally:
        at.bot.real = None

    def copies() -> str:
        return "\n".join(one.shown for root in shared(at) for one in (root, *root.thread))

    await at.slack.until(lambda: told_all[-1] in copies())
    assert [sentence for sentence in told_all if copies().count(sentence) != 1] == []


async def direct(at: Table, run: str, *texts: str) -> Message:
    """Post a stage's messages in a thread of Ana's direct messages; returns the last one."""
    client, dm = await at.bot.workspaces.client(at.space), at.team.dm(at.ana)
    root = await client.chat_postMessage(channel=dm.id, text="You asked")
    other = metadata(MessageRef(run, "another"))
    await client.chat_postMessage(channel=dm.id, thread_ts=root["ts"], text="No part of it.", metadata=other)
    for n, text in enumerate(texts):
        key = "answer" if n == 0 else f"answer#{n + 1}"
        await at.app.resources.records.outbox.claim(at.space, run, key)
        sent = await client.chat_postMessage(
            channel=dm.id, thread_ts=root["ts"], metadata=metadata(MessageRef(run, key)), **answer(text, run)
        )
        await at.app.resources.records.outbox.mark_sent(at.space, run, key, str(sent["ts"]))
    return dm.posts[str(sent["ts"])]


async def test_a_direct_answer_is_shared_where_it_was_asked_and_loses_its_button(at: Table) -> None:
    request = await asked(at, "direct")
    message = await direct(at, request.id, "Only Ana sees this.")
    await share(at, message)
    await at.slack.until(lambda: shared(at))
    assert shared(at)[0].shown == "shared by Ana\nOnly Ana sees this."
    await at.slack.until(lambda: "Share here" not in message.buttons)
    assert message.shown.startswith("Only Ana sees this.")


async def test_a_long_direct_answer_is_shared_in_full(at: Table) -> None:
    request = await asked(at, "direct")
    message = await direct(at, request.id, "One.", "Two.", "Three.")
    await share(at, message)
    await told(at, within=at.team.dm(at.ana))
    (copy,) = shared(at)
    assert copy.shown == "shared by Ana\nOne."
    assert [reply.shown for reply in copy.thread] == ["Two.", "Three."]


async def test_the_next_press_shares_what_a_crash_left_out(at: Table) -> None:
    request = await asked(at, "direct")
    message = await direct(at, request.id, "One.", "Two.", "Three.")
    at.slack.fail("chat.postMessage", error="internal_error")
    await share(at, message)
    await told(at, within=at.team.dm(at.ana))
    await share(at, message)
    await told(at, 2, within=at.team.dm(at.ana))
    (copy,) = shared(at)
    assert [copy.shown, *(reply.shown for reply in copy.thread)] == ["shared by Ana\nOne.", "Two.", "Three."]


async def test_the_hint_on_how_to_continue_is_not_shared(at: Table) -> None:
    hint = mrkdwn(words("en")("slack_thread.hint"))
    context = {"type": "context", "elements": [{"type": "mrkdwn", "text": f"A note.\n{hint}"}]}
    alone = {"type": "context", "elements": [{"type": "mrkdwn", "text": hint}]}
    (kept,) = sharing.passed_on([context, alone])
    assert kept["elements"] == [{"type": "mrkdwn", "text": "A note."}]


async def test_an_answer_to_a_question_in_a_thread_is_shared_there(at: Table) -> None:
    root = await at.slack.say(at.ana, at.channel, "A thread", wait=False)
    request = await asked(at, "alone", thread=root.ts)
    await share(at, await whispered(at, request.id, "Mine."))
    await at.slack.until(lambda: root.thread)
    assert root.thread[0].shown == "shared by Ana\nMine."


async def test_an_answer_is_not_shared_where_the_bot_may_not_write(at: Table) -> None:
    request = await asked(at, "direct")
    message = await direct(at, request.id, "Mine.")
    at.channel.members.remove(at.team.bot)
    await share(at, message)
    dm = at.team.dm(at.ana)
    assert "I may not write" in await told(at, within=dm)
    at.channel.members.append(at.team.bot)
    await share(at, message)
    assert await told(at, 2, within=dm) == "Shared in the channel where you asked.", (
        "the button stays for another try"
    )
    assert len(shared(at)) == 1


async def test_a_person_who_has_left_the_channel_cannot_share(at: Table) -> None:
    request = await asked(at, "direct")
    message = await direct(at, request.id, "Mine.")
    at.channel.members.remove(at.ana)
    await share(at, message)
    assert "You are no longer in the channel" in await told(at, within=at.team.dm(at.ana))
    assert shared(at) == []


async def test_messages_shared_before_a_crash_are_not_repeated(at: Table) -> None:
    request = await asked(at, "alone")
    message = await whispered(at, request.id, "Mine.")
    row = await at.app.resources.records.outbox.claim(at.space, request.id, f"share:{message.ts}:0")
    client = await at.bot.workspaces.client(at.space)
    await client.chat_postMessage(
        channel=at.channel.id, text="shared by Ana\nMine.", metadata=sharing._metadata(row)
    )
    await share(at, message)
    assert await told(at, 2) == "Shared here."
    assert len(shared(at)) == 1


async def test_refused_blocks_are_shared_as_text(at: Table) -> None:
    request = await asked(at, "alone")
    message = await whispered(at, request.id, "Mine.")
    at.slack.fail("chat.postMessage", error="invalid_blocks")
    await share(at, message)
    await at.slack.until(lambda: shared(at))
    assert (shared(at)[0].text, shared(at)[0].blocks) == ("shared by Ana\nMine.", [])


@pytest.mark.parametrize("home", ["here", "thread", "channel"])
async def test_a_forged_button_cannot_share_a_public_answer(at: Table, home: AnswerPlace) -> None:
    request = await asked(at, home)
    message = await whispered(at, request.id, "Mine.")
    await share(at, message)
    assert await told(at, 2) == "There is no text here to share."
    assert shared(at) == []


async def test_a_shared_answer_omits_choices_and_their_list(at: Table) -> None:
    blocks = answer("Four hours [1].", "0" * 32)["blocks"]
    kept = sharing.passed_on([{**block, "block_id": "b"} for block in blocks])
    assert kept == [{"type": "markdown", "text": "Four hours [1]."}]
