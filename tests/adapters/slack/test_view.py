"""What a whole run looks like on Slack, from its events to the messages that stand there in the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from bot.adapters.composer import Composer
from bot.adapters.slack.installed.clients import PACE, Client, Clients, Limits
from bot.adapters.slack.text.page import Page
from bot.adapters.slack.text.render import pages
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.stage_messages import Dialect
from bot.adapters.surface import MessageStyle
from bot.adapters.writer import Writers
from bot.config import SlackConfig
from bot.events import (
    Attachment,
    Author,
    Changed,
    Choice,
    Choices,
    Elsewhere,
    Failed,
    Place,
    Request,
    Shown,
    Stage,
    Status,
    Text,
)
from bot.view import View
from bot.words import words
from tests.adapters.paper import Clock, Paper, PaperHome
from tests.adapters.slack.desk import Desk, Known
from tests.fakes.slack import Message, block_rules

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEARCH = (Stage("search", "Searching"), Status("Looking"), Text("Found 3 passages."))
ANSWER = (Stage("answer", "Answer", answer=True), Text("It is "), Text("Ana."))
BURST = 65
HINT = "To continue, reply in this thread; you need not mention me here."


async def show(view: View, *events: Shown) -> None:
    for event in events:
        await view.show(event)


def body(message: Message) -> str:
    return "".join(block["text"] for block in message.blocks if block["type"] == "markdown")


def called(bench: Desk, method: str) -> int:
    return sum(call.method == method for call in bench.fake.calls)


def appended(bench: Desk, times: int) -> bool:
    return called(bench, "chat.appendStream") == times


def more_than(calls: Sequence[object], before: int) -> bool:
    return len(calls) > before


async def test_of_a_burst_every_answer_is_whole_without_waiting(bench: Desk) -> None:
    """At Slack's own figures and with no time for the budget to refill: who cannot have an answer that grows has it
    in one piece, and is told so. What has begun can end.
    """
    bench.workspaces.limits = Limits(now=lambda: 0.0)
    limits = bench.fake.limits
    limits.on, limits.clock = True, lambda: 0.0
    channels = [bench.team.channel(f"table-{n}") for n in range(BURST // limits.post_burst)]
    roots = [await bench.root("Who?", channel) for channel in channels for _ in range(limits.post_burst)]
    views = [bench.view(bench.request(root)) for root in roots]
    for view in views:
        await show(view, *ANSWER[:2])
    held = words("en")("slack_thread.held")
    await bench.fake.until(lambda: all(root.thread or bench.fake.status(root) == held for root in roots))
    async with asyncio.timeout(30):
        for view in views:
            await show(view, *ANSWER[2:])
            await view.flush("done")
            await view.close("done")
    answers = [[body(message) for message in root.thread] for root in roots]
    assert answers == [["### Answer\nIt is Ana."]] * BURST
    assert not any(
        message.streaming or "Stop" in message.buttons for root in roots for message in root.thread
    )
    sessions = [session for root in roots if (session := bench.fake.session(root)) is not None]
    assert sessions, "Slack's stop button is there for some of them"
    await bench.fake.until(lambda: all(session.status == "active" for session in sessions))
    assert bench.fake.limited == []


async def test_each_stage_is_a_message_in_the_thread(bench: Desk) -> None:
    root = await bench.root()
    await bench.run(bench.request(root), *SEARCH, *ANSWER)
    search, answer = root.thread
    assert search.shown == "### Searching\nFound 3 passages."
    assert body(answer) == "### Answer\nIt is Ana."
    assert answer.buttons == ["This helped", "This did not help"]
    assert bench.fake.refused == []


async def test_an_answer_is_streamed_while_it_is_written(bench: Desk) -> None:
    root = await bench.root()
    view = bench.view(bench.request(root))
    await show(view, *ANSWER[:2])
    await bench.fake.until(lambda: root.thread and root.thread[0].streaming)
    for n in range(1, 4):
        await show(view, Text("A long story.\n"))
        await bench.fake.until(partial(appended, bench, n))
    await view.flush("done")
    (answer,) = root.thread
    assert body(answer) == "### Answer\nIt is A long story.\nA long story.\nA long story."
    assert answer.buttons == ["This helped", "This did not help"]
    assert [called(bench, method) for method in ("chat.startStream", "chat.stopStream")] == [1, 1]
    assert [called(bench, method) for method in ("chat.update", "chat.postMessage")] == [0, 0]


class ClockedHome(PaperHome[Page]):
    """A home of Slack's on paper. `shown`: what any message showed, and when by the clock."""

    heading = None

    def __init__(self, clock: Clock) -> None:
        self.paper = Paper(self._show)
        super().__init__(self.paper)
        self._clock = clock
        self.shown: list[tuple[float, str]] = []

    async def searching(self) -> None:
        await self.paper.until(lambda: bool(self.shown))

    def _show(self, page: Page, form: MessageStyle) -> str:
        self.shown.append((self._clock.now, page.body))
        return page.body


async def test_first_words_come_within_three_tokens_of_the_model(bench: Desk) -> None:
    """At 50 ms a token, by the channel's clock: 150 ms. The search before it was slow, and is edited as it ends."""
    for tokens in (["It", " is", " Ana", " who"], ["It ", "is ", "Ana ", "who "]):
        for model_s in (0.0, 0.4, 0.97, 3.0):
            clock = Clock(lambda: not bench.database._idle.is_set())
            writers, home = Writers(PACE, clock), ClockedHome(clock)
            request = bench.request(await bench.root())
            there: Any = home  # as much of one as such a run needs
            view = Composer(request, bench.outbox, bench.offers, there, writers, Dialect(pages))
            await show(view, Stage("search", "Searching"), Status("Looking"))
            await clock.advance(0.6)
            await home.searching()
            await show(view, Text("Found 3 passages."), Stage("answer", "Answer"), Status("Asking"))
            await clock.advance(model_s)
            asked = clock.now
            for token in tokens:
                await show(view, Text(token))
                await clock.advance(0.05)
            first = min(at for at, body in home.shown if body.startswith("### Answer\nIt")) - asked
            assert first < 0.15, (tokens, model_s, first)
            writers.close()
            await clock.settle()


@pytest.mark.parametrize("refused", [False, True])
async def test_a_button_stands_above_the_words_while_they_are_streamed(bench: Desk, refused: bool) -> None:
    root = await bench.root()
    request = bench.request(root)
    view = bench.view(request)
    if refused:
        bench.fake.fail("chat.startStream", error="invalid_chunks")
    card = Choice("Stop card", "/story stopcard one/act")
    await show(view, Stage("scene", "Scene 1", meanwhile=card), Text("The sea is flat. It stays"))
    await bench.fake.until(lambda: root.thread and "flat" in root.thread[0].shown)
    (answer,) = root.thread
    assert answer.streaming
    assert ("Stop card" in str(answer.blocks[0])) is not refused
    assert await bench.offers.get(request.place.space, request.id, "meanwhile", 0) is not None
    await view.flush("done")
    assert body(answer) == "### Scene 1\nThe sea is flat. It stays"


async def test_a_table_whose_header_began_like_a_sentence_takes_the_place_of_its_words(
    bench: Desk,
) -> None:
    root = await bench.root()
    view = bench.view(bench.request(root))
    await show(view, Stage("answer", ""), Text("Of a kind\n\nWeapon type"), Text(" | Damage\n"))
    await bench.fake.until(lambda: root.thread and "Weapon" in root.thread[0].shown)
    assert root.thread[0].streaming
    await show(view, Text("--- | ---\nSword | 3\n\nAnd so on"))
    await view.flush("done")
    (answer,) = root.thread
    table = "| Weapon type | Damage |\n| --- | --- |\n| Sword | 3 |"
    assert body(answer) == f"Of a kind\n\n{table}\n\nAnd so on"
    assert "```\nWeapon type  Damage\n───────────  ──────\nSword        3\n```" in answer.text
    assert not answer.streaming


TABLE = "Of swords | Damage\n:-- | --:\nLong \\| short | 3 <@U1>\n"


async def test_a_table_is_one_on_slack_and_plain_columns_where_that_is_refused(bench: Desk) -> None:
    for refused in (False, True):
        root = await bench.root()
        view = bench.view(bench.request(root))
        await show(view, Stage("answer", ""), Text("Of a kind:\n"))
        await bench.fake.until(partial(shows, root, "Of a"))
        assert root.thread[0].streaming
        await show(view, Text(TABLE + "\nAnd so on"))
        if refused:
            bench.fake.fail("chat.update", error="invalid_blocks")
        await view.flush("done")
        (answer,) = root.thread
        types = {block["type"] for block in answer.blocks}
        if refused:
            assert "markdown" not in types
            assert "Of swords" in answer.text
            assert "| Of swords" not in answer.text
        else:
            expected = "| Of swords | Damage |\n| :-- | --: |\n| Long \\| short | 3 <\u200b@U1> |"
            assert body(answer) == f"Of a kind:\n\n{expected}\n\nAnd so on"
            assert "```\nOf swords" in answer.text, "in notifications and old clients"
        assert not answer.streaming


async def test_a_message_with_two_tables_or_a_long_one_has_them_as_plain_columns(bench: Desk) -> None:
    rows = "".join(f"| {n} | x |\n" for n in range(101))
    head = "| a | b |\n|---|---|\n"
    for text in (f"{head}| 1 | 2 |\n\n{head}| 3 | 4 |\n", head + rows):
        assert block_rules.wrong([{"type": "markdown", "text": text}], block_rules.MESSAGE), (
            "Slack refuses it"
        )
        root = await bench.root()
        view = bench.view(bench.request(root))
        await show(view, Stage("answer", ""), Text(f"Of a kind:\n\n{text}"))
        await view.flush("done")
        for message in root.thread:
            assert "```" in body(message)
            assert "| --" not in body(message)
            assert "|---" not in body(message)


async def test_where_there_are_no_agents_an_answer_asks_for_them_once(bench: Desk) -> None:
    clients = Clients(SlackConfig(api_base=bench.fake.api))

    class Limited(Known):
        async def client(self, team: str, enterprise: str = "") -> Client:
            return clients.of(team, bench.team.bot_token)

    usual, bench.workspaces = bench.workspaces, Limited(bench.fake)
    for method in ("agents.*", "assistant.*", "chat.startStream"):
        bench.fake.fail(method, error="feature_not_enabled", times=99)
    made: list[list[str]] = []
    for _ in range(2):
        before = len(bench.fake.calls)
        root = await bench.root(channel=bench.dm)
        view = bench.view(bench.request(root))
        await show(view, *SEARCH, *ANSWER[:2])
        await bench.fake.until(partial(shows, root, "It"))
        await show(view, *ANSWER[2:])
        await view.flush("done")
        await bench.beside()
        assert [body(message) for message in root.thread][1] == "### Answer\nIt is Ana."
        made.append([call.method for call in bench.fake.calls[before:]])
    await clients.close()
    await bench.workspaces.session.close()
    bench.workspaces = usual
    vain = {"chat.startStream", "agents.sessions.setStatus", "assistant.threads.setStatus"}
    assert vain < set(made[0])
    assert set(made[1]) == {"chat.postMessage", "chat.update"}


async def test_what_passes_before_there_are_words_is_posted_or_the_status_line(
    bench: Desk,
) -> None:
    root = await bench.root()
    view = bench.view(bench.request(root))
    await show(view, Stage("search", "Searching"), Status("Looking", 1, 3))
    await bench.fake.until(lambda: "1/3" in bench.fake.status(root))
    await show(view, *ANSWER)
    await view.flush("done")
    assert bench.fake.status(root) == ""


async def test_an_unordered_run_is_posted_and_edited(bench: Desk) -> None:
    request = bench.request(bench.channel, ordered=False, verb=("library", "add"))
    view = bench.view(request)
    await show(view, Stage("job", "Adding"), Status("Reading", 1, 2))
    await bench.fake.until(lambda: bench.channel.messages)
    (message,) = bench.channel.messages
    assert message.buttons == ["⏹️ Stop"]
    await show(view, Text("One book."))
    await view.flush("done")
    assert message.shown == "### Adding\nOne book."
    assert called(bench, "chat.startStream") == 0


@pytest.mark.parametrize(
    ("begun", "before", "after"),
    [
        ("", "candle", " burns [1]. "),
        ("2 ** 3 ", "is", " "),
        ("```py\n", "step", "()\n"),
        ("", "- item", "\n"),
    ],
)
async def test_an_answer_of_six_minutes_goes_on_in_another_stream(
    bench: Desk, begun: str, before: str, after: str
) -> None:
    """By a clock of the test's. Slack ends a stream after some five minutes; then only updates would be left."""
    clock = Clock()
    bench.writers = Writers(PACE, clock)
    root = await bench.root()
    view = bench.view(bench.request(root))
    await show(view, Stage("answer", "Answer"), Text(begun))
    began: dict[str, float] = {}
    said = [f"{before}{n}" for n in range(100, 220)]
    for n, one in enumerate(said):
        await view.show(Text(f"{one}{after}"))
        await clock.advance(3.0)
        await bench.fake.until(partial(shows, root, said[n - 1] if n else ""))
        for message in root.thread:
            began.setdefault(message.ts, clock.now)
    ending = asyncio.create_task(view.flush("done"))
    await clock.until(ending.done, 0.5)
    first, second = began.values()
    assert 210 <= second - first <= 240
    assert [called(bench, method) for method in ("chat.startStream", "chat.stopStream", "chat.update")] == [
        2,
        2,
        0,
    ]
    whole = "\n".join(body(message) for message in root.thread)
    assert [whole.count(one) for one in said] == [1] * len(said)


def shows(root: Message, words: str) -> bool:
    return words in "".join(body(message) for message in root.thread)


SENTENCES = (
    "The **wyvern** circles above the keep, and `waits` for whoever comes out of [the gate](https://a.example/b).\n",
    "\n- It has *two* wings\n- and one sting\n\n",
    "```python\nfor one in party:\n    roll(one)\n```\n",
    "| Who | Damage |\n| --- | --- |\n| Ana | 7 |\n| Bia | 9 |\n\n",
    "> It is said that <!channel> heard it, and <@U0BIA> too.\n\n",
    "## What now?\n",
)
FAULTS: tuple[dict[str, Any], ...] = (
    {"error": "message_not_in_streaming_state"},
    {"error": "msg_too_long"},
    {"error": "internal_error"},
    {"lost": True},
)


@pytest.mark.parametrize("seed", range(4))
async def test_a_long_answer_stands_there_to_the_letter_whatever_its_streams_go_through(
    bench: Desk, seed: int
) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice(SENTENCES) for _ in range(120))
    root = await bench.root()
    view = bench.view(bench.request(root))
    await view.show(Stage("answer", "Answer"))
    at = 0
    while at < len(text):
        end = at + chance.randrange(20, 400)
        await view.show(Text(text[at:end]))
        at = end
        if chance.random() < 0.2:
            bench.fake.fail(chance.choice(("chat.appendStream", "chat.stopStream")), **chance.choice(FAULTS))
        with suppress(AssertionError):  # what is held back makes no call
            await bench.fake.until(partial(more_than, bench.fake.calls, len(bench.fake.calls)), 0.03)
    bench.fake.faults.waiting.clear()
    await view.flush("done")
    made = pages(
        StageContent("answer", "Answer", text, growing=False),
        PageContext("0" * 32, words("en"), ended="done"),
    )
    assert [body(message) for message in root.thread] == [page.body for page in made]
    assert not any(message.streaming for message in root.thread)
    assert all(message.mentions == [] for message in root.thread)
    assert called(bench, "chat.startStream") > 1


async def test_a_crash_in_the_middle_and_the_same_messages_end(bench: Desk) -> None:
    root = await bench.root()
    request = bench.request(root)
    await show(bench.view(request), *SEARCH, *ANSWER[:2])
    await bench.fake.until(lambda: len(root.thread) == 2)
    bench.crash()
    await bench.run(request, *SEARCH, *ANSWER)
    assert [body(message) for message in root.thread] == [
        "### Searching\nFound 3 passages.",
        "### Answer\nIt is Ana.",
    ]
    assert not any(message.streaming for message in root.thread)


async def test_what_a_crash_cut_off_is_put_out_if_it_was_stopped(bench: Desk) -> None:
    root = await bench.root()
    request = bench.request(root)
    view = bench.view(request)
    await show(view, *ANSWER[:2])
    await bench.fake.until(lambda: root.thread)
    (message,) = root.thread
    await bench.noted(request, message)
    bench.crash()
    await bench.view(request).flush("stopped")
    assert not message.streaming
    assert "Stopped. What was shown so far is kept." in message.shown
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "active")


async def test_a_run_whose_end_was_shown_before_a_crash_works_no_more(bench: Desk) -> None:
    """The process died between the end of the last stream and the status of the thread."""
    root = await bench.root()
    request = bench.request(root)
    await bench.run(request, *SEARCH, *ANSWER)
    session = bench.fake.session(root)
    assert session is not None
    await bench.fake.until(lambda: session.status == "active")
    session.status = "processing"
    bench.crash()
    await bench.run(request, *SEARCH, *ANSWER)
    await bench.fake.until(lambda: session.status == "active")


async def test_the_end_of_the_last_stream_says_that_the_run_is_over(bench: Desk) -> None:
    """The process may die before it can say so in a call of its own."""
    root = await bench.root()
    await bench.beside()
    view = bench.view(bench.request(root))
    await show(view, *SEARCH, *ANSWER)
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "processing")
    await bench.fake.until(lambda: any(message.streaming for message in root.thread))
    bench.fake.fail("agents.sessions.setStatus", status=503, times=99)
    await view.flush("done")
    session = bench.fake.session(root)
    assert session is not None
    assert session.status == "active"
    bench.fake.faults.waiting.clear()


async def test_why_it_failed_is_told_to_the_asker_alone(bench: Desk) -> None:
    root = await bench.root()
    await bench.run(bench.request(root), Failed("There is no model."), status="failed")
    (message,) = [message for message in bench.channel.everything if message is not root]
    assert message.ephemeral_to is bench.ana
    assert message.thread_ts is None  # in a thread without replies Slack shows nothing to one person alone
    assert "There is no model." in message.shown
    assert message.buttons == ["🔁 Try again"]


async def test_in_a_direct_conversation_it_is_said_there(bench: Desk) -> None:
    root = await bench.root(channel=bench.dm)
    await bench.run(bench.request(root), Failed("There is no model."), status="failed")
    (message,) = root.thread
    assert message.ephemeral_to is None


async def test_a_file_follows_its_stage(bench: Desk) -> None:
    root = await bench.root()
    export = Attachment("notes.md", "text/markdown", b"# Notes")
    await bench.run(bench.request(root), *ANSWER, export)
    answer, sent = root.thread
    assert "It is Ana." in answer.shown
    assert [(file.name, file.data) for file in sent.files] == [("notes.md", b"# Notes")]
    assert bench.fake.refused == []


async def test_a_file_that_is_not_taken_is_named_and_said_to_be_missing(bench: Desk) -> None:
    bench.team.scopes.discard("files:write")
    root = await bench.root()
    await bench.run(bench.request(root), *ANSWER, Attachment("notes.md", "text/markdown", b"# Notes"))
    shown = "\n".join(message.shown for message in root.thread)
    assert "Slack did not accept the file notes.md." in shown
    assert shown.count("It is Ana.") == 1


async def test_another_conversation_is_linked_and_named(bench: Desk) -> None:
    root, other = await bench.root(), await bench.root("Before")
    client = await bench.workspaces.client(bench.team.id)
    await client.agents_sessions_setStatus(channel_id=bench.channel.id, thread_ts=other.ts, status="active")
    there = Place("slack", bench.team.id, bench.channel.id, other.ts)
    foreign = Place("slack", "T0OTHER", bench.channel.id, other.ts)
    await bench.run(
        bench.request(root),
        Stage("sessions", ""),
        Elsewhere(there, "<!channel> & co"),
        Elsewhere(foreign, "Secret"),
    )
    (message,) = root.thread
    link = f"<https://{bench.team.domain}.slack.com/archives/{bench.channel.id}/p{other.ts.replace('.', '')}|"
    assert link in message.shown
    assert message.mentions == []
    assert message.shown.count("https://") == 1
    await bench.fake.until(lambda: (session := bench.fake.session(other)) and session.title)
    assert called(bench, "agents.sessions.rename") == 1


async def test_a_plain_form_after_refused_blocks_says_the_same(bench: Desk) -> None:
    root = await bench.root()
    bench.fake.fail("chat.postMessage", error="invalid_blocks")
    await bench.run(bench.request(root), *ANSWER)
    (message,) = root.thread
    assert "It is Ana." in message.shown
    assert [block["type"] for block in message.blocks if block["type"] == "markdown"] == []


async def test_nobody_is_called_by_what_was_asked(bench: Desk) -> None:
    request = bench.request(bench.channel, text=f"<!channel> <@{bench.ana.id}> what?")
    request = Request(
        request.id,
        request.place,
        Author(bench.ana.id, f"<@{bench.ana.id}> & <!here>"),
        request.work,
        request.verb,
        text=request.text,
        origin=request.origin,
    )
    await bench.run(request, Stage("answer", "<!here>"), Text("<!channel> and @channel"), Status("<!here>"))
    for message in bench.channel.everything:
        assert message.mentions == []


async def test_an_earlier_stage_is_changed_in_its_own_message_or_taken_back(bench: Desk) -> None:
    root = await bench.root()
    request = bench.request(root)
    await bench.run(request, *SEARCH, *ANSWER, Choices("Now?", (Choice("Go", "/rules ask go"),)))
    search, answer = root.thread
    for _ in range(2):  # as after a crash
        await bench.view(request).change(
            Changed(
                request.id, "answer", "Answer", (Text("It is Bia."), Choices("Now?", (Choice("Stay", "x"),)))
            )
        )
    assert root.thread == [search, answer]
    assert body(answer) == "### Answer\nIt is Bia."
    assert "Stay" in answer.buttons
    assert "Go" not in answer.buttons
    await bench.view(request).change(Changed(request.id, "search", "Searching"))
    assert "taken back" in search.shown
    assert "3 passages" not in search.shown
    assert bench.fake.refused == []


@pytest.mark.parametrize("pressed", [False, True])
@pytest.mark.parametrize("crashes", [False, True])
async def test_a_failure_after_waiting_in_line_does_not_leave_its_message_waiting(
    bench: Desk, pressed: bool, crashes: bool
) -> None:
    """A press that failed concerns one person."""
    root = await bench.root()
    request = replace(bench.request(root), answers="another run" if pressed else "")
    view = bench.view(request)
    await view.show(Status("Number 2 in line"))
    await bench.fake.until(lambda: bench.said(root))
    if crashes:
        await bench.noted(request, root.thread[0])
        bench.crash()
        view = bench.view(request)
    await view.show(Failed("The story has gone on."))
    await view.flush("failed")
    told = [message for message in bench.channel.everything if "gone on" in message.shown]
    assert [message.ephemeral_to for message in told] == [bench.ana if pressed else None]
    assert not [text for text in bench.said(root) if "in line" in text]
    assert not [message for message in root.thread if message.streaming and not message.deleted]
    assert bench.fake.refused == []
