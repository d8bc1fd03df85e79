"""Presses on Slack: in time, too late, and from other spaces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict
from typing import Any

import pytest
import pytest_asyncio

from bot.adapters.slack.placing import PLATFORM, AnswerPlace, location_of_interaction
from bot.adapters.slack.received.presses import Press
from bot.events import Choice, Citation, Event, Request, Text
from bot.runs.requests import event_id
from bot.work import Run
from tests.adapters.slack.pressing import FEEDBACK, done, live, press, shown, told
from tests.adapters.slack.table import Table, table
from tests.fakes.slack import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")

ELSEWHERE = "T0ELSEWHERE"


async def endless(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("begun")
    await asyncio.Event().wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def first(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Table]:
    async with table(tmp_path_factory.mktemp("data"), {"endless": endless}, record=True) as at:
        yield at


async def test_stop_cancels_the_run_and_names_the_presser_to_everybody(at: Table) -> None:
    run = (await live(at)).id
    root = await at.slack.say(at.ana, at.channel, "A thread", wait=False)
    answer = await shown(at, f"stop:{run}", thread=root)
    await press(at, at.bia, answer, "stop")
    assert await at.app.ended(run) == "stopped"
    await at.slack.until(lambda: root.thread[-1].shown == "Bia stopped this.")
    assert at.channel.messages == [root]


async def test_where_the_bot_may_not_write_the_presser_alone_learns_of_the_stop(at: Table) -> None:
    run = (await live(at)).id
    answer = await shown(at, f"stop:{run}")
    at.slack.fail("chat.postMessage", error="not_in_channel")
    await press(at, at.bia, answer, "stop")
    assert await told(at, at.bia) == "Bia stopped this."
    assert at.channel.messages[0] is answer
    assert len(at.channel.messages) == 2


async def test_a_run_of_another_workspace_cannot_be_stopped_by_a_copied_button(at: Table) -> None:
    run = (await live(at, space=ELSEWHERE)).id
    answer = await shown(at, f"stop:{run}")
    await press(at, at.ana, answer, "stop")
    await told(at, at.ana)
    assert at.app.runs.of(ELSEWHERE, run)


BUTTONS: list[Callable[[str], str]] = [
    lambda run: f"stop:{run}",
    lambda run: f"retry:{run}",
    lambda run: f"sources:{run}",
    lambda run: f"share:{run}",
    lambda run: f"sources:{run}:0",
    lambda run: f"choice:{run}:0",
    lambda run: f"feedback:{run}:up",
]


async def offered(at: Table, request: Request) -> None:
    """Store a source and a choice of the run."""
    source = Citation(1, "Handbook", "Combat", "A secret of Ana's.")
    keep, space = at.app.resources.records.offers.keep, request.place.space
    await keep(space, request.id, "source", [json.dumps(asdict(source))])
    choice = Choice("Grappled", "/rules lookup Secret")
    await keep(space, request.id, "choice", [json.dumps(asdict(choice))])


@pytest.mark.parametrize("button", BUTTONS)
@pytest.mark.parametrize("home", ["alone", "direct"])
async def test_nobody_else_can_press_buttons_of_a_private_answer(
    at: Table, button: Callable[[str], str], home: AnswerPlace
) -> None:
    request = await live(at, home=home)
    await offered(at, request)
    copied = await shown(at, button(request.id))
    label = "Good answer" if button(request.id).startswith(FEEDBACK) else button(request.id).split(":")[0]
    await press(at, at.bia, copied, _label(copied, label))
    text = await told(at, at.bia)
    assert "no longer" in text
    assert "ecret" not in text
    assert at.app.runs.of(at.space, request.id)
    assert at.requests == [request]
    assert [view for view in at.slack.views if view.user is at.bia] == []
    assert at.channel.messages[-1].ephemeral_to is at.bia
    assert (await at.app.resources.records.feedback.count(at.space))["up"] == 0


def _label(message: Message, label: str) -> str:
    """ "up" if the message has thumbs, otherwise the label."""
    thumbs = [
        element
        for block in message.blocks
        if block["type"] == "context_actions"
        for element in block["elements"]
    ]
    return "up" if thumbs else label


@pytest.mark.parametrize("button", BUTTONS)
async def test_a_press_cannot_reach_another_workspaces_runs(at: Table, button: Callable[[str], str]) -> None:
    request = await live(at, space=ELSEWHERE)
    await offered(at, request)
    copied = await shown(at, button(request.id))
    await press(at, at.ana, copied, _label(copied, button(request.id).split(":")[0]))
    assert "ecret" not in await told(at, at.ana)
    assert at.app.runs.of(ELSEWHERE, request.id)
    assert at.requests == [request]
    assert [view for view in at.slack.views if view.user is at.ana] == []
    for space in (at.space, ELSEWHERE):
        assert (await at.app.resources.records.feedback.count(space))["up"] == 0


async def test_retry_asks_the_edited_words_in_the_same_thread(at: Table) -> None:
    past = await done(at)
    await at.app.reword(at.space, past.id, "hello again")
    root = await at.slack.say(at.ana, at.channel, "A thread", wait=False)
    answer = await shown(at, f"retry:{past.id}", thread=root)
    await press(at, at.bia, answer, "retry")
    retried = (await at.ended(2))[1]
    assert (retried.text, retried.author.id) == ("hello again", at.bia.id)
    assert (retried.place.channel, retried.place.thread) == (at.channel.id, root.ts)


async def test_a_press_delivered_twice_asks_once(at: Table) -> None:
    past = await done(at)
    answer = await shown(at, f"retry:{past.id}")
    sent = await at.slack.press(at.ana, answer, "retry")
    await at.ended(2)
    at.slack.redeliver(sent)
    await at.slack.until(lambda: len(sent.tries) > 1)
    await press(at, at.ana, await shown(at, f"retry:{past.id}"), "retry")
    await at.ended(3)
    assert len(at.requests) == 3


async def test_a_choice_runs_its_line_as_the_presser(at: Table) -> None:
    run = event_id(PLATFORM, at.space, "choice")
    choices = [Choice("Grappled", "/rules lookup Grappled"), Choice("Leave it", "")]
    kept = [json.dumps(asdict(choice)) for choice in choices]
    await at.app.resources.records.offers.keep(at.space, run, "choice", kept)
    answer = await shown(at, f"choice:{run}:0")
    await press(at, at.bia, answer, "choice")
    await at.begun()
    assert (at.asked.verb, at.asked.text, at.asked.author.id) == ("lookup", "Grappled", at.bia.id)
    assert at.origin.home == "channel"
    nothing = await shown(at, f"choice:{run}:1")
    await press(at, at.bia, nothing, "choice")
    assert await told(at, at.bia) == "Cancelled."
    assert len(at.requests) == 1


async def test_a_choice_in_an_ephemeral_message_is_answered_ephemerally(at: Table) -> None:
    request = await done(at, home="alone")
    await offered(at, request)
    answer = await shown(at, f"choice:{request.id}:0", to=at.ana)
    await press(at, at.ana, answer, "choice")
    asked = (await at.begun(2))[1]
    assert (asked.verb, asked.options) == ("lookup", {"private": True})
    assert at.origins[1].home == "alone"


async def test_a_persons_last_thumb_counts(at: Table) -> None:
    request = await done(at)
    answer = await shown(at, f"feedback:{request.id}:up")
    before = await at.app.resources.records.feedback.count(at.space)
    await press(at, at.ana, answer, "up")
    assert (await told(at, at.ana)).startswith("Thank you. I noted that this helped")
    await press(at, at.ana, answer, "down")
    assert (await told(at, at.ana, 2)).startswith("Thank you. I noted that this did not")
    after = await at.app.resources.records.feedback.count(at.space)
    assert (after["up"] - before["up"], after["down"] - before["down"]) == (0, 1)


@pytest.mark.parametrize(
    "id",
    [
        f"retry:{'0' * 32}",
        f"choice:{'0' * 32}:3",
        f"sources:{'0' * 32}",
        f"sources:{'0' * 32}:1",
        f"share:{'0' * 32}",
        "retry:not-a-run",
        "choice:" + "0" * 32,
        "stop:" + "0" * 33,
        "stop:" + "0" * 32 + "\n",
        "feedback:" + "0" * 32 + ":sideways",
        "another-release",
    ],
)
async def test_a_stale_or_malformed_press_gets_a_polite_ephemeral_answer(at: Table, id: str) -> None:
    client = await at.bot.workspaces.client(at.space)
    button = {"type": "button", "action_id": id, "text": {"type": "plain_text", "text": "x"}}
    blocks = [{"type": "actions", "elements": [button]}]
    sent = await client.chat_postMessage(channel=at.channel.id, text="old", blocks=blocks)
    answer = at.channel.posts[str(sent["ts"])]
    await press(at, at.ana, answer, "x")
    assert "no longer" in await told(at, at.ana)
    assert at.requests == []
    assert at.whispers(at.bia) == []


@pytest.mark.parametrize(
    ("team", "enterprise", "space"),
    [("T1", None, "T1"), ("T1", "E1", "T1"), ("E1", "E1", "T2"), (None, "E1", "E1")],
)
async def test_a_press_belongs_to_the_space_that_installed_the_app(
    team: str | None, enterprise: str | None, space: str
) -> None:
    body = {"user": {"id": "U1", "team_id": "T2"}, "container": {"channel_id": "C1", "thread_ts": "1.0"}}
    here = location_of_interaction(body, team, enterprise)
    assert (here.space, here.user, here.channel, here.thread) == (space, "U1", "C1", "1.0")


async def test_presses_are_told_apart_by_place_time_and_person() -> None:
    action, container = {"action_ts": "3.0"}, {"channel_id": "C1", "message_ts": "1.0"}
    body = {"user": {"id": "U1"}, "container": container, "actions": [action]}
    others = [
        body | {"user": {"id": "U2"}},
        body | {"container": container | {"channel_id": "C2"}},
        body | {"container": container | {"message_ts": "2.0"}},
        body | {"container": {"view_id": "V1"}},
        body | {"container": {"view_id": "V2"}},
        body | {"actions": [{"action_ts": "4.0"}]},
    ]
    intake: Any = None
    ack: Any = None
    presses = [
        Press(intake, press, location_of_interaction(press, "T1", None), ack)
        for press in [body, dict(body), *others]
    ]
    assert len({press.event for press in presses}) == 7


async def test_a_failed_press_is_reported_without_its_cause(at: Table) -> None:
    request = await done(at)
    await at.app.resources.records.offers.keep(at.space, request.id, "choice", ["{not json: xoxb-secret"])
    await press(at, at.ana, await shown(at, f"choice:{request.id}:0"), "choice")
    text = await told(at, at.ana)
    assert "log" in text
    assert "xoxb" not in text


async def test_a_press_is_acknowledged_while_the_storage_is_slow(at: Table) -> None:
    """The bot waits longer for a locked database than Slack waits for the acknowledgement."""
    request = await done(at)
    answer = await shown(at, f"feedback:{request.id}:up")
    async with at.app.resources.records.database.write():
        sent = await at.slack.press(at.ana, answer, "up")
        assert sent.acked is not None
        assert at.whispers(at.ana) == []
    await told(at, at.ana)


async def test_a_withdrawn_answer_cannot_be_shared(at: Table) -> None:
    request = await done(at, home="alone")
    answer = await shown(at, f"share:{request.id}", to=at.ana)
    await at.app.forget(at.space, request.id)
    await press(at, at.ana, answer, "share")
    await at.slack.until(lambda: len(at.whispers(at.ana)) > 1)
    assert "no longer" in at.whispers(at.ana)[-1]
