"""When a channel's messages are written: in order, no faster than the platform allows, the last state always.

Knows neither platform nor run: a message is something that can be asked to write what it shows by now, so
that whatever changed while it waited goes out in one piece.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import Literal, Protocol

from bot.adapters.discreet import traced
from bot.adapters.surface import NotSent, Unavailable

MARGIN_S = 0.25
"""Posts are counted when they arrive, which the network spreads."""
HOLD_S = 0.15
"""A message with nothing to read yet waits this long: a quick stage is then posted once, as it ends."""
WORDS_S = 0.04
"""First words wait this long: often the stage is over with them, and is then written only once."""
BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""What is waited before each further try."""
PASSING_TRIES_S = 120.0
FINAL_TRIES_S = 900.0
"""How long a state that the platform does not take is tried again."""

urgency: ContextVar[int] = ContextVar("urgency", default=0)
"""Of the request that this task makes: the smallest goes first."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """What a platform allows in a channel: seconds between two edits, and so many new messages in so many seconds."""

    edit_every_s: float
    posts: int
    posts_in_s: float


class Rank(IntEnum):
    """What goes first where several messages wait."""

    FINAL = 0
    FIRST = 1
    """The first words of a stage, which somebody waits for."""
    PASSING = 2


class Writable(Protocol):
    @property
    def there(self) -> bool:
        """Whether the platform has it, so that writing it is an edit."""
        ...

    async def write(self) -> bool | None:
        """Bring the platform up to date; False if there was nothing to tell it. Raises Unavailable.

        None: it turned out to be there, so that writing it is an edit, and has its turn as one.
        """
        ...


class Clock(Protocol):
    def time(self) -> float: ...

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """Until the event is set, or so many seconds have passed."""
        ...


class LoopClock:
    def time(self) -> float:
        return asyncio.get_running_loop().time()

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass


@dataclass(slots=True)
class _Due:
    """A message that waits. `empty`: nothing to read in it yet; `worded`: since when there is. `since`: when it
    first failed."""

    group: str
    put: float
    rank: Rank
    empty: bool
    worded: float = 0.0
    writing: bool = False
    again: bool = False
    not_before: float = 0.0
    since: float | None = None
    tries: int = 0


Lane = Literal["post", "edit"]


class Writer:
    """One channel's. Posts and edits have a lane each: an edit that hangs holds up no new message."""

    def __init__(self, pace: Pace, clock: Clock) -> None:
        self._pace = pace
        self._clock = clock
        self._due: dict[Writable, _Due] = {}
        self._edited = float("-inf")
        self._posted: deque[float] = deque(maxlen=pace.posts)
        self._tasks: dict[Lane, asyncio.Task[None]] = {}
        self._poked: dict[Lane, asyncio.Event] = {"post": asyncio.Event(), "edit": asyncio.Event()}
        self._written = asyncio.Event()

    def put(
        self, message: Writable, rank: Rank = Rank.PASSING, *, group: str = "", empty: bool = False
    ) -> None:
        """The message has something new. New messages of one group are posted in the order they were put."""
        due, now = self._due.get(message), self._clock.time()
        if due is None:
            self._due[message] = _Due(group, now, rank, empty, now)
        else:
            due.worded = now if due.empty and not empty else due.worded
            if rank < due.rank:
                due.not_before = 0.0  # what is more urgent does not wait for what was put off
            due.rank = min(due.rank, rank)
            due.empty = empty
            due.again = due.writing
        self._wake()

    async def settled(self, message: Writable) -> None:
        """Wait until the message has nothing left to write, or has been given up."""
        while message in self._due:
            self._written.clear()
            await self._written.wait()

    def close(self) -> None:
        """Write no more: the process is leaving, and what is missing is shown at the next start."""
        for task in self._tasks.values():
            task.cancel()

    @property
    def idle(self) -> bool:
        """Nothing to do, and nothing to remember for the platform's limits."""
        now = self._clock.time()
        free = self._posted[-1] + self._pace.posts_in_s if self._posted else now
        return not self._due and max(self._edited + self._pace.edit_every_s, free) <= now

    def _wake(self) -> None:
        for event in self._poked.values():
            event.set()
        for message in self._due:
            lane: Lane = "edit" if message.there else "post"
            if lane not in self._tasks:
                self._tasks[lane] = asyncio.create_task(self._work(lane))

    async def _work(self, lane: Lane) -> None:
        try:
            while (found := self._next_post() if lane == "post" else self._next_edit()) is not None:
                message, at = found
                self._poked[lane].clear()
                if (ahead := at - self._clock.time()) > 0:
                    await self._clock.wait(self._poked[lane], ahead)
                else:
                    await self._write(message, lane)
        finally:
            del self._tasks[lane]
        self._wake()  # of a message that has changed lanes meanwhile, only the other lane knows

    def _next_post(self) -> tuple[Writable, float] | None:
        """The new message to post next, and when."""
        full = len(self._posted) == self._pace.posts
        slot = self._posted[0] + self._pace.posts_in_s + MARGIN_S if full else 0.0
        best: tuple[Writable, float] | None = None
        groups: set[str] = set()
        for message, due in self._due.items():
            if message.there or due.writing:
                continue
            if due.group not in groups:
                at = max(slot, due.not_before, self._held_until(due))
                if best is None or at < best[1]:
                    best = message, at
            if due.group:
                groups.add(due.group)
        return best

    def _held_until(self, due: _Due, *, posted: bool = False) -> float:
        """When it may be written for what it says; the channel's pace is another matter.

        A message without words is posted when an edit could bring them at once, and if none can for long, then. One
        that is there is not edited for less than words at once: these would then wait for the next edit.
        """
        if due.rank is Rank.FINAL:
            return 0.0
        if not due.empty:
            return due.worded + WORDS_S if due.rank is Rank.FIRST else 0.0
        if posted:
            return due.put + self._pace.edit_every_s
        latest = due.put + 2 * self._pace.edit_every_s
        taken = any(map(attrgetter("there"), self._due))  # by an edit that waits or is on its way
        free = latest if taken else min(self._edited + self._pace.edit_every_s, latest)
        return max(due.put + HOLD_S, free)

    def _next_edit(self) -> tuple[Writable, float] | None:
        """The edit to make next, and when: of equal rank, the one that waits longest."""
        slot = self._edited + self._pace.edit_every_s
        best: tuple[tuple[bool, Rank, float], Writable, float] | None = None
        now = self._clock.time()
        for message, due in self._due.items():
            if not message.there or due.writing:
                continue
            at = max(slot, due.not_before, self._held_until(due, posted=True))
            order = (at > max(now, slot), due.rank, at)
            if best is None or order < best[0]:
                best = order, message, at
        return (best[1], best[2]) if best is not None else None

    async def _write(self, message: Writable, lane: Lane) -> None:
        due = self._due[message]
        due.writing, due.again = True, False
        rank = due.rank
        due.rank = Rank.PASSING  # what comes from now on has a rank of its own
        wrote: bool | None = True
        later = False
        urgency.set(min(rank, Rank.FIRST) if lane == "post" else rank)
        try:
            wrote = await message.write()
            later = wrote is None
        except Unavailable as fault:
            later = self._later(due, rank, fault)
            wrote = not isinstance(fault, NotSent)  # the platform has counted it, but for those
        except Exception as fault:  # the channel's other messages are still to be written
            _log.error("a message could not be written: %s", traced(fault))
        due.writing = False
        now = self._clock.time()
        if wrote and lane == "post":
            self._posted.append(now)
        elif wrote:
            self._edited = now  # at its end, so that the platform sees at least this much between two
        if later:
            if due.rank < rank:  # put while it was being written, and as little put off as if it came now
                due.not_before = 0.0
            due.rank = min(due.rank, rank)
        else:
            del self._due[message]
            if due.again:
                self._due[message] = _Due(due.group, now, due.rank, due.empty, due.worded)
        self._written.set()
        self._wake()

    def _later(self, due: _Due, rank: Rank, fault: Unavailable) -> bool:
        """Whether it is tried again."""
        now = self._clock.time()
        due.since = now if due.since is None else due.since
        if now - due.since > (FINAL_TRIES_S if rank is Rank.FINAL else PASSING_TRIES_S):
            _log.warning("a message was given up after %d tries: %s", due.tries, fault)
            return False
        due.not_before = now + BACKOFF_S[min(due.tries, len(BACKOFF_S) - 1)]
        if not isinstance(fault, NotSent):  # what asks nothing of the platform may ask often
            due.tries += 1
        return True


class Writers:
    """Every channel's writer, as long as it has something to do or to remember."""

    def __init__(self, pace: Pace, clock: Clock | None = None) -> None:
        self._pace = pace
        self.clock = clock or LoopClock()
        self._writers: dict[Hashable, Writer] = {}

    def __len__(self) -> int:
        return len(self._writers)

    def at(self, key: Hashable) -> Writer:
        """The writer that all runs in a channel share."""
        writer = self._writers.pop(key, None) or Writer(self._pace, self.clock)
        for old, other in list(self._writers.items())[
            :2
        ]:  # the longest unused; two a call keep up with one new
            del self._writers[old]
            if not other.idle:
                self._writers[old] = other
        self._writers[key] = writer
        return writer

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
