"""The plan of a run with many stages, in the root message of its thread or in a message of its own.

It follows the run's stages; the channel's writer writes it like any message. Independent of an answer's text.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.adapters.slack.text.escaping import literal
from bot.adapters.slack.text.page import Page, State, Task, plan_of, small
from bot.adapters.slack.text.render import root_page
from bot.adapters.surface import (
    Gone,
    MessageRef,
    MessageStyle,
    NotEditable,
    PlaceClosed,
    Refused,
    Surface,
)
from bot.adapters.writer import Rank, Writer, Writers
from bot.events import Changed, Ended, Shown, Stage, Status
from bot.view import View, Waiting
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.home import Home
    from bot.events import Request
    from bot.words import Words
    from storage.outbox import Outbox

ASKED, PLAN = "asked", "plan"
"""The outbox keys of the root message, and of a plan without a root message."""
LEAST = 2
"""The fewest stages for which a plan is made."""
_ENDS: dict[str, State] = {"done": "complete", "failed": "error", "stopped": "error"}

_log = logging.getLogger(__name__)


class Plan:
    """The plan of one run. It is in the root message, which shows what was `asked`; if `asked` is None, in its own
    message once there are several stages.

    Call `opened` once the home is open. After a fault the plan is not updated any more.
    """

    def __init__(
        self,
        request: Request,
        outbox: Outbox,
        home: Home[Page],
        writers: Writers,
        asked: str | None,
        say: Words,
    ) -> None:
        self._outbox = outbox
        self._home = home
        self._writers = writers
        self._asked = asked
        self._who = request.author.name
        self._say = say
        self._space = request.place.space
        self._ref = MessageRef(request.id, ASKED if asked is not None else PLAN)
        self._tasks: dict[str, Task] = {}
        self._ended: Ended | None = None
        self._surface: Surface[Page] | None = None
        self._writer: Writer | None = None
        self._id: str | None = None
        self._since: datetime | None = None
        self._shown = ""

    @property
    def exists(self) -> bool:
        return self._id is not None

    @property
    def placed(self) -> bool:
        return self._surface is not None

    def enter(self, stage: Stage) -> None:
        """Add a stage and complete the previous one; or retitle the open one."""
        last = next(reversed(self._tasks), None)
        if last is not None and last != stage.key:
            self._set(last, "complete")
        self._tasks[stage.key] = Task(stage.key, stage.title, "in_progress")
        self._changed()

    def end(self, status: Ended) -> None:
        if self._ended is None:
            self._ended = status
            for key in list(self._tasks)[-1:]:
                self._set(key, _ENDS[status])
            self._changed()

    def opened(self) -> None:
        self._surface = self._home.surface
        self._changed()

    async def written(self) -> None:
        """Wait until the plan is written or given up."""
        if self._writer is not None:
            await self._writer.settled(self)

    def drop(self) -> None:
        """Write nothing more."""
        self._surface = None

    async def write(self) -> bool:
        """Write the plan when the writer calls this. Raises Unavailable."""
        page = self._page()
        if self._surface is None or page.shown == self._shown:
            return False
        try:
            if len(self._tasks) < LEAST and not await self.left_over():
                return False
            await self._show(self._surface, page)
        except (Gone, NotEditable, Refused, PlaceClosed, StorageFault) as fault:
            _log.info("run %s: its plan is left as it is: %s", self._ref.run, type(fault).__name__)
            self._surface = None
            return False
        self._shown = page.shown
        return True

    async def left_over(self) -> bool:
        """Whether there is an unfinished plan from before a crash, as far as is known."""
        try:
            row = await self._outbox.get(self._space, self._ref.run, self._ref.key)
        except StorageFault:
            return False
        return row is not None and row.message_id is not None and row.shown is None

    async def _show(self, surface: Surface[Page], page: Page) -> None:
        if self._id is None:
            row = await self._outbox.claim(self._space, self._ref.run, self._ref.key)
            self._id, since = row.message_id, self._since or (None if row.fresh else row.created_at)
            self._since = since or datetime.now(UTC)
            if self._id is None and since is not None:  # an earlier try may have posted it
                self._id = await surface.find(self._ref, since, self._home.messages)
        if self._id is not None:
            await surface.edit(self._id, page, self._ref, MessageStyle.LAYOUT, files=False, reset=False)
        else:
            self._id = await surface.post(page, self._ref, MessageStyle.LAYOUT)
        self._home.messages.add(self._id)
        shown_hash = page.shown if self._ended else None  # None: unfinished
        await self._outbox.mark_sent(self._space, self._ref.run, self._ref.key, self._id, shown_hash)

    def _set(self, key: str, status: State) -> None:
        self._tasks[key] = Task(key, self._tasks[key].title, status)

    def _changed(self) -> None:
        if self._surface is not None and (len(self._tasks) >= LEAST or self._ended is not None):
            self._writer = self._writers.at(self._surface.key)
            self._writer.put(self, Rank.PASSING if self._ended is None else Rank.FINAL)

    def _page(self) -> Page:
        tasks = [task for task in self._tasks.values() if task.title]
        title = self._say(f"slack_thread.plan_{self._ended or 'goes_on'}")
        if self._asked is not None:
            return root_page(self._asked, self._who, self._say, tasks=tasks, title=title)
        if not tasks:
            return Page("", closing=(small(title),), plain=title)
        plain = "\n".join([title, *(f"• {literal(task.title)}" for task in tasks)])
        return Page("", closing=(plan_of(tasks, title),), plain=plain)


class Planned:
    """A view with a plan that follows its stages."""

    def __init__(self, view: View, plan: Plan, find: Callable[[], Awaitable[None]]) -> None:
        """`find` finds or creates the place."""
        self._view = view
        self._plan = plan
        self._find = find

    async def show(self, event: Shown) -> None:
        if isinstance(event, Stage):
            self._plan.enter(event)
        await self._view.show(event)

    async def change(self, changed: Changed) -> None:
        await self._view.change(changed)

    async def flush(self, status: Ended) -> None:
        self._plan.end(status)
        try:
            await self._view.flush(status)
        except asyncio.CancelledError:
            self._plan.drop()
            raise
        if status != "stopped" and not self._plan.placed and await self._plan.left_over():
            await self._find()  # only the asker was told the end, and the home is not open
            self._plan.opened()
        await self._plan.written()

    async def show_waiting(self, status: Status, seconds: float) -> None:
        """See Waiting."""
        if isinstance(self._view, Waiting):
            await self._view.show_waiting(status, seconds)
        self._plan.drop()

    async def unless_shown(self, seconds: float) -> None:
        """See Waiting."""
        if isinstance(self._view, Waiting):
            await self._view.unless_shown(seconds)
