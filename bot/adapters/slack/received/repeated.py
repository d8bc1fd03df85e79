"""Events that come again, or twice under two names, are taken in once, one after another.

Only what this process has seen: what an earlier one has kept is known to the inbox. Without this a refusal would be
told twice, and a mention would count for two against whoever asks too much.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from bot.adapters.turns import Turns

MOST: Final = 8_192
"""Events that are remembered: more than come within the five minutes after which Slack tells of one again."""


class Repeated:
    """By the id of the run that an event would be."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._became: OrderedDict[str, str] = OrderedDict()

    def turn(self, run: str) -> asyncio.Lock:
        """Whoever comes while the event is being taken in waits for what comes of it."""
        return self._turns.of(run)

    def became(self, run: str) -> str | None:
        """The run's id, "" if nothing came of it; None for an event that was not seen."""
        return self._became.get(run)

    def keep(self, run: str, became: str) -> None:
        self._became[run] = became
        if len(self._became) > MOST:
            self._became.popitem(last=False)
