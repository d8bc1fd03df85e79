"""Views of a run on Discord, with paper instead of channels; the outbox and the offers are the real ones."""

from __future__ import annotations

import asyncio

from bot.adapters.composer import Composer
from bot.adapters.discord.received.placing import Origin
from bot.adapters.discord.shown.home import dialect
from bot.adapters.discord.text.page import Page
from bot.adapters.surface import MessageStyle
from bot.adapters.writer import Clock, Pace, Writers
from bot.events import Author, Ended, Place, Request, Shown, Stage, Status, Text
from storage.buttons import Offers
from storage.db import Database
from storage.outbox import Outbox
from tests.adapters.paper import Paper, PaperHome, Written

RUN = "c0ffee" + "0" * 26
PLACE = Place("discord", "1", "2", "3")
ASKED = Request(RUN, PLACE, Author("7", "Ana"), "rules", "ask", {}, "Who?")
HERE = Origin("here", 2, 9)
PACE = Pace(edit_every_s=0.02, posts=4, posts_in_s=5.0)


class Still:
    """A stopped clock: even on a slow machine, no time passes between events."""

    def time(self) -> float:
        return 0.0

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        await event.wait()


SEARCH = (Stage("search", "Searching"), Status("Looking"), Text("Found 3 passages."))
WRITES, SYNTHESIS = Stage("synthesis", "The chair writes"), Stage("synthesis", "Synthesis")


def read(page: Page, style: MessageStyle) -> str:
    return page.text if style is MessageStyle.LAYOUT else page.plain


def custom_ids(message: Written[Page]) -> list[str]:
    return [button.custom_id for row in message.page.rows for button in row]


Home = PaperHome[Page]


class Views:
    """Views of one run, one after another as after crashes, on the same paper."""

    def __init__(self, database: Database) -> None:
        self.paper = Paper(read)
        self.outbox = Outbox(database)
        self.offers = Offers(database)
        self.home = Home(self.paper)

    def view(
        self,
        home: Home | None = None,
        *,
        origin: Origin = HERE,
        asked: Request = ASKED,
        clock: Clock | None = None,
    ) -> Composer[Page]:
        self.home = home or Home(self.paper)
        self.home.private = origin.private
        spoken = dialect(origin, asked.locale)
        return Composer(asked, self.outbox, self.offers, self.home, Writers(PACE, clock), spoken)

    async def noted(self, message: Written[Page]) -> None:
        """Wait until the outbox has recorded the message, which a side task does."""
        async with asyncio.timeout(90):
            while message.id not in await self.outbox.cut_off(PLACE.space, RUN):
                pass

    async def run(self, *events: Shown, status: Ended = "done", view: Composer[Page] | None = None) -> None:
        """Show a whole run."""
        view = view or self.view()
        await show(view, *events)
        await view.flush(status)


async def show(view: Composer[Page], *events: Shown) -> None:
    for event in events:
        await view.show(event)
