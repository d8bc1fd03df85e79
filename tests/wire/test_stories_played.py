"""Stories that three people play on both platforms with threads, while the bot is killed repeatedly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.kill.instants import ALL
from tests.wire.conftest import Opened, Take
from tests.wire.stories_at_a_table import an_evening
from tests.wire.stories_played import (
    a_place_that_closes_in_mid_scene,
    killed_at_each_instant_of_a_turn,
    played,
)

pytestmark = [pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]
PLATFORMS = ("discord", "slack")
FEW, MANY = 5, 200 if ALL else 10
"""A channel takes a scene every two seconds or so: two hundred turns are seven minutes, for `make test-kill`."""
EVENING = (200, 30) if ALL else (9, 2)
"""Turns, and kills among them."""


def forgive(d: Any) -> None:
    """Ignore rate limits hit after restarts: a process does not know the calls of the one before it."""
    if hasattr(d, "slack"):
        spent = ("agents.sessions.setStatus", "chat.update")
        d.slack.limited[:] = [wait for wait in d.slack.limited if wait.method not in spent]


async def test_a_few_turns_keep_their_order_and_none_is_lost(take: Take) -> None:
    d = await take("discord")
    await played(d, FEW, "discord")
    d.check()


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_many_turns_keep_their_order_and_none_is_lost(platform: str, take: Take) -> None:
    d = await take(platform)
    await played(d, MANY, platform)
    forgive(d)
    d.check()


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_turn_survives_a_kill_at_each_instant(platform: str, take: Take) -> None:
    d = await take(platform)
    await killed_at_each_instant_of_a_turn(d)
    d.check()


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("platform", PLATFORMS)
async def test_an_evening_with_sheets_a_fight_and_hidden_plans(platform: str, opened: Opened) -> None:
    """On Discord, with messages that do not mention the bot, because a proxy posts them."""
    d = await opened("free_chat = true\n" if platform == "discord" else "", platform=platform)
    await an_evening(d, *EVENING, platform)
    forgive(d)
    d.check()


CLOSE: dict[str, Callable[[Any, Any], None]] = {
    "discord deleted": lambda d, talk: d.discord.remove_channel(talk.home()),
    "discord archived": lambda d, talk: talk.home().set_archived(True),
    "discord locked": lambda d, talk: talk.home().lock(),
    "slack archived": lambda d, talk: setattr(talk.channel, "archived", True),
}


@pytest.mark.slow
@pytest.mark.parametrize("closed", CLOSE)
async def test_a_place_that_closes_during_a_scene_loses_nothing(closed: str, take: Take) -> None:
    d = await take(closed.split()[0])
    if closed.startswith("discord"):
        d.channels.append(d.guilds[0].text("other"))
    else:
        d.channels.append(d.teams[0].channel("other"))
        d.teams.append(d.teams[0])
        d.tables.append(d.people)
    await a_place_that_closes_in_mid_scene(d, lambda talk: CLOSE[closed](d, talk))
    assert "Traceback" not in d.process.log(), d.process.log()
