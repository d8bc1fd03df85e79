"""Councils on each platform."""

from __future__ import annotations

import pytest

from tests.wire.conftest import Convened
from tests.wire.stories_council import COUNCIL_STORIES

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize("name", COUNCIL_STORIES)
@pytest.mark.parametrize("platform", ["discord", "slack over http"])
async def test_story(platform: str, name: str, convened: Convened) -> None:
    d, council = await convened(platform)
    await COUNCIL_STORIES[name](d, council)
    d.check()
