"""Schedules the writing of a channel's messages: in order, no faster than the platform allows, and always with the last
state. It also runs side tasks with the same urgency and pauses.

Independent of platforms and runs: a message writes its present state when its turn comes, so that all changes until
then go into one edit.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from operator import attrgetter
from time import monotonic
from typing import Any, Literal, Protocol, TypeVar

from bot.adapters.log_redaction import type_and_trace
from bot.adapters.surface import NotSent, SurfaceFault, Unavailable
from bot.view import ORDER_S
from storage.faults import StorageFault

T = TypeVar("T")
Sure = Callable[[], Awaitable[None]]

MARGIN_S = 0.25
"""Seconds added to the time between posts, because the platform counts them when they arrive."""
HOLD_S = 0.15
"""Seconds that a message without text waits, so that a quick stage is posted once, at its end."""
WORDS_S = 0.04
"""Seconds that first words wait, because the stage often ends with them and is then written only once."""
BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 10.0)
"""The pauses in seconds before each further try; the last one is repeated. What failed in an outage is shown soon after
its end.
"""
TRIES = 9
"""How often `with_retries` tries again, which takes a little more than a minute."""
PASSING_TRIES_S = 120.0
"""Seconds for which a passing state is retried while the platform is unavailable."""
FINAL_TRIES_S = 86_400.0
"""Seconds for which a final state is retried that the platform refuses while it accepts others; in an outage there is
no limit.
"""

OUTAGE, OUTAGE_S = 3, 5.0
"""Consecutive failures, in all channels, and seconds, after which the first success means that the platform is back."""

urgency: ContextVar[int] = ContextVar("urgency", default=0)
"""The urgency of this task's requests to the platform; the smallest goes first."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """A platform's limits in a channel: seconds between two edits, and `posts` new messages per
    `posts_in_s` seconds.
    """

    edit_every_s: float
    posts: int
    posts_in_s: float


class Rank(IntEnum):
    """The order of waiting messages; the smallest goes first."""

    FINAL = 0
    FIRST = 1
    """The first words of a stage, which people wait for."""
    PASSING = 2
    MARK = 3
    """The mark on the sentence that is being heard."""


class Writable(Protocol):
    @property
    def exists(self) -> bool:
        """Whether it has been posted, so that writing it is an edit."""

    async def write(self) -> bool | None:
        """Post or edit the message. Returns False if there was nothing to write. Raises Unavailable.

        None: it turned out to exist, so writing it is an edit, which must wait for its turn.
        """


class Clock(Protocol):
    def time(self) -> float: ...

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """Wait until the event is set, or `seconds` seconds have passed."""


class LoopClock:
    time = staticmethod(monotonic)

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass


@dataclass(slots=True)
class _Entry:
    """A waiting message. `empty`: it has no text yet. `worded`: when it got text. `since`: when it first failed."""

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
    unavailable: bool = False
    """Whether the platform failed to accept it."""


@dataclass(slots=True)
class _Health:
    """A platform's availability, shared by all its writers. `back` is called once it is available again."""

    succeeded: float = float("-inf")
    failures: int = 0
    back: Callable[[], None] = lambda: None

    def success(self, now: float) -> None:
        was_out = self.failures >= OUTAGE and now - self.succeeded >= OUTAGE_S
        self.succeeded, self.failures = now, 0
        if was_out:
            self.back()


Lane = Literal["post", "edit"]


class Writer:
    """The writer of one channel. Posts and edits have separate lanes, so that a hanging edit does not delay new
    messages.
    """

    def __init__(
        self, pace: Pace, clock: Clock, health: _Health | None = None, sure: Sure | None = None
    ) -> None:
        self._pace = pace
        self._sure = sure
        self._clock = clock
        self._health = health or _Health()
        self._entries: dict[Writable, _Entry] = {}
        self._edited = float("-inf")
        self._posted: deque[float] = deque(maxlen=pace.posts)
        self._tasks: dict[Lane, asyncio.Task[None]] = {}
        self._poked: dict[Lane, asyncio.Event] = {"post": asyncio.Event(), "edit": asyncio.Event()}
        self._written = asyncio.Event()

    def put(
        self, message: Writable, rank: Rank = Rank.PASSING, *, group: str = "", empty: bool = False
    ) -> None:
        """Queue a changed message. New messages of one group are posted in the order of these calls."""
        entry, now = self._entries.get(message), self._clock.time()
        if entry is None:
            self._entries[message] = _Entry(group, now, rank, empty, now)
        else:
            entry.again = entry.writing
            if rank >= entry.rank and empty == entry.empty:
                return  # it keeps waiting, which is the case for most pieces of a growing text
            entry.worded = now if entry.empty and not empty else entry.worded
            if rank < entry.rank:
                entry.not_before = 0.0  # a more urgent state does not wait for the retry of an earlier one
            entry.rank = min(entry.rank, rank)
            entry.empty = empty
        self._wake()

    async def settled(self, message: Writable) -> None:
        """Wait until the message has nothing left to write, or has been given up."""
        while message in self._entries:
            self._written.clear()
            await self._written.wait()

    def close(self) -> None:
        """Write no more: the process ends, and the next start shows what is missing."""
        for task in self._tasks.values():
            task.cancel()

    def try_again(self) -> None:
        """Try what has failed now."""
        for entry in self._entries.values():
            if entry.since is not None:
                entry.not_before = 0.0
        self._wake()

    @property
    def idle(self) -> bool:
        """Whether it has nothing to write, and no recent write counts for the platform's limits."""
        now = self._clock.time()
        free = self._posted[-1] + self._pace.posts_in_s if self._posted else now
        return not self._entries and max(self._edited + self._pace.edit_every_s, free) <= now

    def _wake(self) -> None:
        for event in self._poked.values():
            event.set()
        for message in self._entries:
            lane: Lane = "edit" if message.exists else "post"
            if lane not in self._tasks:
                self._tasks[lane] = asyncio.create_task(self._work(lane))

    async def _work(self, lane: Lane) -> None:
        try:
            while (next_message := self._next_post() if lane == "post" else self._next_edit()) is not None:
                message, at = next_message
                self._poked[lane].clear()
                if (ahead := at - self._clock.time()) > 0:
                    await self._clock.wait(self._poked[lane], ahead)
                else:
                    await self._write(message, lane)
        finally:
            del self._tasks[lane]
        self._wake()  # a message that has changed lanes now belongs to the other lane

    def _next_post(self) -> tuple[Writable, float] | None:
        """The new message to post next, and when.

        A message that only says that its run waits does not go before an earlier message that had no room yet, because
        the answers take these places.
        """
        full = len(self._posted) == self._pace.posts
        slot = self._posted[0] + self._pace.posts_in_s + MARGIN_S if full else 0.0
        best: tuple[Writable, float] | None = None
        groups: set[str] = set()
        earlier, is_held = 0.0, False
        for message, entry in self._entries.items():
            if message.exists or entry.writing:
                is_held = is_held or (not message.exists and entry.since is not None)
                continue
            if entry.group not in groups and not (is_held and entry.empty):
                at = max(slot, entry.not_before, earlier, self._held_until(entry))
                if best is None or at < best[1]:
                    best = message, at
            if entry.group:
                groups.add(entry.group)
            if entry.unavailable and self._keeps_order(entry):
                earlier = max(earlier, entry.not_before)
            is_held = is_held or (entry.since is not None and self._clock.time() < entry.since + ORDER_S)
        return best

    def _keeps_order(self, entry: _Entry) -> bool:
        """Whether later messages wait for this one, which the platform did not accept. They do not if it accepts others
        but never this one.
        """
        if entry.since is None or entry.since < self._health.succeeded:
            return False
        return self._clock.time() < entry.since + ORDER_S

    def _held_until(self, entry: _Entry, *, posted: bool = False) -> float:
        """The earliest time to write a message in its present state, apart from the channel's pace.

        A message without text is posted when an edit could follow at once, or else after a while. An existing message
        without text is not edited at once, because its first words would then wait for the next edit.
        """
        if entry.rank is Rank.FINAL:
            return 0.0
        words_at = entry.worded + WORDS_S if entry.rank is Rank.FIRST else 0.0
        if posted:
            return entry.put + self._pace.edit_every_s if entry.empty else words_at
        latest = entry.put + 2 * self._pace.edit_every_s
        edits = any(map(attrgetter("exists"), self._entries))  # whether an edit waits or is being sent
        free = latest if edits else min(self._edited + self._pace.edit_every_s, latest)
        held_until = max(entry.put + HOLD_S, free)
        # First words do not delay a post: a message that was put later would overtake it.
        return held_until if entry.empty else min(words_at, held_until)

    def _next_edit(self) -> tuple[Writable, float] | None:
        """The edit to make next, and when: among equal ranks, the one that has waited longest."""
        slot = self._edited + self._pace.edit_every_s
        best: tuple[tuple[bool, Rank, float], Writable, float] | None = None
        now = self._clock.time()
        for message, entry in self._entries.items():
            if not message.exists or entry.writing:
                continue
            at = max(slot, entry.not_before, self._held_until(entry, posted=True))
            order = (at > max(now, slot), entry.rank, at)
            if best is None or order < best[0]:
                best = order, message, at
        return (best[1], best[2]) if best is not None else None

    async def _write(self, message: Writable, lane: Lane) -> None:
        entry = self._entries[message]
        entry.writing, entry.again = True, False
        rank = entry.rank
        entry.rank = Rank.PASSING  # a later state has its own rank
        wrote: bool | None = True
        later = False
        urgency.set(min(rank, Rank.FIRST) if lane == "post" else rank)
        try:
            if self._sure is not None:
                await self._sure()
            wrote = await message.write()
            later = wrote is None
            if wrote:
                self._health.success(self._clock.time())
        except Unavailable as fault:
            later = self._later(entry, rank, fault)
            wrote = not isinstance(fault, NotSent)  # the platform has counted all except these
        except Exception as fault:  # it must not stop the channel's other messages
            _log.error("a message could not be written: %s", type_and_trace(fault))
        entry.writing = False
        now = self._clock.time()
        if wrote and lane == "post":
            self._posted.append(now)
        elif wrote:
            self._edited = now  # at its end, so that the platform sees at least the pause between two
        if later:
            if entry.rank < rank:  # a more urgent state was queued during the write, so do not delay it
                entry.not_before = 0.0
            entry.rank = min(entry.rank, rank)
        else:
            del self._entries[message]
            if entry.again:
                self._entries[message] = _Entry(entry.group, now, entry.rank, entry.empty, entry.worded)
        self._written.set()
        self._wake()

    def _later(self, entry: _Entry, rank: Rank, fault: Unavailable) -> bool:
        """Schedule another try. Returns False if the message is given up."""
        now = self._clock.time()
        entry.since = now if entry.since is None else entry.since
        longest_s = PASSING_TRIES_S
        if rank is Rank.FINAL:
            longest_s = FINAL_TRIES_S if self._health.succeeded >= entry.since else float("inf")
        if now - entry.since > longest_s:
            _log.warning("a message was given up after %d tries: %s", entry.tries, fault)
            return False
        entry.not_before = now + _pause_s(entry.tries)
        if not isinstance(fault, NotSent):  # a try that sends nothing may be repeated often
            entry.tries += 1
            entry.unavailable = True
            self._health.failures += 1
        return True


class Writers:
    """The writers of all channels; idle ones are dropped."""

    def __init__(self, pace: Pace, clock: Clock | None = None, *, sure: Sure | None = None) -> None:
        """`sure` returns once it is certain that the runs belong to this process; it is awaited before each write."""
        self._pace = pace
        self._sure = sure
        self.clock = clock or LoopClock()
        self._writers: dict[Hashable, Writer] = {}
        self._health = _Health(back=self._try_again)
        self.side_tasks: set[asyncio.Task[None]] = set()
        """The side tasks of all runs; see `SideTasks`."""

    def _try_again(self) -> None:
        for writer in self._writers.values():
            writer.try_again()

    def __len__(self) -> int:
        return len(self._writers)

    def at(self, key: Hashable) -> Writer:
        """The channel's writer, which all its runs share."""
        writer = self._writers.pop(key, None)
        if writer is None:
            writer = Writer(self._pace, self.clock, self._health, self._sure)
            for old in tuple(islice(self._writers, 2)):  # the longest unused
                former = self._writers.pop(old)
                if not former.idle:
                    self._writers[old] = former
        self._writers[key] = writer
        return writer

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        for task in self.side_tasks:
            task.cancel()


@dataclass(frozen=True, slots=True)
class SideTasks:
    """Tasks of one run next to its answer, which does not depend on them; their faults only go to the log.

    `rank` is the urgency of their requests, on platforms with an order of urgency. `tasks` are those of all runs; the
    writers' `close` cancels them.
    """

    run: str
    rank: Rank | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def do(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._quietly(work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def _quietly(self, work: Coroutine[Any, Any, object]) -> None:
        if self.rank is not None:
            urgency.set(self.rank)
        try:
            await work
        except (SurfaceFault, StorageFault) as fault:
            _log.info("run %s: something beside the answer was left out: %s", self.run, fault)


async def with_retries(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat the call while the network or the platform is unavailable. Raises Unavailable in the end."""
    for tries in range(TRIES):
        try:
            return await call()
        except Unavailable:
            await asyncio.sleep(_pause_s(tries))
    return await call()


async def until_available(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat the call until the platform is available, however long that takes."""
    tries = 0
    while True:
        try:
            return await call()
        except Unavailable as fault:
            if tries == TRIES:
                _log.warning("the platform has been unavailable for more than a minute: %s", fault)
            await asyncio.sleep(_pause_s(tries))
            tries += 1


def _pause_s(tries: int) -> float:
    """The pause after so many failed tries."""
    return BACKOFF_S[min(tries, len(BACKOFF_S) - 1)]
