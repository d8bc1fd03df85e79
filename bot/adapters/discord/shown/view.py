"""How a run is shown on Discord: what it says as Discord's pages, with Discord's names of commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bot.adapters.composer import Composer, Dialect
from bot.adapters.discord.received.placing import Origin, origin_of
from bot.adapters.discord.shown.home import OWN, DiscordHome
from bot.adapters.discord.text.render import folded, pages
from bot.adapters.discord.text.spoken import shown
from bot.words import words

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.adapters.discord.text.page import Page
    from bot.events import Request, View
    from storage.outbox import Outbox


def dialect(origin: Origin, locale: str) -> Dialect[Page]:
    """A guest may send few messages, and stages in one."""
    return Dialect(
        pages,
        folded=None if origin.member else folded,
        spoken=partial(shown, words(locale)),
        own_keys=OWN,
    )


def view_factory(client: Client) -> Callable[[str, Request, Outbox], View]:
    """How a run on Discord is shown; made again from the stored request after a crash."""
    house = client.app.house

    def view(_run: str, request: Request, outbox: Outbox) -> View:
        origin = origin_of(request.origin)
        home = DiscordHome(
            client, request, origin, outbox, house.threads, house.settings.free_chat, house.inbox
        )
        return Composer(
            request, outbox, house.offers, home, client.writers, dialect(origin, request.locale), house.votes
        )

    return view
