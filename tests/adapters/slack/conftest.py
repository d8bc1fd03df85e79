from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from tests.adapters.slack.desk import Desk, Ground, desk, ground
from tests.adapters.slack.table import Table, table


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def first(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Table]:
    """One bot for the tests of a module, which are in one loop, on two sockets; it posts no answers."""
    async with table(tmp_path_factory.mktemp("data"), record=True, connections=2) as at:
        yield at


@pytest.fixture
def at(first: Table) -> Table:
    """A table of the test's own."""
    return first.another()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def under(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Ground]:
    """One Slack and one storage for the views of a module, without anybody who listens."""
    async with ground(tmp_path_factory.mktemp("data")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def bench(under: Ground) -> AsyncGenerator[Desk]:
    """A workspace of the test's own."""
    async with desk(under) as made:
        yield made
