from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from tests.adapters.slack.desk import Desk, Ground, desk, ground
from tests.adapters.slack.table import Table, table


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def first(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Table]:
    """One bot on two sockets for all tests of a module, which share an event loop; it posts no answers."""
    async with table(tmp_path_factory.mktemp("data"), record=True, connections=2) as at:
        yield at


@pytest.fixture
def at(first: Table) -> Table:
    """A separate table for the test."""
    return first.another()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def under(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Ground]:
    """One fake Slack and one storage for the views of a module; no bot listens to events."""
    async with ground(tmp_path_factory.mktemp("data")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def bench(under: Ground) -> AsyncGenerator[Desk]:
    """A separate workspace for the test."""
    async with desk(under) as made:
        yield made
