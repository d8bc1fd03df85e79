"""Discord's shards: which ones this process runs, when they start, and how one moves to another process.

Discord's documentation, "Sharding", "Max Concurrency": one identify per five seconds and bucket, where a shard's bucket
is its number modulo `max_concurrency`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import aiohttp
import discord
from discord.ext import commands
from discord.shard import EventItem, EventType
from yarl import URL

from bot.adapters.discord.received.placing import PLATFORM
from bot.events import UserError
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.config import DiscordConfig
    from bot.runs.processes import Processes
    from storage.shares import Share

IDENTIFY_S: Final = 5.0

APART_S: Final = 5.5
"""Seconds between two identifies of different processes, because their requests may take different times to arrive."""

LOOK_S: Final = 1.0
"""Seconds between two looks at the shards of all processes."""

HAND_OVER_S: Final = 30.0
"""Seconds that a shard which is handed over stays connected if the next process does not report its connection."""

MOVE_S: Final = 5.0
"""Seconds between two hand-overs by one process."""

ADVICE_S: Final = 30.0
"""Seconds for which Discord's answer about starts stays valid."""

KEPT_STARTS: Final = 0.1
"""The share of a day's starts that is not spent on moving shards."""

LEAVE_S: Final = 12.0
"""Seconds that an ending process stays connected so that others can take its shards: one look, one turn of a bucket,
and the time to connect on a busy machine. Events of a shard that nobody is connected to are lost.
"""

REFUSED_S: Final = 30.0
"""Seconds to wait before trying again to start shards that Discord refused."""

THERE: Final = "discord.shard"
"""The topic of messages between processes; its content is the number of a shard that is now connected."""

_log = logging.getLogger(__name__)


def shard_of(space: str, count: int) -> int:
    """Which of `count` shards receives the events of a space; direct messages go to the first."""
    return (int(space) >> 22) % count if space.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The gateway and the shards of a start."""

    gateway: URL
    count: int
    ids: tuple[int, ...]
    concurrency: int
    remaining: int = 0
    total: int = 0
    """How many sessions may start per day, and how many are left."""

    @property
    def buckets(self) -> list[list[int]]:
        """Lists of the shards that must start one after another."""
        by_bucket: dict[int, list[int]] = {}
        for shard in self.ids:
            by_bucket.setdefault(shard % self.concurrency, []).append(shard)
        return list(by_bucket.values())


async def plan(
    http: discord.http.HTTPClient, settings: DiscordConfig, *, count: int = 0, starts: int | None = None
) -> Plan:
    """The plan from Discord's answer (GET /gateway/bot) and the settings.

    `count` is the agreed number of shards, if there is one. `starts` is how many of them start now, None for all.

    Raises UserError when Discord cannot be reached or does not allow so many sessions today: it resets the token of a
    bot that identifies too often.
    """
    try:
        shards, url, limits = await http.get_bot_gateway()
    except (discord.GatewayNotFound, aiohttp.ClientError, OSError) as fault:
        raise UserError("discord_run.unreachable", url=settings.api_base) from fault
    count = count or settings.shard_count or shards
    ids = settings.shard_ids or tuple(range(count))
    if limits["remaining"] < (len(ids) if starts is None else starts):
        hours = max(1, -(-limits["reset_after"] // 3_600_000))
        raise UserError("discord_run.sessions_spent", total=limits["total"], hours=hours)
    return Plan(
        URL(settings.gateway_url or url),
        count,
        ids,
        max(1, limits["max_concurrency"]),
        limits["remaining"],
        limits["total"],
    )


class Turnstile:
    """Lets one caller through per `seconds` and bucket, in order of arrival."""

    def __init__(self, seconds: float = IDENTIFY_S) -> None:
        self._seconds = seconds
        self._locks: dict[int, asyncio.Lock] = {}
        self._next: dict[int, float] = {}

    async def through(self, bucket: int) -> None:
        """Wait for this bucket's turn."""
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(bucket, asyncio.Lock()):
            wait = self._next.get(bucket, 0.0) - loop.time()
            if wait > 0:
                await asyncio.sleep(wait)
            self._next[bucket] = loop.time() + self._seconds


class Voice(Protocol):
    """The client's voice channels; see `VoiceChannels`. The arguments say which spaces are in certain shards."""

    async def take_up(self, mine: Callable[[str], bool]) -> None: ...

    async def part(self, theirs: Callable[[str], bool]) -> None: ...

    def busy(self, mine: Callable[[str], bool]) -> bool: ...

    async def close(self) -> None: ...


class ShardedClient(commands.AutoShardedBot):
    """A client whose shards may be shared with other processes."""

    settings: DiscordConfig
    voice: Voice | None = None
    advice: Plan | None = None
    """Discord's latest answer about shards and starts; used where processes share the shards."""
    connected: set[int]
    """The shards that have a session."""


class SharedShards:
    """The shards of one process, where several processes share the database.

    A shard that is handed over stays connected until the next process has its own session. Both receive the events in
    between, and the inbox lets only one answer each.
    """

    def __init__(
        self, client: ShardedClient, processes: Processes, share: Share, on_standby: Callable[[], None] | None
    ) -> None:
        self._client = client
        self._processes = processes
        self._share = share
        self._on_standby = on_standby
        self.standing_by = False
        self._concurrency = 1
        self._not_before = 0.0
        self._advised_at = asyncio.get_running_loop().time()
        self._move_at = 0.0
        self._handing: dict[int, float] = {}
        """The shards that another process may take and that are still connected here, with the time since when."""
        self._handed = asyncio.Event()
        """Set once other processes have connected all of these shards."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._gained: set[int] = set()
        """The shards assigned to this process that it has not begun to start or serve."""
        self._waiting: set[int] = set()
        """The shards that wait for their turn to start."""
        self._starting: set[int] = set()
        self._processes.hear(THERE, self._there)

    @property
    def held(self) -> Collection[int]:
        """The numbers of this process's shards."""
        return self._share.numbers

    async def keep(self) -> None:
        """Take and hand over shards while the client is connected. A fault ends the client's `connect`."""
        try:
            await self._share.join()
            while True:
                await self._look()
                await asyncio.sleep(LOOK_S)
        except Exception as fault:
            queue = self._client._AutoShardedClient__queue  # type: ignore[attr-defined]
            queue.put_nowait(EventItem(EventType.terminate, None, fault))

    async def identify_turn(self, shard: int) -> None:
        """Wait until no process has identified in this shard's bucket for `APART_S`."""
        await self._share.turn(f"identify {shard % self._concurrency}", APART_S)

    def ready(self, shard: int) -> None:
        """Report that the shard is connected here, so that the previous process may disconnect it."""
        self._do(self._processes.tell(THERE, str(shard)))

    async def leave(self) -> None:
        """Hand over all shards; stay connected until other processes have them, at most `LEAVE_S`."""
        for task in self._tasks:
            task.cancel()
        only_process = self._share.members == 1
        await self._share.leave()
        for shard in sorted(self.held):
            await self._let_go(shard)
        if only_process or not self._handing:
            return
        self._handed.clear()
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._handed.wait()
        except TimeoutError:
            _log.info("left shards %s before another process had them", sorted(self._handing))

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._not_before:
            return
        try:
            before = self._share.members
            self._gained |= await self._share.look()
            if self._gained:
                await self._take(self._gained)
                self._gained = set()
            if self._share.members < before and self._client.voice is not None:
                # What the previous process still had to read aloud.
                await self._client.voice.take_up(self._among(self.held))
            for shard, since in list(self._handing.items()):
                if now - since > HAND_OVER_S and await self._share.elsewhere(shard):
                    self._there(str(shard))
            if self._share.surplus and not self._handing:
                if self._waiting:
                    await self._let_go(max(self._waiting))
                elif not self._starting and now >= self._move_at:
                    await self._hand_over()
        except StorageFault as fault:
            _log.warning("the shards of the processes could not be looked at: %s", fault)
        was, self.standing_by = self.standing_by, not self.held
        if self.standing_by and not was and self._on_standby is not None:
            self._on_standby()

    async def _take(self, gained: Collection[int]) -> None:
        _log.info("taking shards %s of %d", sorted(gained), self._share.count)
        # Runs need no gateway: they continue here before Discord says how it may be reached, which it limits.
        if self._client.voice is not None:  # before its runs: what they say is heard where the bot was
            await self._client.voice.take_up(self._among(gained))
        for shard in gained:
            await self._processes.serve(PLATFORM, shard)
        new = [shard for shard in sorted(gained) if shard not in self._handing]
        try:
            start = await self._planned(len(new))
        except UserError as error:
            for shard in gained:
                await self._let_go(shard)
            if not self._client.connected:
                raise
            _log.warning("shards %s cannot start now: %s", new, error.key)
            self._not_before = asyncio.get_running_loop().time() + REFUSED_S
            return
        self._concurrency = start.concurrency
        self._client._connection.shard_ids = sorted(self.held)
        for shard in gained:
            self._handing.pop(shard, None)
        mine = Plan(start.gateway, start.count, tuple(new), start.concurrency)
        self._waiting |= set(new)
        for bucket in mine.buckets:
            self._do(self._launch(start.gateway, bucket))

    async def _launch(self, gateway: URL, shards: Sequence[int]) -> None:
        for shard in shards:
            if shard not in self._waiting:  # meanwhile another process has it
                continue
            self._waiting.discard(shard)
            self._starting.add(shard)
            for guild in list(self._client.guilds):  # known from an earlier connection
                if guild.shard_id == shard:
                    self._client._connection._remove_guild(guild)
            await self._client.launch_shard(gateway, shard)
            self._starting.discard(shard)

    async def _hand_over(self) -> None:
        """Let another process take a shard in which nothing is read aloud, if Discord allows enough starts. Runs
        already active here finish here.
        """
        voice, loop = self._client.voice, asyncio.get_running_loop()
        for shard in sorted(self._client.connected.intersection(self.held), reverse=True):
            if voice is not None and voice.busy(self._among([shard])):
                continue
            if (now := await self._planned(0)).remaining > now.total * KEPT_STARTS:
                _log.info("handing over shard %d of %d", shard, self._share.count)
                await self._let_go(shard)
                self._move_at = loop.time() + MOVE_S
            else:
                self._move_at = loop.time() + REFUSED_S
            return

    async def _planned(self, starts: int) -> Plan:
        """The plan from Discord's recent answer, or from a new one if that is too old; Discord limits such requests.
        Raises UserError.
        """
        now = asyncio.get_running_loop().time()
        advice = self._client.advice
        if advice is None or now - self._advised_at > ADVICE_S or advice.remaining < starts:
            advice = await plan(
                self._client.http, self._client.settings, count=self._share.count, starts=starts
            )
            self._client.advice, self._advised_at = advice, now
        return advice

    async def _let_go(self, shard: int) -> None:
        self._waiting.discard(shard)
        self._processes.serve_no_more(PLATFORM, shard)
        if self._client.voice is not None:
            await self._client.voice.part(self._among([shard]))
        if shard in self._client.connected:
            self._handing[shard] = asyncio.get_running_loop().time()
        await self._share.give(shard)

    def _there(self, number: str) -> None:
        """Disconnect from the shard, because another process is connected to it."""
        shard = int(number)
        if self._handing.pop(shard, None) is None or (info := self._client.get_shard(shard)) is None:
            return
        if not self._handing:
            self._handed.set()
        parent = info._parent
        parent.reconnect = parent.reidentify = _never  # type: ignore[method-assign, assignment]
        self._do(parent.disconnect())

    def _among(self, shards: Collection[int]) -> Callable[[str], bool]:
        return lambda space: shard_of(space, self._share.count) in shards

    def _do(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="shards")
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log.warning("a shard could not be moved", exc_info=fault)


async def _never(*_: object) -> None:
    """Replaces a shard's reconnect methods once the shard belongs to another process."""
