"""How a run is shown on Slack: staged messages, with Slack's pages, the plan of a council, links to other threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from bot import commands
from bot.adapters import homes
from bot.adapters.slack.placing import Origin, origin_of
from bot.adapters.slack.shown.heading import ASKED, PLAN, Heading, Plan
from bot.adapters.slack.shown.home import POINTER, SlackHome
from bot.adapters.slack.text.help import shown
from bot.adapters.slack.text.mrkdwn import literal
from bot.adapters.slack.text.page import Page
from bot.adapters.slack.text.render import pages
from bot.adapters.staged_view import StagedView
from bot.events import Elsewhere, Ended, Event, Place, Request, Stage, View
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.pen import Pens
    from bot.adapters.slack.service import Slack
    from storage.offers import Offers
    from storage.outbox import Outbox

ROLL_AFTER_S = 210.0
"""A streamed message is ended by Slack after some five minutes; half a minute before we end it ourselves."""
TITLE = 100


class Home(homes.Home[Page], Protocol):
    """See home.SlackHome."""

    heading: Heading | None
    opened: Callable[[], None]

    async def find(self) -> None: ...

    async def real(self, place: Place) -> tuple[str, str] | None: ...

    async def permalink(self, channel: str, message: str) -> str: ...

    def rename(self, channel: str, thread: str, title: str) -> None: ...

    def ended(self) -> None: ...


class Links:
    """Where a run's conversations go on. Slack's threads have no name but their session's, and are never archived."""

    def __init__(self, home: Home) -> None:
        self._home = home

    async def line(self, elsewhere: Elsewhere) -> str:
        title = literal(elsewhere.title, TITLE) or "…"
        found = await self._home.real(elsewhere.place)
        link = await self._home.permalink(*found) if found is not None else ""
        if found is None or not link:
            return f"*{title}*"
        self._home.rename(*found, elsewhere.title)
        return f"<{link}|{title}>"

    def ended(self) -> None:
        self._home.ended()


class Planned:
    """A view beside which a plan follows the stages."""

    def __init__(self, view: View, plan: Plan, home: Home) -> None:
        self._view = view
        self._plan = plan
        self._home = home

    async def show(self, event: Event) -> None:
        if isinstance(event, Stage):
            self._plan.enter(event)
        await self._view.show(event)

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
    run: str,
    request: Request,
    origin: Origin,
    outbox: Outbox,
    offers: Offers,
    home: Home,
    pens: Pens,
    *,
    roll_after_s: float = ROLL_AFTER_S,
) -> View:
    """One run's, on one home."""
    say, in_thread = words(request.locale), _in_thread(origin)
    view = StagedView(
        run,
        request,
        outbox,
        offers,
        home,
        pens,
        Links(home),
        pages=pages,
        folded=None,
        spoken=partial(shown, thread=in_thread),
        taken=(ASKED, PLAN, POINTER),
        private=origin.private,
        alone=origin.home == "alone",
        share="page.share_there" if origin.home == "direct" else "page.share",
        roll_after_s=roll_after_s,
        wordless=lambda page: page.wordless,
    )
    if not commands.verb(request.work, request.verb).planned:
        return view
    plan = Plan(request, outbox, home, pens, home.heading, say)
    home.opened = plan.opened
    return Planned(view, plan, home)


def _in_thread(origin: Origin) -> bool:
    """Whether it is read in a thread, where Slack knows no commands."""
    if origin.home == "alone":
        return origin.thread != "" and (origin.earlier or origin.thread != origin.message)
    return origin.home != "channel"


def view_factory(slack: Slack) -> Callable[[str, Request, Outbox], View]:
    """How a run on Slack is shown; made again from the stored request after a crash."""
    house = slack.app.house

    def view(run: str, request: Request, outbox: Outbox) -> View:
        origin = origin_of(request.origin)
        home = SlackHome(slack.workspaces, request, origin, outbox, house.offers, house.threads, slack.pens)
        return slack_view(run, request, origin, outbox, house.offers, home, slack.pens)

    return view
