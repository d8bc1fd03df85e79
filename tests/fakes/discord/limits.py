"""Rate limits in real time: Discord's buckets per channel or token, and the fifty requests a second in all.

https://docs.discord.com/developers/topics/rate-limits. The figures of the buckets are not documented and change;
these are similar to those that the service sends. It knows no route.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Bucket:
    """A limit of requests in a number of seconds, for each channel (or webhook token)."""

    name: str
    limit: int
    seconds: float

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()[:32]


POST = Bucket("post", 5, 5.0)
EDIT = Bucket("edit", 5, 5.0)
DELETE = Bucket("delete", 5, 1.0)
TYPING = Bucket("typing", 5, 5.0)
READ = Bucket("read", 10, 5.0)
THREADS = Bucket("threads", 50, 300.0)
CHANNEL = Bucket("channel", 5, 5.0)
# A second limit on the same route: two changes of name or topic in ten minutes.
RENAME = Bucket("rename", 2, 600.0)
FOLLOW_UP = Bucket("follow-up", 5, 2.0)
EDIT_ANSWER = Bucket("edit-answer", 5, 2.0)
DELETE_ANSWER = Bucket("delete-answer", 5, 2.0)
READ_ANSWER = Bucket("read-answer", 5, 2.0)
WEBHOOKS = Bucket("webhooks", 5, 5.0)
REACTION = Bucket("reaction", 1, 0.25)
GLOBAL = Bucket("global", 50, 1.0)


@dataclass(frozen=True)
class Verdict:
    """Whether a request may continue, and the rate limit headers."""

    wait: float
    headers: dict[str, str]


@dataclass(frozen=True)
class Limited:
    """A request that got a 429."""

    at: float
    method: str
    path: str
    bucket: str
    retry_after: float


class Limits:
    """The windows of all buckets. A window begins with its first request, and is refilled when it ends."""

    def __init__(self) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self._windows: dict[tuple[str, str], tuple[float, int]] = {}

    def refresh(self) -> None:
        """Refill all windows, as if their time had passed."""
        self._windows.clear()

    def stop_clock(self) -> None:
        """Stop the time of the limits from now on, with all windows refilled."""
        self.refresh()
        self.clock = lambda: 0.0

    def take(self, bucket: Bucket, major: str) -> Verdict:
        now = self.clock()
        ends, used = self._windows.get((bucket.name, major), (0.0, 0))
        if now >= ends:
            ends, used = now + bucket.seconds, 0
        over = used >= bucket.limit
        if not over:
            used += 1
            self._windows[bucket.name, major] = (ends, used)
        remaining = ends - now
        headers = {
            "X-RateLimit-Limit": str(bucket.limit),
            "X-RateLimit-Remaining": str(bucket.limit - used),
            "X-RateLimit-Reset": f"{time.time() + remaining:.3f}",
            "X-RateLimit-Reset-After": f"{remaining:.3f}",
            "X-RateLimit-Bucket": bucket.hash,
        }
        return Verdict(remaining if over else 0.0, headers)
