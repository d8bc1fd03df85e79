"""Slack's rate limits: of messages in one channel, and of each method in one workspace.

Knows no message: callers set the urgency of a call in `bot.adapters.writer.urgency`; the most urgent goes first.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from typing import Final

from bot.adapters.writer import Pace, Rank, urgency

PACE: Final = Pace(edit_every_s=1.0, posts=4, posts_in_s=4.0)
"""Of one channel. New messages: Slack allows one a second, and short bursts (its documentation, "Rate limits").

Edits: chat.update is counted per workspace only, 50 a minute, and chat.appendStream 100.
"""
SPECIAL: Final = 300
"""Calls a minute of methods without a tier: "several hundred" for chat.postMessage, which each channel's writer limits
to one a second.
"""
# Calls a minute (Slack's documentation, "Rate limits"): tiers 2, 3 and 4.
_TIERS: Final = {
    20: "chat.startStream chat.stopStream reactions.remove users.list usergroups.list",
    50: "agents.sessions.rename agents.sessions.setStatus chat.delete chat.update conversations.history "
    "conversations.info conversations.join conversations.open conversations.replies reactions.add team.info",
    100: "assistant.threads.setSuggestedPrompts assistant.threads.setTitle chat.appendStream chat.postEphemeral "
    "conversations.members files.completeUploadExternal files.getUploadURLExternal files.info users.info "
    "views.open views.publish views.push views.update",
}
PER_MINUTE: Final = {method: figure for figure, methods in _TIERS.items() for method in methods.split()}

KEPT_BACK: Final = 0.25
"""The share of a bucket that is reserved for the ends of messages; passing states do not use it."""
MOST: Final = 5_000
"""The most buckets in memory."""


class Bucket:
    """The bucket of one method in one workspace. It holds the calls of half a minute, and refills evenly.

    All that is kept of its level is when it will be full: a call puts that off until its own room is back.
    """

    def __init__(self, per_minute: float) -> None:
        self._a_call_s = 60 / per_minute
        self._holds = max(1.0, per_minute / 2)
        self._now = asyncio.get_running_loop().time
        self._full_at = self._now()
        self._promised = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing waits and it is full, like a new one."""
        return not self._waiting and not self._promised and self._full_at <= self._now()

    def try_take(self) -> bool:
        """Reserve room for the next call, if there is any at once."""
        if self._waiting or self._free_in(Rank.FINAL) > 0:
            return False
        self._full_at += self._a_call_s
        self._promised += 1
        return True

    async def turn(self) -> None:
        """Wait until a call may be made."""
        if self._promised:
            self._promised -= 1
            return
        mine = urgency.get()
        if not self._waiting and self._free_in(mine) <= 0:
            self._full_at += self._a_call_s
            return
        waiter = asyncio.get_running_loop().create_future()
        self._count += 1
        heappush(self._waiting, (mine, self._count, waiter))
        self._set_alarm()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._full_at -= self._a_call_s  # its turn had come, and is not used
            raise

    def pause(self, seconds: float) -> None:
        """After a 429: no calls for so long."""
        self._full_at = max(self._full_at, self._now() + seconds + self._holds * self._a_call_s)
        self._set_alarm()

    def _free_in(self, urgent: int) -> float:
        """Seconds until a call of this urgency may be made."""
        now = self._now()
        self._full_at = max(self._full_at, now)
        needed = 1.0 + (self._holds * KEPT_BACK if urgent >= Rank.PASSING and self._holds > 2 else 0.0)
        seconds = self._full_at - now - (self._holds - needed) * self._a_call_s
        return seconds if seconds > 1e-9 else 0.0  # the rest is rounding

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._waiting:
            wait = max(self._free_in(self._waiting[0][0]), 0.001)
            self._alarm = asyncio.get_running_loop().call_later(wait, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        while self._waiting and (self._waiting[0][2].done() or self._free_in(self._waiting[0][0]) <= 0):
            *_, waiter = heappop(self._waiting)
            if not waiter.done():
                self._full_at += self._a_call_s
                waiter.set_result(None)
        self._set_alarm()


class Limits:
    """The buckets of all workspaces and methods. `per_minute` replaces the documented figures."""

    def __init__(self, per_minute: dict[str, float] | None = None) -> None:
        self._per_minute = {**PER_MINUTE, **(per_minute or {})}
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def at(self, space: str, method: str) -> Bucket:
        bucket = self._buckets.get((space, method))
        if bucket is None:
            if len(self._buckets) >= MOST:
                self._buckets = {key: old for key, old in self._buckets.items() if not old.idle}
            bucket = self._buckets[space, method] = Bucket(self._per_minute.get(method, SPECIAL))
        return bucket
