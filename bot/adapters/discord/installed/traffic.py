"""What goes over the line to Discord. Out: how often it lets itself be asked, in a channel, in all of them together,
and what it holds against us. In: what is dropped as it comes, before anything is counted or answered.

A payload that the library can't read ends its connection for good, and with it the whole process; and a resumed session
delivers events again. Knows no command and no message: whoever writes one says in `urgency` how much somebody waits for
it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
import discord
from discord.ext import commands

from bot.adapters.writer import Pace, urgency

PACE: Final = Pace(edit_every_s=1.2, posts=4, posts_in_s=5.0)
"""Edits: Discord lets about 5 pass in 5 s, as the X-RateLimit headers of PATCH /channels/{id}/messages/{id} say;
the documentation ("Rate Limits") warns against relying on more.

Posts: the same headers of POST /channels/{id}/messages allow 5, but discord.py lets the call that takes the last
of them return only when the 5 s are over, and nobody could edit that message before.
"""

REQUESTS = 45
"""In any second; Discord allows 50 (its documentation, "Rate Limits", "Global Rate Limit").

Interactions do not count: their responses and follow-ups go through another client, and not through here.
"""
SECOND_S = 1.0

HANGS_S = 10.0
"""How long an answer of Discord's may take, before a request is made anew that may be made twice."""
UPLOAD_S = 60.0
"""The same for a request that brings files, which Discord looks through before it answers."""

LIMIT: Final = 10_000
"""Requests in ten minutes that ban the address, if they are answered 401, 403 or 429, but for a 429 of the scope
"shared" (its documentation, "Rate Limits", "Invalid Request Limit").
"""
WINDOW_S: Final = 600.0
SHARES: Final = (0.9, 0.5, 0.1)
"""At which parts of the limit the log says so, each once per window."""

NEEDED: Final = ("READY", "RESUMED")
"""Without these there is no connection, so what is wrong with them is not passed over."""
ONCE: Final = ("INTERACTION_CREATE", "MESSAGE_CREATE")
"""What is heard of once. Only what this process has seen is known here; what an earlier one took in, to the inbox."""
KEPT: Final = 8_192
"""Ids that are remembered: more than comes between two heartbeats."""

_TYPES = (1, 2, 3)
"""Of application commands: slash, user, message."""
_GROUPS = (1, 2)
"""Of options: those that hold options."""
_VALUES = {4: int, 5: bool, 10: int | float}
"""Options that are no text: numbers and flags (Discord's documentation, "Application Command Option Type")."""
_IDS = (6, 7, 8, 9, 11)
"""Options that name a person, a channel, a role, any of these, or a file, by its number."""

_log = logging.getLogger(__name__)

Request = Callable[..., Coroutine[Any, Any, Any]]
Parser = Callable[[Any], None]


class GlobalLimit:
    """So many requests in any second, the most urgent first, then the one that waits longest."""

    def __init__(self, requests: int = REQUESTS, window_s: float = SECOND_S) -> None:
        self._requests = requests
        self._window_s = window_s
        self._begun: deque[float] = deque(maxlen=requests)
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0
        self._alarm: asyncio.TimerHandle | None = None

    async def turn(self) -> None:
        """Wait until a request may begin."""
        if not self._waiting and self._free_in() <= 0:
            self._begun.append(asyncio.get_running_loop().time())
            return
        waiter = asyncio.get_running_loop().create_future()
        self._count += 1
        heappush(self._waiting, (urgency.get(), self._count, waiter))
        self._set_alarm()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._begun.pop()  # its turn had come, and is not taken
            raise

    def limiting(self, request: Request, hangs_s: float = HANGS_S) -> Request:
        """The same request, in its turn; if it is of a channel it waits `hangs_s` for its answer: it can be made anew.

        Raises aiohttp.ServerTimeoutError, and the next try gets another connection. How long a limit keeps a request
        back does not count.
        """
        short = aiohttp.ClientTimeout(total=300, sock_connect=hangs_s, sock_read=hangs_s)
        long = aiohttp.ClientTimeout(total=300, sock_connect=hangs_s, sock_read=max(hangs_s, UPLOAD_S))

        async def limited(route: discord.http.Route, **given: Any) -> Any:
            await self.turn()
            if route.path.startswith("/channels/"):
                given["timeout"] = long if given.get("files") else short
            return await request(route, **given)

        return limited

    def _free_in(self) -> float:
        """Seconds until another request may begin."""
        if len(self._begun) < self._requests:
            return 0.0
        return self._begun[0] + self._window_s - asyncio.get_running_loop().time()

    def _set_alarm(self) -> None:
        if self._alarm is None and self._waiting:
            self._alarm = asyncio.get_running_loop().call_later(max(self._free_in(), 0.0), self._ring)

    def _ring(self) -> None:
        self._alarm = None
        while self._waiting and self._free_in() <= 0:
            *_, waiter = heappop(self._waiting)
            if not waiter.done():
                self._begun.append(asyncio.get_running_loop().time())
                waiter.set_result(None)
        self._set_alarm()


class InvalidRequests:
    """Those of the last ten minutes. Watches the session that discord.py sends all requests on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque()
        self._said: dict[float, float] = {}

    def trace(self) -> aiohttp.TraceConfig:
        """For the session whose answers are to be counted."""
        config = aiohttp.TraceConfig()
        config.on_request_end.append(self._answered)
        return config

    @property
    def count(self) -> int:
        """How many there were in the last ten minutes."""
        now = self._clock()
        while self._times and self._times[0] <= now - WINDOW_S:
            self._times.popleft()
        return len(self._times)

    def note(self, status: int, scope: str = "") -> None:
        """An answer came with this status, and this `X-RateLimit-Scope`."""
        if status not in (401, 403, 429) or scope == "shared":
            return
        now = self._clock()
        self._times.append(now)
        count = self.count
        share = next((share for share in SHARES if count >= share * LIMIT), None)
        if share is None or now - self._said.get(share, -WINDOW_S) < WINDOW_S:
            return
        self._said[share] = now
        _log.warning(
            "Discord refused %d requests in the last ten minutes (the last one with %d); at %d it bans this"
            " machine's address for a while. `python -m bot doctor` looks at token and permissions.",
            count,
            status,
            LIMIT,
        )

    async def _answered(
        self, session: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestEndParams
    ) -> None:
        self.note(params.response.status, params.response.headers.get("X-RateLimit-Scope", ""))


def guard(client: commands.Bot | commands.AutoShardedBot) -> None:
    """Drop what can't be read and what comes again; once the client is set up, and before it connects."""
    parsers: dict[str, Parser] = client._connection.parsers
    for event, parse in parsers.items():
        if event not in NEEDED:
            parsers[event] = _guarded(event, parse)
    # The tree's own hook for a check before everything else, which a subclass would override.
    client.tree.interaction_check = _readable  # type: ignore[method-assign]


async def _readable(interaction: discord.Interaction[Any], /) -> bool:
    """Whether a command's data has the shape that the tree takes for granted."""
    if well_formed(interaction.data):
        return True
    _log.warning("a malformed command was dropped")
    return False


def well_formed(data: object) -> bool:
    """A name, a known type, options with names and types, and nothing else in their place."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        return False
    if data.get("type", 1) not in _TYPES or not isinstance(data.get("resolved", {}), dict):
        return False
    return _options(data.get("options", []))


def _options(options: object) -> bool:
    if not isinstance(options, list):
        return False
    for one in options:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            return False
        kind, value = one.get("type"), one.get("value")
        if kind in _GROUPS:
            if not _options(one.get("options", [])):
                return False
            continue
        if not isinstance(kind, int):
            return False
        # What is being typed is a text, whatever it will become.
        if not isinstance(value, str if one.get("focused") else _VALUES.get(kind, str)):
            return False
        if kind in _IDS and not str(value).isdecimal():
            return False
    return True


def _guarded(event: str, parse: Parser) -> Parser:
    seen: OrderedDict[str, None] = OrderedDict()

    def read(payload: Any) -> None:
        id = payload.get("id") if event in ONCE and isinstance(payload, dict) else None
        if isinstance(id, str) and id in seen:
            _log.info("%s %s came again and was dropped", event, id)
            return
        try:
            parse(payload)
        except Exception as error:
            # Not the payload, nor a trace of it: an interaction's holds its token.
            _log.warning("a malformed %s was dropped (%s)", event, type(error).__name__)
            return
        if isinstance(id, str):
            seen[id] = None
            if len(seen) > KEPT:
                seen.popitem(last=False)

    return read
