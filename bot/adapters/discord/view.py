"""How a run is shown on Discord: staged messages, with Discord's pages, names and links to other conversations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from bot.adapters import homes
from bot.adapters.discord.folding import folded
from bot.adapters.discord.inline import literal
from bot.adapters.discord.origin import Origin, origin_of
from bot.adapters.discord.overflow import WHOLE, Overflow
from bot.adapters.discord.page import Page
from bot.adapters.discord.render import pages
from bot.adapters.discord.spoken import shown
from bot.adapters.discord.threads import ASKED, THREAD
from bot.adapters.draft import clean
from bot.adapters.staged_view import StagedView
from bot.events import Elsewhere, Place, Request, View
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.discord.client import Sutradhar
    from bot.adapters.pen import Pens
    from storage.offers import Offers
    from storage.outbox import Outbox


class Home(homes.Home[Page], Protocol):
    """See home.DiscordHome."""

    async def real(self, place: Place) -> int | None: ...

    def tidy(self, thread: int, title: str, archived: bool) -> None: ...


class Links:
    """Where a run's conversations go on; their threads are named and archived by the way."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._archive: list[tuple[int, str]] = []

    async def line(self, elsewhere: Elsewhere) -> str:
        thread = await self._home.real(elsewhere.place)
        if thread is None:
            return f"**{literal(clean(elsewhere.title), 100)}**"
        if not elsewhere.place.thread:
            pass  # a channel is not the bot's to name or archive
        elif elsewhere.archived:  # after the last message, which would wake it up again
            self._archive.append((thread, elsewhere.title))
        else:
            self._home.tidy(thread, elsewhere.title, archived=False)
        return f"<#{thread}>"

    def ended(self) -> None:
        for thread, title in self._archive:
            self._home.tidy(thread, title, archived=True)


def discord_view(
    run: str,
    request: Request,
    origin: Origin,
    outbox: Outbox,
    offers: Offers,
    home: Home,
    pens: Pens,
    *,
    overflow: Overflow | None = None,
) -> StagedView[Page]:
    """One run's, on one home. A guest may send few messages, and stages in one."""
    return StagedView(
        run,
        request,
        outbox,
        offers,
        home,
        pens,
        Links(home),
        pages=pages,
        folded=None if origin.member else folded,
        spoken=partial(shown, words(request.locale)),
        taken=(ASKED, THREAD, WHOLE),
        private=origin.private,
        overflow=overflow,
    )


def view_factory(client: Sutradhar) -> Callable[[str, Request, Outbox], View]:
    """How a run on Discord is shown; made again from the stored request after a crash."""
    from bot.adapters.discord.home import DiscordHome

    house = client.app.house

    def view(run: str, request: Request, outbox: Outbox) -> View:
        origin = origin_of(request.origin)
        home = DiscordHome(client, request, origin, outbox, house.threads, house.settings.free_chat)
        return discord_view(
            run, request, origin, outbox, house.offers, home, client.pens, overflow=home.overflow
        )

    return view
