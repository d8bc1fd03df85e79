"""A bot on a fake Discord with a channel and a person who asks there; and views without a bot."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from storage.db import Database
from tests.adapters.discord.views import Views
from tests.adapters.discord.wire import Bench, bench
from tests.fakes import migrated
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


@pytest.fixture
async def views(tmp_path: Path) -> AsyncGenerator[Views, None]:
    database = await Database.open(migrated.database(tmp_path / "test.db"))
    yield Views(database)
    await database.close()
