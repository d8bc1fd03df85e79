"""Continues what earlier processes left: runs, ends that were not shown, requests to forget, clips, files to remove.

At a start this process does it for all earlier ones; if several share the database, for each that has ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from bot.events import Request, UserError
from bot.runs.requests import request_from_json
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.resources import Resources
    from bot.runs.engine import Engine
    from bot.runs.execution import Execution
    from bot.runs.live import LiveRun, LiveRuns
    from bot.runs.processes import Processes
    from bot.runs.requests import PastRequests
    from bot.runs.revisions import Revisions
    from bot.speech.clips import Clips
    from bot.waiting import Background
    from storage.unshown import UnshownRow

STRAYS_S = 1.0
"""Seconds between two tries to take over the runs that earlier processes left."""

_log = logging.getLogger(__name__)


@dataclass
class Recovery:
    """Call `take_up` before the engine is launched, `resume` after it.

    `_processes` is None if no others share the database.
    """

    _resources: Resources
    _past: PastRequests
    _live: LiveRuns
    _execution: Execution
    _engine: Engine
    _revisions: Revisions
    _processes: Processes | None
    _clips: Sequence[Clips]
    _background: Background

    def __post_init__(self) -> None:
        self._inbox = self._resources.records.inbox
        self._forgetting: list[UnshownRow] = []
        self._taking_over = asyncio.Lock()

    async def take_up(self) -> list[Request]:
        """Register the unfinished runs, unless other processes may execute them, and show ends that were not shown.
        Returns the requests of these runs.
        """
        await self._resources.ledger.settle_killed()
        unfinished = []
        for row in await self._inbox.unfinished() if self._processes is None else ():
            if row.platform not in self._resources.platforms:
                continue
            try:
                request = request_from_json(row.payload)
                self._live.take_up(request, row)
            except (KeyError, TypeError, ValueError, UserError):  # written by another release
                _log.exception("run %s cannot be read", row.id)
                await self._inbox.set_states({row.id: "failed"})
            else:
                unfinished.append(request)
        self._forgetting = await self._execution.take_up()
        return unfinished

    async def resume(self, unfinished: Sequence[Request]) -> None:
        """Continue the runs that `take_up` has returned, and everything else."""
        if self._processes is not None:
            self._processes.keep(self._take_over)
            self._background.start(self._take_up_strays())
        self._forget_rest(self._forgetting)
        if self._resources.files.shared:  # which may be on another machine
            self._background.start(self._clear_away())
        else:
            await self._clear_away()
        for request in unfinished:
            match await self._engine.status(request.id):
                case None:
                    await self._engine.start(request.id)
                case "running":  # the engine continues it by itself
                    pass
                case ended if (live := self._live.by_id.get(request.id)) is not None:
                    _log.error("run %s cannot be taken up again: %s", request.id, ended)
                    self._give_up(live, often=ended == "given up")
        if self._processes is None:
            await self._take_up_clips()

    async def _take_up_strays(self) -> None:
        """Continue the runs that no process executes, as soon as the database allows it."""
        while True:
            try:
                return await self._take_over("")
            except StorageFault as fault:
                _log.warning("what earlier processes left could not be taken up yet: %s", fault)
                await asyncio.sleep(STRAYS_S)

    async def _take_over(self, process: str) -> None:
        """Continue the runs of a process that has ended, and all runs that no process executes."""
        processes, engine = self._processes, self._engine
        assert processes is not None
        async with self._taking_over:
            await self._resources.ledger.settle_killed(process)
            engine_runs = await engine.going()
            alive = await processes.alive() - {process}
            for run in engine_runs:
                if run.process not in alive and (row := await self._inbox.get(run.run)) is not None:
                    await engine.take_over(run, processes.route(row.platform, row.space))
            rows = await self._inbox.unfinished(abandoned=process)
            statuses = await engine.statuses(*(row.id for row in rows))
            for row in rows:
                if row.state == "received" and row.id not in statuses:
                    await engine.start(row.id, processes.route(row.platform, row.space), row.line, row.seq)
                elif statuses.get(row.id) == "given up":
                    self._give_up(self._live.take_up(request_from_json(row.payload), row), often=True)
            self._forget_rest(await self._execution.take_up(process))
            await self._take_up_clips(process)

    def _give_up(self, live: LiveRun, *, often: bool) -> None:
        # In a task, because a platform that is slow to show it must not delay the others.
        self._background.start(self._execution.give_up(live, often=often))

    def _forget_rest(self, forgetting: Sequence[UnshownRow]) -> None:
        if forgetting:
            self._background.start(self._revisions.forget_rest(forgetting))

    async def _take_up_clips(self, process: str = "") -> None:
        for clips in self._clips:
            await clips.take_up(self._past.request, process)

    async def _clear_away(self) -> None:
        """Remove what is left of removed books, and the files of requests that have ended."""

        async def unfinished() -> set[str]:
            # Includes runs of other platforms, which wait with their files for a process that serves those.
            return {row.id for row in await self._inbox.unfinished()}

        try:
            if self._processes is None:
                await self._resources.intake.clear(grace=timedelta())
            else:  # questions in other processes may still read replaced books
                await self._resources.intake.clear()
        except StorageFault as fault:  # tried again at the next start, and after the next job
            _log.warning("what is left of removed books could not be cleared away: %s", fault)
        try:
            await self._resources.incoming.keep_only(unfinished)
        except StorageFault as fault:  # tried again at the next start
            _log.warning("the files of earlier requests could not be cleared away: %s", fault)
