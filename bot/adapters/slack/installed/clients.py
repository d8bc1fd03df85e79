"""Clients of Slack's Web API: one session for all, rate limits and retries.

Callers set the urgency of a call in `bot.adapters.writer.urgency`; the most urgent goes first. A method that a
workspace does not offer is tried once a day. Independent of workspaces: the caller gives the token.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.async_handler import AsyncRetryHandler
from slack_sdk.http_retry.request import HttpRequest
from slack_sdk.http_retry.response import HttpResponse
from slack_sdk.http_retry.state import RetryState
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapters.slack.installed.faults import CALL_FAULTS, EXPIRED, code_of, fault_of, final, surface_fault
from bot.adapters.surface import NotSent, PlaceClosed, Refused
from bot.adapters.turns import Turns
from bot.adapters.writer import Pace, Rank, Sure, urgency

if TYPE_CHECKING:
    from bot.config import SlackConfig

Renew = Callable[[str], Awaitable[str]]
TIMEOUT: Final = aiohttp.ClientTimeout(total=30.0, sock_connect=10.0)
LONGEST_S: Final = 60.0
"""A call that Slack would delay for more seconds than this fails; the caller decides whether to make it again."""
MOST_CACHED: Final = 1_000
"""The most clients in the cache."""

PASSING_S: Final = 0.5
"""Seconds that a passing state waits for its turn; after that it would be out of date and delay the message's end."""

REPEATABLE: Final = frozenset(
    (
        "agents.sessions.rename",
        "agents.sessions.setStatus",
        "apps.connections.open",
        "assistant.threads.setStatus",
        "assistant.threads.setSuggestedPrompts",
        "assistant.threads.setTitle",
        "auth.test",
        "chat.getPermalink",
        "chat.update",
        "conversations.history",
        "conversations.info",
        "conversations.join",
        "conversations.members",
        "conversations.open",
        "conversations.replies",
        "files.getUploadURLExternal",
        "files.info",
        "pins.list",
        "team.info",
        "usergroups.list",
        "users.info",
        "users.list",
        "views.publish",
    )
)
"""Idempotent methods, which are tried again when the connection breaks."""
AT_ONCE: Final = frozenset(("chat.startStream", "chat.appendStream"))
"""Methods that are not tried again after a 429, because the same content can be shown another way; passing edits are
not tried again either.
"""
BY_CHANNEL: Final = frozenset(("chat.postMessage", "chat.postEphemeral"))
"""Methods whose 429 may concern a single channel, so that calls for other channels continue."""

OPTIONAL: Final = frozenset(
    {
        "agents.sessions.rename",
        "agents.sessions.setStatus",
        "assistant.threads.setStatus",
        "assistant.threads.setSuggestedPrompts",
        "chat.startStream",
    }
)
"""Methods that a workspace may not offer, because of its plan, settings or scopes. No answer depends on them."""
REFUSED_S: Final = 86_400.0
"""Seconds for which a refused method is not tried in the workspace, because plans, settings and scopes
seldom change.
"""
_OF_THE_CALL: Final = re.compile(
    r"invalid_\w+|missing_(?!scope\b)\w+|no_text|no_permission|access_denied|not_authorized|not_in_channel|cannot_\w+"
    r"|restricted_action\w*|(?:channel|is|message|session|thread|user)_\w+"
    r"|\w+_(?:channel_type|not_found|too_long|too_many)"
)
"""Refusals that concern the arguments or the place: the workspace may still offer the method."""

PACE: Final = Pace(edit_every_s=1.0, posts=4, posts_in_s=4.0)
"""The pace of one channel. New messages: Slack allows one a second, and short bursts (its documentation, "Rate
limits").

Edits: Slack counts chat.update per workspace only, 50 a minute, and chat.appendStream 100.
"""
SPECIAL: Final = 300
"""Calls a minute for methods without a tier: Slack says "several hundred" for chat.postMessage, and each channel's
writer keeps to one a second.
"""
# Calls a minute (Slack's documentation, "Rate limits"): tiers 2, 3 and 4.
_TIERS: Final = {
    20: "chat.startStream chat.stopStream reactions.remove users.list usergroups.list pins.list",
    50: "agents.sessions.rename agents.sessions.setStatus chat.delete chat.update conversations.history "
    "conversations.info conversations.join conversations.open conversations.replies reactions.add team.info",
    100: "assistant.threads.setSuggestedPrompts assistant.threads.setTitle chat.appendStream chat.postEphemeral "
    "conversations.members files.completeUploadExternal files.getUploadURLExternal files.info users.info "
    "views.open views.publish views.push views.update",
}
PER_MINUTE: Final = {method: figure for figure, methods in _TIERS.items() for method in methods.split()}

KEPT_BACK: Final = 0.25
"""The share of a bucket that is reserved for the ends of messages; passing states do not use it."""
MOST_BUCKETS: Final = 5_000
"""The most buckets in memory."""


class End:
    """Room for one call that ends what has begun. It is reserved while this object exists."""


class Bucket(Turns):
    """The bucket of one method in one workspace. It holds the calls of half a minute, and refills evenly.

    Its level is stored only as the time when it will be full; each call moves that time back by its own share.
    """

    def __init__(self, per_minute: float, now: Callable[[], float] | None = None) -> None:
        """`now`: see `Limits`."""
        super().__init__()
        self._a_call_s = 60 / per_minute
        self._holds = max(1.0, per_minute / 2)
        self._now = now or asyncio.get_running_loop().time
        self._full_at = self._now()
        self._ends: WeakSet[End] = WeakSet()

    @property
    def idle(self) -> bool:
        """Whether it is full, like a new bucket, and nothing waits."""
        return not (self._waiting or self._ends) and self._full_at <= self._now()

    def has_room(self, others: int = 0) -> bool:
        """Whether there is room at once for one call in addition to `others` others."""
        return not self._waiting and self._free_after(others) <= 0

    def keep_end(self, calls: int = 1) -> End | None:
        """Reserve room for the call that will end what begins now. Returns None if there is no room at once for `calls`
        calls, including that one.
        """
        if not self.has_room(len(self._ends) + calls - 1):
            return None
        end = End()
        self._ends.add(end)
        return end

    def _take(self) -> None:
        self._full_at += self._a_call_s

    def _give_back(self) -> None:
        self._full_at -= self._a_call_s

    def pause(self, seconds: float) -> None:
        """After a 429: make no calls for so many seconds."""
        self._full_at = max(self._full_at, self._now() + seconds + self._holds * self._a_call_s)
        self._set_alarm()

    def _free_in(self, urgent: int) -> float:
        if urgent < Rank.PASSING or self._holds <= 2:
            return self._free_after(0)
        return self._free_after(max(self._holds * KEPT_BACK, len(self._ends)))

    def _free_after(self, others: float) -> float:
        """Seconds until there is room for one call in addition to `others` others."""
        now = self._now()
        self._full_at = max(self._full_at, now)
        seconds = self._full_at - now - (self._holds - 1.0 - others) * self._a_call_s
        return seconds if seconds > 1e-9 else 0.0  # smaller values are rounding errors


class Limits:
    """The buckets of all workspaces and methods. `per_minute` replaces the documented figures; `now` replaces the
    loop's time.
    """

    def __init__(
        self, per_minute: dict[str, float] | None = None, now: Callable[[], float] | None = None
    ) -> None:
        self._now = now
        self._per_minute = {**PER_MINUTE, **(per_minute or {})}
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def at(self, space: str, method: str) -> Bucket:
        bucket = self._buckets.get((space, method))
        if bucket is None:
            if len(self._buckets) >= MOST_BUCKETS:
                self._buckets = {key: old for key, old in self._buckets.items() if not old.idle}
            bucket = self._buckets[space, method] = Bucket(self._per_minute.get(method, SPECIAL), self._now)
        return bucket


class Retries(AsyncRetryHandler):
    """Tries again after a 429 when Slack says so, and delays other calls of the method until then. It also tries once
    more after a broken connection or a fault of Slack, if the method is idempotent or nothing was sent.
    """

    def __init__(self, limits: Limits | None = None, space: str = "") -> None:
        super().__init__(max_retry_count=3)
        self._limits = limits
        self._space = space

    async def _can_retry_async(
        self,
        *,
        state: RetryState,
        request: HttpRequest,
        response: HttpResponse | None = None,
        error: Exception | None = None,
    ) -> bool:
        method = request.url.partition("?")[0].rpartition("/")[2]
        if response is not None and response.status_code == 429:
            seconds = _retry_after(response)
            if self._limits is not None and method not in BY_CHANNEL:
                self._limits.at(self._space, method).pause(min(seconds, LONGEST_S))
            at_once = method in AT_ONCE or (method == "chat.update" and urgency.get() >= Rank.PASSING)
            return not at_once and seconds <= LONGEST_S
        if state.current_attempt > 0:
            return False
        if isinstance(error, aiohttp.ClientConnectorError):
            return True  # nothing was sent
        broken = isinstance(error, (aiohttp.ServerConnectionError, aiohttp.ClientOSError))
        failing = response is not None and response.status_code in (500, 502, 503)
        return (broken or failing) and method in REPEATABLE

    async def prepare_for_next_attempt_async(
        self,
        *,
        state: RetryState,
        request: HttpRequest,
        response: HttpResponse | None = None,
        error: Exception | None = None,
    ) -> None:
        if response is None or response.status_code != 429:
            await super().prepare_for_next_attempt_async(
                state=state, request=request, response=response, error=error
            )
            return
        state.next_attempt_requested = True
        state.increment_current_attempt()
        await asyncio.sleep(_retry_after(response) + random.random())


OF_RUNS = (
    "chat.update",
    "chat.delete",
    "chat.startStream",
    "chat.appendStream",
    "chat.stopStream",
    "agents.",
    "assistant.",
)
"""The beginnings of the methods that change what is shown of a run. New messages are posted by the writers, which check
the run's ownership themselves.
"""


class Client(AsyncWebClient):
    """The client of a workspace; each call waits for its turn."""

    def __init__(
        self,
        limits: Limits,
        space: str,
        *,
        renew: Renew | None = None,
        sure: Sure | None = None,
        **more: Any,
    ) -> None:
        """`sure`: see `Writers`; it is awaited before each change of a run's message, or of what a thread shows about
        the run.
        """
        super().__init__(**more)
        self._sure = sure
        self.bucket = partial(limits.at, space)
        """Gives the workspace's bucket of a method."""
        self._renew = renew
        self.refused: dict[str, float] = {}
        """Methods that the workspace does not offer, with the loop's time until which they are not tried."""

    async def api_call(self, api_method: str, **more: Any) -> AsyncSlackResponse:
        """Make a call as slack_sdk does, but raise a surface's faults. Raises NotSent for a passing state without room
        soon, and Refused, without a call, for a method that the workspace does not offer.
        """
        if asyncio.get_running_loop().time() < self.refused.get(api_method, 0.0):
            raise Refused("not offered here")
        bucket = self.bucket(api_method)
        if urgency.get() < Rank.PASSING:
            await bucket.turn()
        else:
            try:
                async with asyncio.timeout(PASSING_S):
                    await bucket.turn()
            except TimeoutError:
                raise NotSent("no room in the workspace") from None
        if self._sure is not None and api_method.startswith(OF_RUNS):
            await self._sure()
        try:
            return await self._called(api_method, **more)
        except CALL_FAULTS as fault:
            if api_method in OPTIONAL and _of_the_workspace(fault):
                self.refused[api_method] = asyncio.get_running_loop().time() + REFUSED_S
            raise surface_fault(fault) from None

    async def _called(self, api_method: str, **more: Any) -> AsyncSlackResponse:
        """Make the call; if the token has expired, so that nothing was done, make it once more with another token."""
        used = str(self.token)  # a simultaneous call may replace the token meanwhile
        try:
            return await super().api_call(api_method, **more)
        except SlackApiError as fault:
            if self._renew is None or code_of(fault) != EXPIRED:
                raise
            if not (token := await self._renew(used)):
                raise
            self.token = token
        return await super().api_call(api_method, **more)


def _of_the_workspace(fault: Exception) -> bool:
    """Whether the method will be refused in the whole workspace, with any arguments."""
    if not isinstance(fault, SlackApiError) or not (code := code_of(fault)):
        return False
    if _OF_THE_CALL.fullmatch(code) or (final(fault) and code != "missing_scope"):
        return False
    return isinstance(fault_of(200, code), Refused | PlaceClosed)


class Clients:
    """The clients of one process. Create it in the event loop."""

    def __init__(
        self, settings: SlackConfig, limits: Limits | None = None, *, sure: Sure | None = None
    ) -> None:
        self.settings = settings
        self._sure = sure
        self.limits = Limits() if limits is None else limits
        self.session = aiohttp.ClientSession(timeout=TIMEOUT)
        self.logger = logging.getLogger("slack_sdk")
        # At its default level it would format every call's content for a log that is not written.
        self.logger.setLevel(logging.INFO)
        self._common: dict[str, Any] = {
            "base_url": settings.api_base,
            "session": self.session,
            "logger": self.logger,
        }
        self._cached: dict[tuple[str, str], Client] = {}

    def bare(self, token: str | None = None) -> AsyncWebClient:
        """A client without limits, for calls that concern no workspace's conversations."""
        return AsyncWebClient(token=token, retry_handlers=[Retries()], **self._common)

    def client(self, space: str, token: str, team: str = "", renew: Renew | None = None) -> Client:
        """The client of a workspace. `team` names the workspace if the token is valid in several; `renew` returns
        another token for an expired one, or "".
        """
        client = self._cached.get((space, token))
        if client is None:
            retries = [Retries(self.limits, space)]
            arguments = {"token": token, "team_id": team or None, "retry_handlers": retries}
            client = Client(self.limits, space, renew=renew, sure=self._sure, **arguments, **self._common)
            self._cached[space, token] = client
            if len(self._cached) > MOST_CACHED:
                del self._cached[next(iter(self._cached))]
        return client

    def forget(self, space: str) -> None:
        """Drop a workspace's clients after a new installation, along with the methods that it has refused."""
        for key in [key_cached for key_cached in self._cached if key_cached[0] == space]:
            del self._cached[key]

    async def close(self) -> None:
        await self.session.close()


def _retry_after(response: HttpResponse) -> float:
    for name, values in response.headers.items():
        if name.lower() == "retry-after" and values and values[0].isdigit():
            return float(values[0])
    return 1.0
