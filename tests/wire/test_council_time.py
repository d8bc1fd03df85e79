"""A council of eight takes as long as the slowest of each stage, and little more."""

from __future__ import annotations

from pathlib import Path

from tests.wire.council_time import timed

BUSY = 1.2
"""Beside another test process; one call after the other would take three times as long as the slowest of each
stage. The benchmark of the council holds it to 1.05."""


async def test_the_stages_cost_little_more_than_their_slowest_calls(tmp_path: Path) -> None:
    assert (await timed(tmp_path)).ratio <= BUSY
