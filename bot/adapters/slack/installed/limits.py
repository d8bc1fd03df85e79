"""Keeps every workspace's calls within what Slack lets an app ask; what somebody waits for goes first.

What a workspace does not offer is asked of it once a day. Knows no message: whoever makes a call says in
`bot.adapters.pen.urgency` how much somebody waits for it.
"""

from __future__ import annotations

import asyncio
import re
from heapq import heappop, heappush
from typing import Any, Final

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.pen import Rank, urgency
from bot.adapters.slack.installed.faults import code_of, final
from bot.adapters.slack.installed.refusals import fault_of
from bot.adapters.surface import NotSent, Refused, Shut

SPECIAL: Final = 300
"""Calls a minute of what Slack gives no tier: "several hundred" for chat.postMessage, which each channel's pen holds
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
"""Of a full bucket, for messages that end: those which only go on leave it alone."""
PASSING_S: Final = 0.5
"""How long a state that only goes on waits for its turn: meanwhile it grows old, and holds up the message's end."""
MOST: Final = 5_000
"""Buckets kept."""

OPTIONAL: Final = frozenset(
    {
        "agents.sessions.rename",
        "agents.sessions.setStatus",
        "assistant.threads.setStatus",
        "assistant.threads.setSuggestedPrompts",
        "chat.startStream",
    }
)
"""What not every workspace offers, for want of a plan, a setting or a scope. Every answer can do without."""
REFUSED_S: Final = 86_400.0
"""How long what a workspace has refused is not asked of it again: plans, settings and scopes seldom change."""
_OF_THE_CALL: Final = re.compile(
    r"invalid_\w+|missing_(?!scope\b)\w+|no_text|no_permission|access_denied|not_authorized|not_in_channel|cannot_\w+"
    r"|restricted_action\w*|(?:channel|is|message|session|thread|user)_\w+"
    r"|\w+_(?:channel_type|not_found|too_long|too_many)"
)
"""Refusals for what was asked, or where: the workspace as a whole may yet offer the method."""


class Bucket:
    """One method in one workspace. It holds half a minute's calls, and fills again evenly."""

    def __init__(self, per_minute: float) -> None:
        self._a_second = per_minute / 60
        self._holds = max(1.0, per_minute / 2)
        self._level = self._holds
        self._at = self._now()
        self._promised = 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Nobody waits, and it is full: a new one would be the same."""
        return not self._waiting and not self._promised and self._filled() >= self._holds

    def try_take(self) -> bool:
        """Take room for one call if there is any at once; the next call made has it."""
        if self._waiting or self._free_in(Rank.FINAL) > 0:
            return False
        self._level -= 1
        self._promised += 1
        return True

    async def turn(self) -> None:
        """Wait until a call may be made."""
        if self._promised:
            self._promised -= 1
            return
        mine = urgency.get()
        if not self._waiting and self._free_in(mine) <= 0:
            self._level -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._count += 1
        heappush(self._waiting, (mine, self._count, waiter))
        self._set_alarm()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._level += 1  # its turn had come, and is not taken
            raise

    def pause(self, seconds: float) -> None:
        """Slack says that it was too much: nothing for so long."""
        self._level, self._at = 0.0, max(self._at, self._now() + seconds)
        self._set_alarm()

    def _filled(self) -> float:
        now = self._now()
        if now > self._at:
            self._level = min(self._holds, self._level + (now - self._at) * self._a_second)
            self._at = now
        return self._level

    def _free_in(self, urgent: int) -> float:
        """Seconds until a call of this urgency may be made."""
        needed = 1.0 + (self._holds * KEPT_BACK if urgent >= Rank.PASSING and self._holds > 2 else 0.0)
        lacking = needed - self._filled()
        ahead = max(0.0, self._at - self._now())
        return ahead + lacking / self._a_second if lacking > 1e-9 else ahead

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
                self._level -= 1
                waiter.set_result(None)
        self._set_alarm()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


class Limits:
    """Every workspace's buckets, a method each. `per_minute` replaces the documented figures."""

    def __init__(self, per_minute: dict[str, float] | None = None) -> None:
        self._per_minute = {**PER_MINUTE, **(per_minute or {})}
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def at(self, space: str, method: str) -> Bucket:
        found = self._buckets.get((space, method))
        if found is None:
            if len(self._buckets) >= MOST:
                self._buckets = {key: one for key, one in self._buckets.items() if not one.idle}
            found = self._buckets[space, method] = Bucket(self._per_minute.get(method, SPECIAL))
        return found


class Client(AsyncWebClient):
    """A workspace's; each call waits for its turn."""

    def __init__(self, limits: Limits, space: str, **more: Any) -> None:
        super().__init__(**more)
        self.limits = limits
        self.space = space
        self.refused: dict[str, float] = {}
        """Methods that the workspace does not offer, and since when that is known."""

    def try_take(self, method: str) -> bool:
        """Whether a call of `method` has room at once. If so, it is kept for the next one made."""
        return self.limits.at(self.space, method).try_take()

    async def api_call(self, api_method: str, **more: Any) -> AsyncSlackResponse:
        """As slack_sdk's. Raises NotSent for what only goes on, where there is no room for it soon.

        And Refused without a call, where the workspace has refused the method as a whole.
        """
        if self.lacks(api_method):
            raise Refused("not offered here")
        bucket = self.limits.at(self.space, api_method)
        if urgency.get() < Rank.PASSING:
            await bucket.turn()
        else:
            try:
                async with asyncio.timeout(PASSING_S):
                    await bucket.turn()
            except TimeoutError:
                raise NotSent("no room in the workspace") from None
        try:
            return await super().api_call(api_method, **more)
        except SlackApiError as fault:
            if api_method in OPTIONAL and _of_the_workspace(fault):
                self.refused[api_method] = asyncio.get_running_loop().time()
            raise

    def lacks(self, method: str) -> bool:
        since = self.refused.get(method)
        return since is not None and asyncio.get_running_loop().time() - since < REFUSED_S


def _of_the_workspace(fault: SlackApiError) -> bool:
    """Whether the same method will be refused everywhere in the workspace, with any arguments."""
    code = code_of(fault)
    if not code or _OF_THE_CALL.fullmatch(code) or (final(fault) and code != "missing_scope"):
        return False
    return isinstance(fault_of(200, code), Refused | Shut)


def room(client: AsyncWebClient, method: str) -> bool:
    """Whether the workspace offers the method and its budget has room for one more call at once.

    If so, the room is kept for the next call made.
    """
    return not isinstance(client, Client) or (not client.lacks(method) and client.try_take(method))
