"""How a run is shown on Discord: staged messages, with Discord's pages, names and links to other conversations.

And what is left where Discord takes a part of an answer nowhere: a file, a direct message, a word to the asker.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import discord

from bot.adapters import homes
from bot.adapters.backoff import patiently
from bot.adapters.discord.received.placing import Origin, origin_of
from bot.adapters.discord.shown.home import DiscordHome
from bot.adapters.discord.shown.surface import direct
from bot.adapters.discord.shown.threads import ASKED, THREAD
from bot.adapters.discord.text.markdown import literal
from bot.adapters.discord.text.page import FAILED, Card, Page
from bot.adapters.discord.text.render import beside, folded, pages, without_buttons
from bot.adapters.discord.text.spoken import shown
from bot.adapters.draft import clean
from bot.adapters.first_message import first_message
from bot.adapters.staged_view import StagedView
from bot.adapters.surface import Form, Mark, SurfaceFault
from bot.events import Elsewhere, Link, Place, Request, View
from bot.words import words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.adapters.discord.shown.surface import Response
    from bot.adapters.homes import Way
    from bot.adapters.pen import Pens
    from bot.adapters.sheet import Facts, Sheet
    from storage.inbox import Inbox
    from storage.offers import Offers
    from storage.outbox import Outbox
    from storage.votes import Votes


WHOLE = "whole"
"""The outbox's key of the direct message with all of it."""
OWN = (ASKED, THREAD, WHOLE)
"""The outbox's keys of what is no stage."""

_log = logging.getLogger(__name__)


class Home(homes.Home[Page], Protocol):
    """See home.DiscordHome."""

    async def real(self, place: Place) -> int | None: ...

    def tidy(self, thread: int, title: str, archived: bool) -> None: ...


class Links:
    """Where a run's conversations go on; their threads are named and archived by the way."""

    def __init__(self, home: Home, jump: Callable[[str], Awaitable[str]] | None = None) -> None:
        """`jump`: see there."""
        self._home = home
        self._jump = jump
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

    async def link(self, link: Link) -> str:
        title = literal(clean(link.title).replace("://", " "), 100)  # a link's words name no other address
        url = await self._jump(link.run) if self._jump is not None else ""
        return f"→ [{title}]({url})" if url and title else f"→ **{title}**"

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
    jump: Callable[[str], Awaitable[str]] | None = None,
    votes: Votes | None = None,
) -> StagedView[Page]:
    """One run's, on one home. A guest may send few messages, and stages in one."""
    return StagedView(
        run,
        request,
        outbox,
        offers,
        home,
        pens,
        Links(home, jump),
        pages=pages,
        folded=None if origin.member else folded,
        spoken=partial(shown, words(request.locale)),
        taken=OWN,
        private=origin.private,
        overflow=overflow,
        votes=votes,
    )


def view_factory(client: Client) -> Callable[[str, Request, Outbox], View]:
    """How a run on Discord is shown; made again from the stored request after a crash."""
    house = client.app.house

    def view(run: str, request: Request, outbox: Outbox) -> View:
        origin = origin_of(request.origin)
        home = DiscordHome(client, request, origin, outbox, house.threads, house.settings.free_chat)
        overflow = Overflow(client, request, origin, outbox, home.response)
        return discord_view(
            run,
            request,
            origin,
            outbox,
            house.offers,
            home,
            client.pens,
            overflow=overflow,
            jump=partial(jump, house.inbox, outbox, request),
            votes=house.votes,
        )

    return view


async def jump(inbox: Inbox, outbox: Outbox, request: Request, run: str) -> str:
    """The address of a run's first message, for whoever asked `request`; "" where there is none for everybody."""
    try:
        found = await first_message(inbox, outbox, request.place.space, run, OWN)
        thread = await outbox.get(request.place.space, run, THREAD)
    except StorageFault as fault:
        _log.info("run %s: a link was left out: %s", request.id, fault)
        return ""
    if found is None or found[0].place.platform != request.place.platform or not found[0].origin:
        return ""
    origin = origin_of(found[0].origin)
    if origin.private:  # its messages are only for as long as somebody looks at them
        return ""
    channel = thread.message_id if thread is not None and thread.message_id else origin.channel
    return f"https://discord.com/channels/{origin.guild or '@me'}/{channel}/{found[1]}"


class Overflow:
    """See homes.Overflow."""

    def __init__(
        self,
        client: discord.Client,
        request: Request,
        origin: Origin,
        outbox: Outbox,
        response: Response | None,
    ) -> None:
        self._client = client
        self._run = request.id
        self._space = request.place.space
        self._origin = origin
        self._outbox = outbox
        self._response = response

    def page(self, sheet: Sheet, part: int, sheets: Sequence[Sheet], facts: Facts, way: Way) -> Page:
        note = facts.say(f"overflow.{way}")
        if self._origin.member:
            made = pages(sheet, facts)
            return beside(made[min(part, len(made) - 1)], sheets, facts, note, file=way == "file")
        if way == "file":
            return folded(sheets, facts)
        return folded(
            _noted(sheets, note), replace(facts, no_files=facts.say("discord_doctor.perm_attach_files"))
        )

    async def direct(self, sheets: Sequence[Sheet], facts: Facts) -> bool:
        page = without_buttons(
            folded(_noted(sheets, facts.say("overflow.here")), replace(facts, no_files=""))
        )
        mark = Mark(self._run, WHOLE)
        try:
            row = await self._outbox.claim(self._space, self._run, WHOLE)
            if row.message_id is None:
                between_us = await patiently(partial(direct, self._client, self._origin.user))
                sent = None if row.fresh else await between_us.find(mark, row.created_at, ())
                if sent is None:
                    sent = await patiently(partial(between_us.post, page, mark, Form.LAYOUT))
                await self._outbox.sent(self._space, self._run, WHOLE, sent)
        except (SurfaceFault, StorageFault) as fault:
            _log.info("run %s: no direct message to the asker: %s", self._run, fault)
            return False
        return True

    async def tell(self, facts: Facts, way: Way) -> bool:
        text = f"-# ⓘ {facts.say(f'overflow.{way}')}"
        if self._response is None:
            return False
        try:
            await self._response.whisper(
                Page((Card((text,), FAILED),), text), Mark(self._run, way), Form.LAYOUT
            )
        except SurfaceFault as fault:
            _log.info("run %s: the asker could not be told: %s", self._run, fault)
            return False
        return True


def _noted(sheets: Sequence[Sheet], note: str) -> list[Sheet]:
    return [*sheets[:-1], replace(sheets[-1], notices=[*sheets[-1].notices, note])]
