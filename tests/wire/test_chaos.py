"""A short run under faults, on both platforms: the long one is `python -m tests.wire.chaos`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kill.instants import ALL
from tests.wire.chaos import Chaos
from tests.wire.histories import violations

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("seed", range(1, 4) if ALL else (1,))
async def test_nothing_is_lost_doubled_or_out_of_order(seed: int, tmp_path: Path) -> None:
    """Three times six faults in `make test-kill`, otherwise four."""
    chaos = Chaos(seed, pauses_s=((0.2, 0.8), (0.4, 1.2)))
    history = await chaos.run(*((6, 25.0) if ALL else (4, 15.0)), tmp_path)
    found = violations(history)
    assert not found, (found, chaos.timeline, chaos.report(history, found))
    assert chaos.faults.total() > 1
    assert len(history.events) > 5
