"""kill -9 on Slack from the command to the last edit: the run continues in the same messages, nothing is paid twice.

`make test-slow` runs half of the slow stories here and the other half on Discord; `make test-kill` runs all on both.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.reply import Reply
from tests.kill.instants import ALL, sequences
from tests.kill.process import PATIENCE_S
from tests.wire.conftest import Take
from tests.wire.model import ANSWER
from tests.wire.on_slack import OnSlack
from tests.wire.slack_talk import SlackTalk
from tests.wire.stories import SLOW_STORIES
from tests.wire.story import ANA, QUESTION, count
from tests.wire.struck import calls_when_kept, received, settled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def d(take: Take) -> OnSlack:
    table: OnSlack = await take("slack")
    return table


@pytest.mark.parametrize(("seed", "shares"), sequences("slack", kills=2, some=1, every=18))
async def test_a_killed_answer_is_finished_in_its_messages(
    seed: int, shares: tuple[float, ...], d: OnSlack
) -> None:
    chance = random.Random(f"slack {seed}")
    d.model.usual = Reply(ANSWER, delay_s=0.06)
    began = time.monotonic()
    reference = await d.ask(ANA, QUESTION)
    await d.rest(1)
    course_s = time.monotonic() - began
    paid = len(d.model.prompts)

    talk, asked = await asked_and_struck(d, shares[0] * course_s)
    stored = len(received(d)) == 2
    kept = calls_when_kept(d, paid)
    for share in shares[1:]:  # anywhere from the start of the process to the end of the answer
        await d.process.start()
        await asyncio.sleep(share * (chance.random() + course_s))
        await d.kill()
        kept = kept or calls_when_kept(d, paid)
    await d.begin(d.process)
    if not stored:  # it was never acknowledged, so Slack showed Ana that it failed
        assert asked.acked is None
        talk = await d.ask(ANA, QUESTION)
    await d.rest(2)
    same(d, talk, reference)
    calls = len(d.model.prompts) - paid
    assert 1 <= calls <= (kept or 1 + len(shares)), "a finished call is not paid again"
    settled(d, calls)


PLACES: dict[str, Callable[[OnSlack, SlackTalk], bool]] = {
    "kept": lambda d, talk: len(d.states()) > 1,
    "acknowledged": lambda d, talk: d.slack.sent[-1].acked is not None and len(d.states()) > 1,
    "asked": lambda d, talk: talk.root is not None,
    "opened": lambda d, talk: talk.stoppable,
    "posted": lambda d, talk: bool(talk.messages()),
    "streaming": lambda d, talk: any(message.streaming for message in talk.messages()),
    "answering": lambda d, talk: count(talk.said(), "A candle") > 0,
    "answered": lambda d, talk: count(talk.said(), "the Night takes the next turn") > 0,
    "closed": lambda d, talk: any("feedback" in post.actions for post in talk.posts()),
}
"""Between two steps of an answer on its way; the fake sees each as soon as it is done."""


@pytest.mark.parametrize("place", PLACES if ALL else ("kept", "closed"))
async def test_an_answer_survives_a_kill_at_any_stage(place: str, d: OnSlack) -> None:
    reference = await d.ask(ANA, QUESTION)
    await d.rest(1)
    talk = d.next(d.channels[0], QUESTION)
    if place == "streaming":  # a channel accepts a message a second, and a quick answer is complete by then
        d.model.queue.append(Reply(ANSWER, delay_s=0.2))
    asking = asyncio.create_task(d.typed(d.people[ANA], d.channels[0], "rules ask", QUESTION))
    async with asyncio.timeout(PATIENCE_S):
        while not PLACES[place](d, talk):  # noqa: ASYNC110 - the file of the bot's database tells nobody
            await asyncio.sleep(0.001)
    await d.kill()
    await asking
    assert len(received(d)) == 2
    await d.begin(d.process)
    await d.rest(2)
    same(d, talk, reference)
    settled(d, 1)


async def asked_and_struck(d: OnSlack, after_s: float) -> tuple[SlackTalk, Any]:
    """Ask, and kill the bot `after_s` seconds after the question was sent."""
    talk = d.next(d.channels[0], QUESTION)
    asking = asyncio.create_task(d.typed(d.people[ANA], d.channels[0], "rules ask", QUESTION))
    await asyncio.sleep(after_s)
    await d.kill()
    return talk, await asking


def same(d: OnSlack, talk: SlackTalk, reference: SlackTalk) -> None:
    """Check that the second answer looks like the first, once, under one line that names the asker and the question."""
    assert plain(talk.said()) == plain(reference.said())
    assert len(d.channel().posts()) == 2
    ended(d)


def ended(d: OnSlack) -> None:
    assert not [message for message in d.everything() if message.streaming]
    assert not d.processing(), "no stop button is left"
    d.check()


def plain(texts: list[str]) -> list[str]:
    """Texts without the note that a message was restarted."""
    return [re.sub(r"\n?↻ .*", "", text) for text in texts]


@pytest.mark.parametrize("seed", range(4 if ALL else 1))
async def test_a_private_answer_continues_in_direct_messages(seed: int, d: OnSlack) -> None:
    d.model.hold(at=18 + 2 * seed)
    talk = await d.ask(ANA, QUESTION, private=True)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.restart()
    await d.rest(1)
    assert count(talk.said(), "A candle burns for") == 1, talk.said()
    assert count(talk.said(), "the Night takes the next turn") == 1
    assert len(d.model.prompts) == 2
    assert not count([post.text for post in d.channel().posts()], "A candle")
    ended(d)


async def test_messages_during_an_absence_are_answered_once(d: OnSlack) -> None:
    """Slack redelivers unacknowledged events: a mention is two events, a reply in the bot's thread is one."""
    slack = d.slack
    slack.redelivery = (0.0, *[0.5] * 600)
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    await d.kill()
    mention = await slack.say(d.people[ANA], d.channels[0], QUESTION, mention=True, wait=False)
    await d.say(ANA, talk, "and while running?")
    await d.begin(d.process)
    await d.rest(3)
    await d.until(lambda: all(sent.acked is not None for sent in mention.sent))
    under = d.under(lambda: mention, d.channels[0])
    assert count(under.said(), "the Night takes the next turn") == 1
    assert count(talk.said(), "the Night takes the next turn") == 2
    assert len(d.model.prompts) == 3
    ended(d)


async def test_a_stopped_answer_stays_stopped(d: OnSlack) -> None:
    d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.press(ANA, talk, "stop")
    await d.until(lambda: d.states() == ["stopped"])
    await d.restart()
    # A kill after a run's end, before Slack learns of it, leaves Slack's own stop button until the next run ends.
    await d.until(lambda: not [message for message in talk.messages() if message.streaming])
    await d.until(lambda: bool([line for line in talk.said() if "What was shown so far is kept" in line]))
    await d.mention(ANA, talk, "and while running?")
    await d.rest(2)
    assert count(talk.said(), "A candle burns for") == 2
    assert len(d.model.prompts) == 2
    ended(d)


async def test_answers_in_several_channels_all_continue(d: OnSlack) -> None:
    d.channels += [d.teams[0].channel(f"table-{n}") for n in range(4)]
    d.teams += [d.teams[0]] * 4
    d.tables += [d.people] * 4
    for _ in d.channels[2:]:
        d.model.hold()
    talks = [await d.ask(ANA, QUESTION, table=n) for n in range(2, 6)]
    await d.until(lambda: all(count(talk.said(), "A candle burns for") == 1 for talk in talks))
    await d.restart()
    await d.rest(4)
    for talk in talks:
        assert count(talk.said(), "A candle burns for") == 1
        assert count(talk.said(), "the Night takes the next turn") == 1
    ended(d)


@pytest.mark.parametrize("name", SLOW_STORIES if ALL else [*SLOW_STORIES][1::2])
async def test_story(name: str, d: OnSlack) -> None:
    await SLOW_STORIES[name](d)
    d.check()
