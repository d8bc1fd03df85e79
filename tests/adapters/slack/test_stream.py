"""A streamed message shows exactly the text of its page, whatever fails meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.adapters import message
from bot.adapters.slack.installed.clients import Client, Clients, Limits
from bot.adapters.slack.installed.workspaces import Workspace
from bot.adapters.slack.shown.stream import LONGEST_S, Streams
from bot.adapters.slack.shown.thread import EVENT, Thread
from bot.adapters.slack.text.page import Page
from bot.adapters.surface import MessageRef, NotSent, Unavailable
from bot.config import SlackConfig
from tests.adapters.paper import PaperHome
from tests.adapters.slack.desk import Desk, Known
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

BUTTON = {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Stop"}}]}
NOTE = {"type": "context", "elements": [{"type": "mrkdwn", "text": "[1] Rules"}]}
TEXT = ("### Answer\nIt", " is **An", "a**, and\n", "- Bia\n")
GROWING = tuple(
    Page("".join(TEXT[: n + 1]), "Reading…", (BUTTON,), "".join(TEXT[: n + 1]), growing=True)
    for n in range(len(TEXT))
)
LAST = Page("".join(TEXT) + "- Eva", closing=(NOTE,), plain="".join(TEXT) + "- Eva")
PAGES = (*GROWING, LAST)


class One:
    """One message of a run in a thread of its own, written without a writer and without pauses between tries."""

    def __init__(self, bench: Desk, root: Message, n: int = 0) -> None:
        self.bench, self.root = bench, root
        self.page = PAGES[0]
        self._n = n
        self.begin()

    def begin(self) -> None:
        """Begin as a new process does, which knows only the outbox."""
        access, team = self.bench.workspace, self.bench.team
        self.streams = Streams(access, self.root.channel.id, self.root.ts, (team.id, self.bench.ana.id))
        self.thread = Thread(access, self.root.channel.id, self.root.ts, streams=self.streams)
        self.spare = Thread(access, self.bench.dm.id)
        self.home = PaperHome[Page](self.thread, self.spare)
        self.message = message.Message(
            self.home,
            self.bench.outbox,
            self.bench.team.id,
            MessageRef(f"{self._n:032x}", "answer"),
            lambda: (self.page, not self.page.growing),
        )

    async def show(self, page: Page) -> None:
        """Send the page to Slack, with retries as in the writer."""
        self.page = page
        for _ in range(9):
            try:
                if await self.message.write() is not None:
                    break
            except Unavailable:
                pass
        if self.message.recording is not None:
            await self.message.recording

    @property
    def there(self) -> list[Message]:
        bot = self.bench.team.bot
        return [message for message in [*self.root.thread, *self.bench.dm.messages] if message.user is bot]

    def body(self) -> str:
        """The content of the only message: its blocks, or else its text."""
        (message,) = self.there
        marked = [block["text"] for block in message.blocks if block["type"] == "markdown"]
        return "".join(marked) if message.blocks else message.text

    def called(self, method: str) -> int:
        return sum(call.method == method for call in self.bench.fake.calls)


async def test_a_growing_page_is_a_stream_that_is_extended_and_closed(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    for page in PAGES:
        await stage_message.show(page)
        assert stage_message.body() == page.body
    (message,) = stage_message.there
    methods = [call.method for call in bench.fake.calls if call.method.startswith("chat.")]
    assert methods == ["chat.startStream", *["chat.appendStream"] * 3, "chat.stopStream"]
    assert not message.streaming
    assert [block["type"] for block in message.blocks] == ["markdown", "context"]
    assert message.metadata == {
        "event_type": EVENT,
        "event_payload": {"run": "0" * 32, "key": "answer", "turn": 0},
    }
    assert bench.fake.refused == []


async def test_a_passing_status_is_the_threads_status_line(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    await stage_message.show(GROWING[0])
    await stage_message.show(replace(GROWING[0], passing="*Reading* 2 of 3…"))
    assert bench.fake.status(stage_message.root) == "Reading 2 of 3…"
    assert stage_message.body() == GROWING[0].body
    await stage_message.show(LAST)
    assert bench.fake.status(stage_message.root) == ""
    assert stage_message.body() == LAST.body


async def test_the_default_status_is_not_sent(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    stage_message.streams.idle = GROWING[0].passing
    for page in PAGES:
        await stage_message.show(page)
    assert stage_message.called("assistant.threads.setStatus") == 0


async def test_a_page_that_does_not_continue_the_stream_is_rewritten(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    await stage_message.show(GROWING[1])
    other = replace(GROWING[2], body="### Another\nBia")
    await stage_message.show(other)
    assert stage_message.body() == other.body
    (message,) = stage_message.there
    assert message.buttons == ["Stop"]
    await stage_message.show(LAST)
    assert stage_message.body() == LAST.body
    assert message.buttons == []


async def test_an_old_stream_is_ended_and_continued_by_edits(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    await stage_message.show(GROWING[0])
    (stream,) = stage_message.streams._live.values()
    stream.began -= LONGEST_S
    await stage_message.show(GROWING[1])
    (message,) = stage_message.there
    assert not message.streaming
    assert stage_message.body() == GROWING[1].body
    assert message.buttons == ["Stop"]
    await stage_message.show(LAST)
    assert stage_message.body() == LAST.body
    assert [stage_message.called("chat.stopStream"), stage_message.called("chat.update")] == [1, 1]


async def test_without_room_for_another_stream_a_page_is_posted(bench: Desk) -> None:
    bench.fake.fail("chat.startStream", error="ratelimited", status=429)
    stage_message = One(bench, await bench.root())
    for page in PAGES:
        await stage_message.show(page)
        assert stage_message.body() == page.body
    assert [stage_message.called("chat.postMessage"), stage_message.called("chat.update")] == [1, 4]


async def test_after_a_refused_stream_no_other_is_tried(bench: Desk) -> None:
    bench.fake.fail("chat.startStream", error="missing_recipient_team_id", times=9)
    root = await bench.root()
    stage_message = One(bench, root)
    await stage_message.show(GROWING[0])
    assert await stage_message.streams.begin(GROWING[0], {}) is None
    assert stage_message.called("chat.startStream") == 1


async def test_after_the_stop_button_the_message_ends_as_its_page_does(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    await stage_message.show(GROWING[0])
    client = await bench.workspaces.client(bench.team.id)
    await client.agents_sessions_setStatus(
        channel_id=bench.channel.id, thread_ts=stage_message.root.ts, status="processing"
    )
    await bench.fake.stop_session(bench.ana, stage_message.root)
    await stage_message.show(GROWING[1])
    assert stage_message.body() == GROWING[1].body
    await stage_message.show(LAST)
    assert stage_message.body() == LAST.body


async def test_ending_a_stream_does_not_end_the_session(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    client = await bench.workspaces.client(bench.team.id)
    await client.agents_sessions_setStatus(
        channel_id=bench.channel.id, thread_ts=stage_message.root.ts, status="processing"
    )
    await stage_message.show(GROWING[0])
    await stage_message.show(LAST)
    session = bench.fake.session(stage_message.root)
    assert session is not None
    assert session.status == "processing"


async def test_an_expired_stream_is_rewritten(bench: Desk) -> None:
    for n, at in enumerate(range(1, len(PAGES))):
        stage_message = One(bench, await bench.root(), n)
        for number, page in enumerate(PAGES):
            if number == at:
                bench.fake.expire(stage_message.there[0])
            await stage_message.show(page)
            assert stage_message.body() == page.body


POINTS = {
    "chat.startStream": (0,),
    "chat.appendStream": (1, 3),
    "chat.stopStream": (4,),
    "chat.update": (1, 4),
    "chat.postMessage": (0,),
}
"""Before which page each of them is due."""
FAULTS: tuple[dict[str, Any], ...] = (
    *(
        {"error": error}
        for error in (
            "internal_error",
            "message_not_in_streaming_state",
            "stopped_by_user",
            "msg_too_long",
            "cant_update_message",
            "missing_recipient_team_id",
        )
    ),
    {"status": 429},
    {"status": 500},
    {"status": 0},
    {"lost": True},
)
"""One of each kind; test_faults has which error is of which."""


@pytest.mark.parametrize("method", POINTS)
async def test_a_single_failure_leaves_the_text_there_once(bench: Desk, method: str) -> None:
    """Each error at each call, with and without streams."""
    n = 0
    for fault in FAULTS:
        for at in POINTS[method]:
            n += 1
            stage_message = One(bench, await bench.root(), n)
            if method in ("chat.update", "chat.postMessage"):
                stage_message.streams._refused = True
            for number, page in enumerate(PAGES):
                if number == at:
                    bench.fake.fail(method, **fault)
                await stage_message.show(page)
                assert stage_message.body() in (page.body, page.plain), (fault, at, number)
            bench.fake.faults.waiting.clear()
            (message,) = stage_message.there
            assert not message.streaming, (fault, at)
            assert stage_message.body() == LAST.body, (fault, at)


@pytest.mark.parametrize("mends", [{"status": 0}, {"lost": True}])
@pytest.mark.parametrize("fails", [{"error": "internal_error"}, {"lost": True}])
async def test_two_failures_repeat_no_word(bench: Desk, fails: dict[str, Any], mends: dict[str, Any]) -> None:
    """The call fails, whether Slack executed it or not, and so does the call that would repair it."""
    n = 0
    for first in ("chat.startStream", "chat.appendStream", "chat.stopStream"):
        for second in ("chat.stopStream", "chat.update", "conversations.replies", "chat.postMessage"):
            n += 1
            stage_message = One(bench, await bench.root(), n)
            for number, page in enumerate(PAGES):
                if number in (0, 2, 4):
                    bench.fake.fail(first, **fails)
                    bench.fake.fail(second, **mends)
                await stage_message.show(page)
                assert stage_message.body() == page.body, (first, second, number)
                bench.fake.faults.waiting.clear()


async def test_a_crash_at_any_call_leaves_one_message_with_the_whole_text(bench: Desk) -> None:
    """A stream that was just started has no metadata yet."""
    for at in range(len(PAGES)):
        for heard in (True, False):
            stage_message = One(bench, await bench.root(), at * 2 + heard)
            for page in PAGES[:at]:
                await stage_message.show(page)
            if not heard:  # the process dies before it learns that the call was executed
                bench.fake.fail("chat.*", lost=True, times=9)
                stage_message.page = PAGES[at]
                with pytest.raises(Unavailable):
                    await stage_message.message.write()
                bench.fake.faults.waiting.clear()
            stage_message.begin()
            for page in PAGES:
                await stage_message.show(page)
                assert stage_message.body() == page.body
            assert not stage_message.there[0].streaming
            assert stage_message.there[0].metadata is not None
    assert stage_message.called("chat.delete") == 0  # the message that was started is the one that remains


async def test_a_closed_place_is_left_for_the_next_one(bench: Desk) -> None:
    for n, error in enumerate(("not_in_channel", "channel_not_found", "is_archived", "restricted_action")):
        for at, method in enumerate(("chat.postMessage", "chat.appendStream", "chat.stopStream")):
            stage_message = One(bench, await bench.root(), n * 10 + at)
            stage_message.streams._refused = method == "chat.postMessage"
            bench.fake.fail(method, error=error)
            for page in PAGES:
                await stage_message.show(page)
            last = bench.dm.messages[-1]
            assert last.blocks[0]["text"] == LAST.body
            assert bench.dm.messages.count(last) == 1


async def test_a_deleted_message_is_not_posted_again(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    await stage_message.show(GROWING[0])
    await bench.fake.delete(stage_message.there[0])
    for page in PAGES:
        await stage_message.show(page)
    assert stage_message.there == []
    assert stage_message.message.gone


async def test_a_message_is_streamed_only_within_the_workspaces_budget(bench: Desk) -> None:
    """A stream beyond the budget is posted instead, and Slack answers no call with 429."""
    clients = Clients(SlackConfig(api_base=bench.fake.api))
    clients.limits = Limits({"chat.startStream": 1})
    bench.fake.limits.on = True
    bench.fake.limits.per_minute["chat.startStream"] = 1

    class Limited(Known):
        async def client(self, team: str, enterprise: str = "") -> Client:
            return clients.client(team, bench.team.bot_token)

    limited = Limited(bench.fake)
    bench.workspace = Workspace(limited, bench.team.id)
    try:
        for n in range(2):
            stage_message = One(bench, await bench.root(), n)
            for page in (GROWING[0], GROWING[1], LAST):
                await stage_message.show(page)
                assert stage_message.body() == page.body
    finally:
        await clients.close()
        await limited.session.close()
    assert bench.fake.limited == []
    assert [stage_message.called("chat.startStream"), stage_message.called("chat.postMessage")] == [1, 1]


async def test_a_status_line_pings_nobody(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    await stage_message.show(GROWING[0])
    await stage_message.show(replace(GROWING[0], passing="@*everyone* reads"))
    assert bench.fake.status(stage_message.root) == "@\u200beveryone reads"


async def test_a_cancelled_stream_leaves_no_status_line(bench: Desk) -> None:
    stage_message = One(bench, await bench.root())
    await stage_message.show(replace(GROWING[0], passing="Reading 2 of 3…"))
    await stage_message.show(replace(GROWING[0], passing="Reading 3 of 3…"))
    bench.fake.fail("chat.appendStream", error="message_not_in_streaming_state")
    await stage_message.show(GROWING[1])
    assert bench.fake.status(stage_message.root) == ""


async def test_without_room_for_edits_a_message_is_posted_with_its_first_words(bench: Desk) -> None:
    """The words would have to wait for an edit, but a post need not. The bot never looks for an unsent message."""
    clients = Clients(SlackConfig(api_base=bench.fake.api), Limits({"chat.update": 4}))

    class Limited(Known):
        async def client(self, team: str, enterprise: str = "") -> Client:
            return clients.client(team, bench.team.bot_token)

    limited = Limited(bench.fake)
    bench.workspace = Workspace(limited, bench.team.id)
    titled = replace(GROWING[0], body="### Answer", plain="*Answer*")
    try:
        first, second = One(bench, await bench.root()), One(bench, await bench.root(), 1)
        for one in (first, second):
            one.streams._refused = True
        await first.show(titled)
        second.page = titled
        with pytest.raises(NotSent):
            await second.message.write()
        await second.show(GROWING[0])
    finally:
        await clients.close()
        await limited.session.close()
    assert [first.body(), second.body()] == [titled.body, GROWING[0].body]
    assert second.called("conversations.replies") == 0
