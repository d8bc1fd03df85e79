"""Watches the leases of the processes, and which process continues the runs of another. It knows no platform."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.wire.histories import TakeOver

LOOK_S = 0.1
LEASES = "SELECT id, machine FROM processes"
GOING = "SELECT workflow_uuid, executor_id, status FROM dbos.workflow_status WHERE status IN ('PENDING', 'ENQUEUED')"


@dataclass
class _Struck:
    fault: str
    lease_ends: float
    runs: set[str]


@dataclass
class Watch:
    """`lost` is when the lease of each process, by its number, was seen to be gone."""

    url: str
    lost: dict[int, float] = field(default_factory=dict)
    taken_over: list[TakeOver] = field(default_factory=list)
    _leases: dict[str, int] = field(default_factory=dict)
    _going: dict[str, str] = field(default_factory=dict)
    _struck: dict[str, _Struck] = field(default_factory=dict)

    def struck(self, pid: int, fault: str, lease_ends: float) -> None:
        """Note that a process is dead or frozen, and when its lease ends."""
        for process, of in self._leases.items():
            if of == pid:
                runs = {run for run, executor in self._going.items() if executor == process}
                self._struck[process] = _Struck(fault, lease_ends, runs)

    def woken(self, pid: int) -> None:
        """Note that a frozen process continues before its lease has ended."""
        for process, of in self._leases.items():
            if of == pid:
                self._struck.pop(process, None)

    async def keep(self) -> None:
        """Watch until cancelled, even while the server restarts."""
        while True:
            with suppress(psycopg.Error, OSError):
                async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
                    while True:
                        await self._look(connection)
                        await asyncio.sleep(LOOK_S)
            await asyncio.sleep(LOOK_S)

    async def _look(self, connection: psycopg.AsyncConnection[tuple[Any, ...]]) -> None:
        leases = {
            str(process): int(str(machine).rpartition(":")[2])
            for process, machine in await (await connection.execute(LEASES)).fetchall()
        }
        now = time.monotonic()
        for process in self._leases.keys() - leases.keys():
            self.lost.setdefault(self._leases[process], now)
        self._leases = leases
        rows = await (await connection.execute(GOING)).fetchall()
        self._going = {str(run): str(executor) for run, executor, status in rows if status == "PENDING"}
        going = {str(run) for run, _, _ in rows}
        for process, struck in list(self._struck.items()):
            taken = {
                run for run in struck.runs if run not in going or self._going.get(run, process) != process
            }
            self.taken_over += [
                TakeOver(run, struck.fault, round(max(0.0, now - struck.lease_ends), 2), now) for run in taken
            ]
            struck.runs -= taken
            if not struck.runs:
                del self._struck[process]
