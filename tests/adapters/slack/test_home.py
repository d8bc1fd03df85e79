"""Where answers are posted on Slack, and where they continue if that place accepts no messages."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from bot.adapters.slack.placing import origin_of
from bot.adapters.slack.shown.ephemeral import EPHEMERAL, Response
from bot.adapters.slack.shown.thread import Thread
from bot.adapters.slack.text.page import Page
from bot.adapters.surface import MessageRef, MessageStyle, PlaceClosed, Unavailable
from bot.adapters.writer import Pace, Writers
from bot.events import Attachment, Failed, Notice, Stage, Text
from tests.adapters.slack.desk import Desk, called
from tests.fakes.slack import Message
from tests.fakes.slack.limits import POST_BURST, POSTS_A_SECOND

pytestmark = pytest.mark.asyncio(loop_scope="module")

ANSWER = (Stage("answer", "Answer"), Text("It is Ana."))
LIST = (Stage("sessions", "Your conversations"), Text("- Who is it?"))
FILE = Attachment("notes.md", "text/markdown", b"# Notes")
MINE = ("sessions", "list")


def below(bench: Desk) -> list[Message]:
    return [reply for root in bench.channel.messages for reply in root.thread]


def answers(bench: Desk) -> list[Message]:
    """The bot's answers in any place."""
    everything = [message for channel in bench.team.channels.values() for message in channel.everything]
    return [message for message in everything if "It is Ana." in message.shown]


async def test_a_command_starts_a_new_thread(bench: Desk) -> None:
    request = bench.request(bench.channel)
    await bench.run(request, *ANSWER)
    (root,) = bench.channel.messages
    assert root.shown == "**Ana** asked:\n> Who?"
    assert "It is Ana." in root.thread[0].shown
    held = await bench.threads.get(bench.team.id, f"{bench.channel.id}:{root.ts}")
    assert held is not None
    assert (held.channel, held.thread) == (bench.channel.id, request.place.thread)
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "active")
    session = bench.fake.session(root)
    assert session is not None
    assert session.past[0] == "processing"
    assert (session.title, session.initiator) == ("Who?", bench.ana.id)


@pytest.mark.parametrize("at", ["chat.postMessage", "agents.sessions.setStatus", "conversations.replies"])
@pytest.mark.parametrize("fault", [{"status": 0}, {"lost": True}, {"error": "internal_error"}])
async def test_a_crash_or_a_lost_response_leaves_one_root_message(
    bench: Desk, at: str, fault: dict[str, object]
) -> None:
    request = bench.request(bench.channel)
    view = bench.view(request)
    bench.fake.fail(at, **fault)  # type: ignore[arg-type]
    await view.show(ANSWER[0])
    await bench.fake.until(lambda: called(bench, at) if at == "chat.postMessage" else below(bench))
    bench.crash()
    await bench.run(request, *ANSWER)
    (root,) = bench.channel.messages
    assert len(root.thread) == 1
    assert len(answers(bench)) == 1


async def test_a_root_posted_without_a_response_is_found(bench: Desk) -> None:
    request = bench.request(bench.channel)
    home = bench.home(request)
    bench.fake.fail("chat.postMessage", lost=True)
    await home.open()
    (root,) = bench.channel.messages
    bound = await bench.threads.real_thread(bench.team.id, bench.channel.id, request.place.thread)
    assert bound == f"{bench.channel.id}:{root.ts}"


async def test_a_short_result_is_posted_in_the_channel(bench: Desk) -> None:
    await bench.run(bench.request(bench.channel, ordered=False, verb=("rules", "roll")), *ANSWER)
    (message,) = bench.channel.messages
    assert "It is Ana." in message.shown
    assert called(bench, "agents.sessions.setStatus") == 0


async def test_a_private_answer_is_a_direct_message(bench: Desk) -> None:
    request = bench.request(bench.channel, private=True)
    await bench.run(request, *ANSWER)
    (root,) = bench.dm.messages
    assert "It is Ana." in root.thread[0].shown
    assert "📣 Share in the channel" in root.thread[0].buttons, "the direct messages are not this channel"
    assert (
        await bench.threads.real_thread(bench.team.id, f"@{bench.ana.id}", request.place.thread)
        == f"{bench.dm.id}:{root.ts}"
    )
    await bench.fake.until(lambda: bench.channel.messages)
    (pointer,) = bench.channel.messages
    assert pointer.ephemeral_to is bench.ana
    assert f"archives/{bench.dm.id}/p{root.ts.replace('.', '')}" in pointer.shown
    assert bench.fake.agents.prompts[bench.dm.id][0]["message"] == "help"
    await bench.run(request, *ANSWER)  # as after a crash
    assert bench.dm.messages == [root]
    assert bench.channel.messages == [pointer]


async def test_the_asker_learns_why_a_direct_message_failed(bench: Desk) -> None:
    bench.fake.fail("conversations.open", error="messages_tab_disabled", times=9)
    bench.fake.fail("chat.postMessage", error="messages_tab_disabled", times=9)
    await bench.run(bench.request(bench.channel, private=True), *ANSWER)
    await bench.fake.until(lambda: bench.channel.messages)
    (message,) = bench.channel.messages
    assert message.ephemeral_to is bench.ana
    assert "I can't write to you directly" in message.shown
    assert answers(bench) == []


async def test_a_private_answer_never_falls_back_to_the_channel(bench: Desk) -> None:
    bench.fake.fail("conversations.open", error="missing_scope", times=9)
    for verb, ordered in ((("rules", "ask"), True), (MINE, False)):
        bench.fake.fail("chat.postEphemeral", error="user_not_in_channel")
        await bench.run(bench.request(bench.channel, verb=verb, ordered=ordered, private=True), *ANSWER)
    assert [message.channel for message in answers(bench)] == [bench.dm] * 2


async def test_a_short_private_result_is_ephemeral(bench: Desk) -> None:
    sent = await bench.fake.command(bench.ana, bench.channel, "/sessions", "list")
    url, until = sent.payload["response_url"], time.time() + 900
    request = bench.request(
        bench.channel, ordered=False, private=True, verb=MINE, response_url=url, until=until
    )
    await bench.run(request, *LIST)
    (message,) = bench.channel.messages
    assert message.ephemeral_to is bench.ana
    assert "- Who is it?" in message.shown
    assert called(bench, "chat.postEphemeral") == 0
    (kept,) = await bench.offers.all(bench.team.id, request.id, EPHEMERAL)
    assert json.loads(kept)["blocks"][0]["text"] == "### Your conversations\n- Who is it?"
    await bench.run(request, *LIST)  # as after a crash
    assert len(bench.channel.messages) == 1


@pytest.mark.parametrize(
    ("url", "until"), [("http://127.0.0.1:9/gone", 900.0), ("http://127.0.0.1:9/gone", 4.0)]
)
async def test_an_expired_response_url_is_replaced_by_an_ephemeral_message(
    bench: Desk, url: str, until: float
) -> None:
    request = bench.request(
        bench.channel, ordered=False, private=True, verb=MINE, response_url=url, until=time.time() + until
    )
    await bench.run(request, *LIST)
    (message,) = bench.channel.messages
    assert message.ephemeral_to is bench.ana


async def test_in_a_thread_with_replies_the_ephemeral_message_is_there(bench: Desk) -> None:
    root = await bench.root()
    reply = await bench.fake.say(bench.ana, bench.channel, "Mine?", thread=root, wait=False)
    request = bench.request(
        bench.channel, ordered=False, verb=MINE, goes="alone", thread=root.ts, message=reply.ts
    )
    await bench.run(request, Text("See `/sessions list`."))
    assert root.thread[-1].ephemeral_to is bench.ana
    assert "See `sessions list`." in root.thread[-1].shown, "Slack has no commands in threads"


@pytest.mark.parametrize("error", ["user_not_in_channel", "channel_not_found", "invalid_blocks"])
async def test_a_failed_ephemeral_message_becomes_a_direct_message(bench: Desk, error: str) -> None:
    bench.fake.fail("chat.postEphemeral", error=error, times=9)
    await bench.run(bench.request(bench.channel, ordered=False, private=True, verb=MINE), *LIST)
    (message,) = bench.dm.messages
    assert "- Who is it?" in message.shown
    assert bench.channel.messages == []


async def test_refused_blocks_are_sent_ephemerally_as_plain_text(bench: Desk) -> None:
    bench.fake.fail("chat.postEphemeral", error="invalid_blocks")
    await bench.run(bench.request(bench.channel, ordered=False, private=True, verb=MINE), *LIST)
    (message,) = bench.channel.messages
    assert message.blocks == []
    assert "Who is it?" in message.shown


async def test_a_private_file_is_a_direct_message_with_its_text(bench: Desk) -> None:
    request = bench.request(bench.channel, ordered=False, private=True, verb=MINE)
    await bench.run(request, *LIST, FILE)
    words, file = bench.dm.messages
    assert "- Who is it?" in words.shown
    assert [one.name for one in file.files] == ["notes.md"]
    await bench.fake.until(lambda: bench.channel.messages)
    (pointer,) = bench.channel.messages
    assert pointer.shown == "The answer is in our direct conversation."


async def test_a_response_url_that_does_not_answer_is_retried_until_it_expires(bench: Desk) -> None:
    now = time.time()
    request = bench.request(bench.channel, response_url="http://127.0.0.1:9/none", until=now + 60)
    page, ref = Page("It is Ana.", plain="It is Ana."), MessageRef(request.id, "answer")
    with pytest.raises(Unavailable):
        await Response("T", origin_of(request.origin)).post(page, ref, MessageStyle.LAYOUT)
    with pytest.raises(PlaceClosed):
        await Response("T", origin_of(request.origin), now=lambda: now + 60).post(
            page, ref, MessageStyle.LAYOUT
        )


async def test_a_channel_without_the_bot_is_answered_through_the_response_url(bench: Desk) -> None:
    away = bench.team.channel("elsewhere", bot=False)
    sent = await bench.fake.command(bench.ana, away, "/rules", "roll 1d6")
    request = bench.request(
        away,
        ordered=False,
        verb=("rules", "roll"),
        response_url=sent.payload["response_url"],
        until=time.time() + 900,
    )
    view = bench.view(request)
    await view.show(ANSWER[0])
    await bench.fake.until(lambda: called(bench, "chat.postMessage"))
    await view.show(ANSWER[1])
    await view.flush("done")
    (message,) = away.messages
    assert message.ephemeral_to is None
    assert "It is Ana." in message.shown
    assert "Stop" not in "".join(message.buttons)


async def test_without_a_response_url_the_asker_gets_a_direct_message_that_says_why(bench: Desk) -> None:
    away = bench.team.channel("elsewhere", bot=False)
    await bench.run(bench.request(away, ordered=False, verb=("rules", "roll")), *ANSWER)
    (message,) = bench.dm.messages
    assert "It is Ana." in message.shown
    assert "type `/invite` there" in message.shown


async def test_an_ordered_answer_for_a_channel_without_the_bot_is_a_thread_in_the_dm(
    bench: Desk,
) -> None:
    away = bench.team.channel("elsewhere", private=True, bot=False)
    request = bench.request(away)
    for _ in range(2):  # the second as after a crash
        await bench.run(request, *ANSWER)
    (root,) = bench.dm.messages
    (answer,) = root.thread
    assert "type `/invite` there" in answer.shown
    bound = await bench.threads.real_thread(bench.team.id, away.id, request.place.thread)
    assert bound == f"{bench.dm.id}:{root.ts}"


async def test_the_asker_learns_that_slack_refused_every_form_of_an_answer(bench: Desk) -> None:
    root = await bench.root()
    bench.fake.fail("chat.startStream", error="invalid_blocks")
    bench.fake.fail("chat.postMessage", error="invalid_blocks", times=3)
    await bench.run(bench.request(root), Stage("answer", ""), Text("It is Ana."))
    (told,) = [message for message in bench.channel.everything if message.user.bot]
    assert told.ephemeral_to is bench.ana
    assert "/sessions resume" in told.shown


async def test_an_archived_channel_is_not_reported_as_one_without_the_bot(bench: Desk) -> None:
    bench.channel.archived = True
    await bench.run(bench.request(bench.channel), *ANSWER)
    (root,) = bench.dm.messages
    assert "I can no longer write in the right place" in root.thread[0].shown
    assert "/invite" not in root.thread[0].shown


async def test_a_root_with_refused_blocks_is_posted_as_plain_text(bench: Desk) -> None:
    bench.fake.fail("chat.postMessage", error="invalid_blocks")
    await bench.run(bench.request(bench.channel), *ANSWER)
    (root,) = bench.channel.messages
    assert root.blocks == []
    assert root.shown == "*Ana* asked:\n> Who?"
    assert root.thread[0].blocks[0]["type"] == "markdown"


async def test_an_answer_continues_in_the_dm_when_its_channel_closes(
    bench: Desk,
) -> None:
    root = await bench.root()
    view = bench.view(bench.request(root))
    await view.show(ANSWER[0])
    await bench.fake.until(lambda: root.thread)
    bench.channel.archived = True
    bench.fake.fail("chat.*", error="is_archived")
    await view.show(ANSWER[1])
    await view.flush("done")
    (answer,) = [message for message in answers(bench) if message.channel is bench.dm]
    assert "I can no longer write in the right place" in answer.shown


async def test_an_answer_to_a_deleted_root_is_posted_nowhere_else(bench: Desk) -> None:
    root = await bench.root()
    await bench.fake.delete(root)
    await bench.run(bench.request(root), *ANSWER)
    assert answers(bench) == []
    assert [message for message in bench.channel.everything if message.ephemeral_to is not None] == []


async def test_a_workspace_that_removed_the_app_gets_nothing(bench: Desk) -> None:
    bench.fake.fail("chat.*", error="account_inactive", times=99)
    await bench.run(bench.request(bench.channel), *ANSWER)
    assert answers(bench) == []
    assert called(bench, "conversations.open") == 0


async def test_an_answer_survives_the_failure_of_all_side_tasks(bench: Desk) -> None:
    for method in ("agents.*", "assistant.*", "chat.getPermalink", "chat.postEphemeral"):
        bench.fake.fail(method, error="missing_scope", times=99)
    for private in (False, True):
        await bench.run(bench.request(bench.channel, private=private), *ANSWER)
    assert len(answers(bench)) == 2


async def test_the_last_status_of_a_session_wins(bench: Desk) -> None:
    root = await bench.root()
    bench.fake.fail("agents.sessions.setStatus", delay=0.2)
    await bench.run(bench.request(root), *ANSWER)
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and len(session.past) == 2)
    session = bench.fake.session(root)
    assert session is not None
    assert session.past == ["processing", "active"]


async def test_a_new_conversation_says_how_to_continue(bench: Desk) -> None:
    root = await bench.root()
    await bench.run(bench.request(root), *ANSWER)
    reply = await bench.fake.say(bench.ana, bench.channel, "And?", thread=root, wait=False)
    await bench.run(bench.request(root, message=reply.ts), *ANSWER)
    assert ["To continue, reply" in message.shown for message in answers(bench)] == [True, False]


async def test_a_failure_message_contains_no_response_url(
    bench: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    url = "http://127.0.0.1:9/actions/secret"
    request = bench.request(
        bench.channel, ordered=False, private=True, verb=MINE, response_url=url, until=time.time() + 900
    )
    with caplog.at_level("DEBUG"):
        await bench.run(request, *LIST, Notice("A note."), Failed("No."), status="failed")
    assert "actions/secret" not in caplog.text
    assert bench.fake.bot_token not in caplog.text


async def test_many_roots_at_once_keep_the_channels_pace(bench: Desk) -> None:
    bench.writers = Writers(Pace(edit_every_s=0.01, posts=3, posts_in_s=0.3))
    limits = bench.fake.limits
    limits.on, limits.posts_a_second, limits.post_burst = True, 10.0, 3
    try:
        await asyncio.gather(*(bench.home(bench.request(bench.channel)).open() for _ in range(7)))
    finally:
        limits.posts_a_second, limits.post_burst = POSTS_A_SECOND, POST_BURST
    assert len(bench.channel.messages) == 7
    assert bench.fake.limited == []


async def test_an_answer_through_a_response_url_stays_in_its_thread(
    bench: Desk,
) -> None:
    sent = await bench.fake.command(bench.ana, bench.channel, "/sessions", "list")
    root = await bench.root()
    await bench.fake.say(bench.ana, bench.channel, "Mine?", thread=root, wait=False)
    request = bench.request(
        bench.channel,
        ordered=False,
        verb=MINE,
        goes="alone",
        thread=root.ts,
        response_url=sent.payload["response_url"],
        until=time.time() + 900,
    )
    await bench.run(request, *LIST)
    assert called(bench, "chat.postEphemeral") == 0
    assert root.thread[-1].ephemeral_to is bench.ana


async def test_a_file_is_sent_where_its_text_was_sent(bench: Desk) -> None:
    """Slack accepts a person's id for a message, but a file needs the id of the conversation."""
    bench.fake.fail("conversations.open", error="missing_scope", times=9)
    bench.fake.fail("chat.postEphemeral", error="user_not_in_channel", times=9)
    await bench.run(bench.request(bench.channel, ordered=False, private=True, verb=MINE), *LIST, FILE)
    assert [file.name for message in bench.dm.messages for file in message.files] == ["notes.md"]


async def test_a_root_in_the_dm_is_found_after_a_crash(bench: Desk) -> None:
    """The root was posted and recorded, but its thread was not bound yet."""
    away = bench.team.channel("elsewhere", bot=False)
    request = bench.request(away)
    root_message = bench.home(request).root_message
    assert root_message is not None
    root = await root_message.post(Thread(bench.workspace, bench.dm.id))
    await bench.run(request, *ANSWER)
    bound = await bench.threads.real_thread(bench.team.id, away.id, request.place.thread)
    assert bound == f"{bench.dm.id}:{root}"
    (message,) = bench.dm.messages
    assert "It is Ana." in message.thread[0].shown
