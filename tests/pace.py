"""How slow this processor is now: a busy or old machine needs more time for the same work."""

from __future__ import annotations

import time

ADDITIONS = 500_000
USUAL_S = 0.024
"""Of processor time for so many additions, where the limits of the tests were measured."""


def slowness() -> float:
    """How many times longer this processor takes now than usual; at least 1."""
    began, total = time.process_time(), 0
    for number in range(ADDITIONS):
        total += number
    return max(1.0, (time.process_time() - began) / USUAL_S)
