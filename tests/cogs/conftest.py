from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import simcord

from bot.adapters.discord.service import Sutradhar
from bot.app import App
from bot.platforms import Platform
from tests.cogs.table import Client, Record, Table, World
from tests.fakes.scripted_app import config


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[World, None]:
    data: Path = tmp_path_factory.mktemp("data")
    settings, record = config(data), Record()
    app = await App.open(settings, busy_timeout_s=0.5)
    app.attach(Platform("discord", record.view))
    await app.start()
    client = Client(app, settings)
    # Not simcord.run, which must exit in the context where it was entered; a fixture does not.
    env = simcord.Env(client, shard_count=1, settle_timeout=60)
    await env.start()
    try:
        yield World(app, settings, env, client, record)
    finally:
        await env.shutdown()
        await app.close()
    assert not env.errors


@pytest.fixture
def table(world: World) -> Table:
    return Table(world)


class NoApplication:
    """An application that performs no commands: these tests only inspect them."""

    sure = None

    async def complete(self, *_: object) -> list[str]:
        raise NotImplementedError


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> Sutradhar:
    """The client with its commands before it logs in."""
    app: Any = NoApplication()
    made = Sutradhar(app, config(tmp_path))
    await made.furnish()
    return made
