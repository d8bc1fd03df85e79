"""Fixtures that open desks and tables for each wire protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from storage.db import Database
from storage.ledger import Ledger
from tests.fakes import migrated
from tests.fakes.reply import Script
from tests.fakes.wires import WIRES, Wire
from tests.llm.desk import Open
from tests.llm.table import Lay, Seat, Set, Table


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


SERVICES: dict[str, tuple[str, dict[str, Any]]] = {
    "messages": ("messages", {}),
    "messages-manual": ("messages", {"manual_thinking": True}),
    "responses": ("responses", {}),
    "responses-plain": ("responses", {"reasons": False}),
    "chat": ("chat", {}),
    "deepseek": ("chat", {"dialect": "deepseek"}),
    "gemini": ("chat", {"dialect": "gemini"}),
    "openrouter": ("chat", {"dialect": "openrouter"}),
}
"""Each as (wire, the settings of its service)."""


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, table: Set) -> Seat:
    """Lays a table with one service of each kind: `await service([Reply(…), …])`."""
    wire, settings = SERVICES[request.param]

    async def lay(*scripts: Script, **more: Any) -> Table:
        return await table(*scripts, wires=(wire,) * len(scripts), **settings, **more)

    return lay


@pytest.fixture(params=WIRES)
def seat(request: pytest.FixtureRequest, table: Set) -> Seat:
    """The same for the three wires alone."""

    async def lay(*scripts: Script, **more: Any) -> Table:
        return await table(*scripts, wires=(request.param,) * len(scripts), **more)

    return lay
