"""Faults on the way to Slack: at the end the same answer is shown, once and complete.

A sample by default, all with SUTRADHAR_KILLS=all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.reply import Reply
from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.on_slack import CONNECTIONS, OnSlack
from tests.wire.slack_talk import SlackTalk
from tests.wire.story import ANA, QUESTION, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

Fault = Callable[[OnSlack], Awaitable[None]]

STREAM = ("chat.startStream", "chat.appendStream", "chat.stopStream")
ERRORS: dict[str, tuple[str, ...]] = {
    "ratelimited": (*STREAM, "chat.postMessage", "chat.update"),
    "invalid_blocks": ("chat.postMessage", "chat.stopStream", "chat.update"),
    "msg_blocks_too_long": ("chat.postMessage", "chat.stopStream", "chat.update"),
    "msg_too_long": ("chat.appendStream",),
    "message_not_in_streaming_state": ("chat.appendStream", "chat.stopStream"),
    "missing_recipient_team_id": ("chat.startStream",),
    "not_in_channel": ("chat.startStream",),
    "internal_error": (*STREAM, "chat.postMessage", "chat.update"),
    "unknown_method": ("chat.startStream", "assistant.threads.setStatus"),
    "missing_scope": ("users.info", "conversations.replies"),
}
"""What Slack says, and of what."""


def calls() -> Iterator[Any]:
    """Each method with each kind of fault."""
    for error, methods in ERRORS.items():
        for method in methods:
            yield pytest.param(failing(method, error=error), id=f"{method} {error}")
    for method in (*STREAM, "chat.postMessage", "chat.update"):
        yield pytest.param(failing(method, status=503, times=2), id=f"{method} 503")
        yield pytest.param(failing(method, lost=True), id=f"{method} whose answer is lost")
        yield pytest.param(failing(method, status=0), id=f"{method} cut")
        yield pytest.param(failing(method, delay=1.6, times=3), id=f"{method} slow")


def failing(method: str, **how: Any) -> Fault:
    async def fault(d: OnSlack) -> None:
        d.slack.fail(method, **how)

    return fault


async def drop(d: OnSlack) -> None:
    """Cut both sockets without a closing handshake."""
    await d.slack.drop(rude=True)


async def refresh(d: OnSlack) -> None:
    """Slack announces that it renews a connection, as it does now and then."""
    await d.slack.disconnect("refresh_requested")


async def warn(d: OnSlack) -> None:
    await d.slack.disconnect("warning")


async def expire(d: OnSlack) -> None:
    """End the stream, as Slack does after five minutes."""
    for message in d.everything():
        if message.streaming:
            d.slack.expire(message)


async def nothing(d: OnSlack) -> None:
    """Refuse streams: the answer is then a message that is edited."""
    d.slack.fail("chat.startStream", error="unknown_method", times=9)


NETWORK = [pytest.param(fault, id=fault.__name__) for fault in (drop, refresh, warn, expire)]
EVERY = [*calls(), *NETWORK]
MIDDLE = (
    "chat.appendStream message_not_in_streaming_state",
    "chat.appendStream whose answer is lost",
    "chat.stopStream msg_blocks_too_long",
    "drop",
    "expire",
)
SESSIONS = "agents.sessions.setStatus"
FIRST = f"{SESSIONS} unknown_method"
BEFORE = (
    FIRST,
    "chat.startStream missing_recipient_team_id",
    "chat.postMessage invalid_blocks",
    "chat.postMessage whose answer is lost",
    "chat.startStream ratelimited",
)
UPDATED = ("chat.update ratelimited", "chat.update cut")


def some(ids: tuple[str, ...], *more: Any) -> list[Any]:
    return [fault for fault in (*EVERY, *more) if ALL or fault.id in ids]


@pytest_asyncio.fixture(loop_scope="module")
async def d(take: Take) -> OnSlack:
    table: OnSlack = await take("slack")
    return table


@pytest.mark.parametrize("fault", some(MIDDLE))
async def test_an_answer_is_complete_after_a_fault_in_the_middle_of_it(fault: Fault, d: OnSlack) -> None:
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await fault(d)
    gate.set()
    await whole(d, talk)


@pytest.mark.parametrize(
    "fault", some(BEFORE, pytest.param(failing(SESSIONS, error="unknown_method"), id=FIRST))
)
async def test_an_answer_is_complete_after_a_fault_before_it(fault: Fault, d: OnSlack) -> None:
    gate = d.model.hold(at=0)
    await fault(d)
    await d.slack.connected(1)  # Slack sends a command only once
    talk = await d.ask(ANA, QUESTION)
    gate.set()
    await whole(d, talk)


@pytest.mark.parametrize("fault", some(UPDATED))
async def test_an_edited_answer_is_complete_after_a_fault(fault: Fault, d: OnSlack) -> None:
    await nothing(d)
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await fault(d)
    gate.set()
    await whole(d, talk)


async def test_a_waiting_question_uses_no_message_of_the_previous_answer(d: OnSlack) -> None:
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    d.slack.fail("chat.postMessage", status=503)
    d.model.queue.append(Reply("The second answer: one hour of running [1]."))
    await d.mention(ANA, talk, "And while running?")
    await d.until(lambda: count(talk.said(), "in line") == 1)
    gate.set()
    await d.rest(2)
    texts = talk.said()
    assert count(texts, "the Night takes the next turn") == 1, texts
    assert count(texts, "The second answer") == 1, texts
    d.slack.refused.clear()
    d.check()


async def whole(d: OnSlack, talk: SlackTalk) -> None:
    """Check that there is one complete answer, and that the bot receives what is said afterwards."""
    await d.rest(1)
    texts = talk.said()
    assert count(texts, "four hours of walking or") == 1, texts
    assert count(texts, "the Night takes the next turn") == 1, texts
    assert not [post for post in talk.posts() if "stop" in post.actions]
    assert not [message for message in d.everything() if message.streaming]
    assert len(d.channel().posts()) == 1, "one line names the asker and the question"
    await d.slack.connected(CONNECTIONS)
    d.slack.faults.waiting.clear()
    await d.mention(ANA, talk, "and while running?")
    await d.rest(2)
    assert count(talk.said(), "four hours of walking or") == 2
    assert len(d.model.prompts) == 2
    assert not d.slack.limited, "a known rate limit is not hit again"
    assert "Traceback" not in d.process.log(), d.process.log()
