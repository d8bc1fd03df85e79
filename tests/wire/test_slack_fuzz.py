"""Envelopes that no sane client sends, and unsigned ones: the bot keeps running, does no work, and continues to
answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.fakes.slack import fuzz
from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.on_slack import OnSlack
from tests.wire.on_slack_otherwise import OverHttp
from tests.wire.story import ANA, QUESTION, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

PEOPLE, WILD, EACH = 40, 12, 5
"""A person's requests are counted, so that one alone would soon be asked to wait, and nothing tried."""


@pytest.mark.parametrize("wild", [False, True] if ALL else [False])
@pytest.mark.parametrize("seed", range(5 if ALL else 1))
async def test_the_bot_answers_after_two_hundred_hostile_envelopes(seed: int, wild: bool, take: Take) -> None:
    d: OnSlack = await take("slack")
    slack, greeted = d.slack, d.slack.sockets.greeted
    usual = slack.redelivery, slack.ack_seconds
    slack.redelivery, slack.ack_seconds = (), 0.05 if wild else slack.ack_seconds
    before = await d.ask(ANA, QUESTION)  # a thread to write in, and buttons
    await d.rest(1)
    for number, person in enumerate(d.crowd(WILD if wild else PEOPLE)):
        place = d.teams[0].dm(person) if number % 4 == 0 else d.channels[0]
        around = (slack, person, place)
        await asyncio.gather(
            *(
                slack.send_envelope(d.teams[0], kind, payload)
                for kind, payload in fuzz.payloads(seed * PEOPLE + number, around, EACH, wild)
            )
        )
    slack.redelivery, slack.ack_seconds = usual
    after = await d.ask(ANA, QUESTION, table=1)
    assert slack.sent[-1].acked is not None or wild, "a valid question among them is answered"
    await d.until(lambda: count(after.said(), "the Night takes the next turn") == 1)
    assert d.process.alive
    posts = [message for message in d.everything() if message.user.bot]
    assert not [post.shown for post in posts if "Traceback" in post.shown or 'File "' in post.shown]
    assert not [post.shown for post in posts if post.mentions]
    log = d.process.log()
    # The library itself logs errors for wild envelopes.
    assert wild or "Traceback" not in log, log
    assert slack.sockets.greeted == greeted, "the client's own parser did not break"
    assert count(before.said(), "the Night takes the next turn") == 1


async def test_unsigned_requests_cause_no_run(take: Take) -> None:
    d: OverHttp = await take("slack over http")
    slack = d.slack
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    await slack.say(d.people[ANA], d.channels[0], QUESTION, mention=True)
    await d.rest(2)
    texts_before, asked = Counter(message.shown for message in d.everything()), len(d.model.prompts)
    for sent in slack.sent:
        for reply in (
            await slack.http.forge(sent),
            await slack.http.unsigned(sent),
            await slack.http.stale(sent),
        ):
            assert reply.status == 401, (sent, reply)
    for sent in slack.sent:  # correctly signed and recent, but already received
        assert (await slack.http.replay(sent)).status == 200, sent
    for headers in ({}, {"X-Slack-Signature": "v0=é", "X-Slack-Request-Timestamp": "9" * 40}):
        assert (await slack.http.post(b'{"type": "event_callback"}', headers)).status == 401
    assert await slack.http.verify()
    await d.mention(ANA, talk, "and while running?")
    await d.rest(3)
    assert len(d.states()) == 3, "no other request was stored"
    assert len(d.model.prompts) == asked + 1
    assert not texts_before - Counter(message.shown for message in d.everything()), (
        "the existing messages are unchanged"
    )
    d.check()
