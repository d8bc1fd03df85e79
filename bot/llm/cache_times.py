"""Chooses how long a service keeps a prompt's prefix, five minutes or an hour, by the time between a conversation's
calls.

Only Anthropic offers the choice. Knows times but no prompt. Kept in memory: after a restart each conversation counts as
new.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bot.events import Place

READ: Final = 0.1
"""The cost of reading a cached prefix, as a share of the price of input (Anthropic, "Prompt caching", "Pricing")."""

WRITE: Final = {300.0: 1.25, 3_600.0: 2.0}
"""The cost of caching a prefix, by the seconds for which it is kept; each read keeps it for as long again."""

MARGIN_S: Final = 20.0
"""A call this close to expiry counts as too late, because it takes time to reach the service."""

GAPS: Final = 8
"""How many of the latest gaps count."""

REMEMBERED: Final = 500

WITHIN_A_RUN: Final = frozenset({"council", "chair", "extractor"})
"""Roles whose calls share a prefix within one run, seconds apart, and rarely after it."""


@dataclass(frozen=True, slots=True)
class CacheCosts:
    """The average cost per call of a conversation's prefix over the last `gaps` gaps, as a share of the price of input:
    if kept for five minutes, and for an hour."""

    gaps: int
    five_minutes: float
    hour: float


class CacheTimes:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: OrderedDict[tuple[str, tuple[str, ...]], tuple[float, deque[float]]] = OrderedDict()
        """The time of the last call, and the gaps before it."""

    def hour(self, role: str, model: str, place: Place) -> bool:
        """Note a call of `role` to `model`. Returns whether to keep its prefix for an hour: whether that would have
        cost less for the last gaps.

        Without gaps, a conversation gets the hour, because people take minutes to read and to write. Then five minutes
        would cost 1.25 + 1.25 times the prefix for two turns, and an hour costs 2 + 0.1. If people are faster, the hour
        costs 0.75 times the prefix too much, once.
        """
        key, now = (role, (model, *place.key)), self._clock()
        last, gaps = self._calls.pop(key, (now, deque[float](maxlen=GAPS)))
        if now > last:
            gaps.append(now - last)
        self._calls[key] = (now, gaps)
        while len(self._calls) > REMEMBERED:
            self._calls.popitem(last=False)
        if not gaps:
            return role not in WITHIN_A_RUN
        return _cost(gaps, 3_600.0) < _cost(gaps, 300.0)

    def costs(self, place: Place) -> CacheCosts | None:
        """The costs for the place's last call whose prefix may be kept; None if it has no gaps yet."""
        for (_, conversation), (_, gaps) in reversed(self._calls.items()):
            if gaps and conversation[1:] == place.key:
                return CacheCosts(len(gaps), *(_cost(gaps, kept_s) / len(gaps) for kept_s in WRITE))
        return None


def _cost(gaps: deque[float], kept_s: float) -> float:
    return sum(READ if gap <= kept_s - MARGIN_S else WRITE[kept_s] for gap in gaps)
