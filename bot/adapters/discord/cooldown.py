"""How often somebody may ask: so many requests in so many seconds, counted per space and person.

Knows no interaction and no message. What is counted lives in memory: a restart forgives.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from discord.app_commands import Cooldown

ASKS = 6
"""Of what takes a model or a book's length."""
LOOKS = 20
"""Of what is done at once, such as dice: a fight needs many."""
SLIPS = 3
"""Of sentences under a message that was no request, or one too many."""
SECONDS = 30.0
PEOPLE = 4_096
"""How many people's counts are kept before those that no longer hold anybody up are dropped."""


class Cooldowns:
    """`clock` gives seconds; tests bring their own."""

    def __init__(
        self, requests: int, seconds: float = SECONDS, clock: Callable[[], float] = time.time
    ) -> None:
        self._requests = requests
        self._seconds = seconds
        self._clock = clock
        self._counts: dict[tuple[str, int], Cooldown] = {}

    def take(self, space: str, user: int) -> float:
        """Count one request; the seconds to wait where it is one too many, else 0."""
        now = self._clock()
        if len(self._counts) >= PEOPLE:
            self._counts = {
                who: one for who, one in self._counts.items() if one.get_tokens(now) < self._requests
            }
        count = self._counts.setdefault((space, user), Cooldown(self._requests, self._seconds))
        return count.update_rate_limit(now) or 0.0
