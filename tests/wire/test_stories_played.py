"""Stories played by three people, over both platforms with threads, while the bot is killed again and again."""

from __future__ import annotations

import pytest

from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.stories_played import killed_at_each_instant_of_a_turn, played

pytestmark = [pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]
PLATFORMS = ("discord", "slack")
FEW, MANY = 12, 200 if ALL else 36
"""A channel takes a scene every two seconds or so: two hundred turns are seven minutes, for `make test-kill`."""


@pytest.mark.parametrize("platform", ["discord", pytest.param("slack", marks=pytest.mark.slow)])
async def test_a_dozen_turns_keep_their_order_and_none_is_lost(platform: str, take: Take) -> None:
    d = await take(platform)
    await played(d, FEW, platform)
    d.check()


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_many_turns_keep_their_order_and_none_is_lost(platform: str, take: Take) -> None:
    d = await take(platform)
    await played(d, MANY, platform)
    d.check()


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_kill_at_each_instant_of_a_turn(platform: str, take: Take) -> None:
    d = await take(platform)
    await killed_at_each_instant_of_a_turn(d)
    d.check()
