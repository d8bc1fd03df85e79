"""The processes that share a database: the lease of this one, which runs each executes, and messages between them.

A platform may have parts, such as Discord's shards. Each part's runs are executed by the process that serves it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.events import UserError
from storage.advisory_locks import DatabaseBusy
from storage.processes import alive, tell
from storage.shares import Share, agreed, agreed_on, part_name

if TYPE_CHECKING:
    from bot.platforms import Platform
    from bot.runs.engine import Engine
    from storage.db import Database
    from storage.inbox import Inbox
    from storage.lease import Lease

LOST = 75
"""The exit code of a process that has lost its lease: its supervisor should restart it."""

_VECTORS = "vectors.store."
"""The prefix of the marks in which processes note their store of vectors."""

_log = logging.getLogger(__name__)


@dataclass
class Processes:
    """This process among the others. `join`, `agree` before the engine is launched, then `keep`."""

    _lease: Lease
    _database: Database
    _inbox: Inbox
    _engine: Engine
    _platforms: Mapping[str, Platform]
    _parts: dict[str, int] = field(default_factory=dict)
    """Into how many parts each platform is divided."""
    _keeping: asyncio.Task[None] | None = None

    async def join(self, why_alone: str = "", vectors: str = "") -> None:
        """Take a lease. `vectors` is this process's store of vectors, "" for none.

        Raises UserError if another process works alone on the database, or has its vectors in another store. If this
        one must be alone, `why_alone` is the key of the error for any other process.
        """
        try:
            await self._lease.take()
        except DatabaseBusy as busy:
            raise UserError("storage.busy_database", machine=busy.machine or "?") from busy
        for machine in await self._lease.other_machines() if why_alone else ():
            raise UserError(why_alone, machine=machine)
        if vectors and (await agreed_on(self._database, self._lease, _VECTORS, vectors))[0] != vectors:
            machine = next(iter(await self._lease.other_machines()), "?")
            raise UserError("storage.vectors_elsewhere", machine=machine)

    async def agree(self) -> list[str]:
        """Agree with the others on the number of parts of each platform. Returns the platforms that no other process
        serves.
        """
        alone = []
        for name, platform in self._platforms.items():
            if platform.parts is not None:
                own = platform.parts()
                self._parts[name], others = await agreed(self._database, self._lease, name, own)
                if not others:
                    alone.append(name)
                elif self._parts[name] != own:
                    _log.warning(
                        "%s stays in %d parts, as other processes have it: %d would need a stop of all of them",
                        name,
                        self._parts[name],
                        own,
                    )
        return alone

    async def move_waiting(self, platforms: Sequence[str]) -> None:
        """Move the waiting runs of platforms that no other process serves to their present parts."""

        async def route_of(run: str) -> str | None:
            row = await self._inbox.get(run)
            return self.route(row.platform, row.space) if row is not None else None

        for platform in platforms:
            await self._engine.move_waiting(platform, route_of)

    def keep(self, take_over: Callable[[str], Awaitable[None]]) -> None:
        """Keep the lease, and `take_over` what each process that has ended left. If the lease is lost, end this
        process: others continue its runs.
        """
        self._lease.leave = _leave
        self._keeping = asyncio.create_task(self._keep(take_over))

    async def _keep(self, take_over: Callable[[str], Awaitable[None]]) -> None:
        await self._lease.keep(take_over)
        _leave()

    async def alive(self) -> set[str]:
        """The ids of the processes that hold a lease, or did so until a moment ago."""
        return await alive(self._database)

    def route(self, platform: str, space: str) -> str:
        """The route of a space's runs: they are executed by the processes that serve it."""
        attached = self._platforms.get(platform)
        if attached is None or attached.part is None:
            return platform
        return part_name(platform, attached.part(space, self._parts.get(platform, 1)))

    def share(self, platform: str, only: Sequence[int] = ()) -> Share:
        """This process's share of a platform's parts. `only` limits the share to these numbers."""
        return Share(self._database, self._lease, platform, self._parts.get(platform, 1), only)

    async def serve(self, platform: str, part: int) -> None:
        """Execute the runs of a part of a platform from now on."""
        await self._engine.listen(part_name(platform, part))

    def serve_no_more(self, platform: str, part: int) -> None:
        """Leave the runs of a part of a platform to another process; runs that this process executes continue to their
        end.
        """
        self._engine.unlisten(part_name(platform, part))

    def hear(self, topic: str, heard: Callable[..., None]) -> None:
        """Call `heard` with the values that other processes `tell` under a topic."""
        self._lease.hear(topic, heard)

    async def tell(self, topic: str, *values: str) -> None:
        """Send values under a topic to the others. Raises StorageFault."""
        await tell(self._database, topic, *values)

    def close(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()


def _leave() -> None:
    """End the process at once: it must not show anything of runs that other processes continue."""
    _log.error("this process has lost its lease on the database: it ends, and others continue its runs")
    os._exit(LOST)
