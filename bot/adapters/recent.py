"""What was noted in the last minutes, such as the ids of events that a platform may send again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

PARTS: Final = 5


class Recent(Generic[K, V]):
    """Values by key, for `seconds` or a quarter longer, and at most `most` of them; the oldest are dropped in groups.

    They are in plain dictionaries, one for each group: an entry with its own time takes twice the memory.
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._group_s = seconds / (PARTS - 1)
        self._clock = clock
        self._groups: list[dict[K, V]] = [{}]
        self._until = clock() + self._group_s

    def __len__(self) -> int:
        return sum(map(len, self._groups))

    def __contains__(self, key: K) -> bool:
        return any(key in group for group in self._groups)

    def get(self, key: K) -> V | None:
        """The value that was noted last; None for none."""
        return next((group[key] for group in self._groups if key in group), None)

    def note(self, key: K, value: V) -> None:
        now = self._clock()
        if now >= self._until or len(self._groups[0]) >= self._most // PARTS:
            self._groups = [{}, *self._groups[: PARTS - 1]]
            self._until = now + self._group_s
        self._groups[0][key] = value
