"""The message above a council's answers: who asked what, and a plan that follows the stages."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.adapters.slack.installed.workspaces import Workspace
from bot.adapters.slack.placing import origin_of
from bot.adapters.slack.shown.home import WAITS_S, RootMessage
from bot.adapters.slack.shown.plan import PLAN
from bot.adapters.slack.shown.thread import EVENT, Thread
from bot.adapters.slack.text.page import Page
from bot.adapters.slack.text.render import root_page
from bot.adapters.surface import MessageRef, MessageStyle, Refused
from bot.adapters.writer import Pace, Writers
from bot.events import Ended, Shown, Stage, Text
from bot.words import words
from tests.adapters.paper import Clock
from tests.adapters.slack.desk import Desk
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNCIL = ("council", "ask")
ANSWERS = (Stage("answers", "Answers"), Text("Each by itself."))
BALLOTS = (Stage("ballots", "Ballots"), Text("All agree."))
SYNTHESIS = (Stage("synthesis", "Synthesis"), Text("It is Ana."))


def plans(messages: list[Message]) -> list[dict[str, Any]]:
    return [block for message in messages for block in message.blocks if block["type"] == "plan"]


def statuses(message: Message) -> list[tuple[str, str]]:
    (plan,) = plans([message])
    return [(task["title"], task["status"]) for task in plan["tasks"]]


async def test_the_plan_is_in_the_message_that_names_the_asker(bench: Desk) -> None:
    view = bench.view(bench.request(bench.channel, verb=COUNCIL))
    for event in (*ANSWERS, *BALLOTS):
        await view.show(event)
    await bench.fake.until(lambda: plans(bench.channel.messages))
    (root,) = bench.channel.messages
    assert statuses(root) == [("Answers", "complete"), ("Ballots", "in_progress")]
    for event in SYNTHESIS:
        await view.show(event)
    await view.flush("done")
    assert [status for _, status in statuses(root)] == ["complete"] * 3
    assert root.shown.startswith("**Ana** asked:\n> Who?\nThe council has finished")
    assert len(root.thread) == 3
    assert root.metadata is not None
    assert root.metadata["event_type"] == EVENT
    assert bench.fake.refused == []


async def test_below_a_persons_message_the_plan_is_a_separate_message(bench: Desk) -> None:
    root = await bench.root()
    request = bench.request(root, verb=COUNCIL)
    for _ in range(2):  # the second as after a crash
        await bench.run(request, *ANSWERS, *BALLOTS, *SYNTHESIS)
    assert len(plans(root.thread)) == 1
    assert len(root.thread) == 4


async def test_a_single_stage_gets_no_plan(bench: Desk) -> None:
    await bench.run(bench.request(bench.channel, verb=COUNCIL), Stage("estimate", "Cost"), Text("$ 1"))
    assert plans(bench.channel.everything) == []


async def test_other_works_have_no_plan(bench: Desk) -> None:
    await bench.run(bench.request(bench.channel), *ANSWERS, *BALLOTS)
    assert plans(bench.channel.everything) == []


@pytest.mark.parametrize(("ended", "title"), [("failed", "did not finish"), ("stopped", "was stopped")])
async def test_an_unfinished_council_says_so(bench: Desk, ended: Ended, title: str) -> None:
    await bench.run(bench.request(bench.channel, verb=COUNCIL), *ANSWERS, *BALLOTS, status=ended)
    (root,) = bench.channel.messages
    assert [status for _, status in statuses(root)] == ["complete", "error"]
    assert title in root.shown


async def test_the_plan_shows_the_new_title_of_an_open_stage(bench: Desk) -> None:
    again = Stage("ballots", "Compared")
    await bench.run(bench.request(bench.channel, verb=COUNCIL), *ANSWERS, *BALLOTS, again)
    (root,) = bench.channel.messages
    assert [name for name, _ in statuses(root)] == ["Answers", "Compared"]


async def test_the_plan_continues_after_a_crash(bench: Desk) -> None:
    request = bench.request(bench.channel, verb=COUNCIL)
    view = bench.view(request)
    for event in (*ANSWERS, *BALLOTS):
        await view.show(event)
    await bench.fake.until(lambda: plans(bench.channel.messages))
    bench.crash()
    await bench.run(request, *ANSWERS, *BALLOTS, *SYNTHESIS)
    (root,) = bench.channel.messages
    assert [status for _, status in statuses(root)] == ["complete"] * 3
    assert len(root.thread) == 3


@pytest.mark.parametrize("error", ["invalid_blocks", "internal_error", "cant_update_message"])
async def test_a_failing_plan_does_not_harm_the_answers(bench: Desk, error: str) -> None:
    """Slack may refuse the plan alone; the answers keep their style."""
    bench.fake.fail("chat.update", error=error, times=1)
    await bench.run(bench.request(bench.channel, verb=COUNCIL), *ANSWERS, *BALLOTS, *SYNTHESIS)
    (root,) = bench.channel.messages
    assert [message.blocks[0].get("text") for message in root.thread] == [
        "### Answers\nEach by itself.",
        "### Ballots\nAll agree.",
        "### Synthesis\nIt is Ana.",
    ]


@pytest.mark.parametrize("fault", [{"lost": True}, {"status": 0}])
async def test_a_separate_plan_is_posted_once(bench: Desk, fault: dict[str, object]) -> None:
    root = await bench.root()
    view = bench.view(bench.request(root, verb=COUNCIL))
    await view.show(ANSWERS[0])
    await bench.fake.until(lambda: root.thread)
    bench.fake.fail("chat.postMessage", **fault)  # type: ignore[arg-type]
    for event in BALLOTS:
        await view.show(event)
    await view.flush("done")
    assert len(plans(root.thread)) == 1


async def test_titles_of_stages_ping_nobody(bench: Desk) -> None:
    loud = (Stage("answers", "<!channel>"), Stage("ballots", "<@U0BIA>"))
    root = await bench.root()
    for at in (bench.channel, root):
        await bench.run(bench.request(at, verb=COUNCIL), *loud)
    assert [message.mentions for message in bench.channel.everything if message.mentions] == []


async def test_a_stream_is_not_taken_for_the_plan(bench: Desk) -> None:
    """An unrecorded stream of a stage has no metadata: only the stage itself finds it."""
    root = await bench.root()
    home = bench.home(request := bench.request(root, verb=COUNCIL))
    await home.open()
    begun = Page("### Answers\nEach", growing=True, plain="Each")
    message = await home.surface.post(begun, MessageRef(request.id, "answers"), MessageStyle.LAYOUT)
    since = datetime.now(UTC)
    assert await home.surface.find(MessageRef(request.id, PLAN), since, ()) is None
    assert await home.surface.find(MessageRef(request.id, "answers"), since, ()) == message


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("events", [(), ANSWERS])
async def test_a_plan_from_before_a_crash_ends(bench: Desk, own: bool, events: tuple[Shown, ...]) -> None:
    """The run fails before it shows a second stage."""
    root = await bench.root() if own else None
    request = bench.request(root or bench.channel, verb=COUNCIL)
    view = bench.view(request)
    for event in (*ANSWERS, *BALLOTS):
        await view.show(event)
    await bench.fake.until(lambda: plans(bench.channel.everything))
    (there,) = [message for message in bench.channel.everything if plans([message])]
    await bench.noted(request, there)
    bench.crash()
    await bench.run(request, *events, status="failed")
    assert "at work" not in there.shown
    assert "in_progress" not in str(there.blocks)
    assert ("did not finish" in there.shown) == (own or bool(events))


async def test_the_plan_of_a_run_stopped_before_a_crash_ends(bench: Desk) -> None:
    request = bench.request(bench.channel, verb=COUNCIL)
    view = bench.view(request)
    for event in (*ANSWERS, *BALLOTS):
        await view.show(event)
    await bench.fake.until(lambda: plans(bench.channel.messages))
    (root,) = bench.channel.messages
    await bench.noted(request, root)
    bench.crash()
    await bench.run(request, status="stopped")
    assert statuses(root) == [("Answers", "complete"), ("Ballots", "error")]


async def test_a_very_long_question_is_shown_as_far_as_it_fits() -> None:
    question = "How far does a lit lantern show things, and what hides behind it? " * 40
    page = root_page(question, "Ana", words("en"))
    quoted = page.body.split("\n")[1]
    assert quoted.startswith("> How far does a lit lantern")
    assert quoted.endswith("…")
    assert 2_000 < len(quoted) < 2_500


async def test_the_asker_is_told_of_a_wait_in_a_crowded_channel(bench: Desk) -> None:
    clock = Clock()
    bench.writers = Writers(Pace(edit_every_s=1.0, posts=1, posts_in_s=2 * WAITS_S), clock)
    told = words("en")("slack_thread.waits")

    def about_to_tell() -> bool:
        return clock.now + WAITS_S in clock._waiting.values()

    await bench.view(bench.request(bench.channel, text="Who?")).show(ANSWERS[0])
    await bench.fake.until(lambda: bench.channel.messages and not about_to_tell())
    await bench.view(bench.request(bench.channel, text="Why?")).show(ANSWERS[0])
    await bench.fake.until(about_to_tell)
    await clock.advance(WAITS_S)
    await bench.fake.until(lambda: [post.text for post in bench.channel.everything if post.ephemeral_to])
    await clock.until(lambda: any("Why?" in message.shown for message in bench.channel.messages), 2 * WAITS_S)
    assert [post.text for post in bench.channel.everything if post.ephemeral_to] == [told]


async def test_a_programming_error_is_not_retried_for_ever(bench: Desk) -> None:
    class Broken(Thread):
        posts = 0

        async def post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
            self.posts += 1
            raise ValueError("not a fault of Slack's")

    request = bench.request(bench.channel)
    origin, say = origin_of(request.origin), words("en")
    root = RootMessage(request, origin, bench.records.outbox, Writers(Pace(1.0, 9, 1.0)), say)
    broken = Broken(Workspace(bench.workspaces, origin.team, origin.enterprise), origin.channel)
    with pytest.raises(Refused):
        await asyncio.wait_for(root.post(broken), 10)
    assert broken.posts == 1
