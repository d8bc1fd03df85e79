"""The stories, on each platform."""

from __future__ import annotations

import pytest

from tests.wire.on_discord import OnDiscord
from tests.wire.stories import STORIES

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("name", STORIES)
async def test_on_discord(name: str, driver: OnDiscord) -> None:
    await STORIES[name](driver)
    driver.check()
