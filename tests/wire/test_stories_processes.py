"""The stories, where the bot is several processes on one Postgres."""

from __future__ import annotations

import pytest

from tests.wire.conftest import Take
from tests.wire.stories import STORIES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize("platform", ["slack", "discord"])
@pytest.mark.parametrize("name", STORIES)
async def test_story(name: str, platform: str, take: Take) -> None:
    d = await take(f"{platform} on postgres")
    await STORIES[name](d)
    d.check()
