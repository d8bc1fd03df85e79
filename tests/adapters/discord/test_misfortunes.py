"""Faults while an answer is shown: lost connections, missing permissions, places that accept no messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.adapters.discord.received.placing import missing, origin_of
from bot.adapters.discord.shown.links import name_and_archive
from bot.adapters.discord.shown.response import EARLY_S, Response
from bot.adapters.discord.text.render import pages
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import MessageRef, MessageStyle, Unavailable
from bot.events import Attachment, Event, Stage, Text
from bot.words import words
from bot.work import Run
from tests.adapters.discord.wire import Bench, bot
from tests.fakes.discord import Channel, FakeDiscord, User
from tests.fakes.outage import Outage

ANSWER = (Stage("answer", "Answer"), Text("It is Ana."))


def texts(channel: Channel) -> list[str]:
    return [message.text for message in channel.messages if not message.deleted]


async def test_without_permission_for_files_the_words_are_shown_and_the_files_named(
    desk: Bench, channel: Channel, ana: User
) -> None:
    channel.deny("ATTACH_FILES")
    await desk.fake.until(lambda: missing(desk.client, channel.id, "attach_files") is not None)
    _, request = await desk.ask(ana, channel, "here")
    export = Attachment("notes.md", "text/markdown", b"# Notes")
    await desk.run(request, *ANSWER, export)
    text = next(text for text in texts(channel) if "It is Ana." in text)
    assert "“Attach Files”" in text
    assert "notes.md" in text
    assert "Stop" not in [button.label for message in channel.messages for button in message.buttons]
    assert desk.fake.refused == []


async def test_the_answer_is_the_response_if_a_forum_refuses_the_post(
    desk: Bench, channel: Channel, ana: User
) -> None:
    assert channel.guild is not None
    forum = channel.guild.forum("questions")
    channel.guild.active_threads_cap = 0
    asked, request = await desk.ask(ana, forum, "thread")
    await desk.run(request, *ANSWER)
    assert "It is Ana." in asked.text
    assert "too many active threads" in asked.text


async def test_a_post_gets_a_tag_in_a_forum_that_requires_one(
    desk: Bench, channel: Channel, ana: User
) -> None:
    assert channel.guild is not None
    forum = channel.guild.forum("questions")
    forum.tag(answered=True, question=False, rules=False)
    _, request = await desk.ask(ana, forum, "thread")
    await desk.run(request, *ANSWER)
    (post,) = forum.threads
    assert "It is Ana." in texts(post)[1]
    assert post.applied == ["2"], "the first that is not the moderators' own"


async def test_a_post_created_without_a_response_is_used(desk: Bench, channel: Channel, ana: User) -> None:
    assert channel.guild is not None
    forum = channel.guild.forum("questions")
    desk.fake.fail("POST", "*/threads", status=0, lost=True)
    asked, request = await desk.ask(ana, forum, "thread")
    await desk.run(request, *ANSWER)
    (post,) = forum.threads
    assert "It is Ana." in texts(post)[1]
    await desk.fake.until(lambda: f"<#{post.id}>" in asked.text)


async def test_another_persons_post_of_the_same_name_is_not_used(
    desk: Bench, channel: Channel, ana: User
) -> None:
    assert channel.guild is not None
    forum = channel.guild.forum("questions")
    _, first = await desk.ask(ana, forum, "thread")
    await desk.run(first, *ANSWER)
    desk.fake.fail("POST", "*/threads", status=0)
    _, second = await desk.ask(ana, forum, "thread")
    await desk.run(second, *ANSWER)
    assert [len(thread.messages) for thread in forum.threads] == [2, 2]


async def test_after_a_crash_the_response_still_says_where_the_answer_continues(
    desk: Bench, channel: Channel, ana: User
) -> None:
    asked, request = await desk.ask(ana, channel, "thread")
    desk.fake.fail("PATCH", "/webhooks/*/messages/[0-9]*", status=403, code=50013)
    await desk.run(request, *ANSWER)
    (thread,) = channel.threads
    assert f"<#{thread.id}>" not in asked.text
    await desk.run(request, *ANSWER)
    await desk.fake.until(lambda: f"<#{thread.id}>" in asked.text)


async def test_a_locked_thread_is_not_reported_as_a_missing_permission(
    desk: Bench, channel: Channel, ana: User
) -> None:
    asked, request = await desk.ask(ana, channel, "thread")
    view = desk.view(request)
    await view.show(Stage("answer", "Answer"))
    await desk.fake.until(lambda: channel.threads and channel.threads[0].messages)
    (thread,) = channel.threads
    thread.locked = True
    await desk.fake.archive(thread)
    await view.show(Text("It is Ana."))
    await view.flush("done")
    (message,) = asked.followups
    assert "It is Ana." in message.text
    assert "permission" not in message.text


async def test_a_threads_new_name_is_one_line_without_control_codes(
    desk: Bench, channel: Channel, ana: User
) -> None:
    thread = desk.fake.thread(ana, channel, "Talk")
    thread.owner = desk.fake.world.bot.id
    await name_and_archive(desk.client, thread.id, " New\n\u202ename ", archived=False)
    assert thread.name == "New name"
    await name_and_archive(desk.client, thread.id, " \n ", archived=False)
    assert thread.name == "New name"


@pytest.mark.parametrize(("method", "route"), [("PATCH", "/channels/*/messages/*"), ("POST", "*/messages")])
async def test_a_hanging_call_is_cancelled_and_repeated(tmp_path: Path, method: str, route: str) -> None:
    shown = asyncio.Event()

    async def answer(run: Run) -> AsyncGenerator[Event, None]:
        yield Stage("answer", "Answer")
        yield Text("It is ")
        await shown.wait()
        yield Text("Ana.")

    async with FakeDiscord() as fake:
        guild = fake.guild("Table")
        channel, ana = guild.text("general"), fake.user("Ana")
        guild.join(ana)
        if method == "POST":
            fake.fail(method, route, status=200, delay=60.0)
            shown.set()
        async with bot(fake, tmp_path, {"Who?": answer}, hangs_s=1.0):
            await fake.slash(ana, channel, "rules ask", question="Who?")
            if method == "PATCH":
                await fake.until(
                    lambda: any("It is" in text for thread in channel.threads for text in texts(thread))
                )
                fake.fail(method, route, status=200, delay=60.0)
                shown.set()
            await fake.until(
                lambda: any("It is Ana." in text for thread in channel.threads for text in texts(thread))
            )
            assert [len(thread.messages) for thread in channel.threads] == [1]


async def test_an_answer_goes_to_a_thread_that_discord_opened_late(tmp_path: Path) -> None:
    async def answer(run: Run) -> AsyncGenerator[Event, None]:
        for event in ANSWER:
            yield event

    async with FakeDiscord() as fake:
        guild = fake.guild("Table")
        channel, ana = guild.text("general"), fake.user("Ana")
        guild.join(ana)
        late = fake.fail("POST", "*/threads", status=200, delay=3.0, times=100)
        async with bot(fake, tmp_path, {"Who?": answer}, hangs_s=0.5):
            await fake.slash(ana, channel, "rules ask", question="Who?")
            await fake.until(
                lambda: any("It is Ana." in text for one in channel.threads for text in texts(one))
            )
        assert late.times < 99, "the bot asked for the thread again"
        (thread,) = channel.threads
        assert len(texts(thread)) == 1
        assert not any("It is Ana." in text for text in texts(channel))


@pytest.mark.slow  # discord.py itself retries for ten seconds
async def test_a_private_answer_whose_token_expires_in_an_outage_continues_in_a_dm(
    desk: Bench, channel: Channel, ana: User
) -> None:
    until = time.time() + EARLY_S + 0.5
    asked, request = await desk.ask(ana, channel, "response", private=True, until=until)
    view = desk.view(request)
    outage = Outage(desk.fake, "failing")
    for event in ANSWER:
        await view.show(event)
    flushing = asyncio.create_task(view.flush("done"))
    dm = desk.fake.dm(ana)
    await desk.fake.until(lambda: [call for call in desk.fake.calls if str(dm.id) in call.path])
    outage.end()
    await flushing
    (text,) = texts(dm)
    assert "It is Ana." in text
    assert asked.followups == []


async def test_a_hanging_response_can_be_edited_again(desk: Bench, channel: Channel, ana: User) -> None:
    asked, request = await desk.ask(ana, channel, "response")
    response = Response(desk.client, origin_of(request.origin), request.id, hangs_s=1.0)
    (page,) = pages(StageContent("answer", "Answer", "It is Ana."), PageContext(request.id, words("en")))
    mark = MessageRef(request.id, "answer")
    desk.fake.fail("PATCH", "/webhooks/*", status=200, delay=60.0)
    with pytest.raises(Unavailable):
        await response.post(page, mark, MessageStyle.LAYOUT)
    await response.post(page, mark, MessageStyle.LAYOUT)
    assert "It is Ana." in asked.text
    assert asked.followups == []
