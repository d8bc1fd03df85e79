"""The stories, on Discord."""

from __future__ import annotations

import pytest

from tests.wire.conftest import Take
from tests.wire.stories import STORIES, by_turns

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize("name", by_turns(0))
async def test_story(name: str, take: Take, request: pytest.FixtureRequest) -> None:
    d = await take("discord, narrated" if request.node.get_closest_marker("slow") else "discord")
    await STORIES[name](d)
    d.check()
