"""Councils: every other story in `make test`, on alternating platforms; the rest in `make test-slow`, on both."""

from __future__ import annotations

import pytest

from tests.wire.conftest import Convened
from tests.wire.stories_council import COUNCIL_STORIES

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

PLATFORMS = ("discord", "slack over http")
TAKES = [
    pytest.param(platform, name, marks=[] if story % 4 == 2 * turn else [pytest.mark.slow])
    for turn, platform in enumerate(PLATFORMS)
    for story, name in enumerate(COUNCIL_STORIES)
]


@pytest.mark.parametrize(("platform", "name"), TAKES)
async def test_story(platform: str, name: str, convened: Convened) -> None:
    d, council = await convened(platform)
    await COUNCIL_STORIES[name](d, council)
    d.check()
