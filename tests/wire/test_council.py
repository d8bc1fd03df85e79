"""Councils on each platform: in `make test` each story on one of them, by turns, in `make test-slow` on the other."""

from __future__ import annotations

import pytest

from tests.wire.conftest import Convened
from tests.wire.stories_council import COUNCIL_STORIES

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

PLATFORMS = ("discord", "slack over http")
TAKES = [
    pytest.param(platform, name, marks=[pytest.mark.slow] if (story + turn) % 2 else [])
    for turn, platform in enumerate(PLATFORMS)
    for story, name in enumerate(COUNCIL_STORIES)
]


@pytest.mark.parametrize(("platform", "name"), TAKES)
async def test_story(platform: str, name: str, convened: Convened) -> None:
    d, council = await convened(platform)
    await COUNCIL_STORIES[name](d, council)
    d.check()
