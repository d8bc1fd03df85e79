"""Every event is acknowledged and answered once, however many people write at once and however often Slack repeats it.

`make bench ARGS=slack` measures how soon: 0.3 s on a machine that does nothing else, where Slack waits 3.
"""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from tests.fakes.slack import Message, User
from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.on_slack import OnSlack
from tests.wire.story import QUESTION, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

AT_ONCE = 100


@pytest_asyncio.fixture(loop_scope="module")
async def d(take: Take) -> OnSlack:
    table: OnSlack = await take("slack")
    return table


async def roll(d: OnSlack, people: list[User]) -> None:
    """Let these people give a command at the same moment, and check that each is acknowledged and answered.

    Each uses direct messages: in one channel, Slack would accept only one post a second.
    """
    asked = await asyncio.gather(
        *(d.typed(person, d.channels[0], "rules roll", "1d1", private=True) for person in people)
    )
    await d.until(lambda: all(command.responses for command in asked))
    assert not [command for command in asked if command.acked is None]


async def test_a_hundred_commands_at_once_are_acknowledged_in_time(d: OnSlack) -> None:
    people = d.crowd(AT_ONCE)
    for _ in range(3):  # at first the bot does not know them, and looks them up
        await roll(d, people)
    d.check()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
async def test_mentions_are_acknowledged_while_others_are_being_answered(d: OnSlack) -> None:
    d.model.usual.delay_s = 0.05
    people = d.crowd(12)
    channels = [d.teams[0].channel(f"table-{n}") for n in range(len(people))]
    messages = await asyncio.gather(
        *(
            d.slack.say(person, place, QUESTION, mention=True)
            for person, place in zip(people, channels, strict=True)
        )
    )
    deliveries = [sent for message in messages for sent in message.sent]
    assert len(deliveries) == 2 * len(people), "each mention is two events"
    assert not [sent for sent in deliveries if sent.acked is None]
    await roll(d, people)
    await d.rest(2 * len(people))
    for message in messages:
        assert count(shown(d, message), "the Night takes the next turn") == 1
    d.check()


def shown(d: OnSlack, root: Message) -> list[str]:
    return d.under(lambda: root, root.channel).said()
