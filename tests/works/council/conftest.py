"""Fixtures of the council's tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.works.council.table import Table, table


@pytest.fixture
async def four(tmp_path: Path) -> AsyncGenerator[Table, None]:
    """A council of four, the last of which supports no JSON schemas; with a chair and a researcher."""
    async with table(tmp_path) as made:
        yield made
