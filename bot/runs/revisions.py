"""What authors change in their stored requests: a deleted request is forgotten, an edited one is reworded.

Knows no platform.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot import commands
from bot.events import UserError
from bot.faults import in_words
from bot.runs.requests import PLAYED, child_id, request_from_json, withdrawn
from bot.verb import TYPED
from bot.view import VIEW_S
from bot.waiting import wait_at_most

if TYPE_CHECKING:
    from bot.resources import Resources
    from bot.runs.dispatcher import Dispatcher
    from bot.runs.engine import Engine
    from bot.runs.execution import Execution
    from bot.runs.live import LiveRuns
    from bot.runs.processes import Processes
    from bot.runs.requests import PastRequests
    from storage.unshown import UnshownRow

FORGET = "forget"
"""The topic of the message between processes that nothing more of a run may be shown."""

_log = logging.getLogger(__name__)


@dataclass
class Revisions:
    """Forgets and rewords requests. `_processes` is None if no others share the database."""

    _resources: Resources
    _past: PastRequests
    _live: LiveRuns
    _execution: Execution
    _engine: Engine
    _dispatcher: Dispatcher
    _processes: Processes | None

    def __post_init__(self) -> None:
        self._inbox = self._resources.records.inbox
        if self._processes is not None:
            self._processes.hear(FORGET, self._execution.showings.drop)

    async def forget(self, space: str, *runs: str) -> bool:
        """Stop runs whose author has deleted the request, and erase their words and answers; the ids stay.

        Returns whether this space had such runs.
        """
        with in_words():
            forgotten = [run for run in runs if await self._forget(space, run)]
            if forgotten:
                await self._resources.caches.drop(space)
                await self._scrub()
        return bool(forgotten)

    async def forget_rest(self, rows: Sequence[UnshownRow]) -> None:
        """Finish forgetting the runs that an earlier process began to forget, and take back their messages."""
        for row in rows:
            try:
                past = await self._past.request(row.space, row.run_id)
                await self._forget(row.space, row.run_id)
                if past is None or withdrawn(past):  # otherwise `_forget` has taken them back
                    self._execution.withdrawals.take_back(request_from_json(row.request))
            except Exception:  # the next start tries again
                _log.exception("run %s could not be forgotten", row.run_id)
        await self._scrub()

    async def forget_steps(self, space: str, *runs: str) -> None:
        """Delete the stored steps of these runs, except those still running; requests and answers stay."""
        with in_words():
            for run in runs:
                if await self._past.request(space, run) is not None and self._live.of(space, run) is None:
                    await self._engine.forget(run)
            await self._engine.scrub()

    async def reword(self, space: str, run: str, text: str, edit: str = "") -> bool:
        """Store the new words of a request that a person has edited; its answer stays. Returns whether this space has
        the run.

        `edit` identifies the edit of the message, "" if there was none: a redelivered edit has no effect. If the work
        reacts to edits (`Kind.reworded`), that is a separate run.
        """
        with in_words():
            if (request := await self._past.request(space, run)) is None:
                return False
            if request.options.get(TYPED):  # a secret that everybody can read: none of its words are stored
                return True
            kind, key = commands.KINDS.get(request.work), f"edit/{edit}"
            follows = kind.reworded if kind is not None and edit and text else ""
            if follows and await self._inbox.get(child_id(request, key)) is not None:
                return True
            if (live := self._live.of(space, run)) is not None:
                live.reworded = text
            if not await self._past.reword(space, run, text):
                return False
            if live is not None and live.task is None:  # it has not begun
                live.request = replace(live.request, text=text)
            await self._live.reworded(run)
            if follows:
                # Check again whether they may, because the rules may have changed since the message was written.
                author = replace(request.author, admin=False, groups=None)
                edit_request = replace(
                    request, verb=follows, text=text, options={}, files=(), line="", quoted=()
                )
                verb = commands.ROWS[request.work, follows]
                try:
                    await self._dispatcher.allowed(verb, replace(edit_request, author=author))
                except UserError as refusal:
                    _log.info("the edit of run %s changes its words alone: %s", run, refusal.key)
                    return True
                await self._dispatcher.begin(replace(edit_request, parent=run, answers=run), key)
            return True

    async def _forget(self, space: str, run: str) -> bool:
        if (request := await self._past.request(space, run)) is None:
            return await self._inbox.withdraw(space, run, "")  # its request is older than what is kept
        await self._live.stop_run(request)  # first, so that a run that has not begun does not begin
        live = self._live.of(space, run)
        # First, because after a crash the next start continues from here and finds the rest by the words or by the
        # parent.
        bare = await self._execution.withdrawals.keep(request)
        for other in await self._past.repeating(request) if request.text else ():
            await self._forget(space, other)
        await self._past.withdraw(request)
        await self._execution.narration.hush(request)
        if live is not None:
            # Until its end the run still stores what it shows and what its buttons offer: erase that, too.
            await asyncio.wait({live.end}, timeout=2 * VIEW_S)
        else:
            await wait_at_most(self._live.over_everywhere(run), 2 * VIEW_S, f"run {run} has not ended")
        self._execution.showings.drop(run)
        if self._processes is not None:
            await self._processes.tell(FORGET, run)
        if live is not None or self._processes is not None:
            await self._past.withdraw(request)
        await self._engine.forget(run)
        # Its children contain its words, too, and so does the request that played them.
        children = [row.id for row in await self._inbox.children(space, run)]
        for other in (*children, child_id(request, PLAYED)):
            await self._forget(space, other)
        if bare is not None:
            self._execution.withdrawals.take_back(bare)
        return True

    async def _scrub(self) -> None:
        await self._engine.scrub()
        await self._resources.records.database.scrub()
