"""A desk for every wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from storage.db import Database
from storage.ledger import Ledger
from tests.fakes import migrated
from tests.fakes.wires import WIRES, Wire
from tests.llm.desk import Open
from tests.llm.table import Lay, Set


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    db = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    yield Ledger(db)
    await db.close()


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


@pytest.fixture
async def desk(wire: Wire, ledger: Ledger) -> AsyncIterator[Open]:
    """Opens desks: `await desk(Reply("one two"), key=KEY, …)`, the service's settings by name."""
    opener = Open(wire, ledger)
    yield opener
    await opener.close()


@pytest.fixture
async def table(ledger: Ledger) -> AsyncIterator[Set]:
    """Lays tables: `await table([Reply("one two")], [Reply(status=402)])`, a script for each service."""
    async with AsyncExitStack() as stack:
        lay = Lay(ledger, stack)
        yield lay
        for laid in lay.laid:
            for models in laid.opened:
                await models.close()
