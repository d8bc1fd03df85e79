"""How a run is shown on a platform. A view knows no work."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from bot.events import Changed, Ended, Shown, Status

VIEW_S = 30.0
"""How many seconds a view may take to show something that nothing else depends on."""

ORDER_S = 150.0
"""How many seconds a message waits for an earlier one that the platform does not accept."""


class View(Protocol):
    """Shows one run on its platform."""

    async def show(self, event: Shown) -> None:
        """Accept an event; it may be shown after this returns."""

    async def change(self, changed: Changed) -> None:
        """Show new contents of a stage of this view's run, which has ended; idempotent. Returns as `flush` does."""

    async def flush(self, status: Ended) -> None:
        """Show all events; the run's end, as `status`, is about to be stored.

        Returns once everything is on the screen or finally given up, however long that takes. If cancelled, it shows
        nothing more.
        """


class Unseen:
    """A view that shows nothing."""

    async def show(self, event: Shown) -> None:
        return

    async def change(self, changed: Changed) -> None:
        return

    async def flush(self, status: Ended) -> None:
        return


@runtime_checkable
class Waiting(Protocol):
    """A view that can show that its run waits, before another view, perhaps in another process, shows the run."""

    async def show_waiting(self, status: Status, seconds: float) -> None:
        """Show the status; returns once it is on the screen. If that takes longer than `seconds`, it is never shown."""

    async def unless_shown(self, seconds: float) -> None:
        """Take it back if another view, which has begun meanwhile, shows the run in other messages."""


@runtime_checkable
class Closing(Protocol):
    """A view that does something once its run's end is stored."""

    async def close(self, status: Ended) -> None:
        """Note that the run's end, as `status`, is stored."""
