"""How often somebody may ask: so many requests in so many seconds, counted per space and person.

Knows no platform. What is counted lives in memory: a restart forgives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

ASKS = 6
"""Of what takes a model or a book's length."""
LOOKS = 20
"""Of what is done at once, such as dice: a fight needs many."""
SLIPS = 3
"""Of sentences under a message that was no request, or one too many."""
SECONDS = 30.0
PEOPLE = 4_096
"""How many people's counts are kept before those that no longer hold anybody up are dropped."""


@dataclass(slots=True)
class _Count:
    began: float
    taken: int = 0


class Cooldowns:
    """`clock` gives seconds; tests bring their own."""

    def __init__(
        self, requests: int, seconds: float = SECONDS, clock: Callable[[], float] = time.time
    ) -> None:
        self._requests = requests
        self._seconds = seconds
        self._clock = clock
        self._counts: dict[tuple[str, Hashable], _Count] = {}

    def take(self, space: str, user: Hashable) -> float:
        """Count one request; the seconds to wait where it is one too many, else 0."""
        now, who = self._clock(), (space, user)
        if len(self._counts) >= PEOPLE:
            self._counts = {
                one: count for one, count in self._counts.items() if now < count.began + self._seconds
            }
        count = self._counts.get(who)
        if count is None or now >= count.began + self._seconds:
            count = self._counts[who] = _Count(now)
        if count.taken == self._requests:
            return count.began + self._seconds - now
        count.taken += 1
        return 0.0
