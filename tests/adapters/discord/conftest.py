"""A bot on a fake Discord, a channel of a server, and somebody who asks there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.adapters.discord.wire import Bench, bench
from tests.fakes.discord import Channel, User


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Bench, None]:
    async with bench(tmp_path) as made:
        yield made


@pytest.fixture
def channel(desk: Bench) -> Channel:
    return desk.fake.guild("Table").text("general")


@pytest.fixture
def ana(desk: Bench, channel: Channel) -> User:
    ana = desk.fake.user("Ana")
    assert channel.guild is not None
    channel.guild.join(ana)
    return ana
