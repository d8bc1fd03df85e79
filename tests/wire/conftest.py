"""What the tests over the wire share: for each platform its fake, a model, a data folder with books and the bot's
process.

A module's tests share one process per platform, and its event loop: `pytest.mark.asyncio(loop_scope="module")`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.fakes.discord import FakeDiscord
from tests.fakes.slack import FakeSlack
from tests.wire.council_model import Call, CouncilModel
from tests.wire.narrated import narrated
from tests.wire.on_discord import OnDiscord
from tests.wire.on_slack import OnSlack
from tests.wire.on_slack_otherwise import InAnOrganisation, OverHttp
from tests.wire.on_terminal import OnTerminal
from tests.wire.several import several
from tests.wire.sharded import Sharded, sharded
from tests.wire.shared_bot import TABLES, SharedBot
from tests.wire.stories_council import MEMBERS, SYNTHESIZE

Opened = Callable[..., Awaitable[Any]]
PLATFORMS: dict[str, tuple[Any, Any]] = {
    "discord": (FakeDiscord, OnDiscord),
    "slack": (FakeSlack, OnSlack),
    "terminal": (nullcontext, OnTerminal),
    "discord, narrated": (FakeDiscord, narrated(OnDiscord)),
    "slack, narrated": (FakeSlack, narrated(OnSlack)),
    "terminal, narrated": (nullcontext, narrated(OnTerminal)),
    "slack over http": (FakeSlack, OverHttp),
    "slack in an organisation": (FakeSlack, InAnOrganisation),
}

SEVERAL = " on postgres"
"""The suffix of a platform's name for a bot of several processes on one database."""

NARRATED = 10
"""The number of tables of a bot that reads aloud; at every start it joins a voice channel of each."""


class Houses:
    """The shared bots, one open at a time: a table on another platform closes the previous bot. `tests` limits the
    tables.

    `server` gives the URL of a Postgres server.
    """

    def __init__(self, folder: Path, tests: int, server: Callable[[], str]) -> None:
        self._folder, self._tests, self._server = folder, tests, server
        self._kind: tuple[str, bool] | None = None
        self._house: SharedBot[Any] | None = None
        self._count = 0

    async def table(self, platform: str, council: CouncilModel | None = None) -> Any:
        kind = (platform, council is not None)
        if self._house is None or self._kind != kind:
            await self.close()
            self._count += 1
            folder = self._folder / str(self._count)
            folder.mkdir()
            self._kind = kind
            tables = min(self._tests, NARRATED if platform.endswith("narrated") else TABLES)
            fake, drive = PLATFORMS[platform.removesuffix(SEVERAL)]
            if platform.endswith(SEVERAL):
                drive = several(drive, self._server)
            self._house = SharedBot(folder, fake, drive, council=council is not None, tables=tables)
        return await self._house.table(council)

    async def close(self) -> None:
        if self._house is not None:
            await self._house.close()
        self._house = None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def houses(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Houses]:
    tests = sum(item.path == request.path for item in request.session.items)
    server = partial(request.getfixturevalue, "postgres")
    all_ = Houses(tmp_path_factory.mktemp("houses"), tests, server)
    yield all_
    await all_.close()


Take = Callable[..., Awaitable[Any]]


@pytest_asyncio.fixture(loop_scope="module")
async def take(houses: Houses) -> AsyncIterator[Take]:
    """Takes a table of a platform; if the test fails, pytest shows what happened there."""
    talks: list[Any] = []

    async def table(platform: str, council: CouncilModel | None = None) -> Any:
        talks.append(await houses.table(platform, council))
        return talks[-1]

    yield table
    for talk in talks:
        print(talk.story())


@pytest_asyncio.fixture(loop_scope="module")
async def driver(take: Take) -> OnDiscord:
    """A table on Discord with the default settings."""
    table: OnDiscord = await take("discord")
    return table


@pytest_asyncio.fixture
async def fleet(postgres: str, tmp_path: Path) -> AsyncIterator[Sharded]:
    async with sharded(postgres, tmp_path) as made:
        yield made


class Seats(NamedTuple):
    """A table, and the models of the council that meets there."""

    driver: Any
    council: CouncilModel


Convened = Callable[[str], Awaitable[Seats]]


@pytest_asyncio.fixture(loop_scope="module")
async def convened(take: Take) -> Convened:
    """Takes a table with a council of four members, each a bit slower than the previous one."""

    async def sit(platform: str) -> Seats:
        latency_s = {
            Call(name, task): 0.05 * n for n, name in enumerate(MEMBERS) for task in ("answer", "ballot")
        }
        council = CouncilModel({**latency_s, SYNTHESIZE: 0.2})
        return Seats(await take(platform, council), council)

    return sit


@pytest_asyncio.fixture(loop_scope="module")
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Opens a separate bot for the test, with its own settings or books."""
    talks: list[Any] = []
    async with AsyncExitStack() as stack:

        async def open_(toml: str = "", *, platform: str = "discord", **more: Any) -> Any:
            shared: SharedBot[Any] = SharedBot(tmp_path, *PLATFORMS[platform], toml, tables=1, **more)
            stack.push_async_callback(shared.close)
            talks.append(await shared.table())
            return talks[-1]

        yield open_
        for talk in talks:
            print(talk.story())
