"""The stories, on each platform."""

from __future__ import annotations

import pytest

from tests.wire import on_terminal
from tests.wire.conftest import Take
from tests.wire.stories import STORIES

pytestmark = [pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

TOLD = [
    *(("terminal", name) for name in on_terminal.STORIES),
    *(("discord", name) for name in STORIES),
    *(("slack", name) for name in STORIES),
]


@pytest.mark.parametrize(("platform", "name"), TOLD)
async def test_story(platform: str, name: str, take: Take) -> None:
    d = await take(platform)
    await STORIES[name](d)
    d.check()
