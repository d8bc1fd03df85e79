"""How a run is shown on Slack: what it says as Slack's pages, and the plan of a council."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bot import commands
from bot.adapters.composer import Composer, Dialect
from bot.adapters.slack.placing import Origin, origin_of
from bot.adapters.slack.shown.heading import Plan
from bot.adapters.slack.shown.home import OWN, SlackHome
from bot.adapters.slack.text.help import as_typed
from bot.adapters.slack.text.render import pages
from bot.events import Changed, Ended, Request, Shown, Stage, View
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.writer import Writers
    from bot.house import House
    from storage.offers import Offers
    from storage.outbox import Outbox
    from storage.votes import Votes

ROLL_AFTER_S = 210.0
"""A streamed message is ended by Slack after some five minutes; half a minute before we end it ourselves."""


class Planned:
    """A view beside which a plan follows the stages."""

    def __init__(self, view: View, plan: Plan, home: SlackHome) -> None:
        self._view = view
        self._plan = plan
        self._home = home

    async def show(self, event: Shown) -> None:
        if isinstance(event, Stage):
            self._plan.enter(event)
        await self._view.show(event)

    async def change(self, changed: Changed) -> None:
        await self._view.change(changed)

    async def flush(self, status: Ended) -> None:
        self._plan.end(status)
        await self._view.flush(status)
        if status != "stopped" and not self._plan.placed and await self._plan.left_over():
            await self._home.find()  # the asker alone was told how it ended
            self._plan.opened()
        await self._plan.written()

    async def close(self, status: Ended) -> None:
        await self._view.close(status)


def slack_view(
    request: Request,
    origin: Origin,
    outbox: Outbox,
    offers: Offers,
    home: SlackHome,
    writers: Writers,
    *,
    roll_after_s: float = ROLL_AFTER_S,
    votes: Votes | None = None,
) -> View:
    """One run's, on one home."""
    dialect = Dialect(
        pages,
        spoken=partial(as_typed, thread=_in_thread(origin)),
        roll_after_s=roll_after_s,
        own_keys=OWN,
    )
    view = Composer(request, outbox, offers, home, writers, dialect, votes)
    if not commands.verb(request.work, request.verb).planned:
        return view
    plan = Plan(request, outbox, home, writers, home.heading, words(request.locale))
    home.opened = plan.opened
    return Planned(view, plan, home)


def _in_thread(origin: Origin) -> bool:
    """Whether it is read in a thread, where Slack knows no commands."""
    if origin.home == "alone":
        return origin.thread != "" and (origin.earlier or origin.thread != origin.message)
    return origin.home != "channel"


def view_factory(
    house: House, workspaces: Workspaces, writers: Writers
) -> Callable[[str, Request, Outbox], View]:
    """How a run on Slack is shown; made again from the stored request after a crash."""

    def view(_run: str, request: Request, outbox: Outbox) -> View:
        origin = origin_of(request.origin)
        home = SlackHome(
            workspaces, request, origin, outbox, house.offers, house.threads, writers, house.inbox
        )
        return slack_view(request, origin, outbox, house.offers, home, writers, votes=house.votes)

    return view
