"""The traffic with Discord: rate limits and the count of invalid requests; malformed and repeated events, and programs'
messages, are dropped.

A payload that the library cannot read would close its connection and end the whole process; and a resumed session
delivers events again. The module depends on no command and no message: the caller sets the urgency of a request in
`urgency`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

import aiohttp
import discord
from discord.ext import commands

from bot import metrics
from bot.adapters.intake import Recent
from bot.adapters.turns import Turns
from bot.adapters.writer import Pace

PACE: Final = Pace(edit_every_s=1.2, posts=4, posts_in_s=5.0)
"""Edits: Discord lets about 5 pass in 5 s, as the X-RateLimit headers of PATCH /channels/{id}/messages/{id} say; the
documentation ("Rate Limits") warns against relying on more.

Posts: the same headers of POST /channels/{id}/messages allow 5, but discord.py returns from the call that uses up the
last one only after the 5 s, and until then nobody could edit that message.
"""

REQUESTS = 45
"""Requests per second; Discord allows 50 (its documentation, "Rate Limits", "Global Rate Limit").

Responses and follow-ups of interactions do not count and use another client.
"""
SECOND_S = 1.0

THREADS, THREADS_IN_S = 45, 300.0
"""New threads under the messages of a channel: the headers of POST /channels/{id}/messages/{id}/threads allow some 50
in five minutes. For the last of these, and for any more, discord.py waits until that time is over.
"""

HANGS_S = 10.0
"""How long Discord may take to respond, in seconds, before a repeatable request is sent again."""
UPLOAD_S = 60.0
"""The same for a request with files, which Discord scans before it responds, in seconds."""

LIMIT: Final = 10_000
"""Invalid requests in ten minutes after which Discord bans the address: those answered 401, 403 or 429, except a 429 of
the scope "shared" (its documentation, "Rate Limits", "Invalid Request Limit").
"""
WINDOW_S: Final = 600.0
SHARES: Final = (0.9, 0.5, 0.1)
"""Fractions of the limit at which a warning is logged, each once per window."""

NEEDED: Final = ("READY", "RESUMED")
"""Events that are needed for a connection: their faults are raised."""
ONCE: Final = ("INTERACTION_CREATE", "MESSAGE_CREATE")
"""Events that must be handled once. The inbox knows those that an earlier process has handled."""
WRITTEN: Final = ("MESSAGE_CREATE", "MESSAGE_UPDATE")
"""Events that nobody handles if a program has written the message. The bot's own messages come back with every edit."""
KEPT: Final = 8_192
"""The most event ids in memory: more than arrive between two heartbeats."""
KEPT_S: Final = 300.0
"""Seconds for which they stay there: longer than a connection can be resumed."""

_TYPES = (1, 2, 3)
"""Types of application commands: slash, user, message."""
_GROUPS = (1, 2)
"""Types of options that contain options."""
_VALUES = {4: int, 5: bool, 10: int | float}
"""Types of numbers and flags, with their Python types (Discord's documentation, "Application Command Option Type")."""
_IDS = (6, 7, 8, 9, 11)
"""Types whose value is an id: of a person, a channel, a role, any of these, or a file."""

_log = logging.getLogger(__name__)

Request = Callable[..., Coroutine[Any, Any, Any]]
Parser = Callable[[Any], None]


class GlobalLimit(Turns):
    """Limits requests per second."""

    def __init__(self, requests: int = REQUESTS, window_s: float = SECOND_S) -> None:
        super().__init__()
        self._window_s = window_s
        self._free_at: deque[float] = deque([0.0] * requests, requests)
        """When each of a window's requests may be made, earliest first, by the loop's clock."""

    def _free_in(self, urgent: int) -> float:
        return self._free_at[0] - asyncio.get_running_loop().time()

    def _take(self) -> None:
        self._free_at.append(asyncio.get_running_loop().time() + self._window_s)

    def _give_back(self) -> None:
        self._free_at.pop()
        self._free_at.appendleft(0.0)

    def limiting(self, request: Request, hangs_s: float = HANGS_S) -> Request:
        """Wrap `request` so that it waits for its turn; a request of a channel then waits at most `hangs_s` for its
        response.

        Raises aiohttp.ServerTimeoutError; the next try uses another connection. The time that a limit delays a request
        does not count.
        """
        short = aiohttp.ClientTimeout(total=300, sock_connect=hangs_s, sock_read=hangs_s)
        long = aiohttp.ClientTimeout(total=300, sock_connect=hangs_s, sock_read=max(hangs_s, UPLOAD_S))

        async def limited(route: discord.http.Route, **arguments: Any) -> Any:
            await self.turn()
            if route.path.startswith("/channels/"):
                arguments["timeout"] = long if arguments.get("files") else short
            return await request(route, **arguments)

        return limited


class NewThreads:
    """Counts the new threads of each channel."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._opened: OrderedDict[int, deque[float]] = OrderedDict()
        """When each channel's threads were opened; the channel that was asked for last is last."""

    def take(self, channel: int) -> bool:
        """Count a new thread there if it can be opened at once. Returns whether it can."""
        since = self._clock() - THREADS_IN_S
        times = self._opened.setdefault(channel, deque(maxlen=THREADS))
        self._opened.move_to_end(channel)
        if len(times) == THREADS and times[0] >= since:
            return False
        times.append(self._clock())
        while next(iter(self._opened.values()))[-1] < since:
            self._opened.popitem(last=False)
        return True


class InvalidRequests:
    """Counts the invalid requests of the last ten minutes, on the session that discord.py uses for all requests."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque()
        self._warned_at: dict[float, float] = {}

    def trace(self) -> aiohttp.TraceConfig:
        """The trace for the session whose responses are counted."""
        config = aiohttp.TraceConfig()
        config.on_request_end.append(self._answered)
        return config

    @property
    def count(self) -> int:
        """The number of invalid requests in the last ten minutes."""
        now = self._clock()
        while self._times and self._times[0] <= now - WINDOW_S:
            self._times.popleft()
        return len(self._times)

    def note(self, status: int) -> None:
        """Count an invalid request that was answered with this status."""
        now = self._clock()
        self._times.append(now)
        count = self.count
        share = next((share for share in SHARES if count >= share * LIMIT), None)
        if share is None or now - self._warned_at.get(share, -WINDOW_S) < WINDOW_S:
            return
        self._warned_at[share] = now
        _log.warning(
            "Discord refused %d requests in the last ten minutes (the last one with %d); at %d it bans this"
            " machine's address for a while. `python -m bot doctor` looks at token and permissions.",
            count,
            status,
            LIMIT,
        )

    async def _answered(self, _: object, __: object, params: aiohttp.TraceRequestEndParams) -> None:
        status, scope = params.response.status, params.response.headers.get("X-RateLimit-Scope", "")
        if status in (401, 403, 429) and scope != "shared":
            self.note(status)


class Acknowledgements:
    """Measures how long interactions wait for their acknowledgement."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._arrived: OrderedDict[str, float] = OrderedDict()

    def arrived(self, interaction: str) -> None:
        """Note the arrival of the interaction with this id."""
        self._arrived[interaction] = self._clock()
        if len(self._arrived) > KEPT:
            self._arrived.popitem(last=False)

    async def answered(self, _: object, __: object, params: aiohttp.TraceRequestEndParams) -> None:
        """Trace callback: handles a request that acknowledges an interaction."""
        if params.url.name == "callback" and params.response.status < 300:
            arrived = self._arrived.pop(params.url.parts[-3], None)
            if arrived is not None:
                metrics.ACKNOWLEDGED.observe("Discord", seconds=self._clock() - arrived)


def guard(client: commands.Bot | commands.AutoShardedBot, acknowledgements: Acknowledgements) -> None:
    """Make the client count events, and drop malformed and repeated ones and programs' messages. Call it once the
    client is set up, before it connects.
    """
    application = str(client.application_id)
    parsers: dict[str, Parser] = client._connection.parsers
    for event, parse in parsers.items():
        if event not in NEEDED:
            parsers[event] = _guarded(event, parse, application, acknowledgements)
    # The command tree calls this hook before everything else.
    client.tree.interaction_check = _readable  # type: ignore[method-assign]


async def _readable(interaction: discord.Interaction[Any], /) -> bool:
    """Whether a command's data has the shape that the tree expects."""
    if well_formed(interaction.data):
        return True
    _log.warning("a malformed command was dropped")
    return False


def well_formed(data: object) -> bool:
    """Whether the data has a name, a known type, and options whose names, types and values are valid."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        return False
    if data.get("type", 1) not in _TYPES or not isinstance(data.get("resolved", {}), dict):
        return False
    lists: list[object] = [data.get("options", [])]
    while lists:
        options = lists.pop()
        if not isinstance(options, list):
            return False
        for option in options:
            if not isinstance(option, dict) or not isinstance(option.get("name"), str):
                return False
            kind, value = option.get("type"), option.get("value")
            if kind in _GROUPS:
                lists.append(option.get("options", []))
                continue
            if not isinstance(kind, int):
                return False
            # While a person types, the value is a text whatever the option's type.
            if not isinstance(value, str if option.get("focused") else _VALUES.get(kind, str)):
                return False
            if kind in _IDS and not str(value).isdecimal():
                return False
    return True


def _guarded(event: str, parse: Parser, own: str, acknowledgements: Acknowledgements) -> Parser:
    """The parser of an event. `own` is the bot's application id, which its webhooks and responses carry."""
    recent = Recent[int, None](KEPT, KEPT_S)

    def read(payload: Any) -> None:
        metrics.EVENTS.add("Discord")
        match payload:
            case {"author": {"bot": True}} if event in WRITTEN:
                if payload.get("webhook_id") is None or payload.get("application_id") == own:
                    return
        id = payload.get("id") if event in ONCE and isinstance(payload, dict) else None
        number = int(id) if isinstance(id, str) and id.isdecimal() else None  # takes half of a text's memory
        if number is not None and number in recent:
            _log.info("%s %s came again and was dropped", event, id)
            return
        if event == "INTERACTION_CREATE":
            acknowledgements.arrived(str(id))
        try:
            parse(payload)
        except Exception as error:
            # Log neither the payload nor a traceback: an interaction's payload contains its token.
            _log.warning("a malformed %s was dropped (%s)", event, type(error).__name__)
            return
        if number is not None:
            recent.note(number, None)

    return read
