"""Snowflakes and timestamps, as Discord writes ids and times."""

from __future__ import annotations

import time
from datetime import UTC, datetime

EPOCH = 1420070400000  # the first millisecond of 2015, where Discord's ids begin
# The first guild's millisecond; a multiple of every shard count up to 16, so that the guilds of a test go to
# shards 0, 1, 2 … in the order in which they were made.
FIRST_GUILD = 720720 * 300_000


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


class Ids:
    """Snowflakes: increasing, unique ids that contain the time."""

    def __init__(self) -> None:
        self._last = 0
        self._guilds = 0

    def next(self) -> int:
        now = (time.time_ns() // 1_000_000 - EPOCH) << 22
        self._last = max(now, self._last + 1)
        return self._last

    def guild(self) -> int:
        self._guilds += 1
        return (FIRST_GUILD + self._guilds - 1) << 22
