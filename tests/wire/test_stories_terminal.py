"""The stories, in the terminal."""

from __future__ import annotations

import pytest

from tests.wire import on_terminal
from tests.wire.conftest import Take
from tests.wire.stories import STORIES

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize("name", on_terminal.STORIES)
async def test_story(name: str, take: Take) -> None:
    d = await take("terminal")
    await STORIES[name](d)
    d.check()
