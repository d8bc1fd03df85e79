"""What a Slack thread accepts, returns and refuses; and how the bot recognises its own messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from bot.adapters.slack.shown.stream import Streams
from bot.adapters.slack.shown.thread import Thread
from bot.adapters.slack.text.page import Page
from bot.adapters.surface import Gone, MessageRef, MessageStyle, NotEditable, Refused, Unavailable
from storage.faults import StorageFault
from tests.adapters.slack.desk import Desk
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

RUN = "c0ffee" + "0" * 26
MARK = MessageRef(RUN, "answer")
NOW = datetime.now(UTC)
STOP = {
    "type": "actions",
    "elements": [
        {
            "type": "button",
            "action_id": f"stop:{RUN}",
            "text": {"type": "plain_text", "text": "Stop"},
        }
    ],
}
PAGE = Page(
    "### Answer\nIt is **Ana**.", closing=(STOP,), plain="*Answer*\nIt is *Ana*.", buttons_plain=(STOP,)
)
FILE = Page("", plain="notes.md", files=(("notes.md", b"# Notes"),))


@pytest_asyncio.fixture(loop_scope="module")
async def root(bench: Desk) -> Message:
    return await bench.root()


@pytest.fixture
def thread(bench: Desk, root: Message) -> Thread:
    streams = Streams(bench.workspace, bench.channel.id, root.ts, (bench.team.id, bench.ana.id))
    return Thread(bench.workspace, bench.channel.id, root.ts, streams=streams)


async def test_a_page_is_posted_edited_and_deleted(bench: Desk, root: Message, thread: Thread) -> None:
    id = await thread.post(PAGE, MARK, MessageStyle.LAYOUT)
    (message,) = root.thread
    assert message.ts == id
    assert message.buttons == ["Stop"]
    await thread.edit(id, replace(PAGE, closing=()), MARK, MessageStyle.LAYOUT, files=False, reset=False)
    assert message.buttons == []
    await thread.edit(id, PAGE, MARK, MessageStyle.BARE, files=False, reset=False)
    assert message.shown == PAGE.plain
    await thread.delete(id)
    assert root.thread == []
    assert bench.fake.refused == []
    (call,) = [call for call in bench.fake.calls if call.method == "chat.postMessage"]
    assert not {"link_names", "parse"} & call.args.keys()
    assert [call.args[name] for name in ("unfurl_links", "unfurl_media")] in (["0", "0"], [False, False])


async def test_a_plain_text_too_long_for_an_edit_is_posted_again(thread: Thread) -> None:
    id = await thread.post(PAGE, MARK, MessageStyle.LAYOUT)
    long = replace(PAGE, plain="x" * 4_001, buttons_plain=())
    with pytest.raises(NotEditable):
        await thread.edit(id, long, MARK, MessageStyle.PLAIN, files=False, reset=False)


async def test_a_message_is_found_by_its_metadata(bench: Desk, thread: Thread) -> None:
    id = await thread.post(PAGE, MARK, MessageStyle.LAYOUT)
    other = await thread.post(PAGE, MessageRef(RUN, "answer", 1), MessageStyle.LAYOUT)
    assert await thread.find(MARK, NOW, ()) == id
    assert await thread.find(MARK, NOW, [id]) is None
    assert await thread.find(MessageRef(RUN, "answer", 1), NOW, ()) == other
    assert await thread.find(MessageRef(RUN, "search"), NOW, ()) is None
    assert await thread.find(MARK, datetime.now(UTC) + timedelta(minutes=2), ()) is None


async def test_a_message_is_found_in_a_channel_too(bench: Desk) -> None:
    channel = Thread(bench.workspace, bench.channel.id)
    id = await channel.post(PAGE, MARK, MessageStyle.LAYOUT)
    assert await channel.find(MARK, NOW, ()) == id
    (message,) = bench.channel.messages
    message.metadata = None
    assert await channel.find(MARK, NOW, ()) is None


async def test_a_stream_without_metadata_is_taken_for_the_runs(
    bench: Desk, root: Message, thread: Thread
) -> None:
    await bench.fake.say(bench.ana, bench.channel, "And I say", thread=root, wait=False)
    id = await thread.post(replace(PAGE, growing=True), MARK, MessageStyle.LAYOUT)
    assert root.thread[-1].streaming
    assert await thread.find(MARK, NOW, ()) == id
    assert await thread.find(MARK, NOW, [id]) is None


async def test_a_stream_of_another_run_is_not_taken(bench: Desk, root: Message) -> None:
    known: set[str] | None = set()

    async def of_others(messages: Sequence[str]) -> set[str]:
        if known is None:
            raise StorageFault("other")
        return known & set(messages)

    streams = Streams(bench.workspace, bench.channel.id, root.ts, (bench.team.id, bench.ana.id))
    thread = Thread(bench.workspace, bench.channel.id, root.ts, streams=streams, of_others=of_others)
    theirs = await thread.post(replace(PAGE, growing=True), MessageRef("beef", "first"), MessageStyle.LAYOUT)
    ours = await thread.post(replace(PAGE, growing=True), MARK, MessageStyle.LAYOUT)
    known = {theirs}
    assert await thread.find(MARK, NOW, ()) == ours
    known = {theirs, ours}
    assert await thread.find(MARK, NOW, ()) is None
    known = None
    with pytest.raises(Unavailable):
        await thread.find(MARK, NOW, ())


async def test_without_the_right_to_read_a_message_may_be_posted_twice(bench: Desk, thread: Thread) -> None:
    bench.team.scopes.discard("channels:history")
    assert await thread.find(MARK, NOW, ()) is None


async def test_a_live_stream_is_ended_before_it_is_deleted(
    bench: Desk, root: Message, thread: Thread
) -> None:
    id = await thread.post(replace(PAGE, growing=True), MARK, MessageStyle.LAYOUT)
    await thread.delete(id)
    assert root.thread == []
    assert [call.method for call in bench.fake.calls][-2:] == ["chat.stopStream", "chat.delete"]


async def test_a_message_that_cannot_be_deleted_stays(bench: Desk, thread: Thread) -> None:
    id = await thread.post(PAGE, MARK, MessageStyle.LAYOUT)
    bench.fake.fail("chat.delete", error="cant_update_message")
    with pytest.raises(Refused):
        await thread.delete(id)


async def test_a_file_is_a_separate_message(bench: Desk, root: Message, thread: Thread) -> None:
    said = replace(FILE, body="All of it.", plain="All of it.")
    id = await thread.post(said, MARK, MessageStyle.LAYOUT)
    (message,) = root.thread
    assert [(file.name, file.data) for file in message.files] == [("notes.md", b"# Notes")]
    assert message.text == message.files[0].alt == "All of it."
    await thread.edit(id, said, MARK, MessageStyle.LAYOUT, files=True, reset=True)
    other = replace(said, files=(("notes.md", b"# More notes"),))
    with pytest.raises(NotEditable):
        await thread.edit(id, other, MARK, MessageStyle.LAYOUT, files=True, reset=False)
    await thread.delete(id)
    assert root.thread == []
    assert bench.fake.refused == []


@pytest.mark.parametrize("method", ["files.getUploadURLExternal", "files.completeUploadExternal"])
@pytest.mark.parametrize(
    "fault", [{"status": 0}, {"lost": True}, {"status": 500}, {"error": "internal_error"}]
)
async def test_a_file_is_never_sent_twice(
    bench: Desk, root: Message, thread: Thread, method: str, fault: dict[str, object]
) -> None:
    bench.fake.fail(method, **fault)  # type: ignore[arg-type]
    with pytest.raises(Unavailable):
        await thread.post(FILE, MARK, MessageStyle.LAYOUT)
    for surface in (
        thread,
        Thread(bench.workspace, bench.channel.id, root.ts),
    ):  # the second one after a crash
        assert await surface.find(MARK, NOW, ()) is None
        await surface.post(FILE, MARK, MessageStyle.LAYOUT)
    assert [file.name for message in root.thread for file in message.files] == ["notes.md"]


async def test_a_stream_without_metadata_is_ignored_for_pages_that_are_never_streamed(
    bench: Desk, root: Message
) -> None:
    streams = Streams(bench.workspace, bench.channel.id, root.ts, (bench.team.id, bench.ana.id))
    thread = Thread(
        bench.workspace,
        bench.channel.id,
        root.ts,
        streams=streams,
        never_streamed=("spoken",),
        of_others=none,
    )
    stream = await thread.post(replace(PAGE, growing=True), MARK, MessageStyle.LAYOUT)
    assert await thread.find(MARK, NOW, ()) == stream
    assert await thread.find(MessageRef(RUN, "spoken#answer:0"), NOW, ()) is None


async def none(_: Sequence[str]) -> Sequence[str]:
    return ()


async def test_two_files_with_the_same_name_are_distinguished(
    bench: Desk, root: Message, thread: Thread
) -> None:
    first = await thread.post(FILE, MARK, MessageStyle.LAYOUT)
    assert await thread.find(MessageRef(RUN, "answer#2"), NOW, [first]) is None
    second = await thread.post(FILE, MessageRef(RUN, "answer#2"), MessageStyle.LAYOUT)
    assert first != second
    assert len(root.thread) == 2


@pytest.mark.parametrize("error", ["missing_scope", "file_uploads_disabled"])
async def test_a_refused_file_is_named(bench: Desk, root: Message, thread: Thread, error: str) -> None:
    bench.fake.fail("files.getUploadURLExternal", error=error)
    await thread.post(FILE, MARK, MessageStyle.LAYOUT)
    assert [message.shown for message in root.thread] == ["notes.md"]


async def test_a_message_cut_off_by_a_crash_is_closed(bench: Desk, root: Message, thread: Thread) -> None:
    posted = await thread.post(PAGE, MARK, MessageStyle.LAYOUT)
    streamed = await thread.post(replace(PAGE, growing=True), MessageRef(RUN, "more"), MessageStyle.LAYOUT)
    again = Thread(bench.workspace, bench.channel.id, root.ts)
    for one in (posted, streamed):
        await again.end_message(one, RUN, "⏹ Stopped.")
    for message in root.thread:
        assert message.shown == f"{PAGE.body}\n⏹ Stopped."
        assert not message.streaming
        assert message.buttons == []
    with pytest.raises(Gone):
        await again.end_message("1.1", RUN, "⏹ Stopped.")


async def test_a_fault_of_the_network_shows_no_address(bench: Desk, thread: Thread) -> None:
    bench.fake.fail("chat.postMessage", status=0)
    with pytest.raises(Unavailable) as raised:
        await thread.post(PAGE, MARK, MessageStyle.LAYOUT)
    assert bench.fake.bot_token not in repr(raised.value)
    assert "127.0.0.1" not in str(raised.value)
    assert raised.value.__suppress_context__
