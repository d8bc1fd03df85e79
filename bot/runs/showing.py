"""Shows the ends of runs, and changes of their stages, until the platform has accepted or finally refused them.

If that takes long, the events are stored, and the next run starts meanwhile. After a restart the stored events are
shown: running the work again would be wrong, because later runs have changed what it reads. Knows no view and no
platform.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args
from weakref import WeakValueDictionary

from bot.events import Changed, Event, Place, Request, Shown, Status, Text
from bot.view import Closing
from bot.waiting import Background
from storage.faults import StorageFault
from storage.unshown import QUOTED, WITHDRAWN

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from bot.events import Ended
    from bot.view import View
    from storage.unshown import Unshown, UnshownRow

LATE_S = 10.0
"""How many seconds the next run waits until the end of the one before is on the screen."""

_log = logging.getLogger(__name__)

Showing = Callable[[], Awaitable[object]]


class Showings:
    """Shows the end of each run and then its changes, one after another."""

    def __init__(self, unshown: Unshown) -> None:
        self.late_s = LATE_S
        self._unshown = unshown
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        """The unfinished tasks of each run, in order."""
        self._stored: dict[tuple[str, str], asyncio.Task[None]] = {}
        """For each run and stage, the task that the stored row belongs to."""
        self._settling = Background()
        self._closing = asyncio.Event()
        self._last_by_place: WeakValueDictionary[Place, asyncio.Task[None]] = WeakValueDictionary()

    async def show(
        self,
        request: Request,
        showing: Showing,
        events: Sequence[Event],
        *,
        status: str = "",
        stage: str = "",
    ) -> None:
        """Show the end of the run, or a change of its stage; returns once that is on the screen, given up or stored.

        `events` and `status` are what is stored. Raises CancelledError if the process closes first.
        """
        if self._closing.is_set():
            raise asyncio.CancelledError
        space, run = request.place.space, request.id
        task = self._begin(run, showing)
        try:
            await asyncio.wait({task}, timeout=self.late_s)
            if not task.done():
                _log.warning("run %s: not everything is on the screen yet", run)
                try:
                    stored = events_to_json(events)
                    await self._unshown.keep(space, run, stage, status=status, events=stored)
                except StorageFault as fault:  # then the next run waits: a restart must not lose this one
                    _log.warning("run %s: what is not shown yet could not be kept: %s", run, fault)
                    await asyncio.wait({task})
                else:
                    self._settle(space, run, stage, task)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if self._closing.is_set() and task.cancelled():
            raise asyncio.CancelledError

    def take_up(self, request: Request, stage: str, showing: Showing) -> None:
        """Show what is stored, after what was taken up before in the same place."""
        if self._closing.is_set():
            return
        before = self._last_by_place.get(request.place)

        async def in_order() -> None:
            if before is not None:
                await asyncio.wait({before}, timeout=LATE_S)
            await showing()

        task = self._last_by_place[request.place] = self._begin(request.id, in_order)
        self._settle(request.place.space, request.id, stage, task)

    def has(self, run: str) -> bool:
        """Whether something of the run is being shown."""
        return run in self._tasks

    def drop(self, run: str) -> None:
        """Show nothing more of the run. Taking its messages back continues."""
        taking_back = [self._stored.get((run, how)) for how in (WITHDRAWN, QUOTED)]
        for task in self._tasks.get(run, ()):
            if task not in taking_back:
                task.cancel()

    async def close(self) -> None:
        """Stop showing; what is stored is shown at the next start."""
        self._closing.set()
        for task in [task for tasks in self._tasks.values() for task in tasks]:
            task.cancel()
        if waiting := [*self._settling.tasks, *(task for tasks in self._tasks.values() for task in tasks)]:
            await asyncio.wait(waiting, timeout=LATE_S)

    def _begin(self, run: str, showing: Showing) -> asyncio.Task[None]:
        tasks = self._tasks.setdefault(run, [])
        previous = tasks[-1:]

        async def show_after() -> None:
            if previous:
                await asyncio.wait(previous)
            try:
                await showing()
            except Exception:
                _log.warning("run %s was not shown to its end", run, exc_info=True)

        def remove(task: asyncio.Task[None]) -> None:
            tasks.remove(task)
            if not tasks and self._tasks.get(run) is tasks:
                del self._tasks[run]

        task = asyncio.create_task(show_after())
        tasks.append(task)
        task.add_done_callback(remove)
        return task

    def _settle(self, space: str, run: str, stage: str, task: asyncio.Task[None]) -> None:
        """Delete the stored row once it is shown, unless a later one has replaced it."""
        self._stored[run, stage] = task

        async def delete_when_shown() -> None:
            await asyncio.wait({task})
            if self._stored.get((run, stage)) is task:
                del self._stored[run, stage]
                if not task.cancelled():
                    with suppress(StorageFault):  # then the next start shows it again, in the same messages
                        await self._unshown.forget(space, run, stage)

        self._settling.start(delete_when_shown())


async def show_again(view: View, row: UnshownRow) -> None:
    """Show the events of a stored row."""
    for event in events_from_json(row.events) if row.events else ():
        if isinstance(event, Changed):
            await view.change(event)
        else:
            await view.show(event)
    if not row.stage:
        await view.flush(cast("Ended", row.status))


class InOrder:
    """A view that holds its events back until earlier answers of the run's line are on the screen; the run continues.

    `free` waits for these answers.
    """

    def __init__(self, view: View, free: Coroutine[None, None, None]) -> None:
        self._view = view
        self._held: deque[Shown] | None = deque()
        self._released = asyncio.create_task(self._release(free))

    async def show(self, event: Shown) -> None:
        if self._held is not None:
            self._held.append(event)
        else:
            await self._view.show(event)

    async def change(self, changed: Changed) -> None:
        await self._view.change(changed)

    async def flush(self, status: Ended) -> None:
        try:
            await self._released
        except asyncio.CancelledError:
            self.drop()
            raise
        await self._view.flush(status)

    async def close(self, status: Ended) -> None:
        if isinstance(self._view, Closing):
            await self._view.close(status)

    def drop(self) -> None:
        """Show nothing: the process is closing."""
        self._released.cancel()

    async def _release(self, free: Coroutine[None, None, None]) -> None:
        await free
        while self._held:
            await self._view.show(self._held.popleft())
        self._held = None


def note(events: list[Event], event: Event) -> None:
    """Add an event to those that a view has shown."""
    if isinstance(event, Status) and events and isinstance(events[-1], Status):
        events.pop()  # only the last one is visible
    events.append(event)


def events_to_json(events: Sequence[Event]) -> str:
    merged: list[Event] = []
    text: list[str] = []
    for event in (*events, None):
        if isinstance(event, Text):
            text.append(event.text)
            continue
        if text:
            merged.append(Text("".join(text)))
            text = []
        if isinstance(event, Changed):  # the types of its contents are stored like those of events
            merged += [replace(event, contents=()), *event.contents]
        elif event is not None:
            merged.append(event)
    return _events().dump_json([(type(event).__name__, event) for event in merged]).decode()


def events_from_json(stored: str) -> list[Shown | Changed]:
    """What `events_to_json` wrote. Raises ValueError for anything else."""
    events: list[Any] = [event for _, event in _events().validate_json(stored)]
    if events and isinstance(events[0], Changed):
        return [replace(events[0], contents=tuple(events[1:]))]
    return events


@functools.cache
def _events() -> TypeAdapter[list[tuple[str, Any]]]:
    from pydantic import ConfigDict, TypeAdapter

    # Typed as Any: checkers take only types that are written out.
    listed: Any = list
    pair: Any = tuple
    name: Any = Literal
    one_of: Any = Union
    pairs = tuple(pair[name[of.__name__], of] for of in (*get_args(Shown), Changed))
    return TypeAdapter(
        listed[one_of[pairs]], config=ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    )
