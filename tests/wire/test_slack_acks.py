"""However many people write at once, and however often Slack tells of it: acknowledged in time, answered once."""

from __future__ import annotations

import asyncio
import statistics
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.slack import Message, User
from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.on_slack import CONNECTIONS, OnSlack
from tests.wire.stories import ANA, QUESTION, count

pytestmark = [pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

AT_ONCE = 100
LIMIT_S = 3.0
"""As long as Slack waits. `make bench ARGS=slack` holds the bot to 0.3 on a machine that does nothing else."""


@pytest_asyncio.fixture(loop_scope="module")
async def d(take: Take) -> OnSlack:
    table: OnSlack = await take("slack")
    return table


async def rolls(d: OnSlack, people: list[User]) -> list[float]:
    """Seconds until the acknowledgement of the commands that these people give at the same moment.

    Each is answered alone: in a channel all would wait for their second.
    """
    asked = await asyncio.gather(
        *(d.typed(one, d.channels[0], "rules roll", "1d1", private=True) for one in people)
    )
    await d.until(lambda: all(one.responses for one in asked))
    return [one.acked for one in asked if one.acked is not None]


async def test_a_hundred_at_once(d: OnSlack) -> None:
    people = d.crowd(AT_ONCE)
    await rolls(d, people[:1])
    # They are new to the bot at first, which waits a while for Slack to tell of them.
    assert len(await rolls(d, people)) == AT_ONCE, "but not for three seconds"
    rounds = [await rolls(d, people) for _ in range(3)]
    assert all(len(took) == AT_ONCE for took in rounds)
    assert statistics.median(map(max, rounds)) < LIMIT_S, [max(took) for took in rounds]
    d.check()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
async def test_mentions_are_acknowledged_while_others_are_being_answered(d: OnSlack) -> None:
    d.model.usual.delay_s = 0.05
    people = d.crowd(12)
    channels = [d.teams[0].channel(f"table-{n}") for n in range(len(people))]
    said = await asyncio.gather(
        *(
            d.slack.say(who, place, QUESTION, mention=True)
            for who, place in zip(people, channels, strict=True)
        )
    )
    more = await rolls(d, people)
    took = [sent.acked for one in said for sent in one.sent] + more
    assert len(took) == 3 * len(people), "each mention is told of twice"
    assert all(one is not None and one < LIMIT_S for one in took), took
    await d.rest(2 * len(people))
    for one in said:
        assert count(shown(d, one), "the Night takes the next turn") == 1
    d.check()


def shown(d: OnSlack, root: Message) -> list[str]:
    return d.under(lambda: root, root.channel).said()


@pytest.mark.parametrize("place", ["channel", "thread", "direct"])
async def test_what_comes_on_both_sockets_and_again_is_answered_once(place: str, d: OnSlack) -> None:
    slack, ana, channel = d.slack, d.people[ANA], d.channels[0]
    thread: Any = None
    if place == "thread":
        thread = await slack.say(ana, channel, "Who has the lantern?")
    where = d.teams[0].dm(ana) if place == "direct" else channel
    held = d.model.hold()
    said = await slack.say(ana, where, QUESTION, mention=place != "direct", thread=thread)
    assert len(said.sent) == (1 if place == "direct" else 2), "a mention arrives as two events"
    for _ in range(2):
        slack.redeliver(said)
        slack.duplicate(said)
    await d.until(lambda: all(len(one.tries) == 5 for one in said.sent))
    held.set()
    await d.until(lambda: all(tried.acked is not None for one in said.sent for tried in one.tries))
    assert len({tried.socket for one in said.sent for tried in one.tries}) == CONNECTIONS
    await d.rest(1)
    slack.redeliver(said)
    await d.until(lambda: all(tried.acked is not None for one in said.sent for tried in one.tries))
    await rolls(d, [ana])
    assert len(d.states()) == 2
    assert len(d.model.prompts) == 1
    assert count(shown(d, said.root), "the Night takes the next turn") == 1
    d.check()
