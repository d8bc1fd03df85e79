"""The stories, where the bot is several processes on one Postgres."""

from __future__ import annotations

import pytest

from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.stories import STORIES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

TOLD = [
    (platform, name)
    for turn, platform in enumerate(("slack", "discord"))
    for number, name in enumerate(STORIES)
    if ALL or number % 6 == 3 * turn
]
"""Every sixth on each of the platforms; make test-kill tells all on both."""


@pytest.mark.parametrize(("platform", "name"), TOLD)
async def test_story(platform: str, name: str, take: Take) -> None:
    d = await take(f"{platform} on postgres")
    await STORIES[name](d)
    d.check()
