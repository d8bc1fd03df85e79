"""Answers that Slack streams while they are written: complete, in time, and with their tables."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from bot.adapters.composer import Composer
from bot.adapters.slack.installed.clients import PACE, Limits
from bot.adapters.slack.text.page import Page
from bot.adapters.slack.text.render import pages
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.stage_messages import Dialect
from bot.adapters.surface import MessageStyle
from bot.adapters.writer import Writers
from bot.events import Choice, Stage, Status, Text
from bot.words import words
from tests.adapters.paper import Clock, Paper, PaperHome
from tests.adapters.slack.desk import ANSWER, SEARCH, Desk, body, called, show, shows
from tests.fakes.slack import block_rules

pytestmark = pytest.mark.asyncio(loop_scope="module")

BURST = 65


def appended(bench: Desk, times: int) -> bool:
    return called(bench, "chat.appendStream") == times


def more_than(calls: Sequence[object], before: int) -> bool:
    return len(calls) > before


async def test_every_answer_of_a_burst_is_complete_without_waiting(bench: Desk) -> None:
    """With Slack's own limits, and no time for the budget to refill: an answer that cannot be streamed is posted in
    one piece, with a notice. Streams that have begun can end.
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
    answers = [[body(message) for message in root.thread] for root in roots]
    assert answers == [["### Answer\nIt is Ana."]] * BURST
    assert not any(
        message.streaming or "Stop" in message.buttons for root in roots for message in root.thread
    )
    sessions = [session for root in roots if (session := bench.fake.session(root)) is not None]
    assert sessions, "some of them have Slack's stop button"
    await bench.fake.until(lambda: all(session.status == "active" for session in sessions))
    assert bench.fake.limited == []


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
    """A Slack home in memory. `shown`: what any message showed, and when by the clock."""

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
async def test_the_stop_button_is_above_the_streamed_words(bench: Desk, refused: bool) -> None:
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


async def test_a_table_replaces_header_words_that_were_shown_as_a_sentence(
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


async def test_a_table_is_a_table_block_or_plain_columns_if_slack_refuses(bench: Desk) -> None:
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


async def test_two_tables_or_a_long_one_are_plain_columns(bench: Desk) -> None:
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


@pytest.mark.parametrize(
    ("begun", "before", "after"),
    [
        ("", "candle", " burns [1]. "),
        ("2 ** 3 ", "is", " "),
        ("```py\n", "step", "()\n"),
        ("", "- item", "\n"),
    ],
)
async def test_an_answer_of_six_minutes_continues_in_another_stream(
    bench: Desk, begun: str, before: str, after: str
) -> None:
    """On the test's clock. Slack ends a stream after about five minutes; then only edits would remain."""
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
async def test_a_long_answer_is_complete_whatever_happens_to_its_streams(bench: Desk, seed: int) -> None:
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
        with suppress(AssertionError):  # text that is held back causes no call
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


async def test_the_end_of_the_last_stream_ends_the_session(bench: Desk) -> None:
    """The process may die before it can say so in a separate call."""
    root = await bench.root()
    await bench.beside()
    view = bench.view(bench.request(root))
    await show(view, *SEARCH, *ANSWER)
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "processing")
    await bench.fake.until(lambda: any(message.streaming for message in root.thread))
    bench.fake.fail("agents.sessions.setStatus", status=503, times=99)
    flushing = asyncio.create_task(view.flush("done"))
    await bench.fake.until(lambda: (session := bench.fake.session(root)) and session.status == "active")
    bench.fake.faults.waiting.clear()
    await flushing
