"""Models that have just failed, and are tried after the others of their chain for a while.

Knows no chain but by the names in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bot.events import Sorry
from bot.llm.base import ModelError

RESTS_S = {"quota": 300.0, "auth": 300.0, "timeout": 60.0, "connection": 30.0}
"""How long a model that failed so is tried after the others of its chain."""

LONGEST_REST_S = 900.0
"""… at the most, where the service says how long it wants to be left alone."""

_PASSED = {
    "model.key_missing": "auth",
    "model.demo_absent": "not_found",
    "model.demo_broken": "not_found",
    "model.demo_runtime": "not_found",
    "config.role_provider": "not_found",
}
"""What a model that could not even be asked is passed over for."""


class Resting:
    """Forgets everything with the process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rests: dict[str, tuple[float, str]] = {}
        """Until when a model rests, and why."""

    def among(self, chain: Iterable[str]) -> dict[str, str]:
        """Those of `chain` that rest now, and why."""
        now = self._clock()
        rests = {named: self._rests[named] for named in chain if named in self._rests}
        return {named: why for named, (until, why) in rests.items() if until > now}

    def failed(self, named: str, error: Sorry) -> str:
        """Let a model rest for what it failed with; gives the fault's name."""
        fault = error.fault if isinstance(error, ModelError) else _PASSED.get(error.key, "server")
        rest = RESTS_S.get(fault, 0.0)
        if fault == "rate_limit" and isinstance(error, ModelError) and error.retry_after_s:
            rest = min(error.retry_after_s, LONGEST_REST_S)
        if rest:
            self._rests[named] = (self._clock() + rest, fault)
        return fault

    def answered(self, named: str) -> None:
        self._rests.pop(named, None)
