"""Rate limits in real time: each method's tier per workspace, and one post a second per channel.

https://docs.slack.dev/apis/web-api/rate-limits. Slack promises "at least" these figures and lets short bursts pass;
here a bucket holds a minute's worth (five posts) and fills again evenly. Knows no route.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

TIERS = {1: 1, 2: 20, 3: 50, 4: 100, 5: 600}
POSTS_A_SECOND, POST_BURST = 1.0, 5


@dataclass(frozen=True)
class Limited:
    """A call that got a 429."""

    at: float
    method: str
    key: str
    retry_after: int


@dataclass
class Limits:
    """`per_minute` has a test's own limits by method; with `on` false nothing is limited."""

    on: bool = True
    per_minute: dict[str, float] = field(default_factory=dict)
    posts_a_second: float = POSTS_A_SECOND
    post_burst: int = POST_BURST
    clock: Callable[[], float] = time.monotonic
    _left: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    def take(self, method: str, tier: int, key: str) -> float:
        """The seconds until the call may be repeated; 0 if it may continue."""
        figure = self.per_minute.get(method, TIERS[tier])
        return self._take(method, key, figure, figure / 60)

    def post(self, channel: str) -> float:
        return self._take("post", channel, self.post_burst, self.posts_a_second)

    def _take(self, name: str, key: str, holds: float, a_second: float) -> float:
        if not self.on:
            return 0.0
        now = self.clock()
        tokens, then = self._left.get((name, key), (float(holds), now))
        tokens = min(float(holds), tokens + (now - then) * a_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / a_second
        self._left[name, key] = (tokens if wait else tokens - 1, now)
        return wait
