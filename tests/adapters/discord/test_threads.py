"""Where answers are posted: threads, channels or responses; and where they continue if one of these closes."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest
from discord.ui import LayoutView

from bot.adapters.discord.installed.traffic import NewThreads
from bot.adapters.discord.received.placing import missing
from bot.adapters.discord.shown import surface
from bot.adapters.discord.text.render import pages
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import MessageRef, MessageStyle
from bot.events import Elsewhere, Failed, Stage, Status, Text
from bot.words import words
from storage.outbox import Outbox
from tests.adapters.discord.wire import Bench
from tests.fakes.discord import Channel, User
from tests.fakes.discord.limits import Verdict

SEARCH = (Stage("search", "Searching"), Text("Found 3 passages."))
ANSWER = (Stage("answer", "Answer"), Text("It is Ana."))


class NeverNotes(Outbox):
    """An outbox of a process that always dies before it records what it sent."""

    async def mark_sent(
        self, space: str, run: str, stage: str, message_id: str, shown: str | None = None
    ) -> None:
        return


def texts(channel: Channel) -> list[str]:
    return [message.text for message in channel.messages]


async def test_a_thread_is_opened_from_the_line_that_says_who_asked(
    desk: Bench, channel: Channel, ana: User
) -> None:
    asked, request = await desk.ask(ana, channel, "thread", question="Who is it?")
    await desk.run(request, *SEARCH, *ANSWER)
    (thread,) = channel.threads
    assert thread.name == "Who is it?"
    assert thread.auto_archive == 1440
    assert "Who is it?" in asked.text
    await desk.fake.until(lambda: f"<#{thread.id}>" in asked.text)
    assert [("Found 3" in text, "It is Ana." in text) for text in texts(thread)] == [
        (True, False),
        (False, True),
    ]
    assert asked.response is not None
    assert not asked.response.mentions
    held = await desk.threads.get(request.place.space, str(thread.id))
    assert held is not None
    assert (held.channel, held.thread) == (request.place.channel, request.place.thread)
    assert desk.fake.refused == []


async def test_the_asker_is_added_to_the_new_thread(desk: Bench, channel: Channel, ana: User) -> None:
    _, request = await desk.ask(ana, channel, "thread")
    await desk.run(request, *ANSWER)
    (thread,) = channel.threads
    await desk.fake.until(lambda: ana.id in thread.people)
    assert not any(message.mentions for message in thread.messages)
    desk.fake.fail("PUT", "*/thread-members/*", status=403, code=50013)
    _, another = await desk.ask(ana, channel, "thread")
    await desk.run(another, *ANSWER)
    assert "It is Ana." in texts(channel.threads[1])[0]


async def test_nobody_is_added_to_a_thread_that_was_archived_meanwhile(
    desk: Bench, channel: Channel, ana: User
) -> None:
    _, request = await desk.ask(ana, channel, "here")
    thread = desk.fake.thread(ana, channel, "Talk")
    await desk.fake.archive(thread)
    await desk.home(request).invite(thread.id)
    assert desk.fake.refused == []


async def test_nobody_is_added_to_an_existing_thread(desk: Bench, channel: Channel, ana: User) -> None:
    thread = desk.fake.thread(desk.fake.user("Bia"), channel, "Talk")
    _, request = await desk.ask(ana, thread, "here")
    await desk.run(request, *ANSWER)
    assert ana.id not in thread.people


async def test_a_new_thread_without_free_chat_says_how_to_continue(
    desk: Bench, channel: Channel, ana: User
) -> None:
    _, request = await desk.ask(ana, channel, "thread")
    await desk.run(request, *ANSWER)
    assert "reply to one of my messages" in texts(channel.threads[0])[0]
    _, another = await desk.ask(ana, channel, "thread")
    view = desk.view(another, free_chat=True)
    for event in ANSWER:
        await view.show(event)
    await view.flush("done")
    assert "reply to one of my messages" not in texts(channel.threads[1])[0]


async def test_after_a_crash_the_thread_and_its_messages_are_found_again(
    desk: Bench, channel: Channel, ana: User
) -> None:
    _, request = await desk.ask(ana, channel, "thread")
    cut_off = desk.view(request)
    for event in (*SEARCH, Stage("answer", "Answer"), Text("It i")):
        await cut_off.show(event)
    await desk.fake.until(lambda: channel.threads and len(channel.threads[0].messages) == 2)
    await desk.fake.until(lambda: "It i" in texts(channel.threads[0])[1])
    await desk.run(request, *SEARCH, *ANSWER)
    (thread,) = channel.threads
    assert len(thread.messages) == 2
    assert "It is Ana." in texts(thread)[1]
    assert desk.fake.refused == []


async def test_a_thread_that_was_opened_but_not_recorded_is_used(
    desk: Bench, channel: Channel, ana: User
) -> None:
    """The connection breaks after Discord has opened the thread, before the bot gets the response."""
    desk.fake.fail("POST", "*/messages/*/threads", status=0, lost=True)
    _, request = await desk.ask(ana, channel, "thread")
    await desk.run(request, *ANSWER)
    (thread,) = channel.threads
    assert "It is Ana." in texts(thread)[0]


async def test_a_message_that_was_posted_but_not_recorded_is_not_repeated(
    desk: Bench, channel: Channel, ana: User
) -> None:
    _, request = await desk.ask(ana, channel, "here")
    desk.fake.fail("POST", "/channels/{channel}/messages", status=0, lost=True)
    await desk.run(request, *ANSWER)
    assert sum("It is Ana." in text for text in texts(channel)) == 1


async def test_a_message_whose_post_a_crash_cut_off_is_found_in_the_channel(
    desk: Bench, channel: Channel, ana: User
) -> None:
    _, request = await desk.ask(ana, channel, "here")
    noting, desk.outbox = desk.outbox, NeverNotes(desk.database)
    cut_off = desk.view(request)
    for event in (Stage("answer", "Answer"), Text("It i")):
        await cut_off.show(event)
    await desk.fake.until(lambda: any("It i" in text for text in texts(channel)))
    desk.outbox = noting
    desk.fake.post.forget_nonces()  # as Discord does after a few minutes
    await desk.run(request, *ANSWER)
    assert sum("Answer" in text for text in texts(channel)) == 1
    assert any("It is Ana." in text for text in texts(channel))


async def test_with_too_many_threads_the_answer_is_in_the_channel(
    desk: Bench, channel: Channel, ana: User
) -> None:
    assert channel.guild is not None
    channel.guild.active_threads_cap = 0
    _, request = await desk.ask(ana, channel, "thread")
    await desk.run(request, *ANSWER)
    assert channel.threads == []
    assert "too many active threads" in texts(channel)[-1]
    assert "It is Ana." in texts(channel)[-1]
    before = texts(channel)
    await desk.run(request, *ANSWER)
    assert texts(channel) == before


async def test_nobody_waits_minutes_for_a_thread(desk: Bench, channel: Channel, ana: User) -> None:
    """Discord opens about fifty threads in a channel in five minutes, and discord.py would wait to open more."""
    while desk.new_threads.take(channel.id):
        pass
    _, request = await desk.ask(ana, channel, "thread")
    await desk.run(request, *ANSWER)
    assert channel.threads == []
    assert words("en")("thread.busy") in texts(channel)[-1]
    assert "It is Ana." in texts(channel)[-1]
    assert desk.new_threads.take(channel.id + 1), "other channels still get threads"


def test_a_channels_new_threads_are_counted_for_five_minutes() -> None:
    now = 0.0
    threads = NewThreads(lambda: now)
    assert [threads.take(1) for _ in range(46)] == [True] * 45 + [False]
    now = 301.0
    assert threads.take(1)


async def test_a_missing_permission_for_threads_is_named(desk: Bench, channel: Channel, ana: User) -> None:
    channel.deny("CREATE_PUBLIC_THREADS")
    _, request = await desk.ask(ana, channel, "thread")
    await desk.run(request, *ANSWER)
    assert "“Create Public Threads”" in texts(channel)[-1]


async def test_a_forum_gets_a_post(desk: Bench, channel: Channel, ana: User) -> None:
    assert channel.guild is not None
    forum = channel.guild.forum("questions")
    asked, request = await desk.ask(ana, forum, "thread", question="Who is it?")
    await desk.run(request, *ANSWER)
    (post,) = forum.threads
    assert post.name == "Who is it?"
    assert ["Who is it?" in texts(post)[0], "It is Ana." in texts(post)[1]] == [True, True]
    await desk.fake.until(lambda: f"<#{post.id}>" in asked.text)


async def test_an_interactions_answer_in_a_thread_is_below_the_question(
    desk: Bench, channel: Channel, ana: User
) -> None:
    thread = desk.fake.thread(ana, channel, "Talk")
    asked, request = await desk.ask(ana, thread, "here")
    await desk.run(request, *ANSWER)
    await desk.fake.until(lambda: "Who?" in asked.text)
    assert any("It is Ana." in text for text in texts(thread))


async def test_an_archived_thread_is_reopened(desk: Bench, channel: Channel, ana: User) -> None:
    thread = desk.fake.thread(ana, channel, "Talk")
    _, request = await desk.ask(ana, thread, "here")
    view = desk.view(request)
    for event in (Stage("answer", "Answer"), Text("It i")):
        await view.show(event)
    await desk.fake.until(lambda: any("It i" in text for text in texts(thread)))
    await desk.fake.archive(thread)
    await view.show(Text("s Ana."))
    await view.flush("done")
    assert any("It is Ana." in text for text in texts(thread))


async def test_where_the_bot_may_not_write_it_answers_by_token_and_names_the_permission(
    desk: Bench, channel: Channel, ana: User
) -> None:
    asked, request = await desk.ask(ana, channel, "here")
    channel.deny("SEND_MESSAGES")
    await desk.fake.until(lambda: missing(desk.client, channel.id, "send_messages") is not None)
    await desk.run(request, *ANSWER)
    (message,) = asked.followups
    assert "It is Ana." in message.text
    assert "“Send Messages”" in message.text


async def test_a_response_is_edited_and_followed_up(desk: Bench, channel: Channel, ana: User) -> None:
    asked, request = await desk.ask(ana, channel, "response")
    await desk.run(request, *SEARCH, *ANSWER)
    assert "Found 3" in asked.text
    assert ["It is Ana." in message.text for message in asked.followups] == [True]


async def test_a_public_response_outlives_its_token(desk: Bench, channel: Channel, ana: User) -> None:
    asked, request = await desk.ask(ana, channel, "response")
    view = desk.view(request)
    for event in (Stage("answer", "Answer"), Text("It i")):
        await view.show(event)
    await desk.fake.until(lambda: "It i" in asked.text)
    await desk.fake.expire(asked)
    for event in (Text("s Ana."), Stage("more", "More"), Text("And more.")):
        await view.show(event)
    await view.flush("done")
    assert "It is Ana." in asked.text
    assert "And more." in texts(channel)[-1]


async def test_a_private_answer_continues_in_a_dm(desk: Bench, channel: Channel, ana: User) -> None:
    dm = desk.fake.dm(ana)
    asked, request = await desk.ask(ana, channel, "response", private=True)
    view = desk.view(request)
    for event in (Stage("answer", "Answer"), Text("It i")):
        await view.show(event)
    await desk.fake.until(lambda: "It i" in asked.text)
    assert asked.response is not None
    assert asked.response.ephemeral
    await desk.fake.expire(asked)
    await view.show(Text("s Ana."))
    await view.flush("done")
    assert "It is Ana." in texts(dm)[0]
    assert "it continues here" in texts(dm)[0]
    assert not any("It is" in text for text in texts(channel))


async def test_a_guest_answers_in_one_message(desk: Bench, channel: Channel, ana: User) -> None:
    asked, request = await desk.ask(ana, channel, "response", member=False)
    await desk.run(request, *SEARCH, *ANSWER)
    assert "It is Ana." in asked.text
    assert asked.followups == []


async def test_a_failure_before_the_first_message_is_shown_to_the_asker_alone(
    desk: Bench, channel: Channel, ana: User
) -> None:
    asked, request = await desk.ask(ana, channel, "thread")
    await desk.run(request, Failed("No books."), status="failed")
    assert channel.threads == []
    assert channel.messages == []
    (message,) = asked.followups
    assert message.ephemeral
    assert "No books." in message.text
    assert request.id[:8] in message.text


async def test_a_waiting_run_says_so_in_its_thread(desk: Bench, channel: Channel, ana: User) -> None:
    _, request = await desk.ask(ana, channel, "thread")
    view = desk.view(request)
    await view.show(Status("2nd in line"))
    await desk.fake.until(
        lambda: channel.threads and any("2nd in line" in text for text in texts(channel.threads[0]))
    )
    for event in ANSWER:
        await view.show(event)
    await view.flush("done")
    assert len(channel.threads[0].messages) == 1


async def test_another_thread_is_renamed_and_archived_or_reopened(
    desk: Bench, channel: Channel, ana: User
) -> None:
    _, opened = await desk.ask(ana, channel, "thread")
    await desk.run(opened, *ANSWER)
    (thread,) = channel.threads
    there = replace(opened.place, thread=str(thread.id))
    _, request = await desk.ask(ana, channel, "response")
    view = desk.view(request)
    for event in (Stage("s", "Sessions"), Elsewhere(there, "New name", archived=True)):
        await view.show(event)
    await desk.fake.until(lambda: any(f"<#{thread.id}>" in text for text in texts(channel)))
    assert not thread.archived  # a later message would reopen it
    await view.flush("done")
    await desk.fake.until(lambda: thread.archived and thread.name == "New name")
    _, request = await desk.ask(ana, channel, "response")
    await desk.run(request, Stage("s", "Sessions"), Elsewhere(there, "New name"))
    await desk.fake.until(lambda: not thread.archived)


async def test_no_link_leads_to_a_deleted_thread(desk: Bench, channel: Channel, ana: User) -> None:
    _, opened = await desk.ask(ana, channel, "thread")
    await desk.run(opened, *ANSWER)
    desk.fake.remove_channel(channel.threads[0])
    asked, request = await desk.ask(ana, channel, "response")
    await desk.run(request, Stage("s", "Sessions"), Elsewhere(opened.place, "Who?"))
    assert "Its thread was deleted." in asked.text
    assert "<#" not in asked.text


async def test_a_message_deleted_by_a_moderator_is_not_posted_again(
    desk: Bench, channel: Channel, ana: User
) -> None:
    _, request = await desk.ask(ana, channel, "here")
    view = desk.view(request)
    for event in (Stage("answer", "Answer"), Text("It i")):
        await view.show(event)
    await desk.fake.until(lambda: any("It i" in text for text in texts(channel)))
    (message,) = [message for message in channel.messages if "It i" in message.text]
    await desk.fake.delete(message)
    await view.show(Text("s Ana."))
    await view.flush("done")
    assert not any("It is" in text for text in texts(channel))


async def test_writes_are_retried_until_discord_recovers(desk: Bench, channel: Channel, ana: User) -> None:
    _, request = await desk.ask(ana, channel, "here")
    desk.fake.fail("POST", "/channels/{channel}/messages", status=0, times=2)
    await desk.run(request, *ANSWER)
    assert any("It is Ana." in text for text in texts(channel))


async def test_refused_layouts_become_plain_messages(desk: Bench, channel: Channel, ana: User) -> None:
    _, request = await desk.ask(ana, channel, "here")
    desk.fake.fail("POST", "/channels/{channel}/messages", status=400, code=50035)
    await desk.run(request, *SEARCH, *ANSWER)
    assert [message.content != "" for message in channel.messages][-2:] == [True, True]


@pytest.mark.slow
async def test_a_thousand_edits_leave_no_views_in_the_clients_memory(
    desk: Bench, channel: Channel, ana: User
) -> None:
    home = surface.Channel(desk.client, channel.id)
    mark, context = MessageRef("0" * 32, "answer"), PageContext("0" * 32, words("en"))
    desk.fake.limits.take = lambda bucket, major: Verdict(0.0, {})  # type: ignore[method-assign]
    (first,) = pages(StageContent("answer", "Answer", "0"), context)
    message = await home.post(first, mark, MessageStyle.LAYOUT)
    for n in range(1, 1001):
        (page,) = pages(StageContent("answer", "Answer", str(n)), context)
        await home.edit(message, page, mark, MessageStyle.LAYOUT, files=False, reset=False)
    assert "1000" in texts(channel)[-1]
    store = desk.client._connection._view_store
    assert (len(store._views), len(store._synced_message_views)) == (0, 0)
    gc.collect()
    assert sum(isinstance(instance, LayoutView) for instance in gc.get_objects()) < 10
